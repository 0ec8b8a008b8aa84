/* SPDX-License-Identifier: Apache-2.0 */
/* Rows folded as they come, and usage of thread, process and machine. */
/* wrap: fopen */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/measure/series.h"
#include "common/measure/usage.h"

FILE *__real_fopen(const char *path, const char *mode);

/* What /proc/stat holds; NULL: it cannot be opened; "real": the real one. */
static const char *contents;

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (!contents) {
		errno = EACCES;
		return NULL;
	}
	assert_string_equal(path, "/proc/stat");
	if (!strcmp(contents, "real"))
		return __real_fopen(path, mode);
	return fmemopen((void *)(uintptr_t)contents, strlen(contents), "r");
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

/* The sums over the rows are the totals, and each row ends where one starts. */
static void test_rows(void **state)
{
	struct io_counts totals = { .tx_bytes = 100, .rx_bytes = 7 };
	struct series s;
	uint64_t tx = 0, rx = 0;
	nsec_t now = 5000, cpu = 300, spent = 0, last = now;

	(void)state;
	series_begin(&s, now, &totals, cpu);
	for (int i = 0; i < 100; i++) {
		struct row row;

		now += i % 7 * 1000; /* an interval of 0 ns among them */
		totals.tx_bytes += (uint64_t)(i * i);
		totals.rx_bytes += (uint64_t)(i % 3);
		cpu += i;
		row = series_row(&s, now, &totals, cpu, i < 10);
		assert_int_equal(row.index, i);
		assert_int_equal(row.warmup, i < 10);
		assert_true(row.start == last && row.end == now);
		assert_true(row.tx_bytes == (uint64_t)(i * i));
		assert_true(row.rx_bytes == (uint64_t)(i % 3));
		assert_true(row.cpu == i);
		last = now;
		tx += row.tx_bytes;
		rx += row.rx_bytes;
		spent += row.cpu;
	}
	assert_true(tx == totals.tx_bytes - 100 && rx == totals.rx_bytes - 7);
	assert_true(spent == cpu - 300);
	assert_int_equal(s.samples, 90);
}

static void test_large_totals(void **state)
{
	struct io_counts totals = { .tx_bytes = UINT64_MAX - 5 };
	struct series s;

	(void)state;
	series_begin(&s, 0, &totals, 0);
	totals.tx_bytes = UINT64_MAX;
	assert_true(series_row(&s, 1, &totals, 0, false).tx_bytes == 5);
}

static void test_correlation(void **state)
{
	struct io_counts totals = { 0 };
	struct series s;

	(void)state;
	series_begin(&s, 0, &totals, 0);
	assert_true(near(series_correlation(&s), -1));
	/* Nothing received, or no time passed: nobody can tell. */
	series_row(&s, NSEC_PER_SEC, &totals, 0, false);
	assert_true(near(series_correlation(&s), -1));
	series_begin(&s, 0, &totals, 0);
	totals.rx_bytes = 10;
	series_row(&s, 0, &totals, 0, false);
	assert_true(near(series_correlation(&s), -1));
	/* A steady stream. */
	totals.rx_bytes = 0;
	series_begin(&s, 77, &totals, 0);
	for (int i = 1; i <= 10; i++) {
		totals.rx_bytes = (uint64_t)i * 1000000;
		series_row(&s, 77 + i * NSEC_PER_SEC, &totals, 0, false);
	}
	assert_true(near(series_correlation(&s), 1));
	/* All of it in the first second: (1+2+3) / sqrt(14 * 3). */
	totals.rx_bytes = 0;
	series_begin(&s, 0, &totals, 0);
	totals.rx_bytes = 1000;
	for (int i = 1; i <= 3; i++)
		series_row(&s, i * NSEC_PER_SEC, &totals, 0, false);
	assert_true(near(series_correlation(&s), 6 / sqrt(42)));
}

/* The warm-up is left out: time and bytes count from its end. */
static void test_warmup(void **state)
{
	struct io_counts totals = { 0 };
	struct series s;

	(void)state;
	series_begin(&s, 0, &totals, 0);
	totals.rx_bytes = 123456789;
	series_row(&s, 5 * NSEC_PER_SEC, &totals, 0, true);
	series_measure(&s);
	assert_int_equal(s.samples, 0);
	assert_true(near(series_correlation(&s), -1));
	for (int i = 1; i <= 4; i++) {
		totals.rx_bytes += 5000;
		series_row(&s, (5 + i) * NSEC_PER_SEC, &totals, 0, false);
	}
	assert_int_equal(s.samples, 4);
	assert_true(near(series_correlation(&s), 1));
}

static void test_parse_stat(void **state)
{
	static const char good[] = "cpu  1 2 30 4 5 600 7000 8 9 10\n"
				   "cpu0 1 1 1 1 1 1 1 1 1 1\n";

	(void)state;
	assert_true(usage_parse_stat(good, 100) == 7630 * 10 * NSEC_PER_MSEC);
	assert_true(usage_parse_stat(good, 1000) == 7630 * NSEC_PER_MSEC);
	assert_true(usage_parse_stat("cpu 0 0 0 0 0 0 0", 100) == 0);
	assert_true(usage_parse_stat(good, 0) == -1);
	assert_true(usage_parse_stat(good, -100) == -1);
	assert_true(usage_parse_stat("", 100) == -1);
	assert_true(usage_parse_stat("cpu", 100) == -1);
	assert_true(usage_parse_stat("cpu 1 2 3 4 5 6", 100) == -1);
	assert_true(usage_parse_stat("cpu 1 2 x 4 5 6 7", 100) == -1);
	assert_true(usage_parse_stat("intr 1 2 3 4 5 6 7", 100) == -1);
	assert_true(usage_parse_stat("cpu0 1 2 3 4 5 6 7", 100) == -1);
}

static void test_machine(void **state)
{
	nsec_t before;

	(void)state;
	contents = NULL;
	assert_true(usage_machine_system() == -1);
	contents = "nonsense\n";
	assert_true(usage_machine_system() == -1);
	contents = "real";
	before = usage_machine_system();
	assert_true(before >= 0 && usage_machine_system() >= before);
}

/* Time spent shows in the thread's figures, and no more than passed. */
static void test_thread(void **state)
{
	struct usage a = usage_thread(), p = usage_process(), b, q;
	volatile unsigned sum = 0;

	(void)state;
	do {
		for (unsigned i = 0; i < 100000; i++)
			sum += i;
		b = usage_thread();
	} while (b.user - a.user < 20 * NSEC_PER_MSEC);
	q = usage_process();
	assert_true(b.when > a.when);
	assert_true(b.user + b.system - a.user - a.system <=
		    b.when - a.when + 10 * NSEC_PER_MSEC);
	assert_true(q.user - p.user >= 10 * NSEC_PER_MSEC);
	assert_true(q.maxrss > 100 && b.minflt >= a.minflt);
	assert_true(b.nvcsw >= a.nvcsw && b.nivcsw >= a.nivcsw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_large_totals),
		cmocka_unit_test(test_correlation),
		cmocka_unit_test(test_warmup),
		cmocka_unit_test(test_parse_stat),
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

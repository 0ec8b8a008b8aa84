/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as it is written: exact integers, texts, nesting, any locale. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/report/emit.h"

#define ROOM 65536

static struct out out;
static struct emit emit;
static char path[64], got[ROOM];

static int begin(void **state)
{
	struct fault fault = { 0 };
	int fd;

	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/test_emit.XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || close(fd) || out_open(&out, path, &fault))
		return -1;
	emit = (struct emit){ .out = &out };
	return 0;
}

static int end(void **state)
{
	(void)state;
	return unlink(path) | out_close(&out);
}

/* What has been written so far. */
static const char *text(void)
{
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	assert_int_equal(out_flush(&out), 0);
	n = fread(got, 1, sizeof(got) - 1, f);
	got[n] = 0;
	(void)fclose(f); /* only read from */
	return got;
}

static void test_integers(void **state)
{
	(void)state;
	emit_array(&emit, NULL);
	emit_u64(&emit, NULL, 0);
	emit_u64(&emit, NULL, 1234567890123460);
	emit_u64(&emit, NULL, (UINT64_C(1) << 53) + 1);
	emit_u64(&emit, NULL, INT64_MAX);
	emit_u64(&emit, NULL, UINT64_MAX);
	emit_i64(&emit, NULL, INT64_MAX);
	emit_i64(&emit, NULL, INT64_MIN);
	emit_i64(&emit, NULL, -1);
	emit_end(&emit);
	assert_string_equal(text(), "[0,1234567890123460,9007199254740993,"
				    "9223372036854775807,18446744073709551615,"
				    "9223372036854775807,-9223372036854775808,"
				    "-1]");
}

static void test_seconds(void **state)
{
	(void)state;
	emit_array(&emit, NULL);
	emit_seconds(&emit, NULL, 0);
	emit_seconds(&emit, NULL, 1);
	emit_seconds(&emit, NULL, -1500000000);
	emit_seconds(&emit, NULL, INT64_MAX);
	emit_seconds(&emit, NULL, INT64_MIN);
	emit_end(&emit);
	out_seconds(&out, 1234567890, 0);
	out_bytes(&out, " ", 1);
	out_seconds(&out, 1999999999, 6);
	assert_string_equal(text(), "[0.000000000,0.000000001,-1.500000000,"
				    "9223372036.854775807,"
				    "-9223372036.854775808]1 1.999999");
}

static void test_reals(void **state)
{
	(void)state;
	emit_array(&emit, NULL);
	emit_real(&emit, NULL, 1.5, 3);
	emit_real(&emit, NULL, -0.25, 2);
	emit_real(&emit, NULL, 1e18, 1);
	emit_real(&emit, NULL, 1e-9, 3);
	emit_real(&emit, NULL, 7, 0);
	emit_real(&emit, NULL, (double)NAN, 3);
	emit_real(&emit, NULL, (double)INFINITY, 3);
	emit_real(&emit, NULL, -(double)INFINITY, 3);
	emit_figure(&emit, NULL, -1, 3);
	emit_figure(&emit, NULL, 0, 3);
	emit_end(&emit);
	assert_string_equal(text(), "[1.500,-0.25,1000000000000000000.0,0.000,"
				    "7,null,null,null,null,0.000]");
}

static void test_largest_real(void **state)
{
	(void)state;
	emit_real(&emit, NULL, 1.7976931348623157e308, 9);
	assert_int_equal(strlen(text()), 309 + 1 + 9);
	assert_null(strchr(got, 'e'));
}

/* Whatever the locale says, JSON has a point. */
static void test_locale(void **state)
{
	static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8",
					     "ps_AF.UTF-8", "fr_FR.UTF-8" };
	size_t i;

	(void)state;
	emit_array(&emit, NULL);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)setlocale(LC_ALL, names[i]); /* may not be there */
		emit_real(&emit, NULL, 1234567.5, 1);
		emit_seconds(&emit, NULL, 500000000);
	}
	(void)setlocale(LC_ALL, "C");
	emit_end(&emit);
	assert_string_equal(text(), "[1234567.5,0.500000000,1234567.5,"
				    "0.500000000,1234567.5,0.500000000,"
				    "1234567.5,0.500000000]");
}

static void test_texts(void **state)
{
	(void)state;
	emit_object(&emit, NULL);
	emit_text(&emit, "a", "");
	emit_text(&emit, "b", NULL);
	emit_text(&emit, "c", "say \"\\\" twice");
	emit_text(&emit, "d", "\x01\t\n\r\x1f\x7f");
	emit_text(&emit, "e",
		  "Gr\xc3\xbc\xc3\x9f"
		  "e \xe2\x82\xac \xf0\x9f\x98\x80");
	emit_end(&emit);
	assert_string_equal(
		text(), "{\"a\":\"\",\"b\":null,\"c\":\"say \\\"\\\\\\\" "
			"twice\",\"d\":\"\\u0001\\u0009\\u000a\\u000d\\u001f"
			"\\u007f\",\"e\":\"Gr\xc3\xbc\xc3\x9f"
			"e \xe2\x82\xac \xf0\x9f\x98\x80\"}");
}

#define BAD "\xef\xbf\xbd"

static void test_broken_utf8(void **state)
{
	static const struct {
		const char *in, *as;
	} cases[] = {
		{ "a\xff"
		  "b",
		  "a" BAD "b" },
		{ "\x80", BAD },
		{ "\xc3", BAD },
		{ "\xc3(", BAD "(" },
		{ "\xc0\xaf", BAD BAD },
		{ "\xe0\x80\xaf", BAD BAD BAD },
		{ "\xed\xa0\x80", BAD BAD BAD },
		{ "\xe2\x82", BAD BAD },
		{ "\xf0\x8f\xbf\xbf", BAD BAD BAD BAD },
		{ "\xf4\x90\x80\x80", BAD BAD BAD BAD },
		{ "\xf0\x9f\x98", BAD BAD BAD },
		{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
		{ "\xed\x9f\xbf", "\xed\x9f\xbf" },
	};
	char wanted[4096] = "";
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		emit_text(&emit, NULL, cases[i].in);
		(void)strcat(strcat(strcat(wanted, "\""), cases[i].as), "\"");
	}
	assert_string_equal(text(), wanted);
}

static void test_nesting(void **state)
{
	int i;

	(void)state;
	emit_object(&emit, NULL);
	emit_array(&emit, "none");
	emit_end(&emit);
	emit_array(&emit, "deep");
	for (i = 2; i < EMIT_DEPTH; i++)
		emit_array(&emit, NULL);
	emit_null(&emit, NULL);
	for (i = 2; i < EMIT_DEPTH; i++)
		emit_end(&emit);
	emit_object(&emit, NULL);
	emit_bool(&emit, "yes", true);
	emit_bool(&emit, "no", false);
	emit_end(&emit);
	emit_end(&emit);
	emit_end(&emit);
	assert_int_equal(emit.depth, 0);
	assert_string_equal(text(), "{\"none\":[],\"deep\":[[[[[[[[[[[[[[["
				    "null]]]]]]]]]]]]]],{\"yes\":true,"
				    "\"no\":false}]}");
}

/* More than the buffer holds, in small and in large pieces. */
static void test_long(void **state)
{
	static char piece[20001];
	size_t i;

	(void)state;
	memset(piece, 'x', sizeof(piece) - 1);
	for (i = 0; i < 3000; i++)
		out_u64(&out, 1234567);
	out_text(&out, piece);
	out_text(&out, "end");
	assert_int_equal(strlen(text()), 3000 * 7 + 20000 + 3);
	assert_memory_equal(got + 3000 * 7 - 1, "7x", 2);
	assert_string_equal(got + 3000 * 7 + 20000 - 1, "xend");
}

static void test_full(void **state)
{
	struct fault fault = { 0 };
	struct out full;

	(void)state;
	if (access("/dev/full", W_OK))
		skip();
	assert_int_equal(out_open(&full, "/dev/full", &fault), 0);
	out_text(&full, "lost");
	assert_int_equal(out_flush(&full), -1);
	assert_int_equal(full.err, 28 /* ENOSPC */);
	out_text(&full, "more");
	assert_int_equal(out_close(&full), -1);
	assert_int_equal(out_close(&full), 0);
}

static void test_unopenable(void **state)
{
	struct fault fault = { 0 };
	struct out none;

	(void)state;
	assert_int_equal(out_open(&none, "/nonexistent/file", &fault), -1);
	assert_non_null(strstr(fault.text, "/nonexistent/file"));
	out_text(&none, "nowhere");
	assert_int_equal(out_close(&none), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_integers),	CASE(test_seconds),
		CASE(test_reals),	CASE(test_largest_real),
		CASE(test_locale),	CASE(test_texts),
		CASE(test_broken_utf8), CASE(test_nesting),
		CASE(test_long),	CASE(test_full),
		CASE(test_unopenable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers out of text and back: forms, edges, what is refused, round trips. */
/* wrap: strtod strtof strtold atof localeconv __isoc99_sscanf */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/num.h"

#define SECOND INT64_C(1000000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef int parser(const char *text, int64_t *out);

static int seconds(const char *text, int64_t *out)
{
	return num_parse_duration(text, SECOND, out);
}

static int nanoseconds(const char *text, int64_t *out)
{
	return num_parse_duration(text, 1, out);
}

static parser *const parsers[] = {
	num_parse_int,	     num_parse_size, num_parse_rate,
	num_parse_frequency, seconds,	     nanoseconds,
};

struct good {
	const char *text;
	int64_t value;
};

static void accept_all(parser *parse, const struct good *good, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t v = 4711;

		if (parse(good[i].text, &v) || v != good[i].value)
			fail_msg("\"%s\" gave %" PRId64 ", not %" PRId64,
				 good[i].text, v, good[i].value);
	}
}

static void refuse_all(parser *parse, const char *const *bad, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t v = 4711;

		if (!parse(bad[i], &v))
			fail_msg("\"%s\" was accepted as %" PRId64, bad[i], v);
		assert_int_equal(v, 4711);
	}
}

/* No parser takes any of these. */
static void test_never_a_number(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"+",
		"-",
		".",
		"x",
		" 5",
		"5 ",
		"\t5",
		"5\n",
		"10x",
		"1e3",
		"1E3",
		"nan",
		"inf",
		"0x10",
		"1,5",
		"1_000",
		"5.",
		".5",
		"1..5",
		"1.5.5",
		"--5",
		"+-5",
		"- 5",
		"5-",
		"1 000",
		"0b1",
		"5q",
		"10mfoo",
		("\xc2\xa0"
		 "5"),
		"\xd9\xa5",
		"5\xc2\xb5s",
		"99999999999999999999",
		"9223372036854775808",
		"184467440737095516160",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(parsers); i++)
		refuse_all(parsers[i], bad, COUNT(bad));
}

static void test_int(void **state)
{
	static const struct good good[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "+0", 0 },
		{ "42", 42 },
		{ "-5", -5 },
		{ "+7", 7 },
		{ "007", 7 },
		{ "00000000000000000000000000000000001", 1 },
		{ "9223372036854775807", INT64_MAX },
		{ "9223372036854775806", INT64_MAX - 1 },
		{ "-9223372036854775808", INT64_MIN },
		{ "-9223372036854775807", -INT64_MAX },
	};
	static const char *const bad[] = {
		"9223372036854775808",
		"-9223372036854775809",
		"-18446744073709551615",
		"-18446744073709551616",
		"1.0",
		"1K",
		"5s",
		"++5",
		"+ 5",
		"5+",
	};

	(void)state;
	accept_all(num_parse_int, good, COUNT(good));
	refuse_all(num_parse_int, bad, COUNT(bad));
}

static void test_size(void **state)
{
	static const struct good good[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "0B", 0 },
		{ "512B", 512 },
		{ "1K", 1024 },
		{ "64K", 65536 },
		{ "1.5K", 1536 },
		{ "0.5K", 512 },
		{ "1.0", 1 },
		{ "2.000000000", 2 },
		{ "1M", 1 << 20 },
		{ "1G", 1 << 30 },
		{ "1T", INT64_C(1) << 40 },
		{ "1KiB", 1024 },
		{ "1MiB", 1 << 20 },
		{ "1.25GiB", INT64_C(1342177280) },
		{ "1TiB", INT64_C(1) << 40 },
		{ "9223372036854775807", INT64_MAX },
		{ "9007199254740991K", INT64_C(9007199254740991) * 1024 },
		{ "8388607.5T", INT64_MAX - (INT64_C(1) << 39) + 1 },
	};
	static const char *const bad[] = {
		"-1",
		"+1",
		"-1K",
		"1.5",
		"1.3K",
		"0.5B",
		"1k",
		"1m",
		"1kB",
		"1KB",
		"1MB",
		"1Kb",
		"1Ki",
		"1K B",
		"1 K",
		"1KK",
		"1P",
		"1E",
		"1bit",
		"KiB",
		"K",
		"1KiBs",
		"1B/s",
		"1s",
		"9007199254740992K",
		"8388608T",
		"1.0000000001K",
		"9223372036854775807K",
		"9223372036854775807.5T",
		"9223372036854775807.000000001T",
	};

	(void)state;
	accept_all(num_parse_size, good, COUNT(good));
	refuse_all(num_parse_size, bad, COUNT(bad));
}

static void test_duration(void **state)
{
	static const struct good good[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "1", SECOND },
		{ "10", 10 * SECOND },
		{ "0.5", SECOND / 2 },
		{ "-1", -SECOND },
		{ "-1.5s", -3 * SECOND / 2 },
		{ "1ns", 1 },
		{ "500us", 500000 },
		{ "10ms", 10000000 },
		{ "300ms", 300000000 },
		{ "2s", 2 * SECOND },
		{ "1.5m", 90 * SECOND },
		{ "1h", 3600 * SECOND },
		{ "0.000000001", 1 },
		{ "0.001us", 1 },
		{ "0ns", 0 },
		{ "0.0ns", 0 },
		{ "9223372036854775807ns", INT64_MAX },
		{ "-9223372036854775807ns", -INT64_MAX },
		{ "9223372036.854775807", INT64_MAX },
		{ "2562047h", INT64_C(2562047) * 3600 * SECOND },
	};
	static const char *const bad[] = {
		"1min",
		"1d",
		"1S",
		"1Ms",
		"1us ",
		"1 us",
		"us",
		"1sec",
		"1h30m",
		"0.5ns",
		"0.4ns",
		"+1",
		"-",
		"0.0001us",
		"1K",
		"9223372036.854775808",
		"2562048h",
		"9223372037",
		"9223372036854775807h",
		"9223372036854775807.000000001h",
		"-9223372036854775807.999999999h",
		"5000000000000000000.123456789m",
	};

	(void)state;
	accept_all(seconds, good, COUNT(good));
	refuse_all(seconds, bad, COUNT(bad));
}

static void test_bare_nanoseconds(void **state)
{
	static const struct good good[] = {
		{ "0", 0 },	   { "1000", 1000 },
		{ "1s", SECOND },  { "9223372036854775807", INT64_MAX },
		{ "-3", -3 },	   { "1.5", 1 },
		{ "1.5us", 1500 },
	};
	static const char *const bad[] = { "0.5", "0.000000001" };

	(void)state;
	accept_all(nanoseconds, good, COUNT(good));
	refuse_all(nanoseconds, bad, COUNT(bad));
}

/* neper's letters, and units that say what they mean. */
static const struct good good_rates[] = {
	{ "0", 0 },
	{ "1000", 1000 },
	{ "8b", 1 },
	{ "1k", 125 },
	{ "1m", 125000 },
	{ "1g", 125000000 },
	{ "100B", 100 },
	{ "1K", 1024 },
	{ "1M", 1 << 20 },
	{ "1G", 1 << 30 },
	{ "1.5K", 1536 },
	{ "8bit", 1 },
	{ "8bit/s", 1 },
	{ "1Kbit", 125 },
	{ "10Mbit", 1250000 },
	{ "10Gbit", 1250000000 },
	{ "10Gbit/s", 1250000000 },
	{ "2.5Gbit", 312500000 },
	{ "1Tbit", INT64_C(125000000000) },
	{ "1.25GB", 1250000000 },
	{ "1.0KB", 1000 },
	{ "10KB/s", 10000 },
	{ "10MB/s", 10000000 },
	{ "1.25GB/s", 1250000000 },
	{ "1TB/s", INT64_C(1000000000000) },
	{ "7B/s", 7 },
	{ "9223372036854775807", INT64_MAX },
	{ "9223372036854775807B/s", INT64_MAX },
};

static const char *const bad_rates[] = {
	"10Mb",
	"10Kb",
	"10Gb",
	"10KB",
	"10MB",
	"10GB",
	"10TB",
	"10mb",
	"10kb",
	"10gb",
	"10T",
	"10t",
	"10kbit",
	"10mbit",
	"10gbit",
	"10Gbits",
	"10Gbps",
	"10Gbit/sec",
	"10/s",
	"10/",
	"10K/s",
	"10g/s",
	"10Gb/s",
	"1.5Mb",
	"10 Gbit",
	"10Gbit ",
	"Gbit",
	"-1",
	"-1g",
	"+1g",
	"10KiB",
	"1.5KiB",
	"10KiB/s",
	"10Gbit/s/s",
	"10ggg",
	"10qGbit",
	"10Gbit/sxxxxxxxxxxxxxxxxxxx",
	"10xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/s",
	"9223372036854775807K",
	"9223372036854775807.000000001Tbit",
	"9223372036854775807.000000001TB",
	/* not nothing, yet less than a byte: 0 would mean no limit */
	"1b",
	"7b",
	"0.5",
	"0.1B",
	"1bit",
	"0.000000001k",
};

static void test_rate(void **state)
{
	(void)state;
	accept_all(num_parse_rate, good_rates, COUNT(good_rates));
	refuse_all(num_parse_rate, bad_rates, COUNT(bad_rates));
}

static void test_frequency(void **state)
{
	static const struct good good[] = {
		{ "1", 1000 },
		{ "0.5", 500 },
		{ "0.001", 1 },
		{ "10k", 10000000 },
		{ "1.5M", INT64_C(1500000000) },
		{ "2G", INT64_C(2000000000000) },
		{ "9223372036854775.807", INT64_MAX },
	};
	static const char *const bad[] = {
		"0",
		"0.0",
		"0k",
		"-1",
		"+1",
		"0.0001",
		"1K",
		"10m",
		"10g",
		"1T",
		"1/s",
		"k",
		"9223372036854775.808",
		"9223372036854775807.000000001G",
	};

	(void)state;
	accept_all(num_parse_frequency, good, COUNT(good));
	refuse_all(num_parse_frequency, bad, COUNT(bad));
}

/* Whatever asks the locale what a point is must not be called. */
static int asked;

double __wrap_strtod(const char *text, char **end)
{
	asked++;
	*end = NULL;
	return text[0];
}

float __wrap_strtof(const char *text, char **end)
{
	asked++;
	*end = NULL;
	return (float)text[0];
}

long double __wrap_strtold(const char *text, char **end)
{
	asked++;
	*end = NULL;
	return text[0];
}

double __wrap_atof(const char *text)
{
	asked++;
	return text[0];
}

void *__wrap_localeconv(void)
{
	asked++;
	return NULL;
}

int __wrap___isoc99_sscanf(const char *text, const char *format, ...)
{
	asked++;
	return !*text || !*format;
}

static void test_locale(void **state)
{
	static const char *const texts[] = { "1.5K", "1,5K", "0.5", "1.25GB" };
	int64_t v;

	(void)state;
	for (size_t i = 0; i < COUNT(parsers); i++)
		for (size_t k = 0; k < COUNT(texts); k++)
			(void)parsers[i](texts[k], &v);
	assert_int_equal(asked, 0);
}

/* And where a comma is the point, nothing is read or written otherwise. */
static void test_comma_locale(void **state)
{
	static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8",
					     "de_DE", "fr_FR.UTF-8" };
	static const char *const bad[] = { "1,5K", "0,5", "1,25GB", "1.000,5" };
	char buf[48], probe[8];
	int64_t v[4] = { 0 };
	size_t i = 0;

	(void)state;
	while (i < COUNT(names) && !setlocale(LC_ALL, names[i]))
		i++;
	if (i == COUNT(names))
		skip();
	(void)snprintf(probe, sizeof(probe), "%.1f", 0.5);
	for (i = 0; i < COUNT(parsers); i++)
		refuse_all(parsers[i], bad, COUNT(bad));
	(void)num_parse_size("1.5K", &v[0]);
	(void)num_parse_rate("1.25GB", &v[1]);
	(void)seconds("0.5", &v[2]);
	(void)num_parse_frequency("0.5k", &v[3]);
	num_format_duration(SECOND / 2 * 3, buf, sizeof(buf));
	(void)setlocale(LC_ALL, "C");
	assert_string_equal(probe, "0,5"); /* else nothing was tested */
	assert_int_equal(v[0], 1536);
	assert_int_equal(v[1], 1250000000);
	assert_int_equal(v[2], SECOND / 2);
	assert_int_equal(v[3], 500000);
	assert_string_equal(buf, "1500ms");
}

static void duration_text(int64_t ns, const char *want)
{
	char buf[48];
	int64_t back = ~ns;

	assert_ptr_equal(num_format_duration(ns, buf, sizeof(buf)), buf);
	if (want)
		assert_string_equal(buf, want);
	assert_int_equal(seconds(buf, &back), 0);
	assert_true(back == ns);
	assert_int_equal(nanoseconds(buf, &back), 0);
	assert_true(back == ns);
}

static void test_format_duration(void **state)
{
	(void)state;
	duration_text(0, "0s");
	duration_text(1, "1ns");
	duration_text(999, "999ns");
	duration_text(1000, "1us");
	duration_text(1500000, "1500us");
	duration_text(10 * SECOND, "10s");
	duration_text(90 * SECOND, "90s");
	duration_text(-1500, "-1500ns");
	duration_text(-SECOND, "-1s");
	duration_text(INT64_MAX, "9223372036854775807ns");
	duration_text(-INT64_MAX, "-9223372036854775807ns");
	for (int64_t ns = 1; ns < INT64_MAX / 7; ns *= 7) {
		duration_text(ns, NULL);
		duration_text(-ns, NULL);
		duration_text(ns - ns % 1000, NULL);
	}
}

static void si_text(double v, const char *want)
{
	char buf[64];

	assert_ptr_equal(num_format_si(v, "bit/s", buf, sizeof(buf)), buf);
	assert_string_equal(buf, want);
}

static void test_format_si(void **state)
{
	(void)state;
	si_text(0, "0.00 bit/s");
	si_text(1, "1.00 bit/s");
	si_text(12.34, "12.3 bit/s");
	si_text(123.4, "123 bit/s");
	si_text(9.994, "9.99 bit/s");
	si_text(9.996, "10.0 bit/s");
	si_text(99.96, "100 bit/s");
	si_text(999.4, "999 bit/s");
	si_text(999.6, "1.00 kbit/s");
	si_text(12.3e9, "12.3 Gbit/s");
	si_text(-12.3e9, "-12.3 Gbit/s");
	si_text(999.6e6, "1.00 Gbit/s");
	si_text(1e18, "1.00 Ebit/s");
	si_text(1e21, "1000 Ebit/s");
	si_text(INFINITY, "inf Ebit/s");
	si_text((double)NAN, "nan bit/s");
}

static void bytes_text(uint64_t bytes, const char *want)
{
	char buf[32];

	assert_ptr_equal(num_format_bytes(bytes, buf, sizeof(buf)), buf);
	assert_string_equal(buf, want);
}

static void test_format_bytes(void **state)
{
	(void)state;
	bytes_text(0, "0 B");
	bytes_text(1023, "1023 B");
	bytes_text(1024, "1 KiB");
	bytes_text(1536, "1.5 KiB");
	bytes_text(65536, "64 KiB");
	bytes_text(65600, "64.1 KiB");
	bytes_text(500 * 1024 + 700, "501 KiB");
	bytes_text((1 << 20) - 1, "1.0 MiB");
	bytes_text(1 << 20, "1 MiB");
	bytes_text((UINT64_C(1) << 60) - 1, "1 EiB");
	bytes_text(UINT64_MAX, "16 EiB");
}

/* A short buffer is filled as far as it goes, and ends. */
static void test_short_buffers(void **state)
{
	char buf[4];

	(void)state;
	num_format_duration(INT64_MAX, buf, sizeof(buf));
	assert_string_equal(buf, "922");
	num_format_bytes(UINT64_MAX, buf, sizeof(buf));
	assert_string_equal(buf, "16 ");
	num_format_si(-1e9, "bit/s", buf, sizeof(buf));
	assert_string_equal(buf, "-1.");
}

static void test_bits(void **state)
{
	static const char *const bad[] = {
		"",   "0x",  "0xg", "x48", "-1",   "+1",
		" 1", "0x ", "48h", "1 ",  "0X48", "0x1234567890abcdef"
	};
	int64_t v = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(num_parse_bits(bad[i], &v), -1);
		assert_true(v == 7);
	}
	assert_int_equal(num_parse_bits("0x48", &v), 0);
	assert_true(v == 0x48);
	assert_int_equal(num_parse_bits("0xFfFfFfFf", &v), 0);
	assert_true(v == UINT32_MAX);
	assert_int_equal(num_parse_bits("72", &v), 0);
	assert_true(v == 72);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_never_a_number),
		cmocka_unit_test(test_int),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_bare_nanoseconds),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_frequency),
		cmocka_unit_test(test_locale),
		cmocka_unit_test(test_comma_locale),
		cmocka_unit_test(test_format_duration),
		cmocka_unit_test(test_format_si),
		cmocka_unit_test(test_format_bytes),
		cmocka_unit_test(test_short_buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

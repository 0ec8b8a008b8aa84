/* SPDX-License-Identifier: Apache-2.0 */
/* Integers through JSON exactly, texts within bounds, tables of members. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/json.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TWO53 (INT64_C(1) << 53)

/* Print @o and read the text again; both end up released. */
static cJSON *reread(cJSON *o)
{
	char *text = cJSON_PrintUnformatted(o);
	cJSON *back;

	cJSON_Delete(o);
	assert_non_null(text);
	back = cJSON_Parse(text);
	free(text);
	assert_non_null(back);
	return back;
}

static void signed_trip(int64_t v)
{
	cJSON *o = cJSON_CreateObject();
	int64_t got = ~v;

	json_put_i64(o, "v", v);
	o = reread(o);
	if (json_to_i64(cJSON_GetObjectItem(o, "v"), &got) || got != v)
		fail_msg("%" PRId64 " came back as %" PRId64, v, got);
	cJSON_Delete(o);
}

static void unsigned_trip(uint64_t v)
{
	cJSON *o = cJSON_CreateObject();
	uint64_t got = ~v;

	json_put_u64(o, "v", v);
	o = reread(o);
	if (json_to_u64(cJSON_GetObjectItem(o, "v"), &got) || got != v)
		fail_msg("%" PRIu64 " came back as %" PRIu64, v, got);
	cJSON_Delete(o);
}

static void test_exact(void **state)
{
	static const int64_t edges[] = {
		0,
		1,
		255,
		1000000,
		INT32_MAX,
		UINT32_MAX,
		TWO53 - 1,
		TWO53,
		TWO53 + 1,
		TWO53 + 2,
		INT64_MAX - 1,
		INT64_MAX,
		TWO53 * 2 + 1,
		1000000000000000000,
		999999999999999999,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(edges); i++) {
		signed_trip(edges[i]);
		signed_trip(-edges[i]);
		unsigned_trip((uint64_t)edges[i]);
	}
	signed_trip(INT64_MIN);
	unsigned_trip((uint64_t)INT64_MAX + 1);
	unsigned_trip(UINT64_MAX - 1);
	unsigned_trip(UINT64_MAX);
	for (int bit = 0; bit < 64; bit++) {
		unsigned_trip(UINT64_C(1) << bit);
		unsigned_trip((UINT64_C(1) << bit) - 1);
	}
}

/* Plain digits while a double holds them, a text where it does not. */
static void test_forms(void **state)
{
	cJSON *o = cJSON_CreateObject();
	char *text;

	(void)state;
	json_put_i64(o, "a", TWO53 - 1);
	json_put_i64(o, "b", TWO53 + 1);
	json_put_i64(o, "c", -TWO53 - 1);
	json_put_u64(o, "d", UINT64_MAX);
	json_put_u64(o, "e", 7);
	text = cJSON_PrintUnformatted(o);
	assert_string_equal(text, "{\"a\":9007199254740991,"
				  "\"b\":\"9007199254740993\","
				  "\"c\":\"-9007199254740993\","
				  "\"d\":\"18446744073709551615\",\"e\":7}");
	free(text);
	cJSON_Delete(o);
}

/* The value of JSON text @text as an integer of either kind. */
static int as_i64(const char *text, int64_t *out)
{
	cJSON *item = cJSON_Parse(text);
	int got = json_to_i64(item, out);

	cJSON_Delete(item);
	return got;
}

static int as_u64(const char *text, uint64_t *out)
{
	cJSON *item = cJSON_Parse(text);
	int got = json_to_u64(item, out);

	cJSON_Delete(item);
	return got;
}

static void test_not_an_integer(void **state)
{
	static const char *const bad[] = {
		"1.5",
		"\"1.5\"",
		"\"\"",
		"\"x\"",
		"\" 1\"",
		"true",
		"null",
		"[]",
		"{}",
		"[1]",
		"1e300",
		"-1e300",
		"1e400",
		"\"1e3\"",
		"\"0x10\"",
		"\"99999999999999999999\"",
		"0.1",
		/* no longer exact by the time a double has been through it */
		"9007199254740993",
		"-9007199254740993",
		"9223372036854775807",
		"18446744073709551615",
	};
	int64_t s = 4711;
	uint64_t u = 4711;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		if (!as_i64(bad[i], &s))
			fail_msg("%s gave %" PRId64, bad[i], s);
		if (!as_u64(bad[i], &u))
			fail_msg("%s gave %" PRIu64, bad[i], u);
	}
	assert_int_equal(json_to_i64(NULL, &s), -1);
	assert_int_equal(json_to_u64(NULL, &u), -1);
	assert_int_equal(as_i64("\"9223372036854775808\"", &s), -1);
	assert_int_equal(as_i64("\"-9223372036854775809\"", &s), -1);
	assert_int_equal(as_u64("\"18446744073709551616\"", &u), -1);
	assert_int_equal(as_u64("-1", &u), -1);
	assert_int_equal(as_u64("\"-1\"", &u), -1);
	assert_int_equal(as_u64("\"-9223372036854775808\"", &u), -1);
	assert_int_equal(as_u64("\"-18446744073709551615\"", &u), -1);
	assert_int_equal(as_u64("\"+18446744073709551615\"", &u), -1);
	assert_int_equal(as_i64("1e3", &s), 0);
	assert_int_equal(s, 1000);
}

static void test_bounds(void **state)
{
	cJSON *o = cJSON_Parse("{\"a\":5,\"b\":\"x\",\"A\":9}");
	struct fault f = { 0 };
	int64_t v = 4711;

	(void)state;
	assert_int_equal(json_get_i64(o, "a", 5, 5, &v, &f), 0);
	assert_int_equal(v, 5);
	assert_int_equal(json_get_i64(o, "a", 6, 9, &v, &f), -1);
	assert_non_null(strstr(f.text, "\"a\""));
	assert_non_null(strstr(f.text, "6 to 9"));
	assert_int_equal(v, 5);
	f.text[0] = 0;
	assert_int_equal(json_get_i64(o, "a", 0, 4, &v, &f), -1);
	f.text[0] = 0;
	assert_int_equal(json_get_i64(o, "b", 0, 9, &v, &f), -1);
	assert_non_null(strstr(f.text, "\"b\""));
	f.text[0] = 0;
	assert_int_equal(json_get_i64(o, "c", 0, 9, &v, &f), -1);
	assert_non_null(strstr(f.text, "\"c\""));
	assert_int_equal(json_get_i64(NULL, "a", 0, 9, &v, &f), -1);
	cJSON_Delete(o);
}

static int text_of(const char *json, size_t size, char *buf)
{
	cJSON *o = cJSON_Parse(json);
	struct fault f = { 0 };
	int got;

	assert_non_null(o);
	got = json_get_text(o, "t", buf, size, &f);
	assert_int_equal(!!f.text[0], got != 0);
	cJSON_Delete(o);
	return got;
}

static void test_texts(void **state)
{
	char buf[8] = "before";

	(void)state;
	assert_int_equal(text_of("{\"t\":\"\"}", 1, buf), 0);
	assert_string_equal(buf, "");
	assert_int_equal(text_of("{\"t\":\"seven77\"}", 8, buf), 0);
	assert_string_equal(buf, "seven77");
	assert_int_equal(text_of("{\"t\":\"eight888\"}", 8, buf), -1);
	assert_int_equal(text_of("{\"t\":\"a\\nb\"}", 8, buf), -1);
	assert_int_equal(text_of("{\"t\":\"\\u001b[m\"}", 8, buf), -1);
	assert_int_equal(text_of("{\"t\":\"\\u007f\"}", 8, buf), -1);
	assert_int_equal(text_of("{\"t\":\"\\t\"}", 8, buf), -1);
	assert_int_equal(text_of("{\"t\":7}", 8, buf), -1);
	assert_int_equal(text_of("{\"t\":null}", 8, buf), -1);
	assert_int_equal(text_of("{\"T\":\"x\"}", 8, buf), -1);
	assert_string_equal(buf, "seven77");
	assert_int_equal(text_of("{\"t\":\"\xc3\xa4\"}", 8, buf), 0);
	assert_string_equal(buf, "\xc3\xa4");
}

static void test_bools(void **state)
{
	cJSON *o = cJSON_Parse("{\"y\":true,\"n\":false,\"one\":1}");

	(void)state;
	assert_true(json_get_bool(o, "y"));
	assert_false(json_get_bool(o, "n"));
	assert_false(json_get_bool(o, "one"));
	assert_false(json_get_bool(o, "missing"));
	cJSON_Delete(o);
}

struct some {
	int64_t s;
	char gap[3];
	uint64_t u;
};

static void test_fields(void **state)
{
	static const struct json_field fields[] = {
		JSON_I64_FIELD(some, s),
		JSON_U64_FIELD(some, u),
	};
	const struct some in = { .s = INT64_MIN, .u = UINT64_MAX };
	struct some out = { 0 };
	struct fault f = { 0 };
	cJSON *o = cJSON_CreateObject();

	(void)state;
	json_put_fields(o, fields, 2, &in);
	o = reread(o);
	assert_int_equal(json_get_fields(o, fields, 2, &out, &f), 0);
	assert_true(out.s == in.s && out.u == in.u);
	cJSON_DeleteItemFromObject(o, "u");
	assert_int_equal(json_get_fields(o, fields, 2, &out, &f), -1);
	assert_non_null(strstr(f.text, "\"u\""));
	cJSON_AddNumberToObject(o, "u", -1);
	assert_int_equal(json_get_fields(o, fields, 2, &out, &f), -1);
	cJSON_Delete(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_not_an_integer),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_bools),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Every message to JSON and back; what is missing, wrong or out of bounds. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/control/message.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Encode @m and decode what came out; @m is left as it is. */
static struct message *trip(const struct message *m)
{
	struct fault f = { 0 };
	struct message *back;
	size_t len = 0;
	char *text = message_encode(m, &len);

	assert_non_null(text);
	assert_int_equal(len, strlen(text));
	back = message_decode(text, len, &f);
	if (!back)
		fail_msg("%s: %s", text, f.text);
	free(text);
	assert_true(back && back->type == m->type);
	return back;
}

static struct message *decode(const char *text, struct fault *f)
{
	/* A copy that ends where it ends, so that reading on is seen. */
	size_t len = strlen(text);
	char *copy = strdup(text);
	struct message *m;

	memset(f, 0, sizeof(*f));
	m = message_decode(copy, len, f);
	free(copy);
	return m;
}

/* @text is refused, with a text that holds @part. */
static void bad(const char *text, const char *part)
{
	struct fault f;
	struct message *m = decode(text, &f);

	if (m)
		fail_msg("accepted: %s", text);
	if (!f.text[0] || !strstr(f.text, part))
		fail_msg("%s gave \"%s\", without \"%s\"", text, f.text, part);
}

static void add_option(struct message_option *o, int *n, const char *name,
		       const char *value, bool given)
{
	o[*n] = (struct message_option){ strdup(name), strdup(value), given };
	(*n)++;
}

static struct message *new_hello(void)
{
	struct message *m = calloc(1, sizeof(*m));
	struct message_hello *h = &m->hello;

	m->type = MESSAGE_HELLO;
	h->version_min = h->version_max = MESSAGE_VERSION;
	strcpy(h->program, "tcp_stream");
	strcpy(h->uuid, "123e4567-e89b-42d3-a456-426614174000");
	strcpy(h->boot_id, "boot");
	strcpy(h->host, "h\xc3\xb6st \"quoted\\\"");
	h->flows = 10000000;
	add_option(h->options, &h->n_options, "num-flows", "64", true);
	add_option(h->options, &h->n_options, "peer-pin", "", false);
	h->windows[h->n_windows++] = (struct message_window){ true, 5 };
	h->windows[h->n_windows++] =
		(struct message_window){ false, INT64_C(1) << 54 };
	return m;
}

static struct message *new_accept(void)
{
	struct message *m = calloc(1, sizeof(*m));
	struct message_accept *a = &m->accept;

	m->type = MESSAGE_ACCEPT;
	a->version = MESSAGE_VERSION;
	strcpy(a->boot_id, "boot");
	strcpy(a->host, "server");
	a->participant = 2;
	a->participants = 3;
	for (int i = 0; i < 16; i++)
		a->cookie[i] = (uint8_t)(i * 17);
	a->backlog = 4096;
	a->ports[a->n_ports++] = 1;
	a->ports[a->n_ports++] = 65535;
	add_option(a->options, &a->n_options, "zerocopy", "1", true);
	return m;
}

static void same_options(const struct message_option *a, int n,
			 const struct message_option *b, int m)
{
	assert_int_equal(n, m);
	for (int i = 0; i < n; i++) {
		assert_string_equal(a[i].name, b[i].name);
		assert_string_equal(a[i].value, b[i].value);
		assert_int_equal(a[i].given, b[i].given);
	}
}

static void test_hello(void **state)
{
	struct message *m = new_hello(), *b = trip(m);
	const struct message_hello *h = &m->hello, *k = &b->hello;

	(void)state;
	assert_true(k->version_min == 1 && k->version_max == 1);
	assert_string_equal(k->program, h->program);
	assert_string_equal(k->uuid, h->uuid);
	assert_string_equal(k->boot_id, h->boot_id);
	assert_string_equal(k->host, h->host);
	assert_string_equal(k->unknown_must, "");
	assert_int_equal(k->flows, h->flows);
	same_options(k->options, k->n_options, h->options, h->n_options);
	assert_int_equal(k->n_windows, 2);
	assert_true(k->windows[0].warmup && k->windows[0].length == 5);
	assert_true(!k->windows[1].warmup &&
		    k->windows[1].length == h->windows[1].length);
	message_free(m);
	message_free(b);
}

static void test_accept(void **state)
{
	struct message *m = new_accept(), *b = trip(m);
	const struct message_accept *a = &m->accept, *k = &b->accept;

	(void)state;
	assert_int_equal(k->version, 1);
	assert_string_equal(k->boot_id, "boot");
	assert_string_equal(k->host, "server");
	assert_int_equal(k->participant, 2);
	assert_int_equal(k->participants, 3);
	assert_memory_equal(k->cookie, a->cookie, sizeof(a->cookie));
	assert_int_equal(k->backlog, 4096);
	assert_int_equal(k->n_ports, 2);
	assert_int_equal(k->ports[0], 1);
	assert_int_equal(k->ports[1], 65535);
	same_options(k->options, k->n_options, a->options, a->n_options);
	message_free(m);
	message_free(b);
}

/* As many options, ports and windows as a message may hold. */
static void test_full(void **state)
{
	struct message *h = new_hello(), *a = new_accept(), *b;

	(void)state;
	while (h->hello.n_options < MESSAGE_OPTIONS)
		add_option(h->hello.options, &h->hello.n_options, "o", "v", 0);
	while (h->hello.n_windows < MESSAGE_WINDOWS)
		h->hello.windows[h->hello.n_windows++].length = 1;
	b = trip(h);
	assert_int_equal(b->hello.n_options, MESSAGE_OPTIONS);
	assert_int_equal(b->hello.n_windows, MESSAGE_WINDOWS);
	message_free(b);
	while (a->accept.n_ports < MESSAGE_PORTS)
		a->accept.ports[a->accept.n_ports++] = 7;
	b = trip(a);
	assert_int_equal(b->accept.n_ports, MESSAGE_PORTS);
	message_free(b);
	message_free(h);
	message_free(a);
}

static void test_refuse(void **state)
{
	static const struct message m = { .type = MESSAGE_REFUSE,
					  .refuse = { REFUSAL_PROGRAM, "tcp_rr",
						      "no, because" } };
	struct message *b = trip(&m);

	(void)state;
	assert_int_equal(b->refuse.code, REFUSAL_PROGRAM);
	assert_string_equal(b->refuse.program, "tcp_rr");
	assert_string_equal(b->refuse.text, "no, because");
	message_free(b);
}

/* Numbers that a double does not hold must arrive to the last digit. */
static void test_numbers(void **state)
{
	static const int64_t edges[] = { 0, (INT64_C(1) << 53) - 1,
					 INT64_C(1) << 53,
					 (INT64_C(1) << 53) + 1,
					 INT64_MAX / 8 };
	static struct message m;
	struct message *b;

	(void)state;
	for (size_t i = 0; i < COUNT(edges); i++) {
		m = (struct message){ .type = MESSAGE_PING, .seq = edges[i] };
		b = trip(&m);
		assert_true(b->seq == edges[i]);
		message_free(b);
		m.type = MESSAGE_PONG;
		m.time = -edges[i];
		b = trip(&m);
		assert_true(b->seq == edges[i] && b->time == -edges[i]);
		message_free(b);
		m = (struct message){ .type = MESSAGE_START, .time = edges[i] };
		m.match.offset = -edges[i];
		m.match.bound = edges[i];
		b = trip(&m);
		assert_true(b->time == edges[i] && b->match.known);
		assert_true(b->match.offset == -edges[i]);
		assert_true(b->match.bound == edges[i]);
		message_free(b);
	}
}

/* @format holds one "%lld", which becomes @v. */
static void fill(char *text, size_t size, const char *format, int64_t v)
{
	const char *at = strstr(format, "%lld");

	snprintf(text, size, "%.*s%lld%s", (int)(at - format), format,
		 (long long)v, at + 4);
}

/* Instants whose differences would overflow are no instants. */
static void test_far_instants(void **state)
{
	static const char *const bad[] = {
		"{\"type\":\"pong\",\"seq\":1,\"time\":\"%lld\"}",
		"{\"type\":\"start\",\"at\":\"%lld\",\"offset\":0,"
		"\"bound\":0}",
		"{\"type\":\"start\",\"at\":0,\"offset\":\"%lld\","
		"\"bound\":0}",
	};
	static const int64_t far[] = { INT64_MAX, INT64_MIN,
				       INT64_MAX / 8 + 1 };
	char text[160];

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		for (size_t k = 0; k < COUNT(far); k++) {
			struct fault f = { 0 };

			fill(text, sizeof(text), bad[i], far[k]);
			assert_null(message_decode(text, strlen(text), &f));
			assert_non_null(strstr(f.text, "is not in"));
		}
	}
}

static void test_row(void **state)
{
	static struct message m = {
		.type = MESSAGE_ROW,
		.row = { .index = 3,
			 .warmup = true,
			 .start = -5,
			 .end = INT64_MAX,
			 .tx_bytes = UINT64_MAX,
			 .rx_bytes = (UINT64_C(1) << 53) + 1,
			 .cpu = 9 },
	};
	struct message *b = trip(&m);

	(void)state;
	assert_true(b->row.index == 3 && b->row.warmup);
	assert_true(b->row.start == -5 && b->row.end == INT64_MAX);
	assert_true(b->row.tx_bytes == UINT64_MAX);
	assert_true(b->row.rx_bytes == m.row.rx_bytes && b->row.cpu == 9);
	message_free(b);
}

static void test_small_ones(void **state)
{
	static struct message m = { .type = MESSAGE_FLOWS, .have = 3, .of = 4 };
	struct message *b = trip(&m);

	(void)state;
	assert_true(b->have == 3 && b->of == 4);
	message_free(b);
	m = (struct message){ .type = MESSAGE_STOP, .reason = "SIGINT" };
	b = trip(&m);
	assert_string_equal(b->reason, "SIGINT");
	message_free(b);
	m.type = MESSAGE_BYE;
	message_free(trip(&m));
	m.type = MESSAGE_ALIVE;
	message_free(trip(&m));
	message_free(NULL);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(message_name(MESSAGE_HELLO), "hello");
	assert_string_equal(message_name(MESSAGE_RESULT), "result");
	assert_string_equal(message_name(MESSAGE_ALIVE), "alive");
	for (int i = 0; i < MESSAGE_TYPES; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(message_name(i),
						message_name(k));
}

static void test_not_a_message(void **state)
{
	static const char *const all[] = {
		"",
		" ",
		"{",
		"}",
		"nonsense",
		"{\"type\":\"bye\"",
		"{}}",
		"{\"type\":\"bye\"}x",
		"{\"type\":\"bye\"} {}",
		"{\"type\":\"bye\",}",
		"\xff\xfe",
	};
	static const char with_nul[] = "{\"type\":\"bye\"}\0garbage";
	struct fault f = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++)
		bad(all[i], "not a JSON text");
	assert_null(message_decode(with_nul, sizeof(with_nul) - 1, &f));
	assert_string_not_equal(f.text, "");
	bad("[]", "not a JSON object");
	bad("\"bye\"", "not a JSON object");
	bad("null", "not a JSON object");
	bad("{}", "\"type\"");
	bad("{\"type\":7}", "\"type\"");
	bad("{\"type\":\"\"}", "unknown message");
	bad("{\"type\":\"Bye\"}", "unknown message \"Bye\"");
	bad("{\"TYPE\":\"bye\"}", "\"type\"");
	bad("{\"type\":\"a-name-that-is-too-long\"}", "\"type\"");
}

/* JSON nested deeper than any stack is refused, not followed. */
static void test_deep(void **state)
{
	size_t n = 200000;
	char *text = malloc(n + 1);
	struct fault f = { 0 };

	(void)state;
	memset(text, '[', n);
	text[n] = 0;
	assert_null(message_decode(text, n, &f));
	free(text);
}

/* Unknown members are ignored. */
static void test_unknown_members(void **state)
{
	struct fault f;
	struct message *m = decode("{\"new\":{\"a\":[1,2]},\"type\":\"ping\","
				   "\"seq\":4,\"x\":null}",
				   &f);

	(void)state;
	assert_non_null(m);
	assert_true(m->type == MESSAGE_PING && m->seq == 4);
	message_free(m);
}

/*
 * Each member of the message @m by turns taken out and replaced by a boolean;
 * those in @free, NULL-ended, may be anything.
 */
static void maim(const struct message *m, const char *const *free_members)
{
	size_t len;
	char *text = message_encode(m, &len);
	cJSON *whole = cJSON_Parse(text), *item;

	free(text);
	cJSON_ArrayForEach(item, whole)
	{
		const char *const *f = free_members;

		while (*f && strcmp(*f, item->string) != 0)
			f++;
		for (int how = 0; !*f && how < 2; how++) {
			cJSON *o = cJSON_Duplicate(whole, 1);

			cJSON_DeleteItemFromObject(o, item->string);
			if (how)
				cJSON_AddTrueToObject(o, item->string);
			text = cJSON_PrintUnformatted(o);
			bad(text, item->string);
			free(text);
			cJSON_Delete(o);
		}
	}
	cJSON_Delete(whole);
}

static void test_missing_members(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const hello[] = {
		"transport", "engine",	 "controller", "connector",
		"preamble",  "features", "must",       NULL,
	};
	static const char *const accept[] = { "engine", NULL };
	static const char *const row[] = { "warmup", NULL };
	static const enum message_type plain[] = {
		MESSAGE_REFUSE, MESSAGE_FLOWS, MESSAGE_PING,
		MESSAGE_PONG,	MESSAGE_START, MESSAGE_STOP,
	};
	static struct message m;
	struct message *h = new_hello(), *a = new_accept();

	(void)state;
	maim(h, hello);
	maim(a, accept);
	message_free(h);
	message_free(a);
	for (size_t i = 0; i < COUNT(plain); i++) {
		m = (struct message){ .type = plain[i], .of = 1 };
		maim(&m, none);
	}
	m = (struct message){ .type = MESSAGE_ROW };
	maim(&m, row);
}

static void test_out_of_bounds(void **state)
{
	(void)state;
	bad("{\"type\":\"ping\",\"seq\":-1}", "\"seq\"");
	bad("{\"type\":\"ping\",\"seq\":1.5}", "\"seq\"");
	bad("{\"type\":\"ping\",\"seq\":9007199254740993}", "\"seq\"");
	bad("{\"type\":\"flows\",\"have\":3,\"of\":2}", "\"have\"");
	bad("{\"type\":\"flows\",\"have\":-1,\"of\":2}", "\"have\"");
	bad("{\"type\":\"flows\",\"have\":1,\"of\":99999999999}", "\"of\"");
	bad("{\"type\":\"start\",\"at\":1,\"offset\":0,\"bound\":-1}",
	    "\"bound\"");
	bad("{\"type\":\"stop\",\"reason\":\"a\\nb\"}", "\"reason\"");
	bad("{\"type\":\"refuse\",\"code\":-1,\"program\":\"\","
	    "\"text\":\"\"}",
	    "\"code\"");
	bad("{\"type\":\"result\",\"part\":2,\"parts\":1}", "\"part\"");
	bad("{\"type\":\"result\",\"part\":0,\"parts\":1}", "\"part\"");
	bad("{\"type\":\"result\",\"part\":1,\"parts\":0}", "\"parts\"");
	bad("{\"type\":\"result\",\"part\":1,\"parts\":1}", "member");
}

/* Replace member @name of @m's JSON by the JSON text @value, and decode. */
static struct message *changed(const struct message *m, const char *name,
			       const char *value, struct fault *f)
{
	size_t len;
	char *text = message_encode(m, &len);
	cJSON *o = cJSON_Parse(text), *item = cJSON_Parse(value);
	struct message *back;

	assert_non_null(item);
	free(text);
	cJSON_DeleteItemFromObject(o, name);
	cJSON_AddItemToObject(o, name, item);
	text = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	back = decode(text, f);
	free(text);
	return back;
}

static void change_bad(const struct message *m, const char *name,
		       const char *value)
{
	struct fault f;
	struct message *back = changed(m, name, value, &f);

	if (back)
		fail_msg("\"%s\": %.100s was accepted", name, value);
	assert_string_not_equal(f.text, "");
}

static void test_bad_accepts(void **state)
{
	struct message *a = new_accept();

	(void)state;
	change_bad(a, "version", "2");
	change_bad(a, "participant", "3");
	change_bad(a, "participants", "0");
	change_bad(a, "backlog", "0");
	change_bad(a, "data_ports", "[]");
	change_bad(a, "data_ports", "[0]");
	change_bad(a, "data_ports", "[65536]");
	change_bad(a, "data_ports", "[1, \"x\"]");
	change_bad(a, "data_ports", "{\"a\":1}");
	change_bad(a, "cookie", "\"00112233445566778899aabbccddeef\"");
	change_bad(a, "cookie", "\"00112233445566778899aabbccddeeffa\"");
	change_bad(a, "cookie", "\"00112233445566778899aabbccddeefg\"");
	change_bad(a, "cookie", "\"00112233445566778899AABBCCDDEEFF\"");
	change_bad(a, "options", "[7]");
	change_bad(a, "options", "[{\"name\":\"x\"}]");
	change_bad(a, "options", "[{\"value\":\"x\"}]");
	change_bad(a, "options", "{}");
	message_free(a);
}

static void test_bad_hellos(void **state)
{
	struct message *h = new_hello();
	char *many = malloc(16 * 1024);
	size_t n = 0;

	(void)state;
	change_bad(h, "flows", "0");
	change_bad(h, "flows", "10000001");
	change_bad(h, "windows", "[{\"kind\":\"other\",\"ns\":1}]");
	change_bad(h, "windows", "[{\"kind\":\"measured\",\"ns\":-1}]");
	change_bad(h, "windows", "[{\"kind\":\"measured\"}]");
	change_bad(h, "windows",
		   "[{\"kind\":\"measured\",\"ns\":\"9223372036854775807\"}]");
	change_bad(h, "windows", "[1]");
	change_bad(h, "program",
		   "\"a-name-that-is-much-longer-than-any-program\"");
	change_bad(h, "program", "\"a\\u001b[2Jb\"");
	many[n++] = '[';
	for (int i = 0; i < MESSAGE_OPTIONS + 1; i++)
		n += (size_t)sprintf(many + n,
				     "%s{\"name\":\"o\",\"value\":\"v\"}",
				     i ? "," : "");
	strcpy(many + n, "]");
	change_bad(h, "options", many);
	free(many);
	message_free(h);
}

/* All windows together must be a number that can be compared. */
static void test_window_sum(void **state)
{
	struct message *h = new_hello(), *b;
	struct fault f;
	char text[1024] = "[";
	nsec_t sum = 0;

	(void)state;
	for (int i = 0; i < MESSAGE_WINDOWS; i++)
		sprintf(text + strlen(text),
			"%s{\"kind\":\"measured\",\"ns\":\"%lld\"}",
			i ? "," : "", (long long)(INT64_MAX / 4));
	strcat(text, "]");
	b = changed(h, "windows", text, &f);
	for (int i = 0; b && i < b->hello.n_windows; i++)
		if (__builtin_add_overflow(sum, b->hello.windows[i].length,
					   &sum))
			fail_msg("the sum of the windows overflows");
	message_free(b);
	message_free(h);
}

/* Another version's hello says only what is needed to refuse it. */
static void test_other_version(void **state)
{
	struct fault f;
	struct message *m = decode("{\"type\":\"hello\",\"version_min\":2,"
				   "\"version_max\":3,\"program\":\"x\"}",
				   &f);

	(void)state;
	assert_non_null(m);
	assert_true(m->hello.version_min == 2 && m->hello.version_max == 3);
	assert_string_equal(m->hello.program, "x");
	message_free(m);
}

/* What a client demands is never overlooked, and is printable. */
static void test_must(void **state)
{
	static const char *const demands[] = {
		"[\"zstd\"]",
		"[7]",
		"[null,\"x\"]",
		"[{}]",
		"\"zstd\"",
		"{\"a\":1}",
		"[\"a\\u001b[2J\\nb\"]",
		"[\"\"]",
		("[\"a-name-that-is-longer-than-the-room-that-there-is-for-it-"
		 "in-the-struct\"]"),
	};
	struct message *h = new_hello(), *m;
	struct fault f;

	(void)state;
	for (size_t i = 0; i < COUNT(demands); i++) {
		m = changed(h, "must", demands[i], &f);
		if (m && !m->hello.unknown_must[0])
			fail_msg("%s was overlooked", demands[i]);
		for (const char *c = m ? m->hello.unknown_must : ""; *c; c++)
			assert_true(*c >= ' ' && *c < 0x7f);
		if (!i) {
			assert_non_null(m);
			assert_string_equal(m->hello.unknown_must, "zstd");
		}
		message_free(m);
	}
	m = changed(h, "must", "[]", &f);
	assert_non_null(m);
	assert_string_equal(m->hello.unknown_must, "");
	message_free(m);
	message_free(h);
}

/* Encoding says so when a frame cannot hold the message. */
static void test_too_large(void **state)
{
	struct message *m = calloc(1, sizeof(*m));
	size_t len, n = 400000;

	(void)state;
	m->type = MESSAGE_RESULT;
	m->part = m->parts = 1;
	m->result = calloc(1, sizeof(*m->result));
	m->result->workers = calloc(n, sizeof(*m->result->workers));
	m->result->n_workers = (int)n / 100;
	errno = 0;
	assert_null(message_encode(m, &len));
	assert_int_equal(errno, EMSGSIZE);
	message_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_accept),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_refuse),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_far_instants),
		cmocka_unit_test(test_row),
		cmocka_unit_test(test_small_ones),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_not_a_message),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_unknown_members),
		cmocka_unit_test(test_missing_members),
		cmocka_unit_test(test_out_of_bounds),
		cmocka_unit_test(test_bad_accepts),
		cmocka_unit_test(test_bad_hellos),
		cmocka_unit_test(test_window_sum),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_must),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

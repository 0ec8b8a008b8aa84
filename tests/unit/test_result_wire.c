/* SPDX-License-Identifier: Apache-2.0 */
/* Results over the wire in parts: exact, whole, in order, within bounds. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/message.h"
#include "common/control/result_wire.h"

#define PART RESULT_WIRE_PART

/* Figures of a flow; those that do not cross the wire are unknown. */
static struct tcp_figures tcp_of(int64_t v)
{
	struct tcp_figures t;

	memset(&t, 0xff, sizeof(t));
	t.retransmits = v;
	t.bytes_acked = INT64_MAX - v;
	t.rtt_us = -1;
	t.cwnd = v + 2;
	t.delivery_rate = (INT64_C(1) << 53) + 1;
	t.busy_us = v + 4;
	t.rwnd_limited_us = v + 5;
	t.sndbuf_limited_us = 0;
	return t;
}

/* All but the state of a flow crosses the wire as a sum. */
static void fill_network(struct end_result *r)
{
	struct tcp_result *t = &r->tcp;
	struct net_result *n = &r->net;

	for (size_t k = 0; k < sizeof(*t) / 8; k++)
		((int64_t *)t)[k] = (int64_t)k - 1;
	memset(&t->sum, 0xff, offsetof(struct tcp_figures, retransmits));
	strcpy(n->interface, "eth0");
	n->loopback = true;
	n->header = 66;
	n->seconds = 77;
	for (size_t k = 0; k < sizeof(n->counts) / 8; k++)
		((int64_t *)&n->counts)[k] = INT64_MAX - (int64_t)k;
	n->n_cpus = 2;
	n->cpus[1] = (struct softirq_cpu){ 5, -1, 7 };
	n->n_driver = 2;
	n->driver_left_out = 3;
	n->driver[0] = (struct driver_counter){ "rx-0.bytes_a", INT64_MIN };
	memset(n->driver[1].name, 'x', sizeof(n->driver[1].name) - 1);
	n->driver[1].delta = INT64_MAX;
}

/* A result whose every number is another one, some beyond 2^53. */
static struct end_result *new_result(int flows, int workers)
{
	struct end_result *r = calloc(1, sizeof(*r));
	uint64_t v = UINT64_C(0xfffffffffffff000);

	r->complete = true;
	strcpy(r->end_reason, "time");
	strcpy(r->host, "a host");
	strcpy(r->boot_id, "boot");
	strcpy(r->pin_policy, "cores");
	strcpy(r->cpus, "0-3");
	r->window = 1;
	r->wall_start = INT64_MAX;
	r->start = -7;
	r->end = (INT64_C(1) << 53) + 1;
	r->seconds = 10 * NSEC_PER_SEC;
	r->edge_spread = 3;
	for (size_t k = 0; k < sizeof(r->counts) / 8; k++)
		((uint64_t *)&r->counts)[k] = v++;
	for (size_t k = 0; k < sizeof(r->zc) / 8; k++)
		((uint64_t *)&r->zc)[k] = v++;
	r->life.tx_bytes = UINT64_MAX;
	r->life.rx_bytes = (UINT64_C(1) << 63) - 1;
	for (size_t k = 0; k < sizeof(r->usage_end) / 8; k++)
		((int64_t *)&r->usage_end)[k] = (int64_t)(v++ >> 1);
	r->flows_failed = 1;
	r->connect_p50 = 50;
	r->connect_p99 = 99;
	r->connect_max = 100;
	r->connect_phase = 101;
	r->syn_retransmits = 5;
	r->listen_overflows = 6;
	r->clock_after = (struct clock_match){ true, -123456789012, 55 };
	r->n_settings = 2;
	strcpy(r->settings[1].name, "sndbuf");
	strcpy(r->settings[1].requested, "1000");
	strcpy(r->settings[1].effective, "2304");
	strcpy(r->settings[1].set_by, "client");
	r->settings[1].differing = 9;
	r->warnings.n = 1;
	strcpy(r->warnings.text[0], "something \"odd\"");
	fill_network(r);
	r->n_workers = workers;
	r->workers = calloc((size_t)workers + 1, sizeof(*r->workers));
	for (int i = 0; i < workers; i++) {
		r->workers[i].cpu = i - 1;
		r->workers[i].counts.tx_bytes = v++;
		r->workers[i].zc.outstanding = v++;
		r->workers[i].cpu_system = (int64_t)(v++ >> 1);
	}
	r->n_flows = flows;
	r->flows = calloc((size_t)flows + 1, sizeof(*r->flows));
	for (int i = 0; i < flows; i++)
		r->flows[i] = (struct flow_result){
			i,     i % 3, 1000 + i % 9, 2,	v++, v++,
			i * 5, i % 2, tcp_of(i),    "", "",
		};
	return r;
}

static void free_result(struct end_result *r)
{
	end_result_free(r);
	free(r);
}

/* Part @part of @parts of @r, encoded and decoded as a message. */
static struct message *send_part(struct end_result *r, int64_t part,
				 int64_t parts)
{
	struct message m = { .type = MESSAGE_RESULT,
			     .part = part,
			     .parts = parts,
			     .result = r };
	struct fault f = { 0 };
	struct message *back;
	size_t len;
	char *text = message_encode(&m, &len);

	assert_non_null(text);
	back = message_decode(text, len, &f);
	if (!back)
		fail_msg("part %d: %s", (int)part, f.text);
	free(text);
	assert_true(back && back->part == part && back->parts == parts);
	return back;
}

/* Send part @part of @r into @whole; what result_wire_add() says. */
static int add(struct end_result *whole, struct end_result *r, int64_t part,
	       int64_t parts)
{
	struct message *m = send_part(r, part, parts);
	int got = result_wire_add(whole, m->result, part, parts);

	message_free(m);
	return got;
}

static void same(const struct end_result *a, const struct end_result *b)
{
	assert_true(a->complete == b->complete && a->window == b->window);
	assert_string_equal(a->end_reason, b->end_reason);
	assert_string_equal(a->host, b->host);
	assert_string_equal(a->boot_id, b->boot_id);
	assert_string_equal(a->pin_policy, b->pin_policy);
	assert_string_equal(a->cpus, b->cpus);
	assert_true(a->wall_start == b->wall_start && a->start == b->start);
	assert_true(a->end == b->end && a->seconds == b->seconds);
	assert_true(a->edge_spread == b->edge_spread);
	assert_memory_equal(&a->counts, &b->counts, sizeof(a->counts));
	assert_memory_equal(&a->zc, &b->zc, sizeof(a->zc));
	assert_true(a->life.tx_bytes == b->life.tx_bytes);
	assert_true(a->life.rx_bytes == b->life.rx_bytes);
	assert_memory_equal(&a->usage_start, &b->usage_start,
			    2 * sizeof(struct usage));
	assert_memory_equal(&a->flows_failed, &b->flows_failed,
			    offsetof(struct end_result, pin_policy) -
				    offsetof(struct end_result, flows_failed));
	assert_memory_equal(&a->tcp, &b->tcp, sizeof(a->tcp));
	assert_memory_equal(&a->net, &b->net, sizeof(a->net));
	assert_false(b->clock_before.known);
	assert_true(b->clock_after.known);
	assert_true(a->clock_after.offset == b->clock_after.offset);
	assert_true(a->clock_after.bound == b->clock_after.bound);
	assert_true(a->n_settings == b->n_settings);
	assert_memory_equal(a->settings, b->settings, sizeof(a->settings));
	assert_int_equal(a->warnings.n, b->warnings.n);
	assert_string_equal(a->warnings.text[0], b->warnings.text[0]);
	assert_int_equal(a->n_workers, b->n_workers);
	assert_memory_equal(a->workers, b->workers,
			    (size_t)a->n_workers * sizeof(*a->workers));
	assert_int_equal(a->n_flows, b->n_flows);
	assert_memory_equal(a->flows, b->flows,
			    (size_t)a->n_flows * sizeof(*a->flows));
}

static void test_parts(void **state)
{
	static const struct {
		int flows, parts;
	} all[] = {
		{ 0, 1 },	 { 1, 2 },
		{ PART - 1, 2 }, { PART, 2 },
		{ PART + 1, 3 }, { 2 * PART, 3 },
		{ 5 * PART, 6 }, { 5 * PART + 1, 7 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct end_result *r = new_result(all[i].flows, 3);
		struct end_result whole = { 0 };
		int64_t parts = result_wire_parts(r);

		assert_int_equal(parts, all[i].parts);
		for (int64_t k = 1; k <= parts; k++)
			assert_int_equal(add(&whole, r, k, parts), k == parts);
		same(r, &whole);
		end_result_free(&whole);
		assert_null(whole.flows);
		free_result(r);
	}
}

/* The parts of a result come in order and each once. */
static void test_order(void **state)
{
	struct end_result *r = new_result(2 * PART + 1, 1);
	struct end_result whole = { 0 };

	(void)state;
	assert_int_equal(add(&whole, r, 2, 4), -1);
	assert_int_equal(add(&whole, r, 4, 4), -1);
	assert_int_equal(add(&whole, r, 1, 4), 0);
	assert_int_equal(add(&whole, r, 1, 4), -1);
	/* The last one must not end it while others are missing. */
	assert_int_equal(add(&whole, r, 4, 4), -1);
	assert_int_equal(add(&whole, r, 3, 4), -1);
	assert_int_equal(add(&whole, r, 2, 4), 0);
	assert_int_equal(add(&whole, r, 2, 4), -1);
	assert_int_equal(add(&whole, r, 3, 4), 0);
	assert_int_equal(add(&whole, r, 4, 4), 1);
	assert_int_equal(add(&whole, r, 4, 4), -1);
	assert_int_equal(add(&whole, r, 1, 4), -1);
	same(r, &whole);
	end_result_free(&whole);
	free_result(r);
}

/* A number of parts that does not suit the number of flows. */
static void test_wrong_parts(void **state)
{
	struct end_result *r = new_result(PART + 1, 1);
	struct end_result *small = new_result(PART, 1);
	struct end_result whole = { 0 };

	(void)state;
	assert_int_equal(add(&whole, r, 1, 2), -1);
	assert_int_equal(add(&whole, r, 1, 4), -1);
	assert_null(whole.flows);
	assert_int_equal(add(&whole, r, 1, 3), 0);
	assert_int_equal(add(&whole, r, 2, 2), -1);
	assert_int_equal(add(&whole, r, 2, 9), -1);
	assert_int_equal(add(&whole, r, 5, 9), -1);
	/* A part that is not full, or holds more than is left. */
	small->n_flows = PART - 1;
	assert_int_equal(add(&whole, small, 2, 3), -1);
	small->n_flows = PART;
	assert_int_equal(add(&whole, small, 2, 3), 0);
	assert_int_equal(add(&whole, r, 3, 3), 1);
	end_result_free(&whole);
	free_result(small);
	free_result(r);
}

/* JSON of part @part of @r with array or member @name replaced by @value. */
static void expect_refusal(struct end_result *r, int64_t part, const char *name,
			   const char *value)
{
	cJSON *o = cJSON_CreateObject(), *copy;
	struct end_result got = { 0 };
	struct fault f = { 0 };
	char *text;

	result_wire_put(o, r, part, result_wire_parts(r));
	text = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	copy = cJSON_Parse(text);
	free(text);
	/* The whole one is fine. */
	if (result_wire_get(copy, part, &got, &f))
		fail_msg("%s", f.text);
	end_result_free(&got);
	cJSON_DeleteItemFromObject(copy, name);
	if (value)
		cJSON_AddItemToObject(copy, name, cJSON_Parse(value));
	if (!result_wire_get(copy, part, &got, &f))
		fail_msg("\"%s\": %.60s was accepted", name,
			 value ? value : "nothing");
	assert_string_not_equal(f.text, "");
	end_result_free(&got);
	cJSON_Delete(copy);
}

static void test_refusals(void **state)
{
	static const char *const needed[] = {
		"end_reason", "host",	      "boot_id",       "pin_policy",
		"cpus",	      "window",	      "start",	       "seconds",
		"flows_all",  "counts",	      "zerocopy",      "usage_start",
		"usage_end",  "workers",      "settings",      "warnings",
		"end",	      "flows_failed", "connect_phase",
	};
	struct end_result *r = new_result(3, 2);

	(void)state;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		expect_refusal(r, 1, needed[i], NULL);
		expect_refusal(r, 1, needed[i], "true");
		expect_refusal(r, 1, needed[i], "[[]]");
	}
	expect_refusal(r, 1, "flows_all", "-1");
	expect_refusal(r, 1, "flows_all", "10000001");
	expect_refusal(r, 1, "clock_after", "{}");
	expect_refusal(r, 1, "clock_after", "{\"offset\":1}");
	expect_refusal(r, 1, "workers", "[{}]");
	expect_refusal(r, 1, "warnings", "[1]");
	expect_refusal(r, 1, "warnings", "[\"a\\u001b[2J\"]");
	expect_refusal(r, 1, "warnings", "[\"a\\u0007\"]");
	expect_refusal(r, 1, "settings", "[{\"name\":\"x\"}]");
	expect_refusal(r, 2, "flows", NULL);
	expect_refusal(r, 2, "flows", "{}");
	expect_refusal(r, 2, "flows", "[7]");
	expect_refusal(r, 2, "flows", "[[1,2,3,4,5,6,7]]");
	expect_refusal(r, 2, "flows", "[[1,2,3,4,5,6,7,\"x\"]]");
	expect_refusal(r, 2, "flows", "[[1,2,3,4,-5,6,7,8]]");
	expect_refusal(r, 2, "flows", "[[1,2,3,4,5.5,6,7,8]]");
	free_result(r);
}

/* JSON of part 1 of @r in which "tcp" or "net" holds @value as @name. */
static void expect_figure_refusal(struct end_result *r, const char *object,
				  const char *name, const char *value)
{
	cJSON *o = cJSON_CreateObject(), *part;
	char *text;

	result_wire_put(o, r, 1, result_wire_parts(r));
	part = cJSON_DetachItemFromObject(o, object);
	text = cJSON_PrintUnformatted(part);
	cJSON_Delete(part);
	cJSON_Delete(o);
	part = cJSON_Parse(text);
	free(text);
	cJSON_DeleteItemFromObject(part, name);
	cJSON_AddItemToObject(part, name, cJSON_Parse(value));
	text = cJSON_PrintUnformatted(part);
	cJSON_Delete(part);
	expect_refusal(r, 1, object, text);
	free(text);
}

static void test_figure_refusals(void **state)
{
	static const char *const bad[] = { "-2", "1.5", "true", "\"x\"", "[]" };
	struct end_result *r = new_result(1, 1);
	char text[32768];
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		expect_figure_refusal(r, "tcp", "flows", bad[i]);
		expect_figure_refusal(r, "tcp", "sum", bad[i]);
		expect_figure_refusal(r, "tcp", "cwnd", bad[i]);
		expect_figure_refusal(r, "net", "header", bad[i]);
		expect_figure_refusal(r, "net", "counts", bad[i]);
		(void)snprintf(text, sizeof(text), "{\"p50\":%s}", bad[i]);
		expect_figure_refusal(r, "tcp", "rtt_us", text);
		(void)snprintf(text, sizeof(text), "[{\"net_rx\":%s}]", bad[i]);
		expect_figure_refusal(r, "net", "softirqs", text);
		(void)snprintf(text, sizeof(text), "[[1,2,3,4,5,6,7,8,%s]]",
			       bad[i]);
		expect_refusal(r, 2, "flows", text);
	}
	expect_refusal(r, 1, "tcp", "1");
	expect_refusal(r, 1, "net", "[]");
	expect_figure_refusal(r, "net", "softirqs", "{}");
	expect_figure_refusal(r, "net", "driver", "[1]");
	expect_figure_refusal(r, "net", "driver", "{\"\":1}");
	expect_figure_refusal(r, "net", "driver", "{\"a b\":1}");
	expect_figure_refusal(r, "net", "driver", "{\"a=\":1}");
	expect_figure_refusal(r, "net", "driver", "{\"a\":1.5}");
	expect_figure_refusal(r, "net", "driver",
			      "{\"a23456789012345678901234567890123\":1}");
	expect_figure_refusal(r, "net", "interface", "\"a\\nb\"");
	expect_figure_refusal(r, "net", "interface", "\"1234567890123456\"");
	n = (size_t)sprintf(text, "{\"a\":1");
	for (i = 0; i < RESULT_DRIVER_COUNTERS; i++)
		n += (size_t)sprintf(text + n, ",\"b%zu\":1", i);
	strcpy(text + n, "}");
	expect_figure_refusal(r, "net", "driver", text);
	n = (size_t)sprintf(text, "[{}");
	for (i = 0; i < RESULT_SOFTIRQ_CPUS; i++)
		n += (size_t)sprintf(text + n, ",{}");
	strcpy(text + n, "]");
	expect_figure_refusal(r, "net", "softirqs", text);
	free_result(r);
}

/* An end that knows nothing of these figures: they are unknown. */
static void test_no_figures(void **state)
{
	struct end_result *r = new_result(1, 1), got = { 0 };
	cJSON *o = cJSON_CreateObject();
	struct fault f = { 0 };
	struct tcp_result none;
	char *text;

	(void)state;
	memset(&none, 0xff, sizeof(none));
	result_wire_put(o, r, 1, 2);
	cJSON_DeleteItemFromObject(o, "tcp");
	cJSON_DeleteItemFromObject(o, "net");
	/* What was added raw is a number once it was read. */
	text = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	o = cJSON_Parse(text);
	free(text);
	assert_int_equal(result_wire_get(o, 1, &got, &f), 0);
	assert_memory_equal(&got.tcp, &none, sizeof(none));
	assert_string_equal(got.net.interface, "");
	assert_true(got.net.counts.wire_rx_bytes == -1);
	assert_true(got.net.n_cpus == 0 && got.net.n_driver == 0);
	end_result_free(&got);
	cJSON_Delete(o);
	o = cJSON_Parse("{\"flows\":[[1,2,3,4,5,6,7,0]]}");
	assert_int_equal(result_wire_get(o, 2, &got, &f), 0);
	assert_true(got.flows[0].rx_bytes == 6);
	assert_true(got.flows[0].tcp.retransmits == -1);
	assert_true(got.flows[0].tcp.rtt_us == -1);
	end_result_free(&got);
	cJSON_Delete(o);
	free_result(r);
}

/* Longer arrays than there is room for. */
static void test_too_many(void **state)
{
	struct end_result *r = new_result(1, 1);
	size_t room = 200 * 1024, n;
	char *text = malloc(room);

	(void)state;
	n = (size_t)sprintf(text, "[\"w\"");
	for (int i = 0; i < RESULT_WARNINGS; i++)
		n += (size_t)sprintf(text + n, ",\"w\"");
	strcpy(text + n, "]");
	expect_refusal(r, 1, "warnings", text);
	n = (size_t)sprintf(text, "[[1,2,3,4,5,6,7,8]");
	for (int i = 0; i < PART; i++)
		n += (size_t)sprintf(text + n, ",[1,2,3,4,5,6,7,8]");
	strcpy(text + n, "]");
	expect_refusal(r, 2, "flows", text);
	memset(text, 'x', 1000);
	text[0] = '[';
	text[1] = text[400] = '"';
	strcpy(text + 401, "]");
	expect_refusal(r, 1, "warnings", text);
	free(text);
	free_result(r);
}

/* The largest parts fit in a frame: the encoder says so otherwise. */
static void test_largest(void **state)
{
	struct end_result *r = new_result(PART, 1024);
	struct tcp_figures huge;

	(void)state;
	for (size_t k = 0; k < sizeof(huge) / 8; k++)
		((int64_t *)&huge)[k] = INT64_MAX;
	for (int i = 0; i < PART; i++)
		r->flows[i] = (struct flow_result){
			9999999,   65535, 65535, 65535, UINT64_MAX, UINT64_MAX,
			INT64_MAX, 133,	  huge,	 "",	"",
		};
	r->n_settings = RESULT_SETTINGS;
	message_free(send_part(r, 1, 2));
	message_free(send_part(r, 2, 2));
	free_result(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_wrong_parts),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_figure_refusals),
		cmocka_unit_test(test_no_figures),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

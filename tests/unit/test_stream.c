/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_stream: directions, contradictions, transfers, the pattern. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/engine/flow.h"
#include "common/engine/workload.h"
#include "common/report/units.h"
#include "tcp_stream/stream.h"
#include "tcp_stream/workload.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SENDS FLOW_SENDS
#define RECVS FLOW_RECEIVES

/* Options with the direction flags that @flags names: "rwMs". */
static struct stream_options options(const char *flags)
{
	struct stream_options o;

	stream_defaults(&o);
	o.enable_read = strchr(flags, 'r') != NULL;
	o.enable_write = strchr(flags, 'w') != NULL;
	o.enable_tcp_maerts = strchr(flags, 'M') != NULL;
	o.split_bidir = strchr(flags, 's') != NULL;
	return o;
}

static void test_directions(void **state)
{
	static const struct {
		const char *flags;
		enum stream_direction direction;
		unsigned even, odd; /* roles of the client's flows */
	} all[] = {
		{ "", STREAM_FORWARD, SENDS, SENDS },
		{ "w", STREAM_FORWARD, SENDS, SENDS },
		{ "r", STREAM_BOTH, SENDS | RECVS, SENDS | RECVS },
		{ "rw", STREAM_BOTH, SENDS | RECVS, SENDS | RECVS },
		{ "M", STREAM_REVERSE, RECVS, RECVS },
		{ "Mr", STREAM_REVERSE, RECVS, RECVS },
		{ "Mw", STREAM_REVERSE, RECVS, RECVS },
		{ "Mrw", STREAM_REVERSE, RECVS, RECVS },
		{ "s", STREAM_SPLIT, SENDS, RECVS },
	};
	const struct workload *w = stream_workload();

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		struct stream_options o = options(all[i].flags);

		assert_int_equal(stream_direction(&o), all[i].direction);
		for (int id = 0; id < 4; id++) {
			unsigned mine = w->roles(&o, true, id);
			unsigned theirs = w->roles(&o, false, id);

			assert_int_equal(mine,
					 id % 2 ? all[i].odd : all[i].even);
			/* What one end sends the other receives. */
			assert_int_equal(!!(mine & SENDS), !!(theirs & RECVS));
			assert_int_equal(!!(mine & RECVS), !!(theirs & SENDS));
		}
	}
}

static void test_flows(void **state)
{
	const struct workload *w = stream_workload();
	struct stream_options o = options("");

	(void)state;
	o.common.num_flows = 7;
	assert_int_equal(w->flows(&o), 7);
	o.split_bidir = true;
	assert_int_equal(w->flows(&o), 14);
}

/* What a server's own flags allow a client to ask; columns: "" w r M s. */
static void test_reconcile(void **state)
{
	static const char *const clients[] = { "", "w", "r", "rw", "M", "s" };
	static const struct {
		const char *server;
		bool fits[6];
	} all[] = {
		{ "", { 1, 1, 1, 1, 1, 1 } },  { "w", { 0, 0, 1, 1, 0, 0 } },
		{ "r", { 1, 1, 1, 1, 0, 0 } }, { "rw", { 0, 0, 1, 1, 0, 0 } },
		{ "M", { 0, 0, 0, 0, 1, 0 } }, { "s", { 0, 0, 0, 0, 0, 1 } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		struct stream_options s = options(all[i].server);

		for (size_t k = 0; k < COUNT(clients); k++) {
			struct stream_options c = options(clients[k]);
			struct fault f = { 0 };
			int got = stream_reconcile(&c, &s, &f);

			if (got != (all[i].fits[k] ? 0 : -1))
				fail_msg("server \"%s\", client \"%s\": %d",
					 all[i].server, clients[k], got);
			assert_int_equal(!f.text[0], all[i].fits[k]);
		}
	}
}

/* The refusal of a contradiction names both sides. */
static void test_contradiction_text(void **state)
{
	struct stream_options c = options("M"), s = options("rw");
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(stream_reconcile(&c, &s, &f), -1);
	assert_non_null(strstr(f.text, "--enable-tcp-maerts"));
	assert_non_null(strstr(f.text, "--enable-read --enable-write"));
	c = options("");
	s = options("s");
	f.text[0] = 0;
	assert_int_equal(stream_reconcile(&c, &s, &f), -1);
	assert_non_null(strstr(f.text, "client to server"));
	assert_non_null(strstr(f.text, "--split-bidir"));
}

static struct transfer transfer(const struct stream_options *o)
{
	struct transfer t;

	memset(&t, 0xff, sizeof(t));
	stream_workload()->transfer(o, &t);
	return t;
}

static void test_transfer(void **state)
{
	struct stream_options o = options("");
	struct transfer t = transfer(&o);

	(void)state;
	assert_int_equal(t.tx_size, 16384);
	assert_int_equal(t.rx_size, 65536);
	assert_true(t.more && !t.zerocopy && !t.discard && !t.delay);
	assert_true(t.tx_ops > 1 && t.rx_ops > 1);
	o.buffer_size = 1 << 20;
	t = transfer(&o);
	assert_int_equal(t.tx_size, 1 << 20);
	assert_int_equal(t.rx_size, 1 << 20);
	/* A flow alone on its worker may hold it longer than one of many. */
	assert_int_equal(t.tx_ops, 2);
	o.common.num_flows = 64;
	assert_int_equal(transfer(&o).tx_ops, 1);
	o.common.num_threads = 64;
	assert_int_equal(transfer(&o).tx_ops, 2);
	o.buffer_size = 16384;
	o.skip_rx_copy = o.zerocopy = true;
	t = transfer(&o);
	assert_int_equal(t.rx_size, 1 << 20);
	assert_true(t.discard && t.zerocopy);
	o.read_size = 100;
	assert_int_equal(transfer(&o).rx_size, 100);
}

/* What one event may move is bounded, the less so the fewer flows wait. */
static void test_turns(void **state)
{
	static const int64_t flows[] = { 1, 2, 8, 1000 };
	struct stream_options o = options("");

	(void)state;
	for (size_t i = 0; i < COUNT(flows); i++) {
		o.common.num_flows = flows[i];
		for (int64_t size = 1; size <= 1 << 30; size *= 4) {
			struct transfer t;
			int64_t most = flows[i] > 1 ? 128 << 10 : 2 << 20;

			o.buffer_size = size;
			t = transfer(&o);
			assert_true(t.tx_ops >= 1 && t.rx_ops >= 1);
			assert_true(t.tx_ops == 1 || t.tx_ops * size <= most);
			if (flows[i] > 1)
				assert_true(t.tx_ops <= 4);
		}
	}
	o.common.num_threads = 1000;
	o.buffer_size = 16384;
	assert_true(transfer(&o).tx_ops > 4);
}

/* Sends must leave at once where their time matters. */
static void test_more(void **state)
{
	struct stream_options o = options("");

	(void)state;
	o.no_cork = true;
	assert_false(transfer(&o).more);
	o = options("");
	o.common.no_delay = true;
	assert_false(transfer(&o).more);
	o = options("");
	o.common.delay = 1000;
	assert_false(transfer(&o).more);
	assert_int_equal(transfer(&o).tx_ops, 1);
	assert_true(transfer(&o).delay == 1000);
}

/* The pattern repeats with its period, and in it no word comes twice. */
static void test_pattern(void **state)
{
	static uint8_t buffer[3 * TRANSFER_PERIOD + 5];
	struct stream_options o = options("");

	(void)state;
	stream_workload()->fill(&o, buffer, sizeof(buffer));
	for (size_t k = TRANSFER_PERIOD; k < sizeof(buffer); k++)
		assert_int_equal(buffer[k], buffer[k - TRANSFER_PERIOD]);
	for (size_t a = 0; a < TRANSFER_PERIOD; a += 8)
		for (size_t b = 0; b < a; b += 8)
			assert_memory_not_equal(buffer + a, buffer + b, 8);
}

/* Every unit that --throughput-opt offers is one that can be printed. */
static void test_units(void **state)
{
	struct stream_options o = options("");
	size_t n, i, k;
	const struct opt *t = stream_table(&n);
	double v;

	(void)state;
	assert_string_equal(stream_unit(&o), "Mb");
	for (i = 0; i < n && strcmp(t[i].name, "throughput-opt") != 0; i++)
		;
	assert_true(i < n);
	for (k = 0; t[i].choices[k]; k++) {
		o.throughput_opt = (int64_t)k;
		assert_string_equal(stream_unit(&o), t[i].choices[k]);
		assert_non_null(units_convert(t[i].choices[k], 1e6, &v));
		assert_true(v > 0);
	}
	assert_true(k >= 24);
}

static void test_check(void **state)
{
	struct stream_options o = options("");
	struct fault f = { 0 };

	(void)state;
	o.common.test_length = 0;
	assert_int_equal(stream_check(&o, &f), -1);
	assert_non_null(strstr(f.text, "--test-length"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directions),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_reconcile),
		cmocka_unit_test(test_contradiction_text),
		cmocka_unit_test(test_transfer),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_more),
		cmocka_unit_test(test_pattern),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The options of tcp_stream and the core: complete, apart, checked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcp_stream/stream.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct opt_list list;
static struct stream_options defaults;

static int setup(void **state)
{
	const struct opt *t;
	size_t n;

	(void)state;
	t = stream_table(&n);
	opt_list_add(&list, t, n); /* aborts on a name that is there twice */
	t = options_table(&n);
	opt_list_add(&list, t, n);
	stream_defaults(&defaults);
	return 0;
}

/* Options whose letter the command line promises. */
static const struct {
	const char *name;
	char letter;
} letters[] = {
	{ "client", 'c' },	   { "host", 'H' },
	{ "control-port", 'C' },   { "port", 'P' },
	{ "num-flows", 'F' },	   { "num-threads", 'T' },
	{ "test-length", 'l' },	   { "suicide-length", 's' },
	{ "interval", 'I' },	   { "all-samples", 'A' },
	{ "pin-cpu", 'U' },	   { "pin-numa", 'N' },
	{ "buffer-size", 'B' },	   { "zerocopy", 'Z' },
	{ "rx-zerocopy", 'z' },	   { "enable-read", 'r' },
	{ "enable-write", 'w' },   { "enable-tcp-maerts", 'M' },
	{ "edge-trigger", 'E' },   { "reuseaddr", 'R' },
	{ "delay", 'D' },	   { "max-pacing-rate", 'm' },
	{ "local-hosts", 'L' },	   { "tcp-fastopen", 'X' },
	{ "tcp-tx-delay", 't' },   { "ipv4", '4' },
	{ "ipv6", '6' },	   { "debug", 'd' },
	{ "stime-use-proc", 'S' }, { "dry-run", 'n' },
	{ "help", 'h' },	   { "version", 'v' },
};

/* And those without one. */
static const char *const names[] = {
	"skip-rx-copy",
	"split-bidir",
	"no-cork",
	"throughput-opt",
	"source-port",
	"freebind",
	"mark",
	"no-delay",
	"listen-backlog",
	"num-ports",
	"num-clients",
	"maxevents",
	"nonblocking",
	"time-wait",
	"wait-start",
	"iostat-ms",
	"magic",
	"logtostderr",
	"nolog",
	"json",
	"json-stream",
	"persistent",
	"num-tests",
	"max-flows",
	"max-seconds",
	"allow",
	"warmup",
	"runs",
	"keep-flows",
	"until-ci",
	"bytes",
	"read-size",
	"zerocopy-reuse",
	"buffers",
	"deal",
	"sendfile",
	"verify",
	"pin",
	"peer-pin",
	"mem",
	"huge-pages",
	"plan",
	"sndbuf",
	"rcvbuf",
	"mss",
	"tos",
	"bind-dev",
	"notsent-lowat",
	"rcvlowat",
	"busy-poll",
	"mptcp",
	"nagle",
	"rate",
	"burst",
	"wait",
	"cpu-latency",
	"perf-control",
	"trace-marker",
	"control-host",
	"strict",
	"require-valid",
	"connect-timeout",
	"idle-timeout",
	"wait-busy",
	"neper",
	"title",
	"verbose",
	"quiet",
	"congestion-control",
};

static void test_complete(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(letters); i++) {
		int k = opt_find(&list, letters[i].name);

		if (k < 0)
			fail_msg("--%s is missing", letters[i].name);
		assert_int_equal(list.opt[k]->letter, letters[i].letter);
	}
	for (size_t i = 0; i < COUNT(names); i++) {
		int k = opt_find(&list, names[i]);

		if (k < 0)
			fail_msg("--%s is missing", names[i]);
		assert_int_equal(list.opt[k]->letter, 0);
	}
	/* And nothing besides, so that nothing goes untold. */
	assert_int_equal(list.n, COUNT(letters) + COUNT(names));
}

static void scopes(enum opt_scope scope, const char *const *which)
{
	for (; *which; which++)
		if (list.opt[opt_find(&list, *which)]->scope != scope)
			fail_msg("--%s has another scope", *which);
}

static void test_scopes(void **state)
{
	static const char *const test[] = {
		"num-flows",	"test-length", "interval",
		"enable-read",	"warmup",      "num-ports",
		"enable-write", "split-bidir", "enable-tcp-maerts",
		NULL,
	};
	static const char *const peer[] = {
		"num-threads",	"buffer-size",
		"zerocopy",	"skip-rx-copy",
		"delay",	"max-pacing-rate",
		"no-cork",	"read-size",
		"peer-pin",	"congestion-control",
		"sndbuf",	"rcvbuf",
		"mss",		"tos",
		"bind-dev",	"notsent-lowat",
		"rcvlowat",	"busy-poll",
		"nagle",	"no-delay",
		"mark",		"freebind",
		"tcp-tx-delay", NULL,
	};
	static const char *const local[] = {
		"client",
		"host",
		"control-port",
		"port",
		"suicide-length",
		"pin-cpu",
		"pin-numa",
		"reuseaddr",
		"throughput-opt",
		"persistent",
		"num-tests",
		"max-flows",
		"max-seconds",
		"allow",
		"pin",
		"mem",
		"huge-pages",
		"deal",
		"plan",
		"control-host",
		"strict",
		"connect-timeout",
		"idle-timeout",
		"wait-busy",
		"title",
		"quiet",
		"verbose",
		"maxevents",
		"num-clients",
		"listen-backlog",
		NULL,
	};

	(void)state;
	scopes(OPT_TEST, test);
	scopes(OPT_PEER, peer);
	scopes(OPT_LOCAL, local);
}

/* A value of option @o that is neither its default nor near an end. */
static const char *other_value(const struct opt *o, int64_t now)
{
	static char text[32];

	switch (o->type) {
	case OPT_FLAG:
		return "1";
	case OPT_STRING:
	case OPT_FILE:
		return "some";
	case OPT_CHOICE:
		return o->choices[now == 0];
	case OPT_SECONDS:
	case OPT_NSECS:
		return "777ms";
	case OPT_INT:
	case OPT_BITS:
	case OPT_SIZE:
	case OPT_RATE:
	case OPT_FREQUENCY:
	case OPT_PORT:
		break;
	}
	snprintf(text, sizeof(text), "%lld", (long long)o->max / 2 + 1);
	return text;
}

static size_t width(const struct opt *o)
{
	return o->type == OPT_FLAG ? sizeof(bool) : 8;
}

/* Each option changes its own member and not a byte of any other. */
static void test_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < list.n; i++) {
		const struct opt *o = list.opt[i];
		struct stream_options v = defaults;
		struct fault f = { 0 };
		const char *a = (const char *)&v, *b = (const char *)&defaults;
		int64_t now = 0;
		size_t changed = 0;

		if (o->later)
			continue;
		memcpy(&now, b + o->offset, width(o));
		if (opt_set(&list, i, other_value(o, now), &v, &f))
			fail_msg("%s", f.text);
		for (size_t k = 0; k < sizeof(v); k++) {
			if (a[k] == b[k])
				continue;
			changed++;
			if (k < o->offset || k >= o->offset + width(o))
				fail_msg("--%s reaches another", o->name);
		}
		if (!changed)
			fail_msg("--%s changes nothing", o->name);
	}
}

/* No two options that work share a member. */
static void test_own_members(void **state)
{
	(void)state;
	for (size_t i = 0; i < list.n; i++)
		for (size_t k = 0; k < i; k++)
			if (!list.opt[i]->later && !list.opt[k]->later &&
			    list.opt[i]->offset == list.opt[k]->offset)
				fail_msg("--%s and --%s share a member",
					 list.opt[i]->name, list.opt[k]->name);
}

/* The defaults are values that the table itself would take. */
static void test_defaults(void **state)
{
	struct stream_options v = defaults;
	struct fault f = { 0 };
	char text[64];

	(void)state;
	for (size_t i = 0; i < list.n; i++) {
		const struct opt *o = list.opt[i];

		if (o->later)
			continue;
		opt_text(&list, i, &defaults, text, sizeof(text));
		if (o->type != OPT_STRING && o->type != OPT_FILE &&
		    opt_set(&list, i, text, &v, &f))
			fail_msg("%s", f.text);
	}
	assert_memory_equal(&v, &defaults, sizeof(v));
	assert_int_equal(options_check(&defaults.common, &f), 0);
	assert_int_equal(stream_check(&defaults, &f), 0);
	assert_int_equal(defaults.common.control_port, 12866);
	assert_int_equal(defaults.common.port, 12867);
	assert_int_equal(defaults.buffer_size, 16384);
	assert_true(defaults.common.test_length == 10 * NSEC_PER_SEC);
	assert_true(defaults.common.interval == NSEC_PER_SEC);
	assert_int_equal(defaults.common.listen_backlog, 4096);
}

/* Parse @line over the defaults and check it; the first fault is left. */
static int line_check(const char *line, struct fault *f)
{
	struct stream_options v = defaults;
	struct opt_given given = { { 0 } };
	char copy[256], *argv[32], *save = NULL, *word;
	int argc = 0;

	snprintf(copy, sizeof(copy), "p %s", line);
	for (word = strtok_r(copy, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	memset(f, 0, sizeof(*f));
	if (opt_parse(&list, argc, argv, &v, &given, f))
		fail_msg("\"%s\": %s", line, f->text);
	return options_check(&v.common, f) || stream_check(&v, f) ? -1 : 0;
}

static void test_checks(void **state)
{
	/* A line, and what its refusal names. */
	static const char *const bad[][3] = {
		{ "-4 -6", "--ipv4", "--ipv6" },
		{ "-L 127.0.0.1", "--local-hosts", "client" },
		{ "--wait-start 1", "--wait-start", "client" },
		{ "--peer-pin none", "--peer-pin", "client" },
		{ "-c --persistent", "--persistent", "server" },
		{ "-c --allow ::/0", "--allow", "server" },
		{ "-c -P 0", "--port", "1 to 65535" },
		{ "-c -C 0", "--control-port", "1 to 65535" },
		{ "-c --source-port 0", "--source-port", "1 to 65535" },
		{ "-c --source-port 9 -L ::1", "--source-port",
		  "--local-hosts" },
		{ "-c --source-port 65535 -F 2", "--source-port", "65534" },
		{ "-c --source-port 65535 --split-bidir", "--source-port",
		  "--split-bidir" },
		{ "-P 65535 --num-ports 2", "--num-ports", "--port" },
		{ "-U -N", "--pin-cpu", "--pin-numa" },
		{ "-U --pin none", "--pin,", "--pin-cpu" },
		{ "-N --pin none", "--pin,", "--pin-numa" },
		{ "--nagle --no-delay", "--nagle", "--no-delay" },
		{ "--verbose --quiet", "--verbose", "--quiet" },
		{ "--logtostderr --nolog", "--logtostderr", "--nolog" },
		{ "--persistent --num-tests 2", "--persistent", "--num-tests" },
		{ "--split-bidir -r", "--split-bidir", "-r" },
		{ "--split-bidir -w", "--split-bidir", "-w" },
		{ "--split-bidir -M", "--split-bidir", "-M" },
	};
	static const char *const good[] = {
		"",
		"-c -H host -F 64 -T 8 -Z",
		"-4",
		"-6 -c",
		"-P 0 -C 0",
		"-P 65534 --num-ports 2",
		"-c -L 127.0.0.1,127.0.0.2",
		"-c --source-port 65534 -F 2",
		"-c --source-port 1",
		"--persistent --num-tests 1",
		"-r -w -M",
		"-c --wait-start 1 --peer-pin none --wait-busy 5",
		"-c --source-port 65534 --split-bidir",
	};
	struct fault f;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		if (!line_check(bad[i][0], &f))
			fail_msg("\"%s\" was accepted", bad[i][0]);
		if (!strstr(f.text, bad[i][1]) || !strstr(f.text, bad[i][2]))
			fail_msg("\"%s\" gave \"%s\"", bad[i][0], f.text);
	}
	for (size_t i = 0; i < COUNT(good); i++)
		if (line_check(good[i], &f))
			fail_msg("\"%s\": %s", good[i], f.text);
}

static void test_pin(void **state)
{
	struct options o = options_defaults();

	(void)state;
	assert_string_equal(options_pin(&o), "auto");
	/* A client's wish holds where nobody at the server says otherwise. */
	o.peer_pin = "compact";
	assert_string_equal(options_pin(&o), "compact");
	o.client = true;
	assert_string_equal(options_pin(&o), "auto");
	o.client = false;
	o.pin_numa = true;
	assert_string_equal(options_pin(&o), "numa");
	o.pin_numa = false;
	o.pin_cpu = true;
	assert_string_equal(options_pin(&o), "cores");
	o.pin_cpu = false;
	o.pin = "0-3";
	assert_string_equal(options_pin(&o), "0-3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_own_members),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_pin),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}

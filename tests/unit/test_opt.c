/* SPDX-License-Identifier: Apache-2.0 */
/* The option parser on a table of its own: forms, faults, text and back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/cli/opt.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct values {
	bool client, verbose, zero;
	int64_t threads, flows, size, rate, per_second, port, colour, later;
	nsec_t length, delay;
	const char *host, *file, *log;
};

#define AT(m) offsetof(struct values, m)

static const char *const colours[] = { "red", "green", "blue", NULL };

static const struct opt table[] = {
	{ .name = "client",
	  .letter = 'c',
	  .type = OPT_FLAG,
	  .offset = AT(client),
	  .help = "be the client" },
	{ .name = "verbose",
	  .letter = 'v',
	  .type = OPT_FLAG,
	  .offset = AT(verbose),
	  .help = "say more" },
	{ .name = "num-threads",
	  .letter = 'T',
	  .type = OPT_INT,
	  .offset = AT(threads),
	  .min = 1,
	  .max = 64,
	  .unit = "threads",
	  .help = "threads" },
	{ .name = "num-flows",
	  .letter = 'F',
	  .type = OPT_INT,
	  .offset = AT(flows),
	  .min = -5,
	  .max = INT64_MAX,
	  .help = "flows" },
	{ .name = "buffer-size",
	  .letter = 'B',
	  .type = OPT_SIZE,
	  .offset = AT(size),
	  .min = 1,
	  .max = 1 << 30,
	  .help = "bytes" },
	{ .name = "max-rate",
	  .letter = 'm',
	  .type = OPT_RATE,
	  .offset = AT(rate),
	  .min = 0,
	  .max = INT64_MAX,
	  .help = "rate" },
	{ .name = "rate",
	  .type = OPT_FREQUENCY,
	  .offset = AT(per_second),
	  .min = 1,
	  .max = INT64_MAX,
	  .help = "sends a second" },
	{ .name = "test-length",
	  .letter = 'l',
	  .type = OPT_SECONDS,
	  .offset = AT(length),
	  .min = NSEC_PER_MSEC,
	  .max = 1000 * NSEC_PER_SEC,
	  .help = "length" },
	{ .name = "delay",
	  .letter = 'D',
	  .type = OPT_NSECS,
	  .offset = AT(delay),
	  .min = 0,
	  .max = NSEC_PER_SEC,
	  .help = "gap" },
	{ .name = "host",
	  .letter = 'H',
	  .type = OPT_STRING,
	  .offset = AT(host),
	  .help = "name" },
	{ .name = "all-samples",
	  .letter = 'A',
	  .type = OPT_FILE,
	  .offset = AT(file),
	  .fallback = "samples.csv",
	  .help = "file" },
	{ .name = "log", .type = OPT_FILE, .offset = AT(log), .help = "file" },
	{ .name = "colour",
	  .type = OPT_CHOICE,
	  .offset = AT(colour),
	  .choices = colours,
	  .help = "one of" },
	{ .name = "port",
	  .letter = 'P',
	  .type = OPT_PORT,
	  .offset = AT(port),
	  .min = 0,
	  .max = 65535,
	  .key = "data-port",
	  .help = "port" },
	{ .name = "zero-copy",
	  .letter = 'z',
	  .type = OPT_FLAG,
	  .offset = AT(zero),
	  .later = true,
	  .help = "planned" },
};

static const struct opt more[] = {
	{ .name = "magic",
	  .letter = 'M',
	  .type = OPT_INT,
	  .offset = AT(later),
	  .min = INT64_MIN,
	  .max = INT64_MAX,
	  .help = "number" },
};

static struct opt_list list;
static struct values v;
static struct opt_given given;
static struct fault fault;

static int setup(void **state)
{
	(void)state;
	memset(&list, 0, sizeof(list));
	opt_list_add(&list, table, COUNT(table));
	opt_list_add(&list, more, COUNT(more));
	return 0;
}

/*
 * Parse the words of @line. They are copies on the heap, each with its own
 * end, and stay for the values that point to them.
 */
static int parse(const char *line)
{
	static char *argv[40];
	static int argc;
	const char *at = line;

	while (argc)
		free(argv[--argc]);
	argv[argc++] = strdup("prog");
	while (*at) {
		size_t n = strcspn(at, " ");

		argv[argc++] = strndup(at, n);
		at += n;
		at += strspn(at, " ");
	}
	argv[argc] = NULL;
	memset(&v, 0, sizeof(v));
	memset(&given, 0, sizeof(given));
	memset(&fault, 0, sizeof(fault));
	return opt_parse(&list, argc, argv, &v, &given, &fault);
}

static void good(const char *line)
{
	if (parse(line))
		fail_msg("\"%s\": %s", line, fault.text);
	assert_string_equal(fault.text, "");
}

/* @line is refused, with a text that holds each of the NULL-ended parts. */
static void bad(const char *line, ...)
{
	const char *part;
	va_list ap;

	if (!parse(line))
		fail_msg("\"%s\" was accepted", line);
	assert_null(strchr(fault.text, '\n'));
	va_start(ap, line);
	while ((part = va_arg(ap, const char *)) != NULL)
		if (!strstr(fault.text, part))
			fail_msg("\"%s\" gave \"%s\", without \"%s\"", line,
				 fault.text, part);
	va_end(ap);
}

static bool was_given(const char *name)
{
	int i = opt_find(&list, name);

	assert_true(i >= 0);
	return opt_was_given(&given, (size_t)i);
}

static int number_given(void)
{
	int n = 0;

	for (size_t i = 0; i < list.n; i++)
		n += opt_was_given(&given, i);
	return n;
}

static void test_list(void **state)
{
	(void)state;
	assert_int_equal(list.n, COUNT(table) + COUNT(more));
	assert_int_equal(opt_find(&list, "client"), 0);
	assert_int_equal(opt_find(&list, "magic"), COUNT(table));
	assert_int_equal(opt_find(&list, "clien"), -1);
	assert_int_equal(opt_find(&list, "clients"), -1);
	assert_int_equal(opt_find(&list, ""), -1);
}

/* Adding @twice to the list ends a child by SIGABRT. */
static void expect_abort(const struct opt *twice, size_t n)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		close(STDERR_FILENO);
		opt_list_add(&list, twice, n);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void test_list_faults(void **state)
{
	static const struct opt name[] = { { .name = "client" } };
	static const struct opt letter[] = { { .name = "new", .letter = 'c' } };
	static const struct opt own[] = { { .name = "n", .letter = 'n' },
					  { .name = "m", .letter = 'n' } };
	static struct opt many[OPT_MAX + 1];
	static char names[OPT_MAX + 1][8];

	(void)state;
	expect_abort(name, 1);
	expect_abort(letter, 1);
	expect_abort(own, 2);
	for (int i = 0; i <= OPT_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "o%d", i);
		many[i].name = names[i];
	}
	memset(&list, 0, sizeof(list));
	opt_list_add(&list, many, OPT_MAX);
	assert_int_equal(list.n, OPT_MAX);
	expect_abort(many + OPT_MAX, 1);
}

static void test_nothing(void **state)
{
	(void)state;
	good("");
	assert_int_equal(number_given(), 0);
	good("--");
	assert_int_equal(number_given(), 0);
}

/* Every way of writing a value comes to the same. */
static void test_forms(void **state)
{
	static const char *const lines[] = {
		"-T4 -F8 -l30 -c",
		"-T 4 -F 8 -l 30 -c",
		"-c --num-threads=4 --num-flows=8 --test-length=30",
		"--num-threads 4 --client --num-flows 8 --test-length 30",
		"--num-t 4 --cl --num-f=8 --t=30s",
		"-cT4 -F8 --test-l 30000ms",
		"-cT 4 -F 8 -l30s --",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		good(lines[i]);
		assert_int_equal(v.threads, 4);
		assert_int_equal(v.flows, 8);
		assert_true(v.length == 30 * NSEC_PER_SEC);
		assert_true(v.client);
		assert_false(v.verbose);
		assert_int_equal(number_given(), 4);
		assert_true(was_given("num-threads"));
		assert_false(was_given("verbose"));
	}
}

static void test_bundles(void **state)
{
	(void)state;
	good("-cv");
	assert_true(v.client && v.verbose);
	good("-vcT3");
	assert_true(v.client && v.verbose);
	assert_int_equal(v.threads, 3);
	/* A letter behind one that takes a value belongs to that value. */
	bad("-T3c", "-T", "\"3c\"", NULL);
}

/* The last one wins, whichever form. */
static void test_last_wins(void **state)
{
	(void)state;
	good("-T4 --num-threads=5 -T6");
	assert_int_equal(v.threads, 6);
	good("--host a -Hb");
	assert_string_equal(v.host, "b");
	assert_int_equal(number_given(), 1);
}

/* Values that look like options or are empty. */
static void test_odd_values(void **state)
{
	(void)state;
	good("-F -5");
	assert_int_equal(v.flows, -5);
	good("--num-flows=-1");
	assert_int_equal(v.flows, -1);
	good("--host=");
	assert_string_equal(v.host, "");
	good("--host=a=b");
	assert_string_equal(v.host, "a=b");
	good("-H --client");
	assert_string_equal(v.host, "--client");
	assert_false(v.client);
	good("-H -- -c");
	assert_string_equal(v.host, "--");
	assert_true(v.client);
}

static void test_unknown(void **state)
{
	(void)state;
	bad("--cleint", "--cleint", "--client", NULL);
	bad("--num-treads=4", "--num-treads=4", "--num-threads", NULL);
	bad("-c --buffersize 4", "--buffersize", "--buffer-size", NULL);
	bad("--clientx", "--clientx", "--client", NULL);
	bad("--x-a-name-that-goes-on-and-on-until-it-is-longer-than-any-known",
	    "unknown", NULL);
	bad("-x", "unknown option -x", NULL);
	bad("-cx", "unknown option -x", NULL);
	bad("-xc", "unknown option -x", NULL);
	bad("-x5", "unknown option -x", NULL);
	bad("-c a -x5", "unknown option -x", NULL);
	bad("a -x5", "unknown option -x", NULL);
	bad("a --cleint", "--cleint", "--client", NULL);
	bad("-?", "unknown option -?", NULL);
	bad("-:", "unknown option -:", NULL);
}

static void test_ambiguous(void **state)
{
	(void)state;
	bad("--num", "--num", "--num-threads", "--num-flows", NULL);
	bad("--num=4", "--num", "--num-threads", "--num-flows", NULL);
	bad("-c --num- 4", "--num-threads", NULL);
	/* A whole name is no abbreviation, though others begin with it. */
	bad("--c", "--client", "--colour", NULL);
	good("--rate=5");
	assert_int_equal(v.per_second, 5000);
}

static void test_arguments(void **state)
{
	(void)state;
	bad("--client=1", "--client", "takes no value", NULL);
	bad("--cl=1", "--client", "takes no value", NULL);
	bad("--client=", "--client", "takes no value", NULL);
	bad("-T", "-T", "needs a value", NULL);
	bad("-cT", "-T", "needs a value", NULL);
	bad("--num-threads", "--num-threads", "needs a value", NULL);
	bad("--host", "--host", "needs a value", NULL);
}

static void test_positional(void **state)
{
	(void)state;
	bad("file", "\"file\"", "positional", NULL);
	bad("-c file", "\"file\"", NULL);
	bad("file -c", "\"file\"", NULL);
	bad("-- -c", "\"-c\"", NULL);
	bad("-", "\"-\"", NULL);
	/* An optional argument must be glued. */
	bad("-A file", "\"file\"", NULL);
}

/* A refusal names the option as typed, the value and what is accepted. */
static void test_ranges(void **state)
{
	(void)state;
	bad("-T0", "-T: \"0\"", "1 to 64 threads", NULL);
	bad("-T65", "-T: \"65\"", "1 to 64", NULL);
	bad("--num-threads=x", "--num-threads: \"x\"", "1 to 64", NULL);
	bad("--num-th=1.5", "--num-threads: \"1.5\"", "1 to 64", NULL);
	bad("-F-6", "-F: \"-6\"", "-5 to 9223372036854775807", NULL);
	bad("-F 9223372036854775808", "-F", "is out of range", NULL);
	bad("-F -9223372036854775809", "-F", "is out of range", NULL);
	bad("-F=3", "-F: \"=3\" is not an integer", NULL);
	bad("-F ++3", "-F: \"++3\" is not an integer", NULL);
	bad("-B0", "-B: \"0\"", "1 to 1073741824 bytes", "64K", NULL);
	bad("-B1.5", "-B: \"1.5\"", NULL);
	bad("-m 10Mb", "-m: \"10Mb\" is not a rate", "bytes/s", "10Gbit",
	    "1.25GB", NULL);
	bad("-m 10KB", "-m: \"10KB\"", NULL);
	bad("-m 10mfoo", "-m: \"10mfoo\"", NULL);
	bad("-m 5q", "-m: \"5q\"", NULL);
	bad("--rate 0", "--rate: \"0\" is out of range", "0.001 to ",
	    "500 or 10k", NULL);
	bad("-l0", "-l: \"0\" is out of range",
	    "(accepted: 0.001 to 1000, like 0.5 or 100ms)", NULL);
	bad("-l 0.5ms", "-l: \"0.5ms\" is out of range", "0.001 to", NULL);
	bad("--test-l abc",
	    "--test-length: \"abc\" is not a duration in seconds (accepted: "
	    "0.001 to 1000, like 0.5 or 100ms)",
	    NULL);
	bad("-l -5", "-l: \"-5\"", NULL);
	bad("-D 2s", "-D: \"2s\" is out of range", "0 to 1000000000", "10us",
	    NULL);
	bad("-D x", "-D: \"x\" is not a duration in nanoseconds", NULL);
	bad("--colour=pink", "--colour: \"pink\" is not one of the choices",
	    "(accepted: red, green, blue)", NULL);
	bad("--colour=1", "--colour: \"1\" is not one of the choices", NULL);
	bad("--colour=Red", "--colour", NULL);
	bad("--colour=", "--colour: \"\"", NULL);
	bad("-P 65536", "-P: \"65536\" is out of range", "0 to 65535", NULL);
	bad("-P -1", "-P: \"-1\" is out of range", NULL);
	bad("-P 99999999999999999999", "-P", "is out of range", NULL);
	bad("-P nosuchservice", "-P: \"nosuchservice\" is not a port",
	    "service", NULL);
	bad("-P ftp/tcp", "-P: \"ftp/tcp\" is not a port", NULL);
	/* What was wrong is not half done. */
	assert_int_equal(v.port, 0);
}

/* Bits are decimal or hexadecimal, and go over the wire as decimal. */
static void test_bits(void **state)
{
	static const struct opt bits[] = {
		{ .name = "tos",
		  .type = OPT_BITS,
		  .offset = AT(threads),
		  .max = 255,
		  .help = "bits" },
	};
	char text[32];

	(void)state;
	opt_list_add(&list, bits, COUNT(bits));
	good("--tos 0x1f");
	assert_int_equal(v.threads, 31);
	opt_text(&list, list.n - 1, &v, text, sizeof(text));
	assert_string_equal(text, "31");
	good("--tos=255");
	assert_int_equal(v.threads, 255);
	bad("--tos 0x100", "--tos: \"0x100\" is out of range",
	    "(accepted: 0 to 255, like 16 or 0x10)", NULL);
	bad("--tos -1", "--tos: \"-1\" is out of range", NULL);
	bad("--tos 0xfg", "--tos: \"0xfg\" is not a number", NULL);
}

/* Ranges below 0 and below 1 keep their sign and their places. */
static void test_range_text(void **state)
{
	static const struct opt odd[] = {
		{ .name = "offset",
		  .type = OPT_SECONDS,
		  .offset = AT(length),
		  .min = -NSEC_PER_SEC / 2,
		  .max = 1,
		  .help = "offset" },
		{ .name = "any",
		  .type = OPT_SECONDS,
		  .offset = AT(delay),
		  .min = INT64_MIN,
		  .max = -NSEC_PER_SEC - 1,
		  .help = "any" },
	};

	(void)state;
	opt_list_add(&list, odd, COUNT(odd));
	bad("--offset x", "(accepted: -0.5 to 0.000000001, like", NULL);
	bad("--any x", "(accepted: -9223372036.854775808 to -1.000000001, like",
	    NULL);
}

/*
 * What is off by 0 crosses the wire as 0, whatever its type, yet cannot be
 * typed, and the usage names no default that cannot be typed.
 */
static void test_off_is_0(void **state)
{
	static const struct {
		const char *name;
		enum opt_type type;
		size_t offset;
	} kinds[] = {
		{ "int", OPT_INT, AT(threads) },
		{ "size", OPT_SIZE, AT(size) },
		{ "rate", OPT_RATE, AT(rate) },
		{ "frequency", OPT_FREQUENCY, AT(per_second) },
		{ "seconds", OPT_SECONDS, AT(length) },
		{ "nseconds", OPT_NSECS, AT(delay) },
	};
	struct opt off[COUNT(kinds)];
	char text[64], line[64], *all;

	(void)state;
	memset(&list, 0, sizeof(list));
	for (size_t i = 0; i < COUNT(kinds); i++)
		off[i] = (struct opt){ .name = kinds[i].name,
				       .type = kinds[i].type,
				       .offset = kinds[i].offset,
				       .min = 1,
				       .max = INT64_MAX,
				       .off_is_0 = true,
				       .help = "off" };
	opt_list_add(&list, off, COUNT(off));
	for (size_t i = 0; i < list.n; i++) {
		int64_t now;

		(void)snprintf(line, sizeof(line), "--%s=0", kinds[i].name);
		bad(line, kinds[i].name, "is out of range", NULL);
		memset(&v, 0, sizeof(v));
		opt_text(&list, i, &v, text, sizeof(text));
		assert_string_equal(text, "0");
		opt_dump_text(&list, i, &v, text, sizeof(text));
		assert_string_equal(text, "0");
		memset(&v, 0xff, sizeof(v));
		memset(&fault, 0, sizeof(fault));
		assert_int_equal(opt_set(&list, i, "0", &v, &fault), 0);
		memcpy(&now, (const char *)&v + kinds[i].offset, sizeof(now));
		assert_true(now == 0);
	}
	memset(&v, 0, sizeof(v));
	all = opt_usage(&list, "prog", &v);
	assert_non_null(all);
	assert_null(strstr(all, "default"));
	free(all);
}

static void test_values(void **state)
{
	(void)state;
	good("-B64K -m 10Gbit --rate 0.5 -l0.25 -D 10us --colour blue");
	assert_int_equal(v.size, 65536);
	assert_int_equal(v.rate, 1250000000);
	assert_int_equal(v.per_second, 500);
	assert_true(v.length == 250 * NSEC_PER_MSEC);
	assert_true(v.delay == 10 * NSEC_PER_USEC);
	assert_int_equal(v.colour, 2);
	good("-D 1000 -T1 -T64");
	assert_true(v.delay == 1000);
	good("-P http");
	assert_int_equal(v.port, 80);
	good("-P0 --port=65535");
	assert_int_equal(v.port, 65535);
}

static void test_optional_argument(void **state)
{
	(void)state;
	good("-A");
	assert_string_equal(v.file, "samples.csv");
	good("-Afile");
	assert_string_equal(v.file, "file");
	good("-cA");
	assert_string_equal(v.file, "samples.csv");
	good("--all-samples");
	assert_string_equal(v.file, "samples.csv");
	good("--all-samples=x -c");
	assert_string_equal(v.file, "x");
	good("--all-samples -c");
	assert_string_equal(v.file, "samples.csv");
	assert_true(v.client);
	good("--log");
	assert_null(v.log);
	assert_true(was_given("log"));
}

static void test_later(void **state)
{
	(void)state;
	bad("-z", "-z", "not available yet", NULL);
	bad("--zero-copy", "--zero-copy", "not available yet", NULL);
	bad("-cz", "-z", "not available yet", NULL);
	assert_false(v.zero);
	assert_false(was_given("zero-copy"));
}

/* Nothing of one call is left for the next. */
static void test_again(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		bad("-cvx", "-x", NULL);
		good("-T4 -v");
		assert_int_equal(v.threads, 4);
		assert_false(v.client);
		bad("-c a -v", "\"a\"", NULL);
		good("-cv");
		assert_true(v.client && v.verbose);
	}
}

static void test_set(void **state)
{
	int i = opt_find(&list, "client");

	(void)state;
	memset(&v, 0, sizeof(v));
	memset(&fault, 0, sizeof(fault));
	assert_int_equal(opt_set(&list, (size_t)i, "1", &v, &fault), 0);
	assert_true(v.client);
	assert_int_equal(opt_set(&list, (size_t)i, "0", &v, &fault), 0);
	assert_false(v.client);
	assert_int_equal(opt_set(&list, (size_t)i, "2", &v, &fault), -1);
	assert_non_null(strstr(fault.text, "--client: \"2\""));
	assert_non_null(strstr(fault.text, "0 or 1"));
	fault.text[0] = 0;
	assert_int_equal(opt_set(&list, (size_t)i, "", &v, &fault), -1);
	fault.text[0] = 0;
	i = opt_find(&list, "num-threads");
	assert_int_equal(opt_set(&list, (size_t)i, "65", &v, &fault), -1);
	assert_non_null(strstr(fault.text, "--num-threads: \"65\""));
	assert_int_equal(v.threads, 0);
}

/* The text of every value of @from reads back into the same value. */
static void round_trip(const struct values *from)
{
	static char texts[OPT_MAX][64];
	struct values to;

	memset(&to, 0xff, sizeof(to));
	for (size_t i = 0; i < list.n; i++) {
		char again[64];

		memset(&fault, 0, sizeof(fault));
		opt_text(&list, i, from, texts[i], sizeof(texts[i]));
		if (opt_set(&list, i, texts[i], &to, &fault))
			fail_msg("%s: %s", list.opt[i]->name, fault.text);
		opt_text(&list, i, &to, again, sizeof(again));
		assert_string_equal(again, texts[i]);
	}
	assert_int_equal(from->client, to.client);
	assert_int_equal(from->verbose, to.verbose);
	assert_true(from->threads == to.threads && from->flows == to.flows);
	assert_true(from->size == to.size && from->rate == to.rate);
	assert_true(from->per_second == to.per_second);
	assert_true(from->length == to.length && from->delay == to.delay);
	assert_true(from->colour == to.colour && from->port == to.port);
	assert_true(from->later == to.later);
	assert_string_equal(from->host ? from->host : "", to.host);
}

static void test_text_and_back(void **state)
{
	const struct values low = {
		.threads = 1,
		.flows = -5,
		.size = 1,
		.per_second = 1,
		.length = NSEC_PER_MSEC,
		.later = INT64_MIN,
	};
	const struct values high = {
		.client = true,
		.verbose = true,
		.zero = true,
		.threads = 64,
		.flows = INT64_MAX,
		.size = 1 << 30,
		.rate = INT64_MAX,
		.per_second = INT64_MAX,
		.port = 65535,
		.colour = 2,
		.later = INT64_MAX,
		.length = 1000 * NSEC_PER_SEC,
		.delay = NSEC_PER_SEC,
		.host = "a host",
		.file = "f",
	};
	const struct values odd = {
		.threads = 7,
		.flows = 12345,
		.size = 65537,
		.rate = 999999,
		.per_second = 10500,
		.length = 1234567890,
		.delay = 1001,
		.port = 1,
		.colour = 1,
		.host = "",
		.later = -1,
	};

	(void)state;
	round_trip(&low);
	round_trip(&high);
	round_trip(&odd);
}

static void dumps(const char *name, const char *want)
{
	char buf[64];
	int i = opt_find(&list, name);

	opt_dump_text(&list, (size_t)i, &v, buf, sizeof(buf));
	assert_string_equal(buf, want);
}

static void test_dump(void **state)
{
	(void)state;
	memset(&v, 0, sizeof(v));
	v.length = 10 * NSEC_PER_SEC;
	v.delay = 1500000;
	v.size = 65536;
	dumps("test-length", "10");
	dumps("delay", "1500000");
	dumps("buffer-size", "65536");
	dumps("client", "0");
	dumps("host", "");
	dumps("colour", "red");
	v.length = 300 * NSEC_PER_MSEC;
	v.client = true;
	dumps("test-length", "0.300000");
	dumps("client", "1");
	v.length = 12 * NSEC_PER_SEC + 5 * NSEC_PER_USEC;
	dumps("test-length", "12.000005");
}

static void test_key(void **state)
{
	char buf[32], tiny[4];

	(void)state;
	assert_string_equal(opt_key(&table[2], buf, sizeof(buf)),
			    "num_threads");
	assert_string_equal(opt_key(&table[13], buf, sizeof(buf)), "data_port");
	assert_string_equal(opt_key(&table[2], tiny, sizeof(tiny)), "num");
	/* A text is cut to its room. */
	memset(&v, 0, sizeof(v));
	v.host = "longer than that";
	opt_text(&list, (size_t)opt_find(&list, "host"), &v, tiny,
		 sizeof(tiny));
	assert_string_equal(tiny, "lon");
}

static void test_given_bits(void **state)
{
	(void)state;
	memset(&given, 0, sizeof(given));
	for (size_t i = 0; i < OPT_MAX; i++) {
		assert_false(opt_was_given(&given, i));
		opt_mark_given(&given, i);
		for (size_t k = 0; k < OPT_MAX; k++)
			assert_int_equal(opt_was_given(&given, k), k <= i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_list, setup),
		cmocka_unit_test_setup(test_list_faults, setup),
		cmocka_unit_test_setup(test_nothing, setup),
		cmocka_unit_test_setup(test_forms, setup),
		cmocka_unit_test_setup(test_bundles, setup),
		cmocka_unit_test_setup(test_last_wins, setup),
		cmocka_unit_test_setup(test_odd_values, setup),
		cmocka_unit_test_setup(test_unknown, setup),
		cmocka_unit_test_setup(test_ambiguous, setup),
		cmocka_unit_test_setup(test_arguments, setup),
		cmocka_unit_test_setup(test_positional, setup),
		cmocka_unit_test_setup(test_ranges, setup),
		cmocka_unit_test_setup(test_bits, setup),
		cmocka_unit_test_setup(test_range_text, setup),
		cmocka_unit_test_setup(test_off_is_0, setup),
		cmocka_unit_test_setup(test_values, setup),
		cmocka_unit_test_setup(test_optional_argument, setup),
		cmocka_unit_test_setup(test_later, setup),
		cmocka_unit_test_setup(test_again, setup),
		cmocka_unit_test_setup(test_set, setup),
		cmocka_unit_test_setup(test_text_and_back, setup),
		cmocka_unit_test_setup(test_dump, setup),
		cmocka_unit_test_setup(test_key, setup),
		cmocka_unit_test_setup(test_given_bits, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

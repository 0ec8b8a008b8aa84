/* SPDX-License-Identifier: Apache-2.0 */
/* Whose value of an option holds, by its scope, at either end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/agree.h"
#include "tcp_stream/stream.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct opt_list list;

/* One end's command line, parsed. */
struct end {
	struct stream_options values;
	struct opt_given given;
	struct agree_line line;
	char words[256], *argv[32];
};

static int setup(void **state)
{
	const struct opt *t;
	size_t n;

	(void)state;
	t = stream_table(&n);
	opt_list_add(&list, t, n);
	t = options_table(&n);
	opt_list_add(&list, t, n);
	return 0;
}

static void parse(struct end *e, const char *line)
{
	struct fault f = { 0 };
	char *word, *save = NULL;
	int argc = 0;

	memset(e, 0, sizeof(*e));
	stream_defaults(&e->values);
	snprintf(e->words, sizeof(e->words), "p %s", line);
	for (word = strtok_r(e->words, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		e->argv[argc++] = word;
	if (opt_parse(&list, argc, e->argv, &e->values, &e->given, &f))
		fail_msg("\"%s\": %s", line, f.text);
	e->line = (struct agree_line){ &list, &e->values, sizeof(e->values),
				       &e->given };
}

/* Both ends agree; the values at each. */
static struct end client, server;
static struct agreement at_client, at_server;

static void agree(const char *client_line, const char *server_line)
{
	struct message *ask = calloc(1, sizeof(*ask));
	struct message *answer = calloc(1, sizeof(*answer));
	struct fault f = { 0 };

	agree_free(&at_client);
	agree_free(&at_server);
	parse(&client, client_line);
	parse(&server, server_line);
	assert_int_equal(agree_ask(&client.line, &ask->hello), 0);
	if (agree_serve(&at_server, &server.line, &ask->hello, &f))
		fail_msg("server: %s", f.text);
	assert_int_equal(
		agree_answer(&at_server, &server.line, &answer->accept), 0);
	if (agree_join(&at_client, &client.line, &answer->accept, &f))
		fail_msg("client: %s", f.text);
	message_free(ask);
	message_free(answer);
}

static void one_end(struct agreement *a, const char *name, const char *value,
		    const char *by)
{
	char text[64];
	int i = opt_find(&list, name);

	opt_text(&list, (size_t)i, a->values, text, sizeof(text));
	if (strcmp(text, value) != 0)
		fail_msg("--%s is %s, not %s", name, text, value);
	assert_string_equal(agree_by_name(a, name), by);
}

/* Option @name at both ends: values, and who decided them. */
static void expect(const char *name, const char *c, const char *c_by,
		   const char *s, const char *s_by)
{
	one_end(&at_client, name, c, c_by);
	one_end(&at_server, name, s, s_by);
}

static void test_nothing_given(void **state)
{
	(void)state;
	agree("-c", "");
	expect("num-flows", "1", "napier", "1", "napier");
	expect("num-threads", "1", "napier", "1", "napier");
	expect("test-length", "10s", "napier", "10s", "napier");
	expect("zerocopy", "0", "napier", "0", "napier");
	assert_string_equal(agree_by_name(&at_server, "no-such"), "napier");
}

/* The client's value of a test option holds, given or not. */
static void test_test_options(void **state)
{
	(void)state;
	agree("-c -F64 -l 3 -I 0.5 --warmup 1", "");
	expect("num-flows", "64", "client", "64", "client");
	expect("test-length", "3s", "client", "3s", "client");
	expect("interval", "500ms", "client", "500ms", "client");
	expect("warmup", "1s", "client", "1s", "client");
	agree("-c -F64", "-F8 -l 99");
	expect("num-flows", "64", "client", "64", "client");
	expect("test-length", "10s", "napier", "10s", "napier");
	agree("-c", "-F8 --num-ports 3 -r");
	expect("num-flows", "1", "napier", "1", "napier");
	expect("num-ports", "1", "napier", "1", "napier");
	expect("enable-read", "0", "napier", "0", "napier");
}

/* A peer option is a wish to the server, where its own flag wins. */
static void test_peer_options(void **state)
{
	(void)state;
	agree("-c -T4 -B 1M", "");
	expect("num-threads", "4", "client", "4", "client");
	expect("buffer-size", "1048576", "client", "1048576", "client");
	agree("-c -T4 -B 1M", "-T2");
	expect("num-threads", "4", "client", "2", "server");
	expect("buffer-size", "1048576", "client", "1048576", "client");
	/* What only the server was given concerns its own end. */
	agree("-c", "-T2 -B 2M --sndbuf 1M");
	expect("num-threads", "1", "napier", "2", "server");
	expect("buffer-size", "16384", "napier", "2097152", "server");
	expect("sndbuf", "0", "napier", "1048576", "server");
	agree("-c --congestion-control reno", "--congestion-control cubic");
	expect("congestion-control", "reno", "client", "cubic", "server");
	agree("-c --congestion-control reno", "");
	expect("congestion-control", "reno", "client", "reno", "client");
}

/* A switch is on at both ends when either of them has it on. */
static void test_switches(void **state)
{
	static const char *const names[] = { "zerocopy", "skip-rx-copy",
					     "no-cork", "no-delay" };
	char line[64];

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(line, sizeof(line), "-c --%s", names[i]);
		agree(line, "");
		expect(names[i], "1", "client", "1", "client");
		agree("-c", line + 3);
		expect(names[i], "1", "server", "1", "server");
		agree(line, line + 3);
		expect(names[i], "1", "client", "1", "client");
	}
}

/* What is local stays where it was typed. */
static void test_local_options(void **state)
{
	(void)state;
	agree("-c --pin none --title x --strict -P 5", "--pin 0 -P 6");
	expect("pin", "none", "client", "0", "server");
	expect("title", "x", "client", "", "napier");
	expect("strict", "1", "client", "0", "napier");
	expect("port", "5", "client", "6", "server");
	expect("client", "1", "client", "0", "napier");
}

/* Options are asked for by scope; the answer holds the server's own. */
static void test_what_crosses(void **state)
{
	struct message *m = calloc(1, sizeof(*m));
	int tests = 0, peers = 0;

	(void)state;
	parse(&client, "-c -T4 -F2 --pin none");
	assert_int_equal(agree_ask(&client.line, &m->hello), 0);
	for (int k = 0; k < m->hello.n_options; k++) {
		const struct message_option *o = &m->hello.options[k];
		int i = opt_find(&list, o->name);

		assert_true(i >= 0 && !list.opt[i]->later);
		assert_true(list.opt[i]->scope != OPT_LOCAL);
		tests += list.opt[i]->scope == OPT_TEST;
		peers += list.opt[i]->scope == OPT_PEER;
		assert_int_equal(o->given,
				 !strcmp(o->name, "num-threads") ||
					 !strcmp(o->name, "num-flows"));
	}
	assert_int_equal(peers, 1);
	assert_true(tests > 5);
	message_free(m);
}

/* The server's own values are left as they are; texts are kept. */
static void test_ownership(void **state)
{
	(void)state;
	agree("-c -T4 --congestion-control reno", "");
	assert_int_equal(server.values.common.num_threads, 1);
	assert_null(server.values.common.congestion_control);
	/* The client's words may go; the agreement holds its own copy. */
	memset(client.words, 'x', sizeof(client.words) - 1);
	one_end(&at_server, "congestion-control", "reno", "client");
	agree_free(&at_server);
	assert_null(at_server.values);
	agree_free(&at_server);
}

/* @name=@value in a hello is refused, with a text that holds @part. */
static void refused(const char *name, const char *value, const char *part)
{
	struct message *m = calloc(1, sizeof(*m));
	struct message_hello *h = &m->hello;
	struct agreement a;
	struct fault f = { 0 };

	h->options[h->n_options++] =
		(struct message_option){ strdup(name), strdup(value), true };
	parse(&server, "");
	assert_int_equal(agree_serve(&a, &server.line, h, &f), -1);
	if (!strstr(f.text, part) || !strstr(f.text, name))
		fail_msg("--%s=%s gave \"%s\"", name, value, f.text);
	agree_free(&a);
	message_free(m);
}

static void test_refusals(void **state)
{
	(void)state;
	refused("no-such-option", "1", "no option");
	refused("", "1", "no option");
	refused("pin", "none", "no option");
	refused("persistent", "1", "no option");
	refused("host", "elsewhere", "no option");
	refused("verify", "1", "no option");
	refused("num-flows", "0", "1 to 10000000");
	refused("num-flows", "x", "\"x\"");
	refused("num-threads", "65537", "1 to 65536");
	refused("zerocopy", "2", "0 or 1");
	refused("zerocopy", "", "0 or 1");
	refused("test-length", "-1s", "--test-length");
	refused("max-pacing-rate", "10Mb", "10Gbit");
}

/* What a server claims to have decided cannot set a client's values. */
static void test_join_takes_switches_only(void **state)
{
	static const char *const claims[][2] = {
		{ "num-flows", "9" }, { "num-threads", "9" },
		{ "strict", "1" },    { "host", "x" },
		{ "no-such", "1" },   { "enable-read", "1" },
		{ "zerocopy", "0" },  { "skip-rx-copy", "yes" },
	};
	struct message *m = calloc(1, sizeof(*m));
	struct message_accept *a = &m->accept;
	struct fault f = { 0 };

	(void)state;
	agree_free(&at_client);
	parse(&client, "-c -Z");
	for (size_t i = 0; i < COUNT(claims); i++)
		a->options[a->n_options++] =
			(struct message_option){ strdup(claims[i][0]),
						 strdup(claims[i][1]), true };
	assert_int_equal(agree_join(&at_client, &client.line, a, &f), 0);
	assert_memory_equal(at_client.values, &client.values,
			    sizeof(client.values));
	agree_free(&at_client);
	message_free(m);
	assert_int_equal(agree_join(&at_client, &client.line, NULL, &f), 0);
	one_end(&at_client, "zerocopy", "1", "client");
}

static int teardown(void **state)
{
	(void)state;
	agree_free(&at_client);
	agree_free(&at_server);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_given),
		cmocka_unit_test(test_test_options),
		cmocka_unit_test(test_peer_options),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_local_options),
		cmocka_unit_test(test_what_crosses),
		cmocka_unit_test(test_ownership),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_join_takes_switches_only),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

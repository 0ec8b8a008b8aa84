/* SPDX-License-Identifier: Apache-2.0 */
/* Who may start what on a server: networks, program, version, limits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/admit.h"

static struct admit_rules rules;
static struct options options;
static struct message_hello hello;

/* The rules of a server started with @allow, which may be NULL. */
static int rules_of(const char *allow, struct fault *f)
{
	memset(f, 0, sizeof(*f));
	options.allow = allow;
	return admit_rules(&rules, "tcp_stream", &options, f);
}

static int setup(void **state)
{
	(void)state;
	options = options_defaults();
	memset(&hello, 0, sizeof(hello));
	hello.version_min = hello.version_max = MESSAGE_VERSION;
	strcpy(hello.program, "tcp_stream");
	hello.flows = 10;
	hello.n_windows = 2;
	hello.windows[0] = (struct message_window){ true, NSEC_PER_SEC };
	hello.windows[1] = (struct message_window){ false, 9 * NSEC_PER_SEC };
	return 0;
}

/* What the rules say to @hello from @host; @part is in the reason. */
static void expect(const char *host, int code, const char *part)
{
	struct addr from;
	struct fault f = { 0 };
	int got;

	assert_int_equal(addr_resolve(host, 1, AF_UNSPEC, false, &from, 1, &f),
			 1);
	got = admit(&rules, &hello, &from, &f);
	if (got != code || !strstr(f.text, part))
		fail_msg("%s: %d, \"%s\"", host, got, f.text);
	assert_int_equal(!f.text[0], !code);
}

static void test_everybody(void **state)
{
	struct fault f;

	(void)state;
	assert_int_equal(rules_of(NULL, &f), 0);
	expect("127.0.0.1", 0, "");
	expect("::1", 0, "");
	expect("192.0.2.1", 0, "");
}

static void test_networks(void **state)
{
	struct fault f;

	(void)state;
	assert_int_equal(rules_of("10.0.0.0/8,fd00::/8,192.0.2.7", &f), 0);
	assert_int_equal(rules.n_nets, 3);
	expect("10.255.0.1", 0, "");
	expect("11.0.0.1", REFUSAL_ADDRESS, "11.0.0.1");
	expect("fd12::1", 0, "");
	expect("fe00::1", REFUSAL_ADDRESS, "--allow");
	expect("192.0.2.7", 0, "");
	expect("192.0.2.8", REFUSAL_ADDRESS, "192.0.2.8");
	/* An IPv4 client of an IPv6 listener is still an IPv4 client. */
	expect("::ffff:10.1.2.3", 0, "");
	expect("::ffff:11.1.2.3", REFUSAL_ADDRESS, "11.1.2.3");
}

static void test_bad_networks(void **state)
{
	static const char *const bad[] = {
		"", ",", "10.0.0.0/33", "x", "10.0.0.0/8,x", "::/129", "10/8"
	};
	char many[ADMIT_NETS * 8 + 16] = "1.0.0.0";
	size_t n = strlen(many);
	struct fault f;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (!rules_of(bad[i], &f))
			fail_msg("--allow=%s was accepted", bad[i]);
		assert_non_null(strstr(f.text, "--allow"));
	}
	for (int i = 1; i < ADMIT_NETS; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, ",1.0.0.0");
	assert_int_equal(rules_of(many, &f), 0);
	assert_int_equal(rules.n_nets, ADMIT_NETS);
	(void)snprintf(many + n, sizeof(many) - n, ",1.0.0.0");
	assert_int_equal(rules_of(many, &f), -1);
}

static void test_program_and_version(void **state)
{
	struct fault f;

	(void)state;
	assert_int_equal(rules_of(NULL, &f), 0);
	strcpy(hello.program, "tcp_rr");
	expect("::1", REFUSAL_PROGRAM, "tcp_rr");
	strcpy(hello.program, "tcp_stream");
	hello.version_min = MESSAGE_VERSION + 1;
	hello.version_max = MESSAGE_VERSION + 2;
	expect("::1", REFUSAL_VERSION, "version");
	hello.version_min = 0;
	hello.version_max = MESSAGE_VERSION - 1;
	expect("::1", REFUSAL_VERSION, "version");
	hello.version_max = MESSAGE_VERSION + 5;
	expect("::1", 0, "");
	strcpy(hello.unknown_must, "zstd");
	expect("::1", REFUSAL_FEATURE, "zstd");
}

/* A stranger learns nothing but that its address is not served. */
static void test_address_comes_first(void **state)
{
	struct fault f;

	(void)state;
	assert_int_equal(rules_of("10.0.0.0/8", &f), 0);
	strcpy(hello.program, "tcp_rr");
	hello.version_min = hello.version_max = 99;
	expect("192.0.2.1", REFUSAL_ADDRESS, "192.0.2.1");
}

static void test_limits(void **state)
{
	struct fault f;

	(void)state;
	options.max_flows = 10;
	options.max_seconds = 10 * NSEC_PER_SEC;
	assert_int_equal(rules_of(NULL, &f), 0);
	expect("::1", 0, "");
	hello.flows = 11;
	expect("::1", REFUSAL_LIMIT, "--max-flows");
	hello.flows = 10;
	/* The warm-up counts too. */
	hello.windows[0].length++;
	expect("::1", REFUSAL_LIMIT, "--max-seconds");
	options.max_flows = options.max_seconds = 0;
	assert_int_equal(rules_of(NULL, &f), 0);
	hello.flows = 10000000;
	hello.windows[1].length = INT64_MAX / 4;
	expect("::1", 0, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_everybody, setup),
		cmocka_unit_test_setup(test_networks, setup),
		cmocka_unit_test_setup(test_bad_networks, setup),
		cmocka_unit_test_setup(test_program_and_version, setup),
		cmocka_unit_test_setup(test_address_comes_first, setup),
		cmocka_unit_test_setup(test_limits, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

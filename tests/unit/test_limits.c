/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor, port and backlog limits on faked systems and on this one. */
/* wrap: fopen getrlimit setrlimit */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "common/plan/limits.h"

int __real_getrlimit(int resource, struct rlimit *limit);
int __real_setrlimit(int resource, const struct rlimit *limit);
FILE *__real_fopen(const char *path, const char *mode);
int __wrap_getrlimit(int resource, struct rlimit *limit);
int __wrap_setrlimit(int resource, const struct rlimit *limit);
FILE *__wrap_fopen(const char *path, const char *mode);

/* The faked limit, and how often it was set; err: what the calls answer. */
static struct {
	struct rlimit limit;
	int sets, get_err, set_err;
	int real; /* until a test begins: a sanitizer asks too, as it starts */
} fake = { .real = 1 };

/* The faked /proc: the path wanted and its text; NULL: cannot be opened. */
static const char *file_path, *file_text;

int __wrap_getrlimit(int resource, struct rlimit *limit)
{
	if (fake.real)
		return __real_getrlimit(resource, limit);
	assert_int_equal(resource, RLIMIT_NOFILE);
	*limit = fake.limit;
	errno = fake.get_err;
	return fake.get_err ? -1 : 0;
}

int __wrap_setrlimit(int resource, const struct rlimit *limit)
{
	if (fake.real)
		return __real_setrlimit(resource, limit);
	assert_int_equal(resource, RLIMIT_NOFILE);
	fake.sets++;
	errno = fake.set_err;
	if (fake.set_err)
		return -1;
	fake.limit = *limit;
	return 0;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (!file_path)
		return __real_fopen(path, mode);
	assert_string_equal(path, file_path);
	if (!file_text) {
		errno = EACCES;
		return NULL;
	}
	if (!*file_text)
		return __real_fopen("/dev/null", mode);
	return fmemopen((void *)(uintptr_t)file_text, strlen(file_text), "r");
}

static int reset(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	file_path = file_text = NULL;
	return 0;
}

static int descriptors(int flows, int threads, rlim_t soft, rlim_t hard,
		       struct fault *fault)
{
	fake.limit = (struct rlimit){ soft, hard };
	fake.sets = 0;
	memset(fault, 0, sizeof(*fault));
	return limits_descriptors(flows, threads, fault);
}

static void test_descriptors_enough(void **state)
{
	struct fault fault;

	(void)state;
	assert_int_equal(descriptors(100, 4, 172, 4096, &fault), 0);
	assert_int_equal(fake.sets, 0);
	assert_int_equal(descriptors(100, 4, 172, 172, &fault), 0);
	assert_int_equal(descriptors(INT_MAX, INT_MAX, RLIM_INFINITY,
				     RLIM_INFINITY, &fault),
			 0);
	assert_int_equal(fake.sets, 0);
	assert_string_equal(fault.text, "");
}

static void test_descriptors_raised(void **state)
{
	struct fault fault;

	(void)state;
	assert_int_equal(descriptors(100, 4, 171, 4096, &fault), 0);
	assert_int_equal(fake.sets, 1);
	assert_int_equal(fake.limit.rlim_cur, 4096);
	assert_int_equal(fake.limit.rlim_max, 4096);
	assert_int_equal(descriptors(20000, 2, 64, 20068, &fault), 0);
	assert_int_equal(fake.limit.rlim_cur, 20068);
	assert_int_equal(descriptors(100, 4, 64, RLIM_INFINITY, &fault), 0);
	assert_true(fake.limit.rlim_cur >= 172);
	assert_string_equal(fault.text, "");
}

static void test_descriptors_too_few(void **state)
{
	struct fault fault;

	(void)state;
	assert_int_equal(descriptors(20000, 2, 1024, 20000, &fault), -1);
	assert_string_equal(fault.text,
			    "--num-flows: 20000 flows need 20068 descriptors, "
			    "the hard limit of this process is 20000 "
			    "(RLIMIT_NOFILE): at most 19932 fit");
	assert_int_equal(fault.err, 0);
	assert_int_equal(fake.sets, 0);
	assert_int_equal(descriptors(20000, 2, 1024, 20067, &fault), -1);
	assert_non_null(strstr(fault.text, "at most 19999 fit"));
	/* what the message says fits, fits */
	assert_int_equal(descriptors(19999, 2, 1024, 20067, &fault), 0);
}

/* Threads alone need more than there is; sums that leave an int. */
static void test_descriptors_extremes(void **state)
{
	struct fault fault;

	(void)state;
	assert_int_equal(descriptors(200, 2, 64, 64, &fault), -1);
	assert_non_null(strstr(fault.text, "need 268 descriptors"));
	assert_non_null(strstr(fault.text, "at most 0 fit"));
	assert_int_equal(descriptors(INT_MAX, INT_MAX, 64, 4096, &fault), -1);
	assert_non_null(strstr(fault.text, "need 6442451005 descriptors"));
	assert_non_null(strstr(fault.text, "at most 0 fit"));
}

static void test_descriptors_refused(void **state)
{
	struct fault fault;

	(void)state;
	fake.set_err = EPERM;
	assert_int_equal(descriptors(100, 4, 64, 4096, &fault), -1);
	assert_int_equal(fault.err, EPERM);
	assert_non_null(strstr(fault.text, "RLIMIT_NOFILE"));
	assert_non_null(strstr(fault.text, strerror(EPERM)));
	fake.get_err = EFAULT;
	assert_int_equal(descriptors(100, 4, 64, 4096, &fault), -1);
	assert_int_equal(fault.err, EFAULT);
}

static void test_descriptors_here(void **state)
{
	struct fault fault = { 0 };
	struct rlimit old, now;

	(void)state;
	fake.real = 1;
	assert_int_equal(__real_getrlimit(RLIMIT_NOFILE, &old), 0);
	if (old.rlim_max < 256)
		skip();
	now = (struct rlimit){ 64, old.rlim_max };
	assert_int_equal(__real_setrlimit(RLIMIT_NOFILE, &now), 0);
	assert_int_equal(limits_descriptors(100, 1, &fault), 0);
	assert_int_equal(__real_getrlimit(RLIMIT_NOFILE, &now), 0);
	assert_true(now.rlim_cur >= 166);
	assert_int_equal(__real_setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void expect_range(const char *text, int first, int last)
{
	struct port_range r = { -1, -1 };

	assert_int_equal(limits_parse_range(text, &r), 0);
	assert_int_equal(r.first, first);
	assert_int_equal(r.last, last);
}

static void test_range(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"32768",
		"32768\n",
		"a b",
		"5 4",
		"0 100",
		"-1 100",
		"1 -5",
		"1 65536",
		"1 2 3",
		"1 2x",
		"1x 2",
		"1,2",
		"32768-60999",
		"+1 2",
		"1 0x10",
		"99999999999999999999 5",
		"1\n2",
		"1 99999999999999999999",
	};
	struct port_range r = { 7, 8 };

	(void)state;
	expect_range("32768\t60999\n", 32768, 60999);
	expect_range("50000 50099", 50000, 50099);
	expect_range(" 1   65535 \n", 1, 65535);
	expect_range("5 5\n", 5, 5);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (!limits_parse_range(bad[i], &r))
			fail_msg("\"%s\" was taken", bad[i]);
		assert_int_equal(r.first, 7);
		assert_int_equal(r.last, 8);
	}
}

static void expect_ports(int flows, int sources, int ports, const char *text)
{
	const struct port_range range = { 50000, 50099 };
	struct fault fault = { 0 };
	int rc = limits_ports(flows, sources, ports, &range, &fault);

	assert_string_equal(fault.text, text ? text : "");
	assert_int_equal(rc, text ? -1 : 0);
}

static void test_ports(void **state)
{
	(void)state;
	expect_ports(90, 1, 1, NULL);
	expect_ports(100, 1, 1, NULL);
	expect_ports(100, 0, 0, NULL); /* no -L: one address all the same */
	expect_ports(200, 2, 1, NULL);
	expect_ports(200, 1, 2, NULL);
	expect_ports(600, 2, 3, NULL);
	expect_ports(INT_MAX, 65535, 65535, NULL);
	expect_ports(101, 1, 1,
		     "--num-flows: 101 flows need 101 source ports, but "
		     "net.ipv4.ip_local_port_range 50000-50099 gives 100: use "
		     "--num-ports, more addresses with -L, or a wider range");
	expect_ports(200, 0, 1,
		     "--num-flows: 200 flows need 200 source ports, but "
		     "net.ipv4.ip_local_port_range 50000-50099 gives 100: use "
		     "--num-ports, more addresses with -L, or a wider range");
	expect_ports(601, 2, 3,
		     "--num-flows: 601 flows need 601 source ports, but "
		     "net.ipv4.ip_local_port_range 50000-50099 gives 600 with "
		     "2 source addresses and 3 data ports: use --num-ports, "
		     "more addresses with -L, or a wider range");
	expect_ports(201, 1, 2,
		     "--num-flows: 201 flows need 201 source ports, but "
		     "net.ipv4.ip_local_port_range 50000-50099 gives 200 with "
		     "1 source address and 2 data ports: use --num-ports, more "
		     "addresses with -L, or a wider range");
}

static void expect_system_range(const char *text, int first, int last)
{
	struct port_range r;

	file_path = "/proc/sys/net/ipv4/ip_local_port_range";
	file_text = text;
	r = limits_range();
	assert_int_equal(r.first, first);
	assert_int_equal(r.last, last);
}

static void test_system_range(void **state)
{
	struct port_range r;

	(void)state;
	expect_system_range("50000\t50099\n", 50000, 50099);
	expect_system_range("1024\t65535\n", 1024, 65535);
	expect_system_range(NULL, 32768, 60999);
	expect_system_range("", 32768, 60999);
	expect_system_range("what\n", 32768, 60999);
	file_path = NULL; /* and of this machine */
	r = limits_range();
	assert_in_range(r.first, 1, 65535);
	assert_in_range(r.last, r.first, 65535);
}

static int backlog(const char *text, int wanted)
{
	file_path = "/proc/sys/net/core/somaxconn";
	file_text = text;
	return limits_backlog(wanted);
}

static void test_backlog(void **state)
{
	int here;

	(void)state;
	assert_int_equal(backlog("4096\n", 500), 500);
	assert_int_equal(backlog("16\n", 500), 16);
	assert_int_equal(backlog("16", 16), 16);
	assert_int_equal(backlog("0\n", 500), 0);
	assert_int_equal(backlog("2147483647\n", INT_MAX), INT_MAX);
	/* unreadable or strange: counts as the wish */
	assert_int_equal(backlog(NULL, 500), 500);
	assert_int_equal(backlog("", 500), 500);
	assert_int_equal(backlog("\n", 500), 500);
	assert_int_equal(backlog("16x\n", 500), 500);
	assert_int_equal(backlog("-1\n", 500), 500);
	assert_int_equal(backlog("99999999999999999999\n", 500), 500);
	file_path = NULL; /* and of this machine */
	here = limits_backlog(500);
	assert_in_range(here, 0, 500);
}

#define UNIT(test) cmocka_unit_test_setup(test, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_descriptors_enough),
		UNIT(test_descriptors_raised),
		UNIT(test_descriptors_too_few),
		UNIT(test_descriptors_extremes),
		UNIT(test_descriptors_refused),
		UNIT(test_descriptors_here),
		UNIT(test_range),
		UNIT(test_ports),
		UNIT(test_system_range),
		UNIT(test_backlog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

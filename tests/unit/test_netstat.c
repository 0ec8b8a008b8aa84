/* SPDX-License-Identifier: Apache-2.0 */
/* Counters out of the paired lines of /proc/net/netstat and snmp. */
/* wrap: fopen */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/measure/netstat.h"

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

static const char snmp[] =
	"Ip: Forwarding DefaultTTL\n"
	"Ip: 1 64\n"
	"IcmpMsg: InType3\n"
	"IcmpMsg: 7\n"
	"Icmp: InMsgs InErrors\n"
	"Icmp: 5 6\n"
	"Tcp: RtoAlgorithm MaxConn ActiveOpens RetransSegs\n"
	"Tcp: 1 -1 18446744073709551615 18446744073709551616\n"
	"UdpLite: InDatagrams\n"
	"UdpLite: 9\n"
	"Udp: InDatagrams NoPorts\n"
	"Udp: 10 11\n";

/* What the file holds; NULL: it cannot be opened; "real": the real one. */
static const char *contents;

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (!contents) {
		errno = EACCES;
		return NULL;
	}
	if (!strcmp(contents, "real"))
		return __real_fopen(path, mode);
	assert_string_equal(path, "/proc/net/netstat");
	if (*contents)
		return fmemopen((void *)(uintptr_t)contents, strlen(contents),
				"r");
	return __real_fopen("/dev/null", mode);
}

static void expect(const char *text, const char *prefix, const char *name,
		   uint64_t want)
{
	uint64_t got = want + 1;

	assert_int_equal(netstat_value(text, prefix, name, &got), 0);
	assert_true(got == want);
}

static void expect_none(const char *text, const char *prefix, const char *name)
{
	uint64_t got = 4711;

	assert_int_equal(netstat_value(text, prefix, name, &got), -1);
	assert_true(got == 4711);
}

static void test_values(void **state)
{
	(void)state;
	expect(snmp, "Ip", "Forwarding", 1);
	expect(snmp, "Ip", "DefaultTTL", 64);
	expect(snmp, "Tcp", "RtoAlgorithm", 1);
	expect(snmp, "Tcp", "ActiveOpens", UINT64_MAX);
}

/* A group whose name begins like another one's. */
static void test_similar_groups(void **state)
{
	(void)state;
	expect(snmp, "Icmp", "InMsgs", 5);
	expect(snmp, "IcmpMsg", "InType3", 7);
	expect(snmp, "UdpLite", "InDatagrams", 9);
	expect(snmp, "Udp", "InDatagrams", 10);
	expect(snmp, "Udp", "NoPorts", 11);
}

static void test_absent(void **state)
{
	(void)state;
	expect_none(snmp, "Tcp", "Active");
	expect_none(snmp, "Tcp", "ActiveOpensX");
	expect_none(snmp, "Tcp", "Forwarding");
	expect_none(snmp, "Tcp", "");
	expect_none(snmp, "Tc", "MaxConn");
	expect_none(snmp, "cp", "MaxConn");
	expect_none(snmp, "Nothing", "MaxConn");
}

static void test_not_a_count(void **state)
{
	(void)state;
	expect_none(snmp, "Tcp", "MaxConn");
	expect_none(snmp, "Tcp", "RetransSegs");
	expect_none("T: A\nT: 1x\n", "T", "A");
	expect_none("T: A\nT: x\n", "T", "A");
	expect_none("T: A\nT: +1\n", "T", "A");
}

static void test_broken_text(void **state)
{
	(void)state;
	expect_none("", "T", "A");
	expect_none("\n\n", "T", "A");
	expect_none("T", "T", "A");
	expect_none("T:", "T", "A");
	expect_none("T: A", "T", "A");
	expect_none("T: A\n", "T", "A");
	expect_none("T: A\nU: 1\n", "T", "A");
	expect_none("T: A\nT:\n", "T", "A");
	expect_none("T: A B\nT: 1\n", "T", "B");
	expect_none("T:\nT: 1\n", "T", "A");
	expect("T: A\nT: 1", "T", "A", 1);
	expect("T:  A   B\nT: 1  2  \n", "T", "B", 2);
	expect("T: A\nU: B\nT: 3\nU: 4\n", "T", "A", 3);
}

static void test_overflows(void **state)
{
	(void)state;
	contents = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\n"
		   "TcpExt: 1 183 184\n"
		   "IpExt: InNoRoutes\nIpExt: 0\n";
	assert_true(netstat_listen_overflows() == 183);
	contents = "TcpExt: SyncookiesSent\nTcpExt: 1\n";
	assert_true(netstat_listen_overflows() == 0);
	contents = "";
	assert_true(netstat_listen_overflows() == 0);
	contents = NULL;
	assert_true(netstat_listen_overflows() == 0);
}

/* The counter never falls. */
static void test_this_machine(void **state)
{
	uint64_t before;

	(void)state;
	contents = "real";
	before = netstat_listen_overflows();
	assert_true(netstat_listen_overflows() >= before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_similar_groups),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_not_a_count),
		cmocka_unit_test(test_broken_text),
		cmocka_unit_test(test_overflows),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of interface, stack and driver: texts, differences, the wire. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/measure/netdev.h"
#include "common/measure/netstat.h"
#include "common/measure/proc.h"
#include "common/measure/wire.h"

static const char dev[] =
	"Inter-|   Receive                |  Transmit\n"
	" face |bytes packets errs drop fifo frame compressed multicast|bytes "
	"packets errs drop fifo colls carrier compressed\n"
	"    lo: 100 2 3 4 5 6 7 8 100 10 11 12 13 14 15 16\n"
	"eth0:9223372036854775807 1 0 0 0 0 0 0 21 22 23 24 0 0 0 0\n"
	"  eth0.5: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
	"  bad0: 1 2 3\n";

static struct net_counts unknown(void)
{
	struct net_counts c;

	memset(&c, 0xff, sizeof(c));
	return c;
}

static void test_dev(void **state)
{
	struct net_counts c = unknown(), none = unknown();

	(void)state;
	assert_int_equal(netdev_parse(dev, "et", &c), -1);
	assert_int_equal(netdev_parse(dev, "", &c), -1);
	assert_int_equal(netdev_parse(dev, "bad0", &c), -1);
	assert_int_equal(netdev_parse("", "lo", &c), -1);
	assert_int_equal(netdev_parse("lo:", "lo", &c), -1);
	assert_memory_equal(&c, &none, sizeof(c));
	assert_int_equal(netdev_parse(dev, "lo", &c), 0);
	assert_true(c.wire_rx_bytes == 100 && c.wire_rx_packets == 2);
	assert_true(c.wire_rx_errors == 3 && c.wire_rx_dropped == 4);
	assert_true(c.wire_tx_bytes == 100 && c.wire_tx_packets == 10);
	assert_true(c.wire_tx_errors == 11 && c.wire_tx_dropped == 12);
	assert_true(c.stack_in_segs == -1 && c.softnet_processed == -1);
	assert_int_equal(netdev_parse(dev, "eth0", &c), 0);
	assert_true(c.wire_rx_bytes == INT64_MAX && c.wire_tx_bytes == 21);
}

static void test_softnet(void **state)
{
	struct net_counts c = unknown(), none = unknown();

	(void)state;
	assert_int_equal(netdev_parse_softnet("", &c), -1);
	assert_int_equal(netdev_parse_softnet("0000 0000\n", &c), -1);
	assert_int_equal(netdev_parse_softnet("1 2 3\nxyz\n", &c), -1);
	assert_memory_equal(&c, &none, sizeof(c));
	assert_int_equal(
		netdev_parse_softnet("ffffffff 00000001 0000000a 00000000\n"
				     "00000003 00000002 00000001 00000000\n",
				     &c),
		0);
	/* modulo 2^32, as the counters themselves are */
	assert_true(c.softnet_processed == 2 && c.softnet_dropped == 3);
	assert_true(c.softnet_squeezed == 11 && c.wire_rx_bytes == -1);
}

static void test_softirqs(void **state)
{
	static const char text[] =
		"                    CPU0       CPU1       CPU5       \n"
		"          HI:          1          2          3\n"
		"      NET_TX:          4          5          6\n"
		"      NET_RX: 4294967295          8          9\n";
	static const char *const bad[] = {
		"",
		"CPU0\n",
		"CPU0 CPU1\nNET_TX: 1 2\nNET_RX: 1\n",
		"CPU0\nNET_TX: x\nNET_RX: 1\n",
		"NET_TX: 1\nNET_RX: 1\n",
		"CPU0 CPU1\nNET_TX: 1\nNET_RX: 1 2\n",
	};
	struct softirq_cpu *cpus;
	int n = 0;

	(void)state;
	cpus = netdev_parse_softirqs(text, &n);
	assert_non_null(cpus);
	assert_int_equal(n, 3);
	assert_true(cpus[0].cpu == 0 && cpus[2].cpu == 5);
	assert_true(cpus[0].net_rx == UINT32_MAX && cpus[0].net_tx == 4);
	assert_true(cpus[2].net_rx == 9 && cpus[2].net_tx == 6);
	free(cpus);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(netdev_parse_softirqs(bad[i], &n));
}

static void test_stack(void **state)
{
	struct net_counts c = unknown();

	(void)state;
	netstat_counts("Tcp: RetransSegs InSegs MaxConn\nTcp: 5 6 -1\n", &c);
	netstat_counts("TcpExt: TCPRcvQDrop ListenDrops TCPOFOQueue\n"
		       "TcpExt: 1 18446744073709551615 3\n",
		       &c);
	assert_true(c.stack_retrans_segs == 5 && c.stack_in_segs == 6);
	assert_true(c.stack_receive_queue_drops == 1);
	assert_true(c.stack_out_of_order == 3);
	assert_true(c.stack_listen_drops == -1 && c.stack_timeouts == -1);
}

static void test_since(void **state)
{
	struct softirq_cpu before[] = { { 0, UINT32_MAX, 1 }, { 1, 5, 5 } };
	struct softirq_cpu after[] = { { 0, 4, 3 }, { 1, 5, 5 } };
	struct netdev_reading a = { .when = 1000, .n_cpus = 2, .cpus = before };
	struct netdev_reading b = { .when = 3000, .n_cpus = 2, .cpus = after };
	struct net_result r = { .header = 66 };

	(void)state;
	a.counts = b.counts = unknown();
	a.counts.wire_rx_bytes = 10;
	b.counts.wire_rx_bytes = INT64_MAX;
	a.counts.wire_tx_bytes = 10;
	b.counts.wire_tx_bytes = 9; /* reset in between */
	b.counts.stack_in_segs = 9; /* not known before */
	a.counts.softnet_processed = UINT32_MAX;
	b.counts.softnet_processed = 1;
	netdev_since(&a, &b, &r);
	assert_true(r.seconds == 2000 && r.header == 66);
	assert_true(r.counts.wire_rx_bytes == INT64_MAX - 10);
	assert_true(r.counts.wire_tx_bytes == -1);
	assert_true(r.counts.stack_in_segs == -1);
	assert_true(r.counts.softnet_processed == 2);
	assert_true(r.counts.softnet_dropped == -1);
	assert_true(r.counts.softirqs_net_rx == 5);
	assert_true(r.counts.softirqs_net_tx == 2);
	assert_true(r.n_cpus == 1 && r.cpus[0].cpu == 0);
	assert_true(r.cpus[0].net_rx == 5 && r.cpus[0].net_tx == 2);
	b.n_cpus = 1; /* one was taken away */
	netdev_since(&a, &b, &r);
	assert_true(r.n_cpus == 0 && r.counts.softirqs_net_rx == -1);
	b.when = 0;
	netdev_since(&a, &b, &r);
	assert_true(r.seconds == -1 && r.counts.wire_rx_bytes == -1);
	assert_true(r.counts.softnet_processed == -1);
}

static void test_driver(void **state)
{
	static char names[100 * ETHTOOL_NAME], others[100 * ETHTOOL_NAME];
	uint64_t x[100] = { 0 }, y[100] = { 0 };
	struct ethtool_reading a = { 100, names, x }, b = { 100, names, y };
	struct net_result r = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		(void)snprintf(names + i * ETHTOOL_NAME, ETHTOOL_NAME,
			       "rx[%d] bytes=", i);
	memset(names, 'n', ETHTOOL_NAME); /* without an end */
	memcpy(names + 3 * ETHTOOL_NAME, names, ETHTOOL_NAME);
	x[0] = 5;
	y[0] = 7;
	x[1] = 7;
	y[1] = 5; /* not every one of them only grows */
	y[3] = 1; /* the same name again */
	ethtool_since(&a, &b, &r);
	assert_true(r.n_driver == 2 && r.driver_left_out == 1);
	assert_int_equal(strlen(r.driver[0].name), ETHTOOL_NAME);
	assert_true(r.driver[0].delta == 2 && r.driver[1].delta == -2);
	assert_string_equal(r.driver[1].name, "rx_1__bytes_");
	for (int i = 0; i < 100; i++)
		y[i] = x[i] + 1;
	ethtool_since(&a, &b, &r);
	assert_true(r.n_driver == RESULT_DRIVER_COUNTERS);
	assert_true(r.driver_left_out == 100 - RESULT_DRIVER_COUNTERS);
	b.names = others; /* the driver has another set now */
	ethtool_since(&a, &b, &r);
	assert_true(r.n_driver == 0 && r.driver_left_out == 0);
	b.n = 0;
	ethtool_since(&a, &b, &r);
	ethtool_since(&b, &b, &r);
	assert_true(r.n_driver == 0);
}

/* An end that sent 100 MB in 10 s in packets of 1448 bytes. */
static struct end_result sender(void)
{
	struct end_result r = { .seconds = 10 * NSEC_PER_SEC };

	r.counts.tx_bytes = 101000000;
	memset(&r.tcp, 0xff, sizeof(r.tcp));
	memset(&r.net.counts, 0xff, sizeof(r.net.counts));
	r.net.seconds = 10 * NSEC_PER_SEC;
	r.net.header = 66;
	r.tcp.sum.bytes_acked = 100000000;
	r.tcp.sum.bytes_sent = 100200000;
	r.net.counts.wire_tx_packets = 69200;
	r.net.counts.wire_tx_bytes = 100200000 + 69200 * 66;
	return r;
}

static void test_wire(void **state)
{
	struct end_result r = sender();
	struct wire_parts p;

	(void)state;
	assert_true(wire_split(&r, true, &p));
	assert_true(p.payload == 1e8 && p.resent == 2e5 && p.other == 0);
	assert_true(p.headers == 69200 * 66.0);
	assert_int_equal(wire_judge(&r, &p), 0);
	r.net.counts.wire_tx_bytes += 7000000;
	assert_true(wire_split(&r, true, &p) && p.other == 7e6);
	assert_int_equal(wire_judge(&r, &p), 1);
	r.net.loopback = true; /* others' business there is no rival */
	assert_int_equal(wire_judge(&r, &p), 0);
	r.net.loopback = false;
	r.net.seconds = 11 * NSEC_PER_SEC; /* it was read for longer */
	assert_int_equal(wire_judge(&r, &p), 0);
	r.net.seconds = 10 * NSEC_PER_SEC;
	r.net.counts.wire_tx_bytes = 10000000; /* 86 Gbit/s on a 10 G port */
	assert_true(wire_split(&r, true, &p) && p.other < -9e7);
	assert_int_equal(wire_judge(&r, &p), -1);
	r.tcp.sum.bytes_sent = -1; /* a kernel that does not count them */
	assert_true(wire_split(&r, true, &p) && p.payload == 101000000);
}

static void test_wire_unknown(void **state)
{
	struct end_result r = sender();
	struct wire_parts p;

	(void)state;
	assert_false(wire_split(&r, false, &p));
	r.net.counts.wire_tx_packets = -1;
	assert_false(wire_split(&r, true, &p));
	r = sender();
	r.net.header = -1;
	assert_false(wire_split(&r, true, &p));
	r = sender();
	r.tcp.sum.bytes_acked = r.tcp.sum.bytes_sent = WIRE_LITTLE - 1;
	assert_true(wire_split(&r, true, &p));
	assert_int_equal(wire_judge(&r, &p), 0);
	r.seconds = 0;
	assert_int_equal(wire_judge(&r, &p), 0);
	/* Figures of a peer may be anything. */
	memset(&r.tcp, 0x7f, sizeof(r.tcp));
	memset(&r.net.counts, 0x7f, sizeof(r.net.counts));
	r.net.header = r.seconds = INT64_MAX;
	r.net.seconds = -1;
	assert_true(wire_split(&r, true, &p) && wire_split(&r, false, &p));
	(void)wire_judge(&r, &p);
}

static void test_this_machine(void **state)
{
	struct netdev_reading a, b;
	struct net_result r = { 0 };

	(void)state;
	netdev_read("lo", &a);
	netdev_read("lo", &b);
	netdev_since(&a, &b, &r);
	assert_true(r.seconds > 0 && r.counts.wire_rx_bytes >= 0);
	assert_true(r.counts.stack_retrans_segs >= 0);
	assert_true(r.counts.softnet_processed >= 0);
	assert_true(r.counts.softirqs_net_rx >= 0);
	netdev_free(&a);
	netdev_free(&b);
	netdev_read("", &a);
	assert_true(a.counts.wire_rx_bytes == -1 && a.driver.n == 0);
	assert_true(a.counts.stack_in_segs >= 0);
	netdev_free(&a);
	netdev_read("no-such-if0", &a);
	assert_true(a.counts.wire_rx_bytes == -1);
	netdev_free(&a);
	assert_true(netdev_is_loopback("lo"));
	assert_false(netdev_is_loopback(""));
	assert_false(netdev_is_loopback("no-such-if0"));
	assert_null(proc_text("/proc/no-such-file"));
}

static struct addr at(const char *host)
{
	struct addr a;
	struct fault f = { 0 };

	if (addr_resolve(host, 5, AF_UNSPEC, false, &a, 1, &f) < 1)
		fail_msg("%s", f.text);
	return a;
}

static void test_interfaces(void **state)
{
	struct addr here = at("127.0.0.1"), far = at("192.0.2.1");
	struct addr six = at("2001:db8::1"), mapped = at("::ffff:192.0.2.1");
	char name[16];

	(void)state;
	assert_int_equal(netdev_between(&here, &here, name, 16), 0);
	assert_string_equal(name, "lo");
	assert_int_equal(netdev_between(&far, &far, name, 16), -1);
	assert_int_equal(netdev_header(&far, false), 66);
	assert_int_equal(netdev_header(&here, true), 52);
	assert_int_equal(netdev_header(&six, false), 86);
	assert_int_equal(netdev_header(&mapped, false), 66);
}

static void test_names(void **state)
{
	struct net_counts c;
	int64_t value = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(c) / 8; i++)
		((int64_t *)&c)[i] = (int64_t)i;
	assert_int_equal(netdev_counters(), sizeof(c) / 8);
	assert_string_equal(netdev_counter(0, &c, &value), "wire_rx_bytes");
	for (size_t i = 0; i < netdev_counters(); i++) {
		(void)netdev_counter(i, &c, &value);
		assert_true(value == (int64_t)i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dev),
		cmocka_unit_test(test_softnet),
		cmocka_unit_test(test_softirqs),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_since),
		cmocka_unit_test(test_driver),
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_wire_unknown),
		cmocka_unit_test(test_this_machine),
		cmocka_unit_test(test_interfaces),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

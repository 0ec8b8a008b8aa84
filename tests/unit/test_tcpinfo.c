/* SPDX-License-Identifier: Apache-2.0 */
/* TCP_INFO: structs of all lengths, differences, figures over flows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/measure/tcpinfo.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

#define FIGURES (sizeof(struct tcp_figures) / sizeof(int64_t))

static int known(const struct tcp_figures *t)
{
	const int64_t *v = (const int64_t *)t;
	int n = 0;

	for (size_t i = 0; i < FIGURES; i++)
		n += v[i] >= 0;
	return n;
}

static struct tcp_info sample(void)
{
	return (struct tcp_info){
		.tcpi_state = 1,
		.tcpi_ca_state = 3,
		.tcpi_snd_mss = 65483,
		.tcpi_pmtu = 65535,
		.tcpi_rtt = 100,
		.tcpi_rttvar = 50,
		.tcpi_min_rtt = 7,
		.tcpi_snd_cwnd = 1u << 20,
		.tcpi_snd_ssthresh = INT32_MAX,
		.tcpi_total_retrans = UINT32_MAX,
		.tcpi_bytes_acked = UINT64_C(1) << 40,
		.tcpi_segs_out = 9,
		.tcpi_delivery_rate = UINT64_C(1) << 62,
		.tcpi_busy_time = 1000,
		.tcpi_rwnd_limited = 300,
		.tcpi_sndbuf_limited = 200,
		.tcpi_delivered_ce = 4,
		.tcpi_reord_seen = 5,
		.tcpi_snd_wnd = 6,
	};
}

static void test_whole(void **state)
{
	struct tcp_info info = sample();
	struct tcp_figures t;

	(void)state;
	tcpinfo_parse(&info, sizeof(info), &t);
	assert_int_equal(known(&t), FIGURES);
	assert_true(t.state == 1 && t.ca_state == 3 && t.mss == 65483);
	assert_true(t.pmtu == 65535 && t.rtt_us == 100 && t.rttvar_us == 50);
	assert_true(t.min_rtt_us == 7 && t.ssthresh == INT32_MAX);
	assert_true(t.retransmits == UINT32_MAX && t.segs_out == 9);
	assert_true(t.bytes_acked == INT64_C(1) << 40);
	assert_true(t.delivery_rate == INT64_C(1) << 62);
	assert_true(t.busy_us == 1000 && t.rwnd_limited_us == 300);
	assert_true(t.delivered_ce == 4 && t.reorderings == 5);
	assert_true(t.snd_wnd == 6 && t.bytes_retrans == 0);
}

/* 2^20 segments of 65483 bytes: neither negative nor cut to 32 bits. */
static void test_product(void **state)
{
	struct tcp_info info = sample();
	struct tcp_figures t;

	(void)state;
	tcpinfo_parse(&info, sizeof(info), &t);
	assert_true(tcpinfo_cwnd_bytes(&t) == INT64_C(68663902208));
	info.tcpi_snd_cwnd = info.tcpi_snd_mss = UINT32_MAX;
	tcpinfo_parse(&info, sizeof(info), &t);
	assert_true(tcpinfo_cwnd_bytes(&t) == -1); /* above 2^63 */
	t.mss = -1;
	assert_true(tcpinfo_cwnd_bytes(&t) == -1);
}

/* Every length a kernel might have: a figure is whole or unknown. */
static void test_shorter(void **state)
{
	struct tcp_info info;
	struct tcp_figures t;
	int last = 0;

	(void)state;
	memset(&info, 1, sizeof(info));
	for (size_t len = 0; len <= sizeof(info); len++) {
		/* exactly as long as it says: a sanitizer sees the rest */
		char *exact = malloc(len ? len : 1);
		int n;

		memcpy(exact, &info, len);
		tcpinfo_parse(exact, len, &t);
		free(exact);
		n = known(&t);
		assert_true(n >= last);
		last = n;
		assert_true((t.rtt_us == 0x01010101) ==
			    (len >= offsetof(struct tcp_info, tcpi_rttvar)));
		assert_true(t.rtt_us == 0x01010101 || t.rtt_us == -1);
		assert_true((t.bytes_acked == INT64_C(0x0101010101010101)) ==
			    (len >=
			     offsetof(struct tcp_info, tcpi_bytes_received)));
		assert_true((t.snd_wnd == -1) == (len < sizeof(info)));
	}
	assert_int_equal(last, FIGURES);
}

/* A kernel that is ahead of the header. */
static void test_longer(void **state)
{
	char buf[512];
	struct tcp_figures t;

	(void)state;
	memset(buf, 2, sizeof(buf));
	tcpinfo_parse(buf, sizeof(buf), &t);
	assert_int_equal(known(&t), FIGURES);
	tcpinfo_parse(buf + 1, sizeof(buf) - 1, &t); /* not aligned */
	assert_int_equal(known(&t), FIGURES);
}

static void test_no_values(void **state)
{
	struct tcp_info info = sample();
	struct tcp_figures t;

	(void)state;
	info.tcpi_min_rtt = UINT32_MAX;
	info.tcpi_delivery_rate = UINT64_MAX;
	tcpinfo_parse(&info, sizeof(info), &t);
	assert_true(t.min_rtt_us == -1 && t.delivery_rate == -1);
}

static void test_since(void **state)
{
	struct tcp_info info = sample();
	struct tcp_figures a, b, d;

	(void)state;
	tcpinfo_parse(&info, sizeof(info), &a);
	info.tcpi_total_retrans = 4; /* wrapped */
	info.tcpi_bytes_acked += UINT64_C(1) << 33;
	info.tcpi_rtt = 3;
	info.tcpi_delivery_rate = 8;
	info.tcpi_busy_time = 999; /* backwards: nobody knows */
	tcpinfo_parse(&info, sizeof(info), &b);
	tcpinfo_since(&a, &b, &d);
	assert_true(d.retransmits == 5);
	assert_true(d.bytes_acked == INT64_C(1) << 33);
	assert_true(d.segs_out == 0 && d.rtt_us == 3 && d.delivery_rate == 8);
	assert_true(d.busy_us == -1 && d.rwnd_limited_us == 0);
	a.bytes_acked = -1;
	a.rtt_us = -1;
	b.segs_out = -1;
	b.cwnd = -1;
	tcpinfo_since(&a, &b, &d);
	assert_true(d.bytes_acked == -1 && d.segs_out == -1 && d.cwnd == -1);
	assert_true(d.rtt_us == 3); /* how it stood before does not matter */
	tcpinfo_unknown(&a);
	tcpinfo_unknown(&b);
	tcpinfo_since(&a, &b, &d);
	assert_int_equal(known(&d), 0);
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Numbers without an order, below 2^31, the same in every run. */
static int64_t number(void)
{
	static uint32_t seed = 1;

	seed = seed * 1103515245u + 12345u;
	return seed >> 1;
}

/* Against sorting all values by hand. */
static void check_spread(const struct spread *s, int64_t *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	assert_true(s->p50 == v[n / 2]);
	assert_true(s->p90 == v[n * 9 / 10]);
	assert_true(s->max == v[n - 1]);
}

static void test_sum(void **state)
{
	static const int sizes[] = { 1, 2, 3, 9, 10, 11, 100, 1000 };
	struct flow_result *f = calloc(1000, sizeof(*f));
	int64_t *rtt = calloc(1000, sizeof(*rtt));
	int64_t *bytes = calloc(1000, sizeof(*bytes));
	struct tcp_result r;

	(void)state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		int64_t acked = 0, least = INT64_MAX;
		int n = sizes[k];

		for (int i = 0; i < n; i++) {
			struct tcp_figures *t = &f[i].tcp;

			tcpinfo_unknown(t);
			t->retransmits = 1;
			t->rtt_us = rtt[i] = number() % 5000;
			t->min_rtt_us = number() % 100;
			t->cwnd = number() % 1000000;
			t->mss = 65483;
			bytes[i] = t->cwnd * 65483;
			t->bytes_acked = number() << 20;
			acked += t->bytes_acked;
			least = t->min_rtt_us < least ? t->min_rtt_us : least;
		}
		tcpinfo_sum(f, n, &r);
		assert_true(r.flows == n && r.sum.retransmits == n);
		assert_true(r.sum.bytes_acked == acked);
		assert_true(r.min_rtt_us == least && r.sum.rtt_us == -1);
		assert_true(r.sum.segs_out == -1 && r.other_busy_us == -1);
		assert_true(r.delivery_rate.p50 == -1);
		check_spread(&r.rtt_us, rtt, n);
		check_spread(&r.cwnd_bytes, bytes, n);
	}
	free(f);
	free(rtt);
	free(bytes);
}

/* Flows that died, sent nothing, or are unknown. */
static void test_sum_some(void **state)
{
	struct flow_result f[4] = { 0 };
	struct tcp_result r;

	(void)state;
	tcpinfo_unknown(&f[0].tcp);
	f[1].tcp.rtt_us = 5;
	f[1].tcp.cwnd = 10;
	f[2].tcp = f[1].tcp;
	f[2].tcp.data_segs_out = 1;
	f[2].tcp.rtt_us = 7;
	f[2].tcp.cwnd = 20;
	f[2].tcp.busy_us = 100;
	f[2].tcp.rwnd_limited_us = 30;
	f[2].tcp.sndbuf_limited_us = 20;
	f[3].tcp = f[2].tcp;
	f[3].tcp.rtt_us = f[3].tcp.cwnd = 1000;
	f[3].err = 104;
	tcpinfo_sum(f, 4, &r);
	assert_true(r.flows == 3 && r.sum.data_segs_out == 2);
	assert_true(r.rtt_us.max == 7 && r.rtt_us.p50 == 7);
	assert_true(r.cwnd.p50 == 20 && r.cwnd.max == 20);
	assert_true(r.sum.busy_us == 200 && r.other_busy_us == 100);
	tcpinfo_sum(f, 1, &r);
	assert_true(r.flows == 0 && r.sum.retransmits == -1);
	assert_true(r.rtt_us.p50 == -1 && r.min_rtt_us == -1);
	tcpinfo_sum(f, 0, &r);
	assert_true(r.flows == 0 && r.sum.busy_us == -1);
}

/* A pair of connected sockets over loopback. */
static void make_pair(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(l, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&a, &len), 0);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd[0], (struct sockaddr *)&a, len), 0);
	fd[1] = accept(l, NULL, NULL);
	assert_true(fd[1] >= 0);
	close(l);
}

static void test_this_kernel(void **state)
{
	struct tcp_figures a, b, d;
	char buf[1000] = { 0 };
	int fd[2];

	(void)state;
	make_pair(fd);
	assert_true(tcpinfo_plain(fd[0]) && tcpinfo_plain(fd[1]));
	tcpinfo_read(fd[0], &a);
	assert_true(a.state == 1 && a.mss > 0 && a.rtt_us > 0);
	assert_int_equal(send(fd[0], buf, sizeof(buf), 0), sizeof(buf));
	assert_int_equal(recv(fd[1], buf, sizeof(buf), MSG_WAITALL),
			 sizeof(buf));
	tcpinfo_read(fd[0], &b);
	tcpinfo_since(&a, &b, &d);
	assert_true(d.bytes_sent == sizeof(buf) && d.data_segs_out == 1);
	assert_true(d.bytes_retrans == 0 && d.bytes_received == 0);
	tcpinfo_read(fd[1], &b);
	assert_true(b.bytes_received == sizeof(buf));
	close(fd[0]);
	close(fd[1]);
}

static void test_no_socket(void **state)
{
	struct tcp_figures t;
	int udp = socket(AF_INET, SOCK_DGRAM, 0), mptcp;

	(void)state;
	tcpinfo_read(-1, &t);
	assert_int_equal(known(&t), 0);
	tcpinfo_read(udp, &t);
	assert_int_equal(known(&t), 0);
	assert_false(tcpinfo_plain(udp));
	assert_false(tcpinfo_plain(-1));
	close(udp);
	mptcp = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	if (mptcp < 0)
		return; /* this kernel has none */
	assert_false(tcpinfo_plain(mptcp));
	close(mptcp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_product),
		cmocka_unit_test(test_shorter),
		cmocka_unit_test(test_longer),
		cmocka_unit_test(test_no_values),
		cmocka_unit_test(test_since),
		cmocka_unit_test(test_sum),
		cmocka_unit_test(test_sum_some),
		cmocka_unit_test(test_this_kernel),
		cmocka_unit_test(test_no_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

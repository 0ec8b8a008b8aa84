/* SPDX-License-Identifier: Apache-2.0 */
/* Reaching a server and opening flows on loopback: windows, refusals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/control/reach.h"
#include "common/engine/connector.h"
#include "common/engine/sock.h"

#define FLOWS 40

/* A loopback address with a port that is bound but not listened on. */
struct spot {
	int fd;
	struct addr at;
};

static struct spot bind_spot(const char *host)
{
	struct spot s;
	struct fault f = { 0 };

	assert_int_equal(addr_resolve(host, 0, AF_UNSPEC, false, &s.at, 1, &f),
			 1);
	s.fd = socket(s.at.sa.sa_family, SOCK_STREAM, 0);
	assert_int_equal(bind(s.fd, &s.at.sa, s.at.len), 0);
	assert_int_equal(getsockname(s.fd, &s.at.sa, &s.at.len), 0);
	return s;
}

/* ---- reach ---- */

/* Step @r until it has an answer: a descriptor, or -2. */
static int step(struct reach *r, struct fault *f, int *waits)
{
	for (;;) {
		struct pollfd p = { .fd = r->epoll_fd, .events = POLLIN };
		nsec_t again = 0, now = clock_now();
		int fd = reach_step(r, &again, f);

		if (fd != -1)
			return fd;
		/* It never asks for a busy loop, nor to sleep past its end. */
		assert_true(again > now && again <= r->limit);
		if (waits)
			++*waits;
		poll(&p, 1, (int)((again - now) / NSEC_PER_MSEC) + 1);
	}
}

/* Ports of the connected socket @fd. */
static void ports_of(int fd, int *local, int *peer)
{
	struct addr a, b;

	assert_int_equal(sock_path(fd, &a, &b), 0);
	*local = addr_port(&a);
	*peer = addr_port(&b);
}

static void test_reach_at_once(void **state)
{
	struct spot s = bind_spot("127.0.0.1");
	struct fault f = { 0 };
	struct reach r;
	struct addr peer = { .len = sizeof(peer.ss) };
	int fd;

	(void)state;
	listen(s.fd, 5);
	assert_int_equal(reach_open(&r, &s.at, 1, NULL,
				    clock_now() + NSEC_PER_SEC, &f),
			 0);
	fd = step(&r, &f, NULL);
	assert_true(fd >= 0);
	assert_int_equal(getpeername(fd, &peer.sa, &peer.len), 0);
	assert_int_equal(addr_port(&peer), addr_port(&s.at));
	close(fd);
	reach_close(&r);
	close(s.fd);
}

/* Refused at first; the server comes up between two rounds. */
static void test_reach_later(void **state)
{
	struct spot s = bind_spot("127.0.0.1");
	nsec_t again, began = clock_now();
	struct fault f = { 0 };
	struct reach r;
	int fd, waits = 0;

	(void)state;
	assert_int_equal(reach_open(&r, &s.at, 1, NULL,
				    began + 5 * NSEC_PER_SEC, &f),
			 0);
	do {
		fd = reach_step(&r, &again, &f);
		assert_int_equal(fd, -1);
	} while (!r.pausing);
	assert_true(again <= clock_now() + 200 * NSEC_PER_MSEC);
	assert_string_equal(f.text, "");
	listen(s.fd, 5);
	fd = step(&r, &f, &waits);
	assert_true(fd >= 0 && waits >= 1);
	assert_true(clock_now() - began < 2 * NSEC_PER_SEC);
	close(fd);
	reach_close(&r);
	close(s.fd);
}

static void test_reach_all_refused(void **state)
{
	struct spot a = bind_spot("127.0.0.1"), b = bind_spot("127.0.0.2");
	struct addr addrs[2];
	nsec_t began = clock_now();
	char text[ADDR_TEXT];
	struct fault f = { 0 };
	struct reach r;
	int waits = 0;

	(void)state;
	addrs[0] = a.at;
	addrs[1] = b.at;
	assert_int_equal(reach_open(&r, addrs, 2, NULL,
				    began + 500 * NSEC_PER_MSEC, &f),
			 0);
	assert_int_equal(step(&r, &f, &waits), -2);
	assert_int_equal(f.err, ECONNREFUSED);
	assert_non_null(
		strstr(f.text, addr_text(&b.at, true, text, sizeof(text))));
	assert_true(clock_now() - began >= 500 * NSEC_PER_MSEC);
	assert_true(waits >= 2);
	reach_close(&r);
	close(a.fd);
	close(b.fd);
}

/* One address refuses, the next one answers. */
static void test_reach_second_address(void **state)
{
	struct spot a = bind_spot("127.0.0.1"), b = bind_spot("127.0.0.2");
	struct addr addrs[2], source, mine = { .len = sizeof(mine.ss) };
	struct fault f = { 0 };
	struct reach r;
	int fd;

	(void)state;
	addrs[0] = a.at;
	addrs[1] = b.at;
	listen(b.fd, 5);
	addr_resolve("127.0.0.9", 0, AF_INET, false, &source, 1, &f);
	assert_int_equal(reach_open(&r, addrs, 2, &source,
				    clock_now() + NSEC_PER_SEC, &f),
			 0);
	fd = step(&r, &f, NULL);
	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, &mine.sa, &mine.len), 0);
	assert_true(addr_same_host(&mine, &source));
	close(fd);
	reach_close(&r);
	close(a.fd);
	close(b.fd);
}

/* What is no refusal is not tried again: it would not help. */
static void test_reach_no_retry(void **state)
{
	struct spot s = bind_spot("127.0.0.1");
	struct addr source;
	nsec_t began = clock_now();
	struct fault f = { 0 };
	struct reach r;

	(void)state;
	addr_resolve("192.0.2.1", 0, AF_INET, false, &source, 1, &f);
	assert_int_equal(reach_open(&r, &s.at, 1, &source,
				    began + 20 * NSEC_PER_SEC, &f),
			 0);
	assert_int_equal(step(&r, &f, NULL), -2);
	assert_int_equal(f.err, EADDRNOTAVAIL);
	assert_true(clock_now() - began < NSEC_PER_SEC);
	reach_close(&r);
	close(s.fd);
}

/* ---- connector ---- */

static const char *nobody(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return "client";
}

static struct {
	struct options options;
	struct sock_plan plan;
	struct spot spots[2];
	struct connector_request rq;
	struct fault fault;
	int fds[FLOWS], taken;
} c;

static void take(void *arg, int flow, int fd, nsec_t connect_time)
{
	assert_ptr_equal(arg, &c);
	assert_in_range(flow, 0, FLOWS - 1);
	assert_int_equal(c.fds[flow], -1);
	assert_true(connect_time > 0 && connect_time < 5 * NSEC_PER_SEC);
	c.fds[flow] = fd;
	c.taken++;
}

static int setup(void **state)
{
	static struct addr peers[2];
	struct warnings w = { 0 };

	(void)state;
	memset(&c, 0, sizeof(c));
	c.options = options_defaults();
	if (sock_plan(&c.plan, &c.options, AF_INET, FLOWS, nobody, NULL, &w,
		      &c.fault))
		return -1;
	for (int i = 0; i < 2; i++) {
		c.spots[i] = bind_spot("127.0.0.1");
		listen(c.spots[i].fd, 100);
		peers[i] = c.spots[i].at;
	}
	memset(c.fds, 0xff, sizeof(c.fds));
	c.rq = (struct connector_request){
		.plan = &c.plan,
		.peers = peers,
		.n_peers = 2,
		.family = AF_INET,
		.flows = FLOWS,
		.window = 8,
		.source_port = -1,
		.participant = 3,
		.cookie = "fifteen letters",
		.take = take,
		.arg = &c,
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < FLOWS; i++)
		if (c.fds[i] >= 0)
			close(c.fds[i]);
	close(c.spots[0].fd);
	close(c.spots[1].fd);
	return 0;
}

/* Run @k until @n flows are there, or it stands still. */
static void run(struct connector *k, int n)
{
	for (int i = 0; i < 50 && connector_done(k) < n; i++) {
		struct pollfd p = { .fd = connector_fd(k), .events = POLLIN };

		if (connector_run(k, &c.fault))
			fail_msg("%s", c.fault.text);
		if (connector_done(k) < n)
			poll(&p, 1, 10);
	}
}

/* No more flows are begun than the window allows; a confirmation moves it. */
static void test_window(void **state)
{
	struct connector *k = connector_open(&c.rq, &c.fault);

	(void)state;
	assert_non_null(k);
	assert_true(connector_began(k) == 0);
	assert_true(connector_can_begin(k));
	run(k, FLOWS);
	assert_int_equal(connector_done(k), 8);
	assert_int_equal(c.taken, 8);
	assert_true(connector_began(k) > 0);
	assert_false(connector_can_begin(k));
	connector_confirm(k, 3);
	assert_true(connector_can_begin(k));
	run(k, FLOWS);
	assert_int_equal(connector_done(k), 11);
	/* A confirmation that is late does not move it back. */
	connector_confirm(k, 1);
	run(k, FLOWS);
	assert_int_equal(connector_done(k), 11);
	connector_confirm(k, 11);
	run(k, FLOWS);
	assert_int_equal(connector_done(k), 19);
	connector_confirm(k, FLOWS);
	run(k, FLOWS);
	assert_int_equal(connector_done(k), FLOWS);
	assert_false(connector_can_begin(k));
	assert_int_equal(connector_retransmits(k), 0);
	connector_close(k);
}

/* Each flow goes to its port and introduces itself. */
static void test_introductions(void **state)
{
	struct connector *k;
	bool seen[FLOWS] = { false };

	(void)state;
	c.rq.window = FLOWS;
	k = connector_open(&c.rq, &c.fault);
	run(k, FLOWS);
	assert_int_equal(connector_done(k), FLOWS);
	for (int i = 0; i < FLOWS; i++) {
		int fd = accept(c.spots[i % 2].fd, NULL, NULL), local, peer;
		uint8_t bytes[PREAMBLE_SIZE];
		struct preamble p;

		assert_int_equal(recv(fd, bytes, sizeof(bytes), MSG_WAITALL),
				 PREAMBLE_SIZE);
		assert_int_equal(preamble_decode(bytes, &p), 0);
		assert_int_equal(p.participant, 3);
		assert_memory_equal(p.cookie, c.rq.cookie, PREAMBLE_COOKIE);
		assert_true(p.flow < FLOWS && !seen[p.flow]);
		assert_int_equal(p.flow % 2, i % 2);
		seen[p.flow] = true;
		ports_of(c.fds[p.flow], &local, &peer);
		assert_int_equal(peer, addr_port(&c.spots[i % 2].at));
		assert_true(local > 0);
		close(fd);
	}
	connector_close(k);
}

static void test_sources(void **state)
{
	struct addr locals[2], mine;
	struct connector *k;

	(void)state;
	addr_resolve("127.0.0.5", 0, AF_INET, false, &locals[0], 1, &c.fault);
	addr_resolve("127.0.0.6", 0, AF_INET, false, &locals[1], 1, &c.fault);
	c.rq.locals = locals;
	c.rq.n_locals = 2;
	k = connector_open(&c.rq, &c.fault);
	run(k, 8);
	for (int i = 0; i < 8; i++) {
		mine.len = sizeof(mine.ss);
		getsockname(c.fds[i], &mine.sa, &mine.len);
		assert_true(addr_same_host(&mine, &locals[i % 2]));
	}
	connector_close(k);
}

/* The first of @n ports in a row that are free, below the ephemeral ones. */
static int free_ports(int n)
{
	int base, good = 0;

	for (base = 20000 + getpid() % 5000; good < n && base < 32000; base++) {
		struct sockaddr_in in = { .sin_family = AF_INET,
					  .sin_port = htons((uint16_t)base) };
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		good = bind(fd, (struct sockaddr *)&in, sizeof(in)) ? 0 :
								      good + 1;
		close(fd);
	}
	assert_int_equal(good, n);
	return base - n;
}

/* Flow i binds source port N + i. */
static void test_source_ports(void **state)
{
	int local, peer;
	struct connector *k;

	(void)state;
	c.rq.source_port = free_ports(4);
	c.rq.flows = 4;
	k = connector_open(&c.rq, &c.fault);
	run(k, 4);
	for (int i = 0; i < 4; i++) {
		ports_of(c.fds[i], &local, &peer);
		assert_int_equal(local, c.rq.source_port + i);
	}
	connector_close(k);
}

/* The first flow that cannot be opened is named, with the reason. */
static void test_refused(void **state)
{
	struct spot deaf = bind_spot("127.0.0.1");
	struct addr peer = deaf.at;
	struct connector *k;
	char text[ADDR_TEXT];
	int failed = 0;

	(void)state;
	c.rq.peers = &peer;
	c.rq.n_peers = 1;
	k = connector_open(&c.rq, &c.fault);
	for (int i = 0; i < 50 && !failed; i++) {
		failed = connector_run(k, &c.fault);
		usleep(failed ? 0 : 1000);
	}
	assert_int_equal(failed, -1);
	assert_int_equal(c.fault.err, ECONNREFUSED);
	assert_non_null(strstr(c.fault.text,
			       addr_text(&peer, true, text, sizeof(text))));
	assert_int_equal(c.taken, 0);
	connector_close(k);
	connector_close(NULL);
	close(deaf.fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reach_at_once),
		cmocka_unit_test(test_reach_later),
		cmocka_unit_test(test_reach_all_refused),
		cmocka_unit_test(test_reach_second_address),
		cmocka_unit_test(test_reach_no_retry),
		TEST(test_window),
		TEST(test_introductions),
		TEST(test_sources),
		TEST(test_source_ports),
		TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Data sockets: settings made, read back, judged; listening and connecting. */
/* wrap: setsockopt getsockopt */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/engine/sock.h"

/* One option that the kernel refuses or answers otherwise, -1: none. */
static struct {
	int level, option;
	int set_errno; /* setsockopt fails with this */
	int answer; /* of getsockopt, where set_errno is 0 */
	int sets; /* calls for that option */
} odd;

int __real_setsockopt(int fd, int level, int option, const void *v,
		      socklen_t len);
int __real_getsockopt(int fd, int level, int option, void *v, socklen_t *len);

int __wrap_setsockopt(int fd, int level, int option, const void *v,
		      socklen_t len)
{
	if (level != odd.level || option != odd.option)
		return __real_setsockopt(fd, level, option, v, len);
	odd.sets++;
	errno = odd.set_errno;
	return odd.set_errno ? -1 : 0;
}

int __wrap_getsockopt(int fd, int level, int option, void *v, socklen_t *len)
{
	if (level != odd.level || option != odd.option)
		return __real_getsockopt(fd, level, option, v, len);
	*len = sizeof(odd.answer);
	memcpy(v, &odd.answer, sizeof(odd.answer));
	return 0;
}

static struct options o;
static struct sock_plan p;
static struct warnings w;
static struct fault f;

static const char *by(void *arg, const char *name)
{
	assert_ptr_equal(arg, &o);
	return !strcmp(name, "sndbuf") ? "server" : "client";
}

static int setup(void **state)
{
	(void)state;
	o = options_defaults();
	memset(&p, 0, sizeof(p));
	memset(&w, 0, sizeof(w));
	memset(&f, 0, sizeof(f));
	memset(&odd, 0, sizeof(odd));
	odd.level = -1;
	p.sends = true;
	return 0;
}

static void be_odd(int level, int option, int set_errno, int answer)
{
	odd.level = level;
	odd.option = option;
	odd.set_errno = set_errno;
	odd.answer = answer;
}

static int plan(int family, int flows)
{
	return sock_plan(&p, &o, family, flows, by, &o, &w, &f);
}

static void good_plan(int family, int flows)
{
	if (plan(family, flows))
		fail_msg("%s", f.text);
}

static const struct setting *setting(const char *name)
{
	for (int i = 0; i < p.n; i++)
		if (!strcmp(p.settings[i].name, name))
			return &p.settings[i];
	return NULL;
}

static void expect(const char *name, const char *requested,
		   const char *effective, const char *set_by)
{
	const struct setting *s = setting(name);

	if (!s)
		fail_msg("no setting %s", name);
	assert_string_equal(s->requested, requested);
	assert_string_equal(s->effective, effective);
	assert_string_equal(s->set_by, set_by);
}

/* Ports of the connected socket @fd. */
static void ports_of(int fd, int *local, int *peer)
{
	struct addr a, b;

	assert_int_equal(sock_path(fd, &a, &b), 0);
	*local = addr_port(&a);
	*peer = addr_port(&b);
}

/* Nothing asked: the algorithm in force is all there is to tell. */
static void test_nothing(void **state)
{
	(void)state;
	good_plan(AF_INET, 1);
	assert_int_equal(p.n, 1);
	assert_string_equal(p.settings[0].name, "congestion-control");
	assert_string_equal(p.settings[0].requested, "");
	assert_string_not_equal(p.settings[0].effective, "");
	assert_string_equal(p.settings[0].set_by, "system");
	assert_int_equal(w.n, 0);
}

static void test_read_back(void **state)
{
	(void)state;
	o.sndbuf = 20000;
	o.rcvbuf = 30000;
	o.notsent_lowat = 65536;
	o.rcvlowat = 2000;
	o.no_delay = o.reuseaddr = o.freebind = true;
	o.tos = 16;
	o.max_pacing_rate = 1250000000;
	o.congestion_control = "reno";
	o.bind_dev = "lo";
	for (int i = 0; i < 2; i++) {
		good_plan(i ? AF_INET6 : AF_INET, 1);
		expect("sndbuf", "20000", "20000", "server");
		expect("rcvbuf", "30000", "30000", "client");
		expect("notsent-lowat", "65536", "65536", "client");
		expect("rcvlowat", "2000", "2000", "client");
		expect("no-delay", "1", "1", "client");
		expect("reuseaddr", "1", "1", "client");
		expect("freebind", "1", "1", "client");
		expect("tos", "16", "16", "client");
		expect("max-pacing-rate", "1250000000", "1250000000", "client");
		expect("congestion-control", "reno", "reno", "client");
		expect("bind-dev", "lo", "lo", "client");
		assert_int_equal(w.n, 0);
	}
}

/* A value that the kernel cut is a warning, or a failure with --strict. */
static void test_clamped(void **state)
{
	(void)state;
	o.sndbuf = 1; /* the kernel has a least size */
	good_plan(AF_INET, 1);
	assert_int_equal(w.n, 1);
	assert_non_null(strstr(w.text[0], "--sndbuf: asked for 1,"));
	assert_string_equal(setting("sndbuf")->requested, "1");
	assert_true(atoi(setting("sndbuf")->effective) > 1);
	o.strict = true;
	assert_int_equal(plan(AF_INET, 1), -1);
	assert_non_null(strstr(f.text, "--sndbuf: asked for 1,"));
	assert_non_null(strstr(f.text, "--strict"));
}

static void test_ignored_by_kernel(void **state)
{
	(void)state;
	be_odd(IPPROTO_TCP, TCP_NOTSENT_LOWAT, 0, 4096);
	o.notsent_lowat = 8192;
	good_plan(AF_INET, 1);
	assert_int_equal(odd.sets, 1);
	assert_int_equal(w.n, 1);
	assert_non_null(strstr(w.text[0], "--notsent-lowat: asked for 8192, "
					  "the kernel gave 4096"));
}

static void test_refused_by_kernel(void **state)
{
	(void)state;
	be_odd(SOL_SOCKET, SO_BUSY_POLL, EPERM, 0);
	o.busy_poll = 50;
	assert_int_equal(plan(AF_INET, 1), -1);
	assert_int_equal(f.err, EPERM);
	assert_non_null(strstr(f.text, "--busy-poll: 50"));
}

static void test_unknown_algorithm(void **state)
{
	(void)state;
	o.congestion_control = "no-such";
	assert_int_equal(plan(AF_INET, 1), -1);
	assert_non_null(strstr(f.text, "\"no-such\""));
	assert_non_null(strstr(f.text, "available: "));
	assert_non_null(strstr(f.text, "reno"));
	f.text[0] = 0;
	be_odd(IPPROTO_TCP, TCP_CONGESTION, EPERM, 0);
	assert_int_equal(plan(AF_INET, 1), -1);
	assert_non_null(strstr(f.text, "not allowed"));
	assert_non_null(strstr(f.text, "reno"));
}

static void test_unknown_device(void **state)
{
	(void)state;
	o.bind_dev = "no-such-if0";
	assert_int_equal(plan(AF_INET, 1), -1);
	assert_non_null(strstr(f.text, "--bind-dev"));
	assert_non_null(strstr(f.text, "\"no-such-if0\""));
}

/* Many flows: unsent bytes are capped, unless the user sized a buffer. */
static void test_many_flows(void **state)
{
	(void)state;
	good_plan(AF_INET, SOCK_MANY_FLOWS);
	assert_null(setting("notsent-lowat"));
	good_plan(AF_INET, SOCK_MANY_FLOWS + 1);
	expect("notsent-lowat", "131072", "131072", "napier");
	p.sends = false;
	good_plan(AF_INET, SOCK_MANY_FLOWS + 1);
	assert_null(setting("notsent-lowat"));
	p.sends = true;
	o.notsent_lowat = 1000;
	good_plan(AF_INET, SOCK_MANY_FLOWS + 1);
	expect("notsent-lowat", "1000", "1000", "client");
	o.notsent_lowat = 0;
	o.rcvbuf = 30000;
	good_plan(AF_INET, SOCK_MANY_FLOWS + 1);
	assert_null(setting("notsent-lowat"));
}

/* Who does not send is not paced. */
static void test_pacing_of_senders(void **state)
{
	(void)state;
	o.max_pacing_rate = 1000000;
	p.sends = false;
	good_plan(AF_INET, 1);
	assert_null(setting("max-pacing-rate"));
	p.sends = true;
	/* More than 32 bits: 100 Gbit/s. */
	o.max_pacing_rate = INT64_C(12500000000);
	good_plan(AF_INET, 1);
	expect("max-pacing-rate", "12500000000", "12500000000", "client");
}

/* A kernel without MSG_ZEROCOPY: sends are copied, which is said. */
static void test_no_zerocopy(void **state)
{
	(void)state;
	be_odd(SOL_SOCKET, SO_ZEROCOPY, ENOPROTOOPT, 0);
	p.zerocopy = true;
	good_plan(AF_INET, 1);
	assert_false(p.zerocopy);
	assert_int_equal(w.n, 1);
	assert_non_null(strstr(w.text[0], "--zerocopy"));
	p.zerocopy = true;
	o.strict = true;
	assert_int_equal(plan(AF_INET, 1), -1);
	assert_non_null(strstr(f.text, "--zerocopy"));
	/* Where nothing is sent there is nothing to ask for. */
	setup(state);
	be_odd(SOL_SOCKET, SO_ZEROCOPY, ENOPROTOOPT, 0);
	p.zerocopy = true;
	p.sends = false;
	good_plan(AF_INET, 1);
	assert_int_equal(odd.sets, 0);
	assert_int_equal(w.n, 0);
}

static struct addr loopback(const char *host, int port)
{
	struct addr a;

	assert_int_equal(addr_resolve(host, port, AF_UNSPEC, false, &a, 1, &f),
			 1);
	return a;
}

static int option(int fd, int level, int name)
{
	int v = -1;
	socklen_t len = sizeof(v);

	assert_int_equal(getsockopt(fd, level, name, &v, &len), 0);
	return v;
}

static void test_connection(void **state)
{
	struct addr at = loopback("127.0.0.1", 0), from;
	int listener, out, in, local, peer, l2, p2;

	(void)state;
	o.rcvbuf = 30000;
	o.no_delay = true;
	o.congestion_control = "reno";
	good_plan(AF_INET, 1);
	listener = sock_listen(&at, &p, 5, false, false, &f);
	assert_true(listener >= 0);
	assert_true(addr_port(&at) > 0);
	assert_true(fcntl(listener, F_GETFL) & O_NONBLOCK);
	from = loopback("127.0.0.7", 0);
	out = sock_connect(&p, &from, &at, &f);
	if (out < 0)
		fail_msg("%s", f.text);
	in = accept(listener, NULL, NULL);
	assert_true(in >= 0);
	assert_int_equal(sock_connect_result(out), 0);
	assert_int_equal(sock_adopt(&p, in, &f), 0);
	assert_int_equal(setting("rcvbuf")->differing, 0);
	assert_int_equal(option(out, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(option(in, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(option(in, SOL_SOCKET, SO_RCVBUF), 60000);
	ports_of(out, &local, &peer);
	ports_of(in, &l2, &p2);
	assert_true(local == p2 && peer == l2 && peer == addr_port(&at));
	assert_int_equal(sock_retransmits(out), 0);
	assert_int_equal(sock_retransmits(-1), 0);
	assert_int_equal(sock_incoming_cpu(-1), -1);
	assert_int_equal(sock_incoming_napi(-1), 0);
	assert_int_equal(sock_path(listener, &from, &at), -1);
	close(in);
	close(out);
	close(listener);
}

/* Values that differ from one flow to the next are counted. */
static void test_differing(void **state)
{
	struct addr at = loopback("127.0.0.1", 0);
	int listener = sock_listen(&at, NULL, 5, false, false, &f), out;

	(void)state;
	be_odd(SOL_SOCKET, SO_RCVLOWAT, 0, 5);
	o.rcvlowat = 5;
	good_plan(AF_INET, 1);
	for (int i = 0; i < 3; i++) {
		odd.answer = i ? 6 : 5;
		out = sock_connect(&p, NULL, &at, &f);
		assert_true(out >= 0);
		close(out);
	}
	expect("rcvlowat", "5", "5", "client");
	assert_int_equal(setting("rcvlowat")->differing, 2);
	close(listener);
}

/* Closing resets, unless TIME_WAIT is wanted. */
static void test_linger(void **state)
{
	struct addr at = loopback("::1", 0);
	int listener = sock_listen(&at, NULL, 5, true, false, &f);

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct linger l = { 0 };
		socklen_t len = sizeof(l);
		int fd;

		o.time_wait = i;
		good_plan(AF_INET6, 1);
		fd = sock_connect(&p, NULL, &at, &f);
		assert_true(fd >= 0);
		getsockopt(fd, SOL_SOCKET, SO_LINGER, &l, &len);
		assert_int_equal(l.l_onoff, !i);
		assert_int_equal(l.l_linger, 0);
		close(fd);
	}
	close(listener);
}

static void test_failures(void **state)
{
	struct addr at = loopback("127.0.0.1", 0), same, away;
	int fd;

	(void)state;
	good_plan(AF_INET, 1);
	fd = sock_listen(&at, NULL, 5, false, false, &f);
	same = at;
	assert_int_equal(sock_listen(&same, NULL, 5, false, false, &f), -1);
	assert_int_equal(f.err, EADDRINUSE);
	assert_non_null(strstr(f.text, "127.0.0.1:"));
	close(fd);
	f = (struct fault){ 0 };
	away = loopback("192.0.2.1", 0);
	assert_int_equal(sock_listen(&away, NULL, 5, false, false, &f), -1);
	assert_int_equal(f.err, EADDRNOTAVAIL);
	/* With --freebind the address need not be there. */
	fd = sock_listen(&away, NULL, 5, false, true, &f);
	assert_true(fd >= 0);
	close(fd);
	f = (struct fault){ 0 };
	away = loopback("192.0.2.1", 0);
	assert_int_equal(sock_connect(&p, &away, &at, &f), -1);
	assert_non_null(strstr(f.text, "cannot bind 192.0.2.1"));
}

/* A connect that is refused tells so by its result. */
static void test_refused(void **state)
{
	struct addr at = loopback("127.0.0.1", 0);
	int fd = sock_listen(&at, NULL, 5, false, false, &f), out;

	(void)state;
	good_plan(AF_INET, 1);
	close(fd);
	out = sock_connect(&p, NULL, &at, &f);
	if (out < 0) {
		assert_int_equal(f.err, ECONNREFUSED);
		return;
	}
	usleep(10000);
	assert_int_equal(sock_connect_result(out), ECONNREFUSED);
	close(out);
	assert_int_equal(sock_connect_result(-1), EBADF);
}

static void test_block(void **state)
{
	struct addr at = loopback("127.0.0.1", 0);
	int fd = sock_listen(&at, NULL, 5, false, false, &f), out;
	struct timeval limit = { 0, 20000 };
	char c;

	(void)state;
	good_plan(AF_INET, 1);
	out = sock_connect(&p, NULL, &at, &f);
	assert_int_equal(sock_block(out, &limit), 0);
	assert_false(fcntl(out, F_GETFL) & O_NONBLOCK);
	assert_int_equal(recv(out, &c, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(sock_block(-1, &limit), -1);
	close(out);
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing),
		TEST(test_read_back),
		TEST(test_clamped),
		TEST(test_ignored_by_kernel),
		TEST(test_refused_by_kernel),
		TEST(test_unknown_algorithm),
		TEST(test_unknown_device),
		TEST(test_many_flows),
		TEST(test_pacing_of_senders),
		TEST(test_no_zerocopy),
		TEST(test_connection),
		TEST(test_differing),
		TEST(test_linger),
		TEST(test_failures),
		TEST(test_refused),
		TEST(test_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

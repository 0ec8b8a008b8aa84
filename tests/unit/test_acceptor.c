/* SPDX-License-Identifier: Apache-2.0 */
/* Data connections on loopback: flows, strangers, slow and false preambles. */
/* wrap: accept4 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/engine/acceptor.h"
#include "common/engine/sock.h"

#define PARTS 2
#define FLOWS 5

static int accept_errno, accepts; /* accept4: fail once with this; calls */

int __real_accept4(int fd, struct sockaddr *at, socklen_t *len, int flags);

int __wrap_accept4(int fd, struct sockaddr *at, socklen_t *len, int flags)
{
	accepts++;
	if (accept_errno) {
		errno = accept_errno;
		accept_errno = 0;
		return -1;
	}
	return __real_accept4(fd, at, len, flags);
}

static struct {
	struct acceptor *acceptor;
	struct addr at;
	struct fault fault;
	int fds[PARTS][FLOWS], taken;
} s;

static const struct preamble mine = { .cookie = "fifteen letters" };

static void take(void *arg, int participant, int flow, int fd)
{
	assert_ptr_equal(arg, &s);
	assert_in_range(participant, 0, PARTS - 1);
	assert_in_range(flow, 0, FLOWS - 1);
	assert_int_equal(s.fds[participant][flow], -1);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	s.fds[participant][flow] = fd;
	s.taken++;
}

static void expect_flows(void)
{
	struct acceptor_test t = {
		.participants = PARTS, .flows = FLOWS, .take = take, .arg = &s
	};

	memcpy(t.cookie, mine.cookie, sizeof(t.cookie));
	assert_int_equal(acceptor_expect(s.acceptor, &t), 0);
}

static int setup_ports(int ports)
{
	struct acceptor_request rq = {
		.addrs = &s.at, .n_addrs = 1, .n_ports = ports, .backlog = 2000
	};

	memset(&s, 0, sizeof(s));
	memset(s.fds, 0xff, sizeof(s.fds));
	accept_errno = accepts = 0;
	if (addr_resolve("127.0.0.1", 0, AF_INET, false, &s.at, 1, &s.fault) !=
	    1)
		return -1;
	s.acceptor = acceptor_open(&rq, &s.fault);
	if (!s.acceptor)
		return -1;
	addr_set_port(&s.at, acceptor_port(s.acceptor, 0));
	expect_flows();
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return setup_ports(1);
}

static int teardown(void **state)
{
	(void)state;
	for (int p = 0; p < PARTS; p++)
		for (int i = 0; i < FLOWS; i++)
			if (s.fds[p][i] >= 0)
				close(s.fds[p][i]);
	acceptor_close(s.acceptor);
	acceptor_close(NULL);
	return 0;
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &s.at.sa, s.at.len), 0);
	return fd;
}

/* Run until nothing has been there for a moment. */
static nsec_t run(void)
{
	struct pollfd p = { .fd = acceptor_fd(s.acceptor), .events = POLLIN };
	nsec_t next;

	do
		next = acceptor_run(s.acceptor, clock_now());
	while (poll(&p, 1, 5) > 0);
	return next;
}

static void introduce(int fd, const struct preamble *p)
{
	uint8_t bytes[PREAMBLE_SIZE];

	preamble_encode(p, bytes);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), PREAMBLE_SIZE);
}

/* Has the acceptor closed the connection whose far end is @fd? */
static bool closed(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static int flow(uint32_t participant, uint32_t id)
{
	struct preamble p = mine;
	int fd = dial();

	p.participant = participant;
	p.flow = id;
	introduce(fd, &p);
	return fd;
}

static void test_flows(void **state)
{
	int far[PARTS][FLOWS];

	(void)state;
	for (uint32_t i = FLOWS; i-- > 0;)
		for (uint32_t p = 0; p < PARTS; p++)
			far[p][i] = flow(p, i);
	assert_true(run() == NSEC_NEVER);
	assert_int_equal(acceptor_taken(s.acceptor), PARTS * FLOWS);
	assert_int_equal(s.taken, PARTS * FLOWS);
	assert_int_equal(acceptor_strangers(s.acceptor), 0);
	assert_string_equal(acceptor_fault(s.acceptor)->text, "");
	for (int p = 0; p < PARTS; p++)
		for (int i = 0; i < FLOWS; i++) {
			char c = (char)(p * 10 + i), got = 99;

			/* The right socket, and nothing of it was eaten. */
			assert_int_equal(write(far[p][i], &c, 1), 1);
			usleep(100);
			assert_int_equal(read(s.fds[p][i], &got, 1), 1);
			assert_int_equal(got, c);
			close(far[p][i]);
		}
}

/* A preamble that comes byte by byte, and one with data behind it. */
static void test_split(void **state)
{
	uint8_t bytes[PREAMBLE_SIZE + 4] = { 0 };
	char got[8];
	int fd = dial(), one = 1;

	(void)state;
	setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof(one));
	preamble_encode(&mine, bytes);
	for (int i = 0; i < PREAMBLE_SIZE; i++) {
		assert_int_equal(acceptor_taken(s.acceptor), 0);
		assert_int_equal(write(fd, bytes + i, 1), 1);
		assert_true(run() != (i < PREAMBLE_SIZE - 1 ? NSEC_NEVER : 0));
	}
	assert_int_equal(acceptor_taken(s.acceptor), 1);
	close(fd);
	fd = dial();
	bytes[15] = 1; /* flow 1 */
	memcpy(bytes + PREAMBLE_SIZE, "data", 4);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	run();
	assert_int_equal(acceptor_taken(s.acceptor), 2);
	assert_int_equal(read(s.fds[0][1], got, sizeof(got)), 4);
	assert_memory_equal(got, "data", 4);
	close(fd);
}

/* Strangers go at their first wrong byte. */
static void test_strangers(void **state)
{
	static const char *const all[] = { "G", "SSH-2.0-x", "NPR1....",
					   "NPRD\2" };
	int n = sizeof(all) / sizeof(all[0]), fds[4];

	(void)state;
	for (int i = 0; i < n; i++) {
		fds[i] = dial();
		assert_true(write(fds[i], all[i], strlen(all[i])) > 0);
	}
	assert_true(run() == NSEC_NEVER);
	assert_int_equal(acceptor_strangers(s.acceptor), n);
	for (int i = 0; i < n; i++) {
		assert_true(closed(fds[i]));
		close(fds[i]);
	}
	/* One that only connects and goes is one too. */
	close(dial());
	run();
	assert_int_equal(acceptor_strangers(s.acceptor), n + 1);
	assert_int_equal(acceptor_taken(s.acceptor), 0);
}

/* A whole preamble that is not of this test. */
static void test_not_welcome(void **state)
{
	struct preamble p;
	int fds[8], n = 0;

	(void)state;
	for (int byte = 0; byte < PREAMBLE_COOKIE; byte += 5) {
		p = mine;
		p.cookie[byte] ^= 1;
		introduce(fds[n++] = dial(), &p);
	}
	fds[n++] = flow(PARTS, 0);
	fds[n++] = flow(0, FLOWS);
	fds[n++] = flow(UINT32_MAX, UINT32_MAX);
	fds[n++] = flow(0, UINT32_MAX);
	run();
	assert_int_equal(acceptor_strangers(s.acceptor), n);
	assert_int_equal(acceptor_taken(s.acceptor), 0);
	for (int i = 0; i < n; i++) {
		assert_true(closed(fds[i]));
		close(fds[i]);
	}
}

static void test_duplicate(void **state)
{
	int first = flow(1, 2), second, other;

	(void)state;
	run();
	second = flow(1, 2);
	other = flow(0, 2);
	run();
	assert_int_equal(acceptor_taken(s.acceptor), 2);
	assert_int_equal(acceptor_strangers(s.acceptor), 1);
	assert_true(closed(second));
	assert_false(closed(first));
	assert_false(closed(other));
	close(first);
	close(second);
	close(other);
}

/* Between tests everybody is a stranger; a new test starts afresh. */
static void test_expectations(void **state)
{
	int fd = flow(0, 0), late;

	(void)state;
	run();
	assert_int_equal(acceptor_taken(s.acceptor), 1);
	assert_int_equal(acceptor_expect(s.acceptor, NULL), 0);
	assert_int_equal(acceptor_taken(s.acceptor), 0);
	late = flow(0, 1);
	run();
	assert_true(closed(late));
	close(late);
	close(fd);
	close(s.fds[0][0]);
	s.fds[0][0] = -1;
	expect_flows();
	fd = flow(0, 0);
	run();
	assert_int_equal(acceptor_taken(s.acceptor), 1);
	assert_int_equal(acceptor_strangers(s.acceptor), 1);
	close(fd);
}

/* A connection must show its preamble in time, each on its own clock. */
static void test_patience(void **state)
{
	nsec_t now = clock_now(), next;
	int slow = dial(), quick;

	(void)state;
	assert_int_equal(write(slow, "NPRD", 4), 4);
	next = acceptor_run(s.acceptor, now);
	assert_true(next == now + ACCEPTOR_PATIENCE);
	quick = dial();
	usleep(1000);
	next = acceptor_run(s.acceptor, now + NSEC_PER_SEC);
	assert_true(next == now + ACCEPTOR_PATIENCE);
	next = acceptor_run(s.acceptor, now + ACCEPTOR_PATIENCE);
	assert_int_equal(acceptor_strangers(s.acceptor), 1);
	assert_true(closed(slow));
	assert_false(closed(quick));
	assert_true(next == now + NSEC_PER_SEC + ACCEPTOR_PATIENCE);
	assert_true(acceptor_run(s.acceptor, next) == NSEC_NEVER);
	assert_true(closed(quick));
	close(slow);
	close(quick);
}

/* Without descriptors the listeners rest, and nobody is lost. */
static void test_no_descriptors(void **state)
{
	static const int errors[] = { EMFILE, ENFILE, ENOMEM, ENOBUFS };
	struct pollfd p = { .fd = acceptor_fd(s.acceptor), .events = POLLIN };

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		int fd = flow(0, i);
		nsec_t now = clock_now(), next;

		usleep(1000);
		accept_errno = errors[i];
		next = acceptor_run(s.acceptor, now);
		assert_int_equal(accept_errno, 0);
		assert_true(next > now && next <= now + NSEC_PER_SEC);
		/* It rests: no event, no call. */
		accepts = 0;
		assert_int_equal(poll(&p, 1, 0), 0);
		acceptor_run(s.acceptor, next - 1);
		assert_int_equal(accepts, 0);
		acceptor_run(s.acceptor, next);
		run();
		assert_int_equal(acceptor_taken(s.acceptor), (int)i + 1);
		close(fd);
	}
	assert_int_equal(acceptor_strangers(s.acceptor), 0);
}

/* A connection that went before it was accepted is no reason to rest. */
static void test_aborted(void **state)
{
	int fd = flow(0, 0);

	(void)state;
	usleep(1000);
	accept_errno = ECONNABORTED;
	assert_true(run() == NSEC_NEVER);
	assert_int_equal(acceptor_taken(s.acceptor), 1);
	close(fd);
}

/* The settings of the test go on every accepted socket. */
static void test_settings(void **state)
{
	struct options o = options_defaults();
	struct sock_plan plan = { .options = &o };
	struct acceptor_request rq = { .addrs = &s.at,
				       .n_addrs = 1,
				       .n_ports = 1,
				       .backlog = 10,
				       .plan = &plan };
	struct linger l = { 0 };
	socklen_t len = sizeof(l);
	int fd;

	(void)state;
	acceptor_close(s.acceptor);
	addr_set_port(&s.at, 0);
	s.acceptor = acceptor_open(&rq, &s.fault);
	assert_non_null(s.acceptor);
	addr_set_port(&s.at, acceptor_port(s.acceptor, 0));
	expect_flows();
	fd = flow(0, 0);
	run();
	assert_int_equal(acceptor_taken(s.acceptor), 1);
	assert_int_equal(
		getsockopt(s.fds[0][0], SOL_SOCKET, SO_LINGER, &l, &len), 0);
	assert_true(l.l_onoff == 1 && l.l_linger == 0);
	close(fd);
	/* Settings that cannot be made end the test, with the reason. */
	o.bind_dev = "no-such-if0";
	fd = flow(0, 1);
	run();
	assert_int_equal(acceptor_taken(s.acceptor), 1);
	assert_non_null(strstr(acceptor_fault(s.acceptor)->text, "--bind-dev"));
	close(fd);
}

static void test_several_ports(void **state)
{
	struct acceptor_request rq = { .addrs = &s.at,
				       .n_addrs = 1,
				       .n_ports = 1 };
	struct acceptor *second;
	int fds[3];

	(void)state;
	assert_int_equal(acceptor_ports(s.acceptor), 3);
	for (uint32_t i = 0; i < 3; i++) {
		addr_set_port(&s.at, acceptor_port(s.acceptor, (int)i));
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(acceptor_port(s.acceptor, (int)k),
					     addr_port(&s.at));
		fds[i] = flow(0, i);
	}
	run();
	assert_int_equal(acceptor_taken(s.acceptor), 3);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	/* A port that is taken is named. */
	rq.port = acceptor_port(s.acceptor, 0);
	rq.backlog = 1;
	second = acceptor_open(&rq, &s.fault);
	assert_null(second);
	assert_non_null(strstr(s.fault.text, "127.0.0.1:"));
	assert_int_equal(s.fault.err, EADDRINUSE);
}

static int setup_three(void **state)
{
	(void)state;
	return setup_ports(3);
}

/* More strangers than places: the oldest goes, the flows get in. */
static void test_crowd(void **state)
{
	struct rlimit limit;
	int *fds = calloc(4200, sizeof(*fds)), n = 0, mine_fd;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < 9000) {
		free(fds);
		skip();
		return; /* not reached */
	}
	while (n < 4200) {
		fds[n++] = dial();
		if (n % 64 == 0)
			acceptor_run(s.acceptor, clock_now());
	}
	run();
	assert_int_equal(acceptor_strangers(s.acceptor), 4200 - 4096);
	assert_true(closed(fds[0]));
	assert_false(closed(fds[n - 1]));
	mine_fd = flow(1, 1);
	run();
	assert_int_equal(acceptor_taken(s.acceptor), 1);
	while (n)
		close(fds[--n]);
	free(fds);
	close(mine_fd);
	run();
	assert_int_equal(acceptor_strangers(s.acceptor), 4200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_flows),
		TEST(test_split),
		TEST(test_strangers),
		TEST(test_not_welcome),
		TEST(test_duplicate),
		TEST(test_expectations),
		TEST(test_patience),
		TEST(test_no_descriptors),
		TEST(test_aborted),
		TEST(test_settings),
		cmocka_unit_test_setup_teardown(test_several_ports, setup_three,
						teardown),
		TEST(test_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

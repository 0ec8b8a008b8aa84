/* SPDX-License-Identifier: Apache-2.0 */
/* Control connections on loopback: strangers, peers, silence, refusals. */
/* wrap: accept4 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/control/frame.h"
#include "common/control/hub.h"

#define IDLE (2 * NSEC_PER_SEC)

static struct {
	struct hub *hub;
	int listener;
	struct addr at;
} s;

static int accept_errno; /* accept4 fails once with this */

int __real_accept4(int fd, struct sockaddr *at, socklen_t *len, int flags);

int __wrap_accept4(int fd, struct sockaddr *at, socklen_t *len, int flags)
{
	if (accept_errno) {
		errno = accept_errno;
		accept_errno = 0;
		return -1;
	}
	return __real_accept4(fd, at, len, flags);
}

static int setup(void **state)
{
	struct fault f = { 0 };

	(void)state;
	s.hub = hub_open(IDLE, &f);
	assert_non_null(s.hub);
	assert_int_equal(
		addr_resolve("127.0.0.1", 0, AF_INET, false, &s.at, 1, &f), 1);
	s.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(s.listener, &s.at.sa, s.at.len), 0);
	assert_int_equal(listen(s.listener, 2000), 0);
	assert_int_equal(getsockname(s.listener, &s.at.sa, &s.at.len), 0);
	return hub_listen(s.hub, s.listener, &f);
}

static int teardown(void **state)
{
	(void)state;
	hub_close(s.hub);
	hub_close(NULL);
	return close(s.listener);
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &s.at.sa, s.at.len), 0);
	return fd;
}

/* Wait until the hub has something to do, then the event, if any. */
static struct hub_event next(void)
{
	struct pollfd p = { .fd = hub_fd(s.hub), .events = POLLIN };
	struct hub_event e;

	hub_next(s.hub, &e);
	for (int i = 0; e.what == HUB_NOTHING && i < 20; i++) {
		poll(&p, 1, 10);
		hub_next(s.hub, &e);
	}
	return e;
}

static void nothing(void)
{
	struct hub_event e;

	for (int i = 0; i < 3; i++) {
		hub_next(s.hub, &e);
		assert_int_equal(e.what, HUB_NOTHING);
	}
}

/* Send @json in a frame from the far end @fd. */
static void say(int fd, const char *json)
{
	uint8_t buf[1024] = "NPR1";
	size_t n = strlen(json);

	buf[6] = (uint8_t)(n >> 8);
	buf[7] = (uint8_t)n;
	memcpy(buf + FRAME_HEADER, json, n);
	assert_int_equal(write(fd, buf, n + FRAME_HEADER), n + FRAME_HEADER);
}

/* What the far end @fd gets until the hub closes; its length. */
static size_t hear(int fd, char *buf, size_t size)
{
	size_t n = 0;
	ssize_t k;

	while (n < size - 1 && (k = read(fd, buf + n, size - 1 - n)) > 0)
		n += (size_t)k;
	buf[n] = 0;
	return n;
}

static void expect_message(enum message_type type, bool known, int *peer)
{
	struct hub_event e = next();

	assert_int_equal(e.what, HUB_MESSAGE);
	assert_int_equal(e.message->type, type);
	assert_int_equal(e.known, known);
	if (peer)
		*peer = e.peer;
	message_free(e.message);
}

static void expect_lost(bool known, bool foreign, const char *why)
{
	struct hub_event e = next();

	assert_int_equal(e.what, HUB_LOST);
	assert_int_equal(e.known, known);
	assert_int_equal(e.foreign, foreign);
	if (!strstr(e.why, why))
		fail_msg("\"%s\" without \"%s\"", e.why, why);
}

static void test_messages(void **state)
{
	struct message m = { .type = MESSAGE_PING, .seq = 9 };
	struct addr mine, theirs;
	char buf[256];
	int fd = dial(), peer = -1;

	(void)state;
	nothing();
	say(fd, "{\"type\":\"bye\"}");
	say(fd, "{\"type\":\"alive\"}");
	expect_message(MESSAGE_BYE, false, &peer);
	hub_know(s.hub, peer);
	expect_message(MESSAGE_ALIVE, true, &peer);
	nothing();
	theirs.len = sizeof(theirs.ss);
	assert_int_equal(getsockname(fd, &theirs.sa, &theirs.len), 0);
	assert_int_equal(addr_port(hub_address(s.hub, peer)),
			 addr_port(&theirs));
	assert_int_equal(hub_local_address(s.hub, peer, &mine), 0);
	assert_int_equal(addr_port(&mine), addr_port(&s.at));
	assert_int_equal(hub_send(s.hub, peer, &m), 0);
	assert_false(hub_unsent(s.hub, peer));
	hub_drop(s.hub, peer);
	assert_true(hear(fd, buf, sizeof(buf)) > FRAME_HEADER);
	assert_memory_equal(buf, "NPR1", 4);
	assert_string_equal(buf + FRAME_HEADER,
			    "{\"type\":\"ping\",\"seq\":9}");
	assert_int_equal(hub_send(s.hub, peer, &m), -1);
	assert_int_equal(hub_local_address(s.hub, peer, &mine), -1);
	nothing();
	close(fd);
	assert_int_equal(hub_strangers(s.hub), 0);
}

/* Two peers that both have much to say are heard by turns. */
static void test_turns(void **state)
{
	int fds[2] = { dial(), dial() }, heard[2] = { 0, 0 };

	(void)state;
	for (int i = 0; i < 50; i++)
		for (int k = 0; k < 2; k++)
			say(fds[k], "{\"type\":\"alive\"}");
	for (int i = 0; i < 100; i++) {
		int peer = -1;

		expect_message(MESSAGE_ALIVE, false, &peer);
		assert_in_range(peer, 0, 1);
		heard[peer]++;
		assert_true(abs(heard[0] - heard[1]) <= 1);
	}
	close(fds[0]);
	close(fds[1]);
}

static void test_foreign(void **state)
{
	static const char *const banners[] = { "SSH-2.0-OpenSSH_9.2\r\n",
					       "GET / HTTP/1.1\r\n\r\n",
					       "\x16\x03\x01" };
	static const char *const shown[] = { "SSH-2.0-", "GET / HTTP",
					     "\"...\"" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		int fd = dial();
		char buf[16];

		assert_true(write(fd, banners[i], strlen(banners[i])) > 0);
		expect_lost(false, true, shown[i]);
		/* Nothing is answered to another protocol. */
		assert_int_equal(hear(fd, buf, sizeof(buf)), 0);
		assert_int_equal(hub_strangers(s.hub), i + 1);
		close(fd);
	}
}

/* A stranger may not claim a large frame; a peer may. */
static void test_oversize(void **state)
{
	static const uint8_t large[] = { 'N', 'P', 'R', '1', 0, 1, 0, 1 };
	int fd = dial(), peer;

	(void)state;
	assert_int_equal(write(fd, large, 8), 8);
	expect_lost(false, true, "does not speak");
	close(fd);
	fd = dial();
	say(fd, "{\"type\":\"alive\"}");
	expect_message(MESSAGE_ALIVE, false, &peer);
	hub_know(s.hub, peer);
	assert_int_equal(write(fd, large, 8), 8);
	nothing();
	close(fd);
	expect_lost(true, false, "closed the control connection");
}

static void test_bad_message(void **state)
{
	int fd = dial();

	(void)state;
	say(fd, "{\"type\":\"ping\"}");
	expect_lost(false, false, "bad message: member \"seq\"");
	close(fd);
	fd = dial();
	say(fd, "{\"type\":\"sing\"}");
	expect_lost(false, false, "bad message");
	assert_int_equal(hub_strangers(s.hub), 2);
	close(fd);
}

/* Strangers that say nothing go after a while; half a frame is nothing. */
static void test_patience(void **state)
{
	nsec_t now = clock_now(), at;
	int quiet = dial(), half = dial();
	char buf[16];

	(void)state;
	assert_int_equal(write(half, "NPR1\0", 5), 5);
	next();
	nothing();
	at = hub_tick(s.hub, clock_now());
	assert_true(at > now && at <= clock_now() + HUB_PATIENCE);
	assert_int_equal(hub_strangers(s.hub), 0);
	hub_tick(s.hub, at + NSEC_PER_SEC);
	assert_int_equal(hub_strangers(s.hub), 2);
	assert_int_equal(hear(quiet, buf, sizeof(buf)), 0);
	assert_int_equal(hear(half, buf, sizeof(buf)), 0);
	nothing();
	assert_true(hub_tick(s.hub, clock_now()) == NSEC_NEVER);
	close(quiet);
	close(half);
}

/* Make the far end @fd a known peer; its number. */
static int befriend(int fd)
{
	int peer = -1;

	say(fd, "{\"type\":\"alive\"}");
	expect_message(MESSAGE_ALIVE, false, &peer);
	hub_know(s.hub, peer);
	return peer;
}

/* Who has nothing to say says so; not to strangers. */
static void test_heartbeat(void **state)
{
	int fd = dial(), stranger = dial(), peer = befriend(fd);
	nsec_t now = clock_now(), at = hub_tick(s.hub, now);
	char buf[256];
	ssize_t n;

	(void)state;
	assert_true(at > now && at <= now + HUB_HEARTBEAT);
	assert_int_equal(recv(fd, buf, sizeof(buf), MSG_DONTWAIT), -1);
	at = hub_tick(s.hub, now + HUB_HEARTBEAT + NSEC_PER_MSEC);
	n = read(fd, buf, sizeof(buf));
	assert_true(n > FRAME_HEADER);
	assert_memory_equal(buf + FRAME_HEADER, "{\"type\":\"alive\"}", 16);
	assert_int_equal(recv(stranger, buf, sizeof(buf), MSG_DONTWAIT), -1);
	assert_true(at > now);
	assert_int_equal(hub_unsent(s.hub, peer), false);
	close(fd);
	close(stranger);
}

/* A peer is lost after the idle limit, counted from what it said last. */
static void test_idle(void **state)
{
	int fd = dial();
	nsec_t now;

	(void)state;
	befriend(fd);
	now = clock_now();
	hub_tick(s.hub, now + IDLE - 10 * NSEC_PER_MSEC);
	nothing();
	hub_tick(s.hub, now + IDLE + 10 * NSEC_PER_MSEC);
	expect_lost(true, false, "timed out");
	nothing();
	assert_int_equal(hub_strangers(s.hub), 0);
	close(fd);
}

/* The reason arrives, though the refused one had sent more than was read. */
static void test_refuse(void **state)
{
	char buf[1024];
	int fd = dial(), peer;

	(void)state;
	say(fd, "{\"type\":\"alive\"}");
	expect_message(MESSAGE_ALIVE, false, &peer);
	for (int i = 0; i < 20; i++)
		say(fd, "{\"type\":\"alive\"}");
	hub_refuse(s.hub, peer, "tcp_stream", REFUSAL_BUSY, "busy %d", 42);
	for (int i = 0; i < 20; i++)
		say(fd, "{\"type\":\"alive\"}");
	nothing();
	assert_true(hear(fd, buf, sizeof(buf)) > FRAME_HEADER);
	assert_string_equal(buf + FRAME_HEADER,
			    "{\"type\":\"refuse\",\"code\":1,"
			    "\"program\":\"tcp_stream\",\"text\":\"busy 42\"}");
	close(fd);
	/* What it still had to say is read away, a frame at a time. */
	for (int i = 0; i < 20; i++)
		nothing();
	/* It went in order: no event, no stranger. */
	assert_int_equal(hub_strangers(s.hub), 0);
	assert_true(hub_tick(s.hub, clock_now()) == NSEC_NEVER);
}

/* One that never goes after it was refused is dropped. */
static void test_refused_stays(void **state)
{
	int fd = dial(), peer;
	nsec_t at;

	(void)state;
	say(fd, "{\"type\":\"alive\"}");
	expect_message(MESSAGE_ALIVE, false, &peer);
	hub_refuse(s.hub, peer, "p", REFUSAL_LIMIT, "no");
	at = hub_tick(s.hub, clock_now());
	assert_true(at != NSEC_NEVER);
	assert_true(hub_tick(s.hub, at) == NSEC_NEVER);
	assert_int_equal(hub_strangers(s.hub), 0);
	hub_refuse(s.hub, peer, "p", REFUSAL_LIMIT, "not even there");
	close(fd);
}

static void test_reset(void **state)
{
	struct linger reset = { 1, 0 };
	int fd = dial();

	(void)state;
	befriend(fd);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	expect_lost(true, false, "reset");
}

/* The number of a lost connection is used again, with a clean slate. */
static void test_numbers(void **state)
{
	int fd = dial(), peer = befriend(fd), again;

	(void)state;
	close(fd);
	expect_lost(true, false, "closed");
	fd = dial();
	say(fd, "{\"type\":\"bye\"}");
	expect_message(MESSAGE_BYE, false, &again);
	assert_int_equal(again, peer);
	close(fd);
}

static void test_add(void **state)
{
	struct fault f = { 0 };
	int fd = dial(), far, peer;

	(void)state;
	far = accept(s.listener, NULL, NULL);
	while (far < 0)
		far = accept(s.listener, NULL, NULL);
	peer = hub_add(s.hub, fd, &f);
	assert_true(peer >= 0);
	say(far, "{\"type\":\"bye\"}");
	expect_message(MESSAGE_BYE, true, NULL);
	close(far);
	expect_lost(true, false, "closed");
	assert_int_equal(hub_add(s.hub, -1, &f), -1);
	assert_string_not_equal(f.text, "");
}

/* Without descriptors the listener rests for a while, then goes on. */
static void test_no_descriptors(void **state)
{
	int fd = dial();
	nsec_t at;

	(void)state;
	say(fd, "{\"type\":\"bye\"}");
	accept_errno = EMFILE;
	nothing();
	assert_int_equal(accept_errno, 0);
	at = hub_tick(s.hub, clock_now());
	assert_true(at != NSEC_NEVER);
	assert_true(at <= clock_now() + 200 * NSEC_PER_MSEC);
	nothing();
	hub_tick(s.hub, at);
	expect_message(MESSAGE_BYE, false, NULL);
	close(fd);
}

/* More strangers than there is room for: peers and newcomers get through. */
static void test_crowd(void **state)
{
	struct rlimit limit;
	int fds[1400], n = 0, peer, mine, again = -1;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < 3000)
		skip();
	mine = dial();
	peer = befriend(mine);
	while (n < 1400) {
		fds[n++] = dial();
		if (n % 50 == 0)
			nothing();
	}
	nothing();
	assert_true(hub_strangers(s.hub) >= 100);
	assert_true(hub_strangers(s.hub) < 200);
	say(mine, "{\"type\":\"alive\"}");
	expect_message(MESSAGE_ALIVE, true, &again);
	assert_int_equal(again, peer);
	say(fds[n - 1], "{\"type\":\"bye\"}");
	expect_message(MESSAGE_BYE, false, NULL);
	while (n)
		close(fds[--n]);
	close(mine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_messages),	TEST(test_turns),
		TEST(test_foreign),	TEST(test_oversize),
		TEST(test_bad_message), TEST(test_patience),
		TEST(test_heartbeat),	TEST(test_idle),
		TEST(test_refuse),	TEST(test_refused_stays),
		TEST(test_reset),	TEST(test_numbers),
		TEST(test_add),		TEST(test_no_descriptors),
		TEST(test_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

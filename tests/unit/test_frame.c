/* SPDX-License-Identifier: Apache-2.0 */
/* Frames over real socket pairs: whole, cut, foreign, too large, refused. */
/* wrap: recv send */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/control/frame.h"

/* What the next calls do instead of the real thing; 0 is the real thing. */
static struct {
	int recv_errno, send_errno; /* fail once with this */
	size_t recv_most, send_most; /* take no more than this a call */
	int recvs, sends; /* calls seen */
} fake;

ssize_t __real_recv(int fd, void *buf, size_t len, int flags);
ssize_t __real_send(int fd, const void *buf, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags);

static int fail_once(int *err)
{
	errno = *err;
	*err = 0;
	return -1;
}

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
	fake.recvs++;
	if (fake.recv_errno != 0)
		return fail_once(&fake.recv_errno);
	if (fake.recv_most != 0 && len > fake.recv_most)
		len = fake.recv_most;
	return __real_recv(fd, buf, len, flags);
}

ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags)
{
	fake.sends++;
	if (fake.send_errno != 0)
		return fail_once(&fake.send_errno);
	if (fake.send_most != 0 && len > fake.send_most)
		len = fake.send_most;
	return __real_send(fd, buf, len, flags);
}

/* One framed end and the bare socket at its other end. */
struct pair {
	struct frame_conn c;
	int peer;
};

static void pair_open(struct pair *p, size_t limit)
{
	int fd[2];

	memset(&fake, 0, sizeof(fake));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	frame_open(&p->c, fd[0], limit);
	assert_int_equal(p->c.state, FRAME_OPEN);
	p->peer = fd[1];
}

static void peer_close(struct pair *p)
{
	if (p->peer != -1)
		close(p->peer);
	p->peer = -1;
}

static void pair_close(struct pair *p)
{
	frame_close(&p->c);
	peer_close(p);
}

static void peer_write(struct pair *p, const void *buf, size_t len)
{
	assert_int_equal(write(p->peer, buf, len), (ssize_t)len);
}

/* Write a frame of @text at the peer's end. */
static void peer_frame(struct pair *p, const char *text)
{
	uint8_t head[FRAME_HEADER] = "NPR1";

	head[7] = (uint8_t)strlen(text);
	peer_write(p, head, sizeof(head));
	peer_write(p, text, strlen(text));
}

static void expect_frame(struct frame_conn *c, const char *text)
{
	char *json = NULL;
	size_t len = 0;

	assert_int_equal(frame_next(c, &json, &len), 1);
	assert_int_equal(len, strlen(text));
	assert_string_equal(json, text);
	free(json);
}

static void expect_nothing(struct frame_conn *c)
{
	char *json = NULL;
	size_t len = 0;

	assert_int_equal(frame_next(c, &json, &len), 0);
	assert_int_equal(c->state, FRAME_OPEN);
	assert_null(json);
}

static void expect_end(struct frame_conn *c, enum frame_state state)
{
	char *json = NULL;
	size_t len = 0;

	/* The verdict stays, however often it is asked for. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(frame_next(c, &json, &len), -1);
		assert_int_equal(c->state, state);
	}
	assert_null(json);
	assert_int_equal(frame_send(c, "{}", 2), -1);
	assert_int_equal(frame_flush(c), -1);
	assert_false(frame_pending(c));
}

static void test_scan(void **state)
{
	const uint8_t one[] = { 'N', 'P', 'R', '1', 0, 0, 0, 2, '{', '}', 'x' };
	const uint8_t zero[] = { 'N', 'P', 'R', '1', 0, 0, 0, 0 };
	const uint8_t huge[] = { 'N', 'P', 'R', '1', 0xff, 0xff, 0xff, 0xff };
	const uint8_t max[] = { 'N', 'P', 'R', '1', 0, 0x10, 0, 0 };
	size_t payload = 99;

	(void)state;
	for (size_t i = 0; i < FRAME_HEADER; i++)
		assert_int_equal(frame_scan(one, i, 100, &payload), 0);
	assert_int_equal(payload, 99);
	assert_int_equal(frame_scan(one, 8, 100, &payload), 0);
	assert_int_equal(payload, 2);
	assert_int_equal(frame_scan(one, 9, 100, &payload), 0);
	assert_int_equal(frame_scan(one, 10, 100, &payload), 10);
	assert_int_equal(frame_scan(one, 11, 2, &payload), 10);
	assert_int_equal(frame_scan(one, 8, 1, &payload), -2);
	assert_int_equal(frame_scan(zero, 8, 100, &payload), -2);
	assert_int_equal(frame_scan(huge, 8, FRAME_MAX, &payload), -2);
	assert_int_equal(frame_scan(max, 8, FRAME_MAX - 1, &payload), -2);
	assert_int_equal(frame_scan(max, 8, FRAME_MAX, &payload), 0);
	assert_int_equal(payload, FRAME_MAX);
}

static void test_scan_foreign(void **state)
{
	static const char *const banners[] = {
		"SSH-2.0-OpenSSH_9.2",
		"GET / HTTP/1.1",
		"\x16\x03\x01",
		"NPR2",
		"NPR",
		"NPS",
		"NO",
		"npr1",
		"\n",
	};
	size_t payload;

	(void)state;
	for (size_t i = 0; i < sizeof(banners) / sizeof(banners[0]); i++) {
		const char *b = banners[i];
		size_t len = strlen(b);
		size_t same = 0;

		while (same < len && b[same] == FRAME_MAGIC[same])
			same++;
		for (size_t k = 0; k <= len; k++)
			assert_int_equal(frame_scan((const uint8_t *)b, k, 100,
						    &payload),
					 k > same ? -1 : 0);
	}
}

static void test_both_ways(void **state)
{
	struct frame_conn a, b;
	int fd[2];

	(void)state;
	memset(&fake, 0, sizeof(fake));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	frame_open(&a, fd[0], FRAME_MAX);
	frame_open(&b, fd[1], FRAME_MAX);
	assert_true(fcntl(fd[0], F_GETFL) & O_NONBLOCK);
	expect_nothing(&a);
	assert_int_equal(frame_send(&a, "{\"a\":1}", 7), 0);
	assert_false(frame_pending(&a));
	expect_frame(&b, "{\"a\":1}");
	expect_nothing(&b);
	assert_int_equal(frame_send(&b, "[2]", 3), 0);
	expect_frame(&a, "[2]");
	frame_close(&a);
	expect_end(&b, FRAME_CLOSED);
	frame_close(&b);
	frame_close(&b);
	assert_int_equal(b.fd, -1);
}

static void test_one_byte_at_a_time(void **state)
{
	const uint8_t frame[] = {
		'N', 'P', 'R', '1', 0, 0, 0, 3, '[', '1', ']'
	};
	struct pair p;

	(void)state;
	pair_open(&p, 100);
	for (size_t i = 0; i < sizeof(frame); i++) {
		expect_nothing(&p.c);
		peer_write(&p, frame + i, 1);
	}
	expect_frame(&p.c, "[1]");
	expect_nothing(&p.c);
	pair_close(&p);
}

static void test_several_in_one_read(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, 100);
	peer_frame(&p, "[1]");
	peer_frame(&p, "[2,2]");
	peer_frame(&p, "3");
	peer_write(&p, "NPR1", 4);
	expect_frame(&p.c, "[1]");
	assert_int_equal(fake.recvs, 1);
	expect_frame(&p.c, "[2,2]");
	expect_frame(&p.c, "3");
	assert_int_equal(fake.recvs, 1);
	expect_nothing(&p.c);
	peer_write(&p,
		   "\0\0\0\1"
		   "4",
		   5);
	expect_frame(&p.c, "4");
	pair_close(&p);
}

static void test_after_orderly_close(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, 100);
	peer_frame(&p, "[1]");
	peer_frame(&p, "[2]");
	peer_write(&p, "NPR1\0\0", 6); /* cut short: never handed out */
	peer_close(&p);
	expect_frame(&p.c, "[1]");
	expect_frame(&p.c, "[2]");
	expect_end(&p.c, FRAME_CLOSED);
	pair_close(&p);
}

static void test_oversize(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, 100);
	peer_frame(&p, "[1]");
	peer_write(&p, "NPR1\0\0\0\x65", 8); /* 101 */
	expect_frame(&p.c, "[1]");
	expect_end(&p.c, FRAME_OVERSIZE);
	pair_close(&p);

	pair_open(&p, 100);
	peer_write(&p, "NPR1\0\0\0\0", 8);
	expect_end(&p.c, FRAME_OVERSIZE);
	pair_close(&p);

	/* A limit above the protocol's own is cut to it. */
	pair_open(&p, SIZE_MAX);
	assert_int_equal(p.c.limit, FRAME_MAX);
	peer_write(&p, "NPR1\0\x10\0\1", 8);
	expect_end(&p.c, FRAME_OVERSIZE);
	pair_close(&p);
}

static void test_foreign(void **state)
{
	static const char ssh[] = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n";
	struct pair p;

	(void)state;
	pair_open(&p, 100);
	peer_write(&p, ssh, strlen(ssh));
	expect_end(&p.c, FRAME_FOREIGN);
	assert_int_equal(p.c.first_len, sizeof(p.c.first));
	assert_memory_equal(p.c.first, ssh, sizeof(p.c.first));
	frame_close(&p.c);
	/* Why it ended and what came first outlive the close. */
	assert_int_equal(p.c.state, FRAME_FOREIGN);
	assert_memory_equal(p.c.first, ssh, sizeof(p.c.first));
	pair_close(&p);
}

static void test_foreign_at_first_difference(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, 100);
	peer_write(&p, "NP", 2);
	expect_nothing(&p.c);
	peer_write(&p, "X", 1); /* and then silence */
	expect_end(&p.c, FRAME_FOREIGN);
	assert_int_equal(p.c.first_len, 3);
	assert_memory_equal(p.c.first, "NPX", 3);
	pair_close(&p);

	pair_open(&p, 100);
	peer_frame(&p, "[1]");
	peer_write(&p, "HTTP/1.1 400 Bad Request\r\n", 26);
	expect_frame(&p.c, "[1]");
	expect_end(&p.c, FRAME_FOREIGN);
	pair_close(&p);
}

static void test_first_bytes_by_single_reads(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, 100);
	fake.recv_most = 1;
	peer_frame(&p, "[1,2,3,4,5,6,7,8]");
	expect_frame(&p.c, "[1,2,3,4,5,6,7,8]");
	assert_int_equal(p.c.first_len, sizeof(p.c.first));
	assert_memory_equal(p.c.first, "NPR1\0\0\0\x11[1,2,3,4", 16);
	pair_close(&p);
}

static void test_heard_and_sent(void **state)
{
	struct pair p;
	nsec_t t;

	(void)state;
	pair_open(&p, 100);
	t = p.c.heard;
	assert_true(t > 0);
	assert_int_equal(p.c.sent, t);
	expect_nothing(&p.c);
	assert_int_equal(p.c.heard, t);
	peer_write(&p, "N", 1);
	expect_nothing(&p.c);
	assert_true(p.c.heard > t);
	assert_int_equal(frame_send(&p.c, "{}", 2), 0);
	assert_true(p.c.sent > t);
	pair_close(&p);
}

static void test_bad_sends(void **state)
{
	char *big = calloc(1, FRAME_MAX + 1);
	struct pair p;

	(void)state;
	assert_non_null(big);
	pair_open(&p, 100);
	assert_int_equal(frame_send(&p.c, "", 0), -1);
	assert_int_equal(frame_send(&p.c, big, FRAME_MAX + 1), -1);
	/* Nothing of them was queued and the connection is as good as new. */
	assert_int_equal(p.c.state, FRAME_OPEN);
	assert_int_equal(fake.sends, 0);
	assert_int_equal(frame_send(&p.c, "{}", 2), 0);
	free(big);
	pair_close(&p);
}

/* Were SIGPIPE raised, this program would be gone. */
static void test_epipe(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, 100);
	peer_frame(&p, "{\"error\":7}");
	peer_close(&p);
	assert_int_equal(frame_send(&p.c, "{}", 2), -1);
	assert_int_equal(p.c.state, FRAME_BROKEN);
	assert_int_equal(p.c.err, EPIPE);
	assert_false(frame_pending(&p.c));
	/* What the other end said before it went is still told. */
	expect_frame(&p.c, "{\"error\":7}");
	expect_end(&p.c, FRAME_BROKEN);
	assert_int_equal(p.c.err, EPIPE);
	pair_close(&p);
}

static void test_reset(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, 100);
	fake.recv_errno = ECONNRESET;
	assert_int_equal(frame_next(&p.c, &(char *){ NULL }, &(size_t){ 0 }),
			 -1);
	assert_int_equal(p.c.state, FRAME_BROKEN);
	assert_int_equal(p.c.err, ECONNRESET);
	expect_end(&p.c, FRAME_BROKEN);
	pair_close(&p);
}

static void test_interrupted(void **state)
{
	struct pair p;
	char got[FRAME_HEADER + 2];

	(void)state;
	pair_open(&p, 100);
	peer_frame(&p, "[1]");
	fake.recv_errno = EINTR;
	expect_frame(&p.c, "[1]");
	fake.send_errno = EINTR;
	assert_int_equal(frame_send(&p.c, "{}", 2), 0);
	assert_false(frame_pending(&p.c));
	assert_int_equal(read(p.peer, got, sizeof(got)), sizeof(got));
	assert_memory_equal(got, "NPR1\0\0\0\2{}", sizeof(got));
	pair_close(&p);
}

static void test_short_writes(void **state)
{
	struct pair p;
	char got[FRAME_HEADER + 5];

	(void)state;
	pair_open(&p, 100);
	fake.send_most = 1;
	assert_int_equal(frame_send(&p.c, "[1,2]", 5), 0);
	assert_int_equal(fake.sends, FRAME_HEADER + 5);
	assert_int_equal(read(p.peer, got, sizeof(got)), sizeof(got));
	assert_memory_equal(got, "NPR1\0\0\0\5[1,2]", sizeof(got));
	pair_close(&p);
}

static void test_flush_later(void **state)
{
	struct pair p;
	char got[2 * (FRAME_HEADER + 1)];

	(void)state;
	pair_open(&p, 100);
	fake.send_errno = EAGAIN;
	assert_int_equal(frame_send(&p.c, "1", 1), 0);
	assert_true(frame_pending(&p.c));
	fake.send_errno = EAGAIN;
	assert_int_equal(frame_flush(&p.c), 0);
	assert_true(frame_pending(&p.c));
	/* The order is kept: what was queued goes first. */
	assert_int_equal(frame_send(&p.c, "2", 1), 0);
	assert_false(frame_pending(&p.c));
	assert_int_equal(read(p.peer, got, sizeof(got)), sizeof(got));
	assert_memory_equal(got,
			    "NPR1\0\0\0\1"
			    "1NPR1\0\0\0\1"
			    "2",
			    sizeof(got));
	assert_int_equal(frame_flush(&p.c), 0);
	pair_close(&p);
}

#define BIG 300000

/* Read frames of BIG bytes from @to while @from flushes; returns how many. */
static int drain(struct frame_conn *from, struct frame_conn *to)
{
	int frames = 0;
	int idle = 0;

	while (idle < 2) {
		char *json = NULL;
		size_t len = 0;
		int got = frame_next(to, &json, &len);

		assert_true(got >= 0);
		assert_int_equal(frame_flush(from), 0);
		idle = got == 0 && !frame_pending(from) ? idle + 1 : 0;
		if (got == 0)
			continue;
		assert_int_equal(len, BIG);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(json[i], 'a' + frames);
		frames++;
		free(json);
	}
	return frames;
}

static void test_peer_does_not_read(void **state)
{
	static char text[BIG];
	struct frame_conn a, b;
	int fd[2];

	(void)state;
	memset(&fake, 0, sizeof(fake));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	frame_open(&a, fd[0], FRAME_MAX);
	frame_open(&b, fd[1], FRAME_MAX);
	for (int i = 0; i < 9; i++) {
		memset(text, 'a' + i, sizeof(text));
		assert_int_equal(frame_send(&a, text, sizeof(text)), 0);
	}
	assert_true(frame_pending(&a));
	assert_true(a.out_len > 4 * sizeof(text));
	assert_true(a.out_room >= a.out_len);
	assert_int_equal(drain(&a, &b), 9);
	assert_false(frame_pending(&a));
	frame_close(&a);
	frame_close(&b);
}

static void test_largest(void **state)
{
	char *text = malloc(FRAME_MAX);
	char *json = NULL;
	struct frame_conn a, b;
	size_t len = 0;
	int fd[2];
	int got;

	(void)state;
	assert_non_null(text);
	memset(text, '7', FRAME_MAX);
	memset(&fake, 0, sizeof(fake));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	frame_open(&a, fd[0], FRAME_MAX);
	frame_open(&b, fd[1], FRAME_MAX);
	assert_int_equal(frame_send(&a, text, FRAME_MAX), 0);
	while ((got = frame_next(&b, &json, &len)) == 0)
		assert_int_equal(frame_flush(&a), 0);
	assert_int_equal(got, 1);
	assert_int_equal(len, FRAME_MAX);
	assert_memory_equal(json, text, FRAME_MAX);
	assert_int_equal(json[len], '\0');
	free(json);
	free(text);
	frame_close(&a);
	frame_close(&b);
}

/* A claimed length costs memory only as its bytes come. */
static void test_claim_costs_nothing(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, FRAME_MAX);
	peer_write(&p, "NPR1\0\x10\0\0[", 9);
	expect_nothing(&p.c);
	assert_true(p.c.in_room <= 4096);
	pair_close(&p);
}

static void test_bad_descriptor(void **state)
{
	struct frame_conn c;
	char *json = NULL;
	size_t len;

	(void)state;
	memset(&fake, 0, sizeof(fake));
	frame_open(&c, -1, 100);
	assert_int_equal(c.state, FRAME_BROKEN);
	assert_int_equal(c.err, EBADF);
	assert_int_equal(frame_next(&c, &json, &len), -1);
	assert_int_equal(frame_send(&c, "{}", 2), -1);
	frame_close(&c);
}

static void test_use_after_close(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p, 100);
	peer_frame(&p, "[1]");
	frame_close(&p.c);
	expect_end(&p.c, FRAME_CLOSED);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_scan_foreign),
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_one_byte_at_a_time),
		cmocka_unit_test(test_several_in_one_read),
		cmocka_unit_test(test_after_orderly_close),
		cmocka_unit_test(test_oversize),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_foreign_at_first_difference),
		cmocka_unit_test(test_first_bytes_by_single_reads),
		cmocka_unit_test(test_heard_and_sent),
		cmocka_unit_test(test_bad_sends),
		cmocka_unit_test(test_epipe),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_short_writes),
		cmocka_unit_test(test_flush_later),
		cmocka_unit_test(test_peer_does_not_read),
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_claim_costs_nothing),
		cmocka_unit_test(test_bad_descriptor),
		cmocka_unit_test(test_use_after_close),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}

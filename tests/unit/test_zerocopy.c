/* SPDX-License-Identifier: Apache-2.0 */
/* Sends, receives and fed-in completions: what is counted, what is fatal. */
/* wrap: send recv recvmsg */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <linux/errqueue.h>

#include "common/engine/flow_io.h"
#include "common/engine/zerocopy_tx.h"

#define STEPS 16

/* What the calls answer, in turn: a number of bytes, or -errno. */
static struct {
	ssize_t send[STEPS];
	int sends, flags[STEPS];
	ssize_t recv[STEPS];
	int recvs, recv_flags;
	/* the error queue: notifications, then EAGAIN */
	struct sock_extended_err queue[STEPS];
	int level[STEPS]; /* SOL_IP, SOL_IPV6, or -1: no such message */
	int err[STEPS]; /* errno instead of a message */
	int n, at;
} fake;

static ssize_t answer(ssize_t v)
{
	if (v >= 0)
		return v;
	errno = (int)-v;
	return -1;
}

ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
	assert_int_equal(fd, 77);
	assert_non_null(data);
	assert_true(len > 0 && fake.sends < STEPS);
	fake.flags[fake.sends] = flags;
	return answer(fake.send[fake.sends++]);
}

ssize_t __wrap_recv(int fd, void *data, size_t len, int flags)
{
	assert_int_equal(fd, 77);
	assert_non_null(data);
	assert_true(len > 0 && fake.recvs < STEPS);
	fake.recv_flags = flags;
	return answer(fake.recv[fake.recvs++]);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	int i = fake.at;

	assert_int_equal(fd, 77);
	assert_int_equal(flags, MSG_ERRQUEUE | MSG_DONTWAIT);
	if (i == fake.n)
		return answer(-EAGAIN);
	fake.at++;
	if (fake.err[i])
		return answer(-fake.err[i]);
	assert_true(msg->msg_controllen >=
		    CMSG_SPACE(sizeof(struct sock_extended_err)));
	if (fake.level[i] < 0) {
		msg->msg_controllen = 0;
		return 0;
	}
	c->cmsg_level = fake.level[i];
	c->cmsg_type = fake.level[i] == SOL_IP ? IP_RECVERR : IPV6_RECVERR;
	c->cmsg_len = CMSG_LEN(sizeof(struct sock_extended_err));
	memcpy(CMSG_DATA(c), &fake.queue[i], sizeof(fake.queue[i]));
	msg->msg_controllen = CMSG_SPACE(sizeof(struct sock_extended_err));
	return 0;
}

/* Put the completion of sends @first to @last into the error queue. */
static void complete(uint32_t first, uint32_t last, bool copied)
{
	fake.level[fake.n] = fake.n % 2 ? SOL_IPV6 : SOL_IP;
	fake.queue[fake.n++] = (struct sock_extended_err){
		.ee_origin = SO_EE_ORIGIN_ZEROCOPY,
		.ee_code = copied ? SO_EE_CODE_ZEROCOPY_COPIED : 0,
		.ee_info = first,
		.ee_data = last,
	};
}

static struct transfer transfer;
static struct lane l;
static struct flow f;
static char data[4096];

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	memset(&l, 0, sizeof(l));
	memset(&f, 0, sizeof(f));
	transfer = (struct transfer){ .tx_size = 1000, .zerocopy = true };
	l.transfer = &transfer;
	l.tx_flags = MSG_ZEROCOPY | MSG_NOSIGNAL;
	l.rx_flags = MSG_DONTWAIT;
	f.fd = 77;
	return 0;
}

#define COUNTED(member, n) \
	assert_int_equal(counter_get(&l.counters.member), (uint64_t)(n))

/* @n sends of which nothing is complete. */
static void pend(uint32_t n)
{
	f.zc_next = f.zc_done + n;
	l.zc_pending = n;
}

static void test_range_length(void **state)
{
	static const struct {
		uint32_t first, last;
		uint64_t length;
	} all[] = {
		{ 0, 0, 1 },
		{ 5, 7, 3 },
		{ UINT32_MAX, UINT32_MAX, 1 },
		{ UINT32_MAX, 0, 2 },
		{ UINT32_MAX - 2, 4, 8 },
		{ 0, UINT32_MAX, UINT64_C(1) << 32 },
		{ 7, 6, UINT64_C(1) << 32 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct zerocopy_range r = { all[i].first, all[i].last, false };

		assert_true(zerocopy_range_length(r) == all[i].length);
	}
}

static void test_complete(void **state)
{
	(void)state;
	pend(10);
	assert_int_equal(zerocopy_tx_complete(
				 &l, &f, (struct zerocopy_range){ 3, 5, 0 }),
			 0);
	assert_int_equal(zerocopy_tx_pending(&f), 7);
	assert_int_equal(l.zc_pending, 7);
	/* In any order, and some of them copied after all. */
	assert_int_equal(zerocopy_tx_complete(
				 &l, &f, (struct zerocopy_range){ 0, 2, 1 }),
			 0);
	assert_int_equal(zerocopy_tx_complete(
				 &l, &f, (struct zerocopy_range){ 6, 9, 0 }),
			 0);
	assert_int_equal(zerocopy_tx_pending(&f), 0);
	assert_int_equal(l.zc_pending, 0);
	COUNTED(zc_completions, 10);
	COUNTED(zc_copied, 3);
}

/* The 32-bit ids wrap, and a range lies across the wrap. */
static void test_wrap_of_ids(void **state)
{
	(void)state;
	f.zc_done = UINT32_MAX - 1;
	pend(5);
	assert_int_equal(f.zc_next, 3);
	assert_int_equal(zerocopy_tx_pending(&f), 5);
	complete(UINT32_MAX - 1, 1, false);
	complete(2, 2, true);
	assert_int_equal(zerocopy_tx_drain(&l, &f), 2);
	assert_int_equal(zerocopy_tx_pending(&f), 0);
	assert_int_equal(f.zc_done, 3);
	COUNTED(zc_completions, 5);
	COUNTED(zc_copied, 1);
}

static void test_more_than_sent(void **state)
{
	static const struct zerocopy_range bad[] = {
		{ 0, 2, false },
		{ 0, UINT32_MAX, false },
		{ 1, 0, true },
	};

	(void)state;
	pend(2);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(zerocopy_tx_complete(&l, &f, bad[i]), -1);
		assert_int_equal(zerocopy_tx_pending(&f), 2);
		assert_int_equal(l.zc_pending, 2);
		COUNTED(zc_completions, 0);
		COUNTED(zc_copied, 0);
	}
	complete(0, 1, false);
	complete(2, 2, false);
	assert_int_equal(zerocopy_tx_drain(&l, &f), -1);
	assert_int_equal(f.err, EPROTO);
	COUNTED(zc_completions, 2);
}

/* Merged ranges of both families, interrupted and empty messages. */
static void test_drain(void **state)
{
	(void)state;
	assert_int_equal(zerocopy_tx_drain(&l, &f), 0);
	pend(100);
	complete(0, 49, false);
	complete(50, 50, true);
	fake.err[fake.n++] = EINTR;
	fake.level[fake.n++] = -1;
	complete(51, 98, false);
	assert_int_equal(zerocopy_tx_drain(&l, &f), 3);
	assert_int_equal(zerocopy_tx_pending(&f), 1);
	assert_int_equal(f.err, 0);
	COUNTED(zc_completions, 99);
	COUNTED(zc_copied, 1);
}

/* What the error queue may hold besides is the end of the flow. */
static void test_drain_failures(void **state)
{
	static const struct {
		int errno_of_call, origin, ee_errno, want;
	} all[] = {
		{ EBADF, 0, 0, EBADF },
		{ 0, SO_EE_ORIGIN_ICMP, EHOSTUNREACH, EHOSTUNREACH },
		{ 0, SO_EE_ORIGIN_ZEROCOPY, ENOMEM, ENOMEM },
		{ 0, SO_EE_ORIGIN_TIMESTAMPING, 0, EPROTO },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		setup(state);
		pend(2);
		complete(0, 0, false);
		complete(1, 1, false);
		fake.err[1] = all[i].errno_of_call;
		fake.queue[1].ee_origin = (uint8_t)all[i].origin;
		fake.queue[1].ee_errno = (uint32_t)all[i].ee_errno;
		assert_int_equal(zerocopy_tx_drain(&l, &f), -1);
		assert_int_equal(f.err, all[i].want);
		assert_int_equal(zerocopy_tx_pending(&f), 1);
	}
}

static void test_send(void **state)
{
	(void)state;
	fake.send[0] = 1000;
	fake.send[1] = 400;
	assert_int_equal(flow_send(&l, &f, data, 1000), 1000);
	assert_int_equal(flow_send(&l, &f, data, 1000), 400);
	assert_int_equal(fake.flags[0], MSG_ZEROCOPY | MSG_NOSIGNAL);
	assert_int_equal(counter_get(&f.tx_bytes), 1400);
	COUNTED(tx_bytes, 1400);
	COUNTED(tx_transfers, 2);
	COUNTED(tx_short, 1);
	COUNTED(tx_again, 0);
	COUNTED(zc_sends, 2);
	assert_int_equal(zerocopy_tx_pending(&f), 2);
	/* Most that may be pinned: what is open, at the full size of a send. */
	COUNTED(zc_peak, 2000);
	complete(0, 1, false);
	assert_int_equal(zerocopy_tx_drain(&l, &f), 1);
	fake.send[2] = 1;
	assert_int_equal(flow_send(&l, &f, data, 1000), 1);
	COUNTED(zc_peak, 2000);
	assert_int_equal(l.zc_pending, 1);
}

static void test_send_without_zerocopy(void **state)
{
	(void)state;
	transfer.zerocopy = false;
	l.tx_flags = MSG_NOSIGNAL;
	fake.send[0] = 1000;
	fake.send[1] = -ENOBUFS;
	assert_int_equal(flow_send(&l, &f, data, 1000), 1000);
	COUNTED(zc_sends, 0);
	assert_int_equal(zerocopy_tx_pending(&f), 0);
	/* Without zero-copy there is nothing to fall back from. */
	assert_int_equal(flow_send(&l, &f, data, 1000), -1);
	assert_int_equal(f.err, ENOBUFS);
	assert_int_equal(fake.sends, 2);
	COUNTED(zc_enobufs, 0);
}

static void test_send_refused(void **state)
{
	(void)state;
	fake.send[0] = -EAGAIN;
	fake.send[1] = -EINTR;
	fake.send[2] = -EPIPE;
	assert_int_equal(flow_send(&l, &f, data, 1000), 0);
	COUNTED(tx_again, 1);
	assert_int_equal(flow_send(&l, &f, data, 1000), 0);
	COUNTED(tx_again, 1);
	assert_int_equal(f.err, 0);
	assert_int_equal(flow_send(&l, &f, data, 1000), -1);
	assert_int_equal(f.err, EPIPE);
	assert_int_equal(counter_get(&f.tx_bytes), 0);
	COUNTED(tx_transfers, 0);
	COUNTED(tx_short, 0);
	COUNTED(zc_sends, 0);
}

/* ENOBUFS: the queue is drained, and the send repeated as a copying one. */
static void test_fallback(void **state)
{
	(void)state;
	pend(3);
	complete(0, 1, false);
	fake.send[0] = -ENOBUFS;
	fake.send[1] = 600;
	assert_int_equal(flow_send(&l, &f, data, 1000), 600);
	assert_int_equal(fake.sends, 2);
	assert_int_equal(fake.flags[1], MSG_NOSIGNAL);
	COUNTED(zc_enobufs, 1);
	COUNTED(zc_fallbacks, 1);
	COUNTED(zc_completions, 2);
	/* A copying send gets no id and no completion. */
	COUNTED(zc_sends, 0);
	assert_int_equal(zerocopy_tx_pending(&f), 1);
	COUNTED(tx_bytes, 600);
	COUNTED(tx_transfers, 1);
	COUNTED(tx_short, 1);
}

static void test_fallback_refused(void **state)
{
	(void)state;
	fake.send[0] = -ENOBUFS;
	fake.send[1] = -EAGAIN;
	assert_int_equal(flow_send(&l, &f, data, 1000), 0);
	COUNTED(zc_enobufs, 1);
	COUNTED(zc_fallbacks, 0);
	COUNTED(tx_again, 1);
	assert_int_equal(f.err, 0);
	fake.send[2] = fake.send[3] = -ENOBUFS;
	assert_int_equal(flow_send(&l, &f, data, 1000), -1);
	assert_int_equal(f.err, ENOBUFS);
	assert_int_equal(fake.sends, 4);
	COUNTED(zc_enobufs, 2);
}

/* A real error in the queue ends the flow; nothing is sent after it. */
static void test_fallback_finds_error(void **state)
{
	(void)state;
	complete(0, 0, false);
	fake.queue[0].ee_origin = SO_EE_ORIGIN_LOCAL;
	fake.queue[0].ee_errno = ETIMEDOUT;
	fake.send[0] = -ENOBUFS;
	assert_int_equal(flow_send(&l, &f, data, 1000), -1);
	assert_int_equal(f.err, ETIMEDOUT);
	assert_int_equal(fake.sends, 1);
}

static void test_recv(void **state)
{
	(void)state;
	fake.recv[0] = sizeof(data);
	fake.recv[1] = 5;
	assert_int_equal(flow_recv(&l, &f, data, sizeof(data)), sizeof(data));
	assert_int_equal(flow_recv(&l, &f, data, sizeof(data)), 5);
	assert_int_equal(fake.recv_flags, MSG_DONTWAIT);
	assert_int_equal(counter_get(&f.rx_bytes), sizeof(data) + 5);
	COUNTED(rx_bytes, sizeof(data) + 5);
	COUNTED(rx_transfers, 2);
	COUNTED(rx_short, 1);
	COUNTED(rx_truncated, 0);
	transfer.discard = true;
	fake.recv[2] = 7;
	assert_int_equal(flow_recv(&l, &f, data, sizeof(data)), 7);
	COUNTED(rx_truncated, 1);
}

static void test_recv_refused(void **state)
{
	(void)state;
	fake.recv[0] = -EAGAIN;
	fake.recv[1] = -EINTR;
	fake.recv[2] = -ETIMEDOUT;
	fake.recv[3] = 0;
	assert_int_equal(flow_recv(&l, &f, data, sizeof(data)), 0);
	COUNTED(rx_again, 1);
	assert_int_equal(flow_recv(&l, &f, data, sizeof(data)), 0);
	COUNTED(rx_again, 1);
	assert_int_equal(f.err, 0);
	assert_int_equal(flow_recv(&l, &f, data, sizeof(data)), -1);
	assert_int_equal(f.err, ETIMEDOUT);
	/* An orderly close comes too early as well. */
	assert_int_equal(flow_recv(&l, &f, data, sizeof(data)), -1);
	assert_int_equal(f.err, ECONNRESET);
	COUNTED(rx_transfers, 0);
	COUNTED(rx_short, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_range_length, setup),
		cmocka_unit_test_setup(test_complete, setup),
		cmocka_unit_test_setup(test_wrap_of_ids, setup),
		cmocka_unit_test_setup(test_more_than_sent, setup),
		cmocka_unit_test_setup(test_drain, setup),
		cmocka_unit_test_setup(test_drain_failures, setup),
		cmocka_unit_test_setup(test_send, setup),
		cmocka_unit_test_setup(test_send_without_zerocopy, setup),
		cmocka_unit_test_setup(test_send_refused, setup),
		cmocka_unit_test_setup(test_fallback, setup),
		cmocka_unit_test_setup(test_fallback_refused, setup),
		cmocka_unit_test_setup(test_fallback_finds_error, setup),
		cmocka_unit_test_setup(test_recv, setup),
		cmocka_unit_test_setup(test_recv_refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

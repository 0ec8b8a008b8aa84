/* SPDX-License-Identifier: Apache-2.0 */
/* The epoll set: tags, waits, signals, and a kernel without epoll_pwait2. */
/* wrap: epoll_pwait2 epoll_wait */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/engine/poller.h"

static struct {
	int pwait2_errno, wait_errno; /* fail with this, 0: the real call */
	bool pretend; /* answer 0 at once instead of the real epoll_wait */
	int pwaits, waits; /* calls */
	int ms; /* of the latest epoll_wait */
	struct timespec ts; /* of the latest epoll_pwait2 */
} fake;

int __real_epoll_pwait2(int fd, struct epoll_event *events, int n,
			const struct timespec *ts, const sigset_t *set);
int __real_epoll_wait(int fd, struct epoll_event *events, int n, int ms);

int __wrap_epoll_pwait2(int fd, struct epoll_event *events, int n,
			const struct timespec *ts, const sigset_t *set)
{
	fake.pwaits++;
	fake.ts = *ts;
	if (fake.pwait2_errno) {
		errno = fake.pwait2_errno;
		return -1;
	}
	if (fake.pretend)
		return 0;
	return __real_epoll_pwait2(fd, events, n, ts, set);
}

int __wrap_epoll_wait(int fd, struct epoll_event *events, int n, int ms)
{
	fake.waits++;
	fake.ms = ms;
	if (fake.wait_errno) {
		errno = fake.wait_errno;
		return -1;
	}
	return fake.pretend ? 0 : __real_epoll_wait(fd, events, n, ms);
}

static struct poller p;
static int fd;

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fd = eventfd(1, EFD_NONBLOCK);
	return fd < 0 || poller_open(&p, 4);
}

static int teardown(void **state)
{
	(void)state;
	close(fd);
	poller_close(&p);
	poller_close(&p);
	return p.fd != -1;
}

static void test_events(void **state)
{
	struct poller_event e;

	(void)state;
	assert_int_equal(poller_wait(&p, 0), 0);
	assert_int_equal(poller_add(&p, fd, EPOLLIN, UINT32_MAX, 7), 0);
	assert_int_equal(poller_add(&p, fd, EPOLLIN, 1, 7), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(poller_wait(&p, 0), 1);
	e = poller_event(&p, 0);
	assert_int_equal(e.events, EPOLLIN);
	assert_true(e.tag == UINT32_MAX && e.index == 7);
	assert_int_equal(
		poller_change(&p, fd, EPOLLIN | EPOLLOUT, 3, UINT32_MAX), 0);
	assert_int_equal(poller_wait(&p, NSEC_PER_SEC), 1);
	e = poller_event(&p, 0);
	assert_int_equal(e.events, EPOLLIN | EPOLLOUT);
	assert_true(e.tag == 3 && e.index == UINT32_MAX);
	assert_int_equal(poller_change(&p, fd, 0, 3, 1), 0);
	assert_int_equal(poller_wait(&p, 0), 0);
	poller_remove(&p, fd);
	assert_int_equal(poller_change(&p, fd, EPOLLIN, 3, 1), -1);
	poller_remove(&p, fd);
}

/* No more events than there is room for; the others come next. */
static void test_room(void **state)
{
	int fds[6], seen = 0;

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		fds[i] = eventfd(1, 0);
		assert_int_equal(poller_add(&p, fds[i], EPOLLIN, 0, i), 0);
	}
	for (int turn = 0; turn < 2; turn++) {
		int n = poller_wait(&p, 0);

		assert_int_equal(n, 4);
		for (int i = 0; i < n; i++)
			seen |= 1 << poller_event(&p, i).index;
	}
	assert_int_equal(seen, 0x3f);
	for (int i = 0; i < 6; i++)
		close(fds[i]);
}

static void test_timeouts(void **state)
{
	nsec_t before = clock_now();

	(void)state;
	assert_int_equal(poller_wait(&p, 3 * NSEC_PER_MSEC), 0);
	assert_true(clock_now() - before >= 3 * NSEC_PER_MSEC);
	assert_int_equal(fake.pwaits, 1);
	assert_int_equal(fake.ts.tv_sec, 0);
	assert_int_equal(fake.ts.tv_nsec, 3000000);
	fake.pretend = true;
	poller_wait(&p, NSEC_NEVER);
	assert_int_equal(fake.ts.tv_sec, INT64_MAX / NSEC_PER_SEC);
	/* "Now" and "for ever" are whole milliseconds anyway. */
	poller_wait(&p, 0);
	assert_int_equal(fake.ms, 0);
	poller_wait(&p, -5);
	assert_int_equal(fake.ms, -1);
	assert_int_equal(fake.pwaits, 2);
}

static void test_failures(void **state)
{
	(void)state;
	fake.pwait2_errno = EINTR;
	assert_int_equal(poller_wait(&p, 1), 0);
	fake.pwait2_errno = EBADF;
	assert_int_equal(poller_wait(&p, 1), -1);
	assert_int_equal(errno, EBADF);
	fake.wait_errno = EINTR;
	assert_int_equal(poller_wait(&p, 0), 0);
	fake.wait_errno = EINVAL;
	assert_int_equal(poller_wait(&p, 0), -1);
	assert_int_equal(errno, EINVAL);
}

/* Last: what is found to be missing stays so for the life of a process. */
static void test_no_pwait2(void **state)
{
	static const struct {
		nsec_t timeout;
		int ms;
	} all[] = {
		{ 1, 1 },
		{ NSEC_PER_MSEC - 1, 1 },
		{ NSEC_PER_MSEC, 1 },
		{ NSEC_PER_MSEC + 1, 2 },
		{ NSEC_PER_SEC, 1000 },
		{ 0, 0 },
		{ -1, -1 },
		{ INT64_MIN, -1 },
		/* A wait without end may be cut: the caller comes again. */
		{ NSEC_NEVER, 1000000 },
		{ NSEC_NEVER - 1000, 1000000 },
	};

	(void)state;
	fake.pretend = true;
	fake.pwait2_errno = ENOSYS;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(poller_wait(&p, all[i].timeout), 0);
		assert_int_equal(fake.ms, all[i].ms);
	}
	assert_int_equal(fake.pwaits, 1);
	assert_int_equal(fake.waits, sizeof(all) / sizeof(all[0]));
	fake.pretend = false;
	assert_int_equal(poller_add(&p, fd, EPOLLIN, 1, 2), 0);
	assert_int_equal(poller_wait(&p, NSEC_PER_SEC), 1);
	assert_int_equal(fake.pwaits, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timeouts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_pwait2, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

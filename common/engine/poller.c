/* SPDX-License-Identifier: Apache-2.0 */
/* One epoll set whose events carry a tag and an index, never a pointer. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/engine/poller.h"

/* Set once by the first thread that finds epoll_pwait2 missing. */
static atomic_bool no_pwait2;

int poller_open(struct poller *p, int room)
{
	p->room = room;
	p->events = calloc((size_t)room, sizeof(*p->events));
	if (!p->events) {
		p->fd = -1;
		return -1;
	}
	p->fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->fd < 0) {
		free(p->events);
		p->events = NULL;
		return -1;
	}
	return 0;
}

void poller_close(struct poller *p)
{
	if (!p->events)
		return;
	(void)close(p->fd); /* nothing is buffered in an epoll set */
	free(p->events);
	p->events = NULL;
	p->fd = -1;
}

static int control(struct poller *p, int op, int fd, uint32_t events,
		   uint64_t data)
{
	struct epoll_event ev = { .events = events, .data.u64 = data };

	return epoll_ctl(p->fd, op, fd, &ev);
}

int poller_add(struct poller *p, int fd, uint32_t events, uint32_t tag,
	       uint32_t index)
{
	return control(p, EPOLL_CTL_ADD, fd, events,
		       (uint64_t)tag << 32 | index);
}

int poller_change(struct poller *p, int fd, uint32_t events, uint32_t tag,
		  uint32_t index)
{
	return control(p, EPOLL_CTL_MOD, fd, events,
		       (uint64_t)tag << 32 | index);
}

void poller_remove(struct poller *p, int fd)
{
	/* The caller closes @fd next, which removes it in any case. */
	(void)control(p, EPOLL_CTL_DEL, fd, 0, 0);
}

/* The wait of kernels and tools without epoll_pwait2: whole milliseconds. */
static int wait_coarse(struct poller *p, nsec_t timeout)
{
	nsec_t ms = timeout / NSEC_PER_MSEC + (timeout % NSEC_PER_MSEC > 0);

	if (ms > 1000000)
		ms = 1000000;
	return epoll_wait(p->fd, p->events, p->room,
			  timeout < 0 ? -1 : (int)ms);
}

int poller_wait(struct poller *p, nsec_t timeout)
{
	int n;

	if (timeout <= 0 ||
	    atomic_load_explicit(&no_pwait2, memory_order_relaxed)) {
		n = wait_coarse(p, timeout);
	} else {
		struct timespec ts = clock_timespec(timeout);

		n = epoll_pwait2(p->fd, p->events, p->room, &ts, NULL);
		if (n < 0 && errno == ENOSYS) {
			atomic_store(&no_pwait2, true);
			n = wait_coarse(p, timeout);
		}
	}
	return n < 0 && errno == EINTR ? 0 : n;
}

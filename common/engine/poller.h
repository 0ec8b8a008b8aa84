/* SPDX-License-Identifier: Apache-2.0 */
/* One epoll set whose events carry a tag and an index, never a pointer. */
#ifndef NAPIER_ENGINE_POLLER_H
#define NAPIER_ENGINE_POLLER_H

#include <stdint.h>
#include <sys/epoll.h>

#include "common/base/clock.h"

struct poller {
	int fd; /* epoll set; owned */
	int room; /* most events one wait returns */
	struct epoll_event *events; /* owned, room of them */
};

/* What an event is about. */
struct poller_event {
	uint32_t events; /* EPOLLIN and its like */
	uint32_t tag; /* kind of the thing, as given to poller_add() */
	uint32_t index; /* which of them */
};

/* Make a set that returns at most @room events a wait; 0, or -1 with errno. */
int poller_open(struct poller *p, int room);

/* Close; harmless on a zeroed struct or twice. */
void poller_close(struct poller *p);

/*
 * Watch @fd for @events (epoll_ctl(2), level-triggered); an event will carry
 * @tag and @index. 0, or -1 with errno.
 */
int poller_add(struct poller *p, int fd, uint32_t events, uint32_t tag,
	       uint32_t index);

/* Change what is watched on @fd. 0, or -1 with errno. */
int poller_change(struct poller *p, int fd, uint32_t events, uint32_t tag,
		  uint32_t index);

/* Stop watching @fd. */
void poller_remove(struct poller *p, int fd);

/*
 * Wait for events until @timeout ns have passed (0: do not wait, negative:
 * for ever) by epoll_pwait2(2), or in whole milliseconds where that is
 * missing (valgrind). Returns the number of events, 0 on time-out or a
 * signal, -1 with errno.
 */
int poller_wait(struct poller *p, nsec_t timeout);

/* Event @i of the last wait. */
static inline struct poller_event poller_event(const struct poller *p, int i)
{
	uint64_t data = p->events[i].data.u64;

	return (struct poller_event){ .events = p->events[i].events,
				      .tag = (uint32_t)(data >> 32),
				      .index = (uint32_t)data };
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Reach a control port: addresses in turn, again while it is refused. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/control/reach.h"

#define REACH_PAUSE (200 * NSEC_PER_MSEC)

int reach_open(struct reach *r, const struct addr *addrs, int n,
	       const struct addr *local, nsec_t limit, struct fault *fault)
{
	memset(r, 0, sizeof(*r));
	r->fd = -1;
	r->limit = limit;
	r->n = n < REACH_ADDRS ? n : REACH_ADDRS;
	memcpy(r->addrs, addrs, (size_t)r->n * sizeof(*addrs));
	if (local)
		r->local = *local;
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0)
		return fault_set(fault, errno, "cannot connect");
	return 0;
}

void reach_close(struct reach *r)
{
	if (r->fd >= 0)
		(void)close(r->fd); /* given up */
	(void)close(r->epoll_fd); /* nothing is buffered in it */
	r->fd = r->epoll_fd = -1;
}

/* The address under way failed with @err. */
static void fail(struct reach *r, int err)
{
	char text[ADDR_TEXT];

	(void)addr_text(&r->addrs[r->next], true, text, sizeof(text));
	memset(&r->last, 0, sizeof(r->last));
	(void)fault_set(&r->last, err, "cannot connect to %s", text);
	r->refused |= err == ECONNREFUSED;
	if (r->fd >= 0)
		(void)close(r->fd); /* not connected */
	r->fd = -1;
	r->next++;
}

static void begin(struct reach *r, nsec_t now)
{
	const struct addr *to = &r->addrs[r->next];
	struct epoll_event e = { .events = EPOLLOUT };

	r->fd = socket(to->sa.sa_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (r->fd < 0 ||
	    (r->local.len && bind(r->fd, &r->local.sa, r->local.len)) ||
	    (connect(r->fd, &to->sa, to->len) && errno != EINPROGRESS) ||
	    epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, r->fd, &e)) {
		fail(r, errno);
		return;
	}
	/* The addresses that follow must get their turn too. */
	r->turn = now + (r->limit - now) / (r->n - r->next);
}

/* Look at the connect under way: its descriptor when done, else -1. */
static int look(struct reach *r, nsec_t now)
{
	struct epoll_event e;
	int err = 0, fd = r->fd;
	socklen_t len = sizeof(err);

	if (epoll_wait(r->epoll_fd, &e, 1, 0) == 1) {
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
			err = errno;
		if (err) {
			fail(r, err);
			return -1;
		}
		(void)epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		r->fd = -1;
		return fd;
	}
	if (now >= r->turn)
		fail(r, ETIMEDOUT);
	return -1;
}

/* Every address has failed: pause before the next round, or give up. */
static int pause_round(struct reach *r, nsec_t now, struct fault *fault)
{
	if (!r->refused || now >= r->limit) {
		*fault = r->last;
		return -2;
	}
	r->next = 0;
	r->turn = now + REACH_PAUSE;
	r->pausing = true;
	return -1;
}

int reach_step(struct reach *r, nsec_t *again, struct fault *fault)
{
	nsec_t now = clock_now();
	int fd = -1;

	if (r->pausing && now < r->turn) {
		if (now < r->limit)
			goto wait;
		*fault = r->last;
		return -2;
	}
	r->pausing = false;
	if (r->fd >= 0) {
		fd = look(r, now);
		if (fd >= 0)
			return fd;
	}
	while (r->fd < 0 && r->next < r->n)
		begin(r, now);
	if (r->fd < 0 && pause_round(r, now, fault) == -2)
		return -2;
wait:
	*again = r->turn < r->limit ? r->turn : r->limit;
	return -1;
}

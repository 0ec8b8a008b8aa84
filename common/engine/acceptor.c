/* SPDX-License-Identifier: Apache-2.0 */
/* Takes data connections, reads their preamble, drops strangers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/engine/acceptor.h"
#include "common/engine/poller.h"
#include "common/engine/sock.h"

enum tag {
	TAG_LISTENER, /* index into listeners */
	TAG_GUEST, /* index into guests */
};

/* Most connections without a preamble; more push out the oldest. */
#define ACCEPTOR_GUESTS 4096

/* How long a lack of descriptors keeps the listeners quiet. */
#define ACCEPTOR_PAUSE (100 * NSEC_PER_MSEC)

/* A connection that has not shown its whole preamble yet. */
struct guest {
	int fd; /* owned; -1: the place is free */
	unsigned got; /* bytes of the preamble so far */
	nsec_t deadline;
	uint8_t bytes[PREAMBLE_SIZE];
};

struct acceptor {
	struct poller poller;
	int *listeners; /* owned: n_ports descriptors an address */
	int n_listeners, n_ports;
	int *ports; /* owned, n_ports */
	struct sock_plan *plan; /* borrowed; NULL between tests */
	struct guest guests[ACCEPTOR_GUESTS];
	int n_guests; /* places ever used */
	int waiting; /* places in use */
	struct acceptor_test test;
	bool expecting;
	uint8_t *seen; /* owned: one byte a flow of every participant */
	int taken, strangers;
	nsec_t paused; /* listeners are not watched until then; 0 they are */
	struct fault fault;
};

static int open_port(struct acceptor *a, const struct acceptor_request *rq,
		     int k, struct fault *fault)
{
	bool any = !rq->port || (rq->scatter && k > 0);
	int i, port = any ? 0 : rq->port + k;

	for (i = 0; i < rq->n_addrs; i++) {
		struct addr at = rq->addrs[i];
		int fd;

		addr_set_port(&at, port);
		fd = sock_listen(&at, rq->plan, rq->backlog, rq->v6only,
				 rq->freebind, fault);
		if (fd < 0)
			return -1;
		a->listeners[a->n_listeners] = fd;
		if (poller_add(&a->poller, fd, EPOLLIN, TAG_LISTENER,
			       (uint32_t)a->n_listeners++))
			return fault_set(fault, errno, "data listener");
		port = addr_port(&at); /* other families take the same one */
		a->ports[k] = port;
	}
	return 0;
}

struct acceptor *acceptor_open(const struct acceptor_request *rq,
			       struct fault *fault)
{
	struct acceptor *a = calloc(1, sizeof(*a));
	int k;

	if (!a) {
		(void)fault_set(fault, ENOMEM, "data listeners");
		return NULL;
	}
	a->plan = rq->plan;
	a->n_ports = rq->n_ports;
	a->ports = calloc((size_t)rq->n_ports, sizeof(*a->ports));
	a->listeners = calloc((size_t)rq->n_ports * (size_t)rq->n_addrs,
			      sizeof(*a->listeners));
	if (!a->ports || !a->listeners || poller_open(&a->poller, 256)) {
		(void)fault_set(fault, ENOMEM, "data listeners");
		acceptor_close(a);
		return NULL;
	}
	for (k = 0; k < rq->n_ports; k++) {
		if (open_port(a, rq, k, fault)) {
			acceptor_close(a);
			return NULL;
		}
	}
	return a;
}

static void dismiss(struct acceptor *a, struct guest *g)
{
	(void)close(g->fd); /* a stranger, or one that lost its way */
	g->fd = -1;
	a->waiting--;
	a->strangers++;
}

void acceptor_close(struct acceptor *a)
{
	int i;

	if (!a)
		return;
	for (i = 0; i < a->n_guests; i++) {
		if (a->guests[i].fd >= 0)
			dismiss(a, &a->guests[i]);
	}
	for (i = 0; i < a->n_listeners; i++)
		(void)close(a->listeners[i]); /* a listener */
	poller_close(&a->poller);
	free(a->listeners);
	free(a->ports);
	free(a->seen);
	free(a);
}

int acceptor_port(const struct acceptor *a, int i)
{
	return a->ports[i];
}

int acceptor_ports(const struct acceptor *a)
{
	return a->n_ports;
}

int acceptor_fd(const struct acceptor *a)
{
	return a->poller.fd;
}

int acceptor_taken(const struct acceptor *a)
{
	return a->taken;
}

int acceptor_strangers(const struct acceptor *a)
{
	return a->strangers;
}

const struct fault *acceptor_fault(const struct acceptor *a)
{
	return &a->fault;
}

int acceptor_expect(struct acceptor *a, const struct acceptor_test *test)
{
	free(a->seen);
	a->seen = NULL;
	a->expecting = false;
	a->taken = 0;
	memset(&a->fault, 0, sizeof(a->fault));
	if (!test)
		return 0;
	a->seen = calloc((size_t)test->participants, (size_t)test->flows);
	if (!a->seen)
		return -1;
	a->test = *test;
	a->expecting = true;
	return 0;
}

/* Does @p name a flow that is expected and has not come yet? */
static bool welcome(const struct acceptor *a, const struct preamble *p)
{
	return a->expecting &&
	       !memcmp(p->cookie, a->test.cookie, PREAMBLE_COOKIE) &&
	       p->participant < (uint32_t)a->test.participants &&
	       p->flow < (uint32_t)a->test.flows &&
	       !a->seen[p->participant * (size_t)a->test.flows + p->flow];
}

/* @g showed its whole preamble. */
static void receive(struct acceptor *a, struct guest *g)
{
	struct preamble p;
	int fd = g->fd;

	if (preamble_decode(g->bytes, &p) || !welcome(a, &p)) {
		dismiss(a, g);
		return;
	}
	poller_remove(&a->poller, fd);
	g->fd = -1;
	a->waiting--;
	if (a->plan && sock_adopt(a->plan, fd, &a->fault)) {
		(void)close(fd); /* the fault ends the test */
		return;
	}
	a->seen[p.participant * (size_t)a->test.flows + p.flow] = 1;
	a->taken++;
	a->test.take(a->test.arg, (int)p.participant, (int)p.flow, fd);
}

/* Read more of the preamble of @g; it may leave, welcome or not. */
static void read_guest(struct acceptor *a, struct guest *g)
{
	ssize_t n = recv(g->fd, g->bytes + g->got, PREAMBLE_SIZE - g->got,
			 MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		dismiss(a, g);
		return;
	}
	g->got += (unsigned)n;
	if (!preamble_possible(g->bytes, g->got))
		dismiss(a, g);
	else if (g->got == PREAMBLE_SIZE)
		receive(a, g);
}

/* A free place for a guest; the one that waits longest makes room. */
static struct guest *place(struct acceptor *a)
{
	int i, oldest = 0;

	if (a->waiting < a->n_guests || a->n_guests == ACCEPTOR_GUESTS) {
		for (i = 0; i < a->n_guests; i++) {
			if (a->guests[i].fd < 0)
				return &a->guests[i];
			if (a->guests[i].deadline < a->guests[oldest].deadline)
				oldest = i;
		}
		dismiss(a, &a->guests[oldest]);
		return &a->guests[oldest];
	}
	return &a->guests[a->n_guests++];
}

static void admit(struct acceptor *a, int fd, nsec_t now)
{
	struct guest *g = place(a);

	g->fd = fd;
	g->got = 0;
	g->deadline = now + ACCEPTOR_PATIENCE;
	a->waiting++;
	if (poller_add(&a->poller, fd, EPOLLIN, TAG_GUEST,
		       (uint32_t)(g - a->guests))) {
		dismiss(a, g);
		return;
	}
	/* Most often the preamble is there already. */
	read_guest(a, g);
}

static void watch_listeners(struct acceptor *a, bool on)
{
	int i;

	for (i = 0; i < a->n_listeners; i++)
		(void)poller_change(&a->poller, a->listeners[i],
				    on ? EPOLLIN : 0, TAG_LISTENER,
				    (uint32_t)i);
}

static void accept_some(struct acceptor *a, int listener, nsec_t now)
{
	int fd, budget = 64;

	while (budget--) {
		fd = accept4(listener, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			admit(a, fd, now);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS) {
			/* Without a pause the listener would spin. */
			watch_listeners(a, false);
			a->paused = now + ACCEPTOR_PAUSE;
		}
		return; /* nothing there, or gone before we looked */
	}
}

/* Drop guests that took too long; when does the next one? */
static nsec_t expire(struct acceptor *a, nsec_t now)
{
	nsec_t next = NSEC_NEVER;
	int i;

	for (i = 0; a->waiting && i < a->n_guests; i++) {
		struct guest *g = &a->guests[i];

		if (g->fd < 0)
			continue;
		if (g->deadline <= now)
			dismiss(a, g);
		else if (g->deadline < next)
			next = g->deadline;
	}
	if (!a->waiting)
		a->n_guests = 0;
	return next;
}

nsec_t acceptor_run(struct acceptor *a, nsec_t now)
{
	int i, n = poller_wait(&a->poller, 0);
	nsec_t next;

	for (i = 0; i < n; i++) {
		struct poller_event e = poller_event(&a->poller, i);

		if (e.tag == TAG_LISTENER)
			accept_some(a, a->listeners[e.index], now);
		else if (a->guests[e.index].fd >= 0)
			read_guest(a, &a->guests[e.index]);
	}
	if (a->paused && a->paused <= now) {
		watch_listeners(a, true);
		a->paused = 0;
	}
	next = expire(a, now);
	return a->paused && a->paused < next ? a->paused : next;
}

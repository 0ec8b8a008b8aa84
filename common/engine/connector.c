/* SPDX-License-Identifier: Apache-2.0 */
/* Opens all flows in parallel, a bounded number at a time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/engine/connector.h"
#include "common/engine/poller.h"
#include "common/engine/sock.h"

#define TAG_PENDING 0 /* index is a flow id */

/* A connect that took so long had to repeat its SYN (RFC 6298: 1 s). */
#define CONNECTOR_SLOW (900 * NSEC_PER_MSEC)

struct pending {
	int fd; /* -1: not begun, or handed over */
	nsec_t began;
};

struct connector {
	struct connector_request rq;
	struct poller poller;
	struct pending *pending; /* owned, one a flow */
	int begun, done, confirmed, retransmits;
	nsec_t began;
};

struct connector *connector_open(const struct connector_request *rq,
				 struct fault *fault)
{
	struct connector *c = calloc(1, sizeof(*c));
	int i;

	if (!c) {
		(void)fault_set(fault, ENOMEM, "flows");
		return NULL;
	}
	c->rq = *rq;
	c->pending = malloc((size_t)rq->flows * sizeof(*c->pending));
	if (!c->pending || poller_open(&c->poller, 256)) {
		(void)fault_set(fault, ENOMEM, "flows");
		free(c->pending);
		free(c);
		return NULL;
	}
	for (i = 0; i < rq->flows; i++)
		c->pending[i].fd = -1;
	return c;
}

void connector_close(struct connector *c)
{
	int i;

	if (!c)
		return;
	for (i = 0; i < c->begun; i++) {
		if (c->pending[i].fd >= 0)
			(void)close(c->pending[i].fd); /* given up */
	}
	poller_close(&c->poller);
	free(c->pending);
	free(c);
}

int connector_fd(const struct connector *c)
{
	return c->poller.fd;
}

int connector_done(const struct connector *c)
{
	return c->done;
}

int connector_retransmits(const struct connector *c)
{
	return c->retransmits;
}

nsec_t connector_began(const struct connector *c)
{
	return c->began;
}

void connector_confirm(struct connector *c, int n)
{
	if (n > c->confirmed)
		c->confirmed = n;
}

int connector_can_begin(const struct connector *c)
{
	return c->begun < c->rq.flows && c->begun - c->confirmed < c->rq.window;
}

/* Flow @i is connected: introduce it and hand it over; 1 when it was. */
static int introduce(struct connector *c, int i)
{
	struct pending *p = &c->pending[i];
	struct preamble pre = { .participant = c->rq.participant,
				.flow = (uint32_t)i };
	uint8_t bytes[PREAMBLE_SIZE];
	nsec_t took;
	ssize_t n;
	int fd = p->fd;

	memcpy(pre.cookie, c->rq.cookie, PREAMBLE_COOKIE);
	preamble_encode(&pre, bytes);
	n = send(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != (ssize_t)sizeof(bytes)) {
		if (n >= 0)
			errno = EIO; /* an empty send buffer takes them all */
		return -1;
	}
	took = clock_now() - p->began;
	if (took > CONNECTOR_SLOW)
		c->retransmits += sock_retransmits(fd);
	p->fd = -1;
	c->done++;
	c->rq.take(c->rq.arg, i, fd, took);
	return 1;
}

static int flow_fault(const struct connector *c, int i, int err,
		      struct fault *fault)
{
	char text[ADDR_TEXT];

	return fault_set(fault, err, "flow %d: cannot connect to %s", i,
			 addr_text(&c->rq.peers[i % c->rq.n_peers], true, text,
				   sizeof(text)));
}

/* Source address and port of flow @i, or NULL when both are free. */
static const struct addr *source(const struct connector *c, int i,
				 struct addr *room)
{
	if (c->rq.n_locals) {
		*room = c->rq.locals[i % c->rq.n_locals];
		return room;
	}
	if (c->rq.source_port <= 0)
		return NULL;
	memset(room, 0, sizeof(*room));
	room->sa.sa_family = (sa_family_t)c->rq.family;
	room->len = c->rq.peers[0].len;
	addr_set_port(room, c->rq.source_port + i);
	return room;
}

static int begin(struct connector *c, struct fault *fault)
{
	int i = c->begun, done;
	struct pending *p = &c->pending[i];
	struct addr room;

	p->began = clock_now();
	if (!c->began)
		c->began = p->began;
	p->fd = sock_connect(c->rq.plan, source(c, i, &room),
			     &c->rq.peers[i % c->rq.n_peers], fault);
	if (p->fd < 0)
		return -1;
	c->begun++;
	/* On a short path the handshake is over already. */
	done = introduce(c, i);
	if (done < 0)
		return flow_fault(c, i, errno, fault);
	if (!done &&
	    poller_add(&c->poller, p->fd, EPOLLOUT, TAG_PENDING, (uint32_t)i))
		return flow_fault(c, i, errno, fault);
	return 0;
}

static int finish(struct connector *c, int i, struct fault *fault)
{
	struct pending *p = &c->pending[i];
	int err;

	if (p->fd < 0)
		return 0;
	err = sock_connect_result(p->fd);
	if (err)
		return flow_fault(c, i, err, fault);
	poller_remove(&c->poller, p->fd);
	if (introduce(c, i) <= 0)
		return flow_fault(c, i, errno, fault);
	return 0;
}

int connector_run(struct connector *c, struct fault *fault)
{
	int i, n = poller_wait(&c->poller, 0), budget = 128;

	for (i = 0; i < n; i++) {
		if (finish(c, (int)poller_event(&c->poller, i).index, fault))
			return -1;
	}
	/* A bounded number, so that control messages are heard between. */
	while (budget-- && connector_can_begin(c)) {
		if (begin(c, fault))
			return -1;
	}
	return 0;
}

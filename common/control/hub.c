/* SPDX-License-Identifier: Apache-2.0 */
/* All control connections of one end: strangers, peers, messages, silence. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/control/frame.h"
#include "common/control/hub.h"

/* Connections at most; a server's clients and as many strangers. */
#define HUB_ROOM 1280
#define HUB_LISTENERS 4
#define HUB_STRANGER_LIMIT ((size_t)64 * 1024)
/* Event data of listeners start here, so they are no connection's number. */
#define HUB_LISTENER_BASE 100000

struct link {
	bool used, known, leaving; /* leaving: closes once all is sent */
	struct frame_conn conn;
	struct addr addr;
	nsec_t deadline; /* of a stranger or one that leaves */
	uint32_t watched;
};

struct hub {
	int epoll_fd;
	nsec_t idle;
	int listeners[HUB_LISTENERS], n_listeners;
	nsec_t paused; /* listeners are not watched until then; 0 they are */
	int strangers;
	int n; /* links ever used */
	int turn; /* link that hub_next() looks at first */
	struct link links[HUB_ROOM];
};

struct hub *hub_open(nsec_t idle, struct fault *fault)
{
	struct hub *h = calloc(1, sizeof(*h));

	if (!h) {
		(void)fault_set(fault, ENOMEM, "control");
		return NULL;
	}
	h->idle = idle;
	h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll_fd < 0) {
		(void)fault_set(fault, errno, "control");
		free(h);
		return NULL;
	}
	return h;
}

void hub_drop(struct hub *h, int peer)
{
	struct link *l = &h->links[peer];

	if (!l->used)
		return;
	frame_close(&l->conn);
	memset(l, 0, sizeof(*l));
}

void hub_close(struct hub *h)
{
	int i;

	if (!h)
		return;
	for (i = 0; i < h->n; i++)
		hub_drop(h, i);
	(void)close(h->epoll_fd); /* nothing is buffered in it */
	free(h);
}

int hub_fd(const struct hub *h)
{
	return h->epoll_fd;
}

int hub_strangers(const struct hub *h)
{
	return h->strangers;
}

const struct addr *hub_address(const struct hub *h, int peer)
{
	return &h->links[peer].addr;
}

int hub_local_address(const struct hub *h, int peer, struct addr *out)
{
	out->len = sizeof(out->ss);
	return getsockname(h->links[peer].conn.fd, &out->sa, &out->len);
}

nsec_t hub_heard(const struct hub *h, int peer)
{
	return h->links[peer].conn.heard;
}

bool hub_unsent(const struct hub *h, int peer)
{
	return h->links[peer].used && frame_pending(&h->links[peer].conn);
}

static int watch(struct hub *h, int op, int fd, uint32_t events, int number)
{
	struct epoll_event e = { .events = events,
				 .data.u32 = (uint32_t)number };

	return epoll_ctl(h->epoll_fd, op, fd, &e);
}

int hub_listen(struct hub *h, int fd, struct fault *fault)
{
	if (h->n_listeners == HUB_LISTENERS ||
	    watch(h, EPOLL_CTL_ADD, fd, EPOLLIN,
		  HUB_LISTENER_BASE + h->n_listeners))
		return fault_set(fault, errno, "control listener");
	h->listeners[h->n_listeners++] = fd;
	return 0;
}

/*
 * A dead host or a cut link must show within the idle limit: keepalive finds
 * it when nothing is sent, TCP_USER_TIMEOUT (tcp(7)) when something is. These
 * are extras to our own heartbeats, so a refusal is no failure.
 */
static void guard(const struct hub *h, int fd)
{
	int one = 1, s = (int)(h->idle / 3 / NSEC_PER_SEC), count = 3;
	unsigned ms = (unsigned)(h->idle / NSEC_PER_MSEC);

	if (s < 1)
		s = 1;
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &s, sizeof(s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &s, sizeof(s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	/* Small messages must not wait for an acknowledgement. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int free_number(struct hub *h)
{
	int i;

	for (i = 0; i < h->n; i++) {
		if (!h->links[i].used)
			return i;
	}
	return h->n < HUB_ROOM ? h->n++ : -1;
}

static int enter(struct hub *h, int fd, bool known, struct fault *fault)
{
	int i = free_number(h);
	struct link *l;

	if (i < 0 || watch(h, EPOLL_CTL_ADD, fd, EPOLLIN, i)) {
		(void)close(fd); /* nothing was said yet */
		return fault_set(fault, i < 0 ? 0 : errno,
				 "too many control connections");
	}
	l = &h->links[i];
	memset(l, 0, sizeof(*l));
	l->used = true;
	l->known = known;
	l->watched = EPOLLIN;
	l->deadline = clock_now() + HUB_PATIENCE;
	frame_open(&l->conn, fd, known ? FRAME_MAX : HUB_STRANGER_LIMIT);
	l->conn.heard = l->conn.sent = clock_now();
	l->addr.len = sizeof(l->addr.ss);
	if (getpeername(fd, &l->addr.sa, &l->addr.len))
		l->addr.len = 0;
	guard(h, fd);
	return i;
}

int hub_add(struct hub *h, int fd, struct fault *fault)
{
	return enter(h, fd, true, fault);
}

void hub_know(struct hub *h, int peer)
{
	struct link *l = &h->links[peer];

	l->known = true;
	l->conn.limit = FRAME_MAX;
	l->conn.heard = clock_now();
}

static void watch_listeners(struct hub *h, bool on)
{
	int i;

	for (i = 0; i < h->n_listeners; i++)
		(void)watch(h, EPOLL_CTL_MOD, h->listeners[i], on ? EPOLLIN : 0,
			    HUB_LISTENER_BASE + i);
}

/* The oldest stranger makes room for a newcomer when all places are taken. */
static void make_room(struct hub *h)
{
	int i, oldest = -1;

	for (i = 0; i < HUB_ROOM; i++) {
		if (!h->links[i].used)
			return;
		if (!h->links[i].known &&
		    (oldest < 0 ||
		     h->links[i].deadline < h->links[oldest].deadline))
			oldest = i;
	}
	if (oldest >= 0) {
		h->strangers++;
		hub_drop(h, oldest);
	}
}

static void accept_some(struct hub *h, int listener)
{
	struct fault ignored = { 0 };
	int budget = 64;

	while (budget--) {
		int fd = accept4(listener, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			if (errno != EMFILE && errno != ENFILE &&
			    errno != ENOMEM && errno != ENOBUFS)
				return;
			/* Without a pause the listener would spin. */
			watch_listeners(h, false);
			h->paused = clock_now() + 100 * NSEC_PER_MSEC;
			return;
		}
		if (h->n == HUB_ROOM)
			make_room(h);
		(void)enter(h, fd, false, &ignored); /* closes it on failure */
	}
}

/* ---- events ---- */

/* The first bytes of a foreign protocol, such as "SSH-2.0-", for a person. */
static void printable(const struct link *l, char *buf, size_t size)
{
	size_t i;

	for (i = 0; i < l->conn.first_len && i + 1 < size; i++) {
		uint8_t c = l->conn.first[i];

		buf[i] = c >= ' ' && c < 0x7f && c != '"' ? (char)c : '.';
	}
	buf[i] = 0;
}

static void describe_loss(const struct link *l, char *why, size_t size)
{
	char addr[ADDR_TEXT], first[20];

	(void)addr_text(&l->addr, true, addr, sizeof(addr));
	switch (l->conn.state) {
	case FRAME_CLOSED:
		(void)snprintf(why, size, "%s closed the control connection",
			       addr);
		break;
	case FRAME_BROKEN:
		(void)snprintf(why, size, "control connection to %s: %s", addr,
			       strerror(l->conn.err));
		break;
	case FRAME_FOREIGN:
	case FRAME_OVERSIZE:
	case FRAME_OPEN:
		printable(l, first, sizeof(first));
		(void)snprintf(why, size,
			       "%s does not speak this protocol (it sent "
			       "\"%s\")",
			       addr, first);
		break;
	}
}

static void lose(struct hub *h, int i, const char *why, struct hub_event *event)
{
	struct link *l = &h->links[i];

	event->what = HUB_LOST;
	event->peer = i;
	event->known = l->known;
	event->foreign = l->conn.state == FRAME_FOREIGN ||
			 l->conn.state == FRAME_OVERSIZE;
	if (why)
		(void)snprintf(event->why, sizeof(event->why), "%s", why);
	else
		describe_loss(l, event->why, sizeof(event->why));
	if (!l->known)
		h->strangers++;
	hub_drop(h, i);
}

static void watch_output(struct hub *h, int i)
{
	struct link *l = &h->links[i];
	uint32_t wanted = EPOLLIN;

	if (frame_pending(&l->conn))
		wanted |= EPOLLOUT;
	if (wanted == l->watched)
		return;
	if (!watch(h, EPOLL_CTL_MOD, l->conn.fd, wanted, i))
		l->watched = wanted;
}

/* Look at link @i; true when @event was filled. */
static bool look(struct hub *h, int i, struct hub_event *event)
{
	struct link *l = &h->links[i];
	struct fault fault = { 0 };
	char *json, text[320];
	size_t len;
	int got;

	if (!l->used)
		return false;
	(void)frame_flush(&l->conn); /* a failure shows in the state */
	watch_output(h, i);
	got = frame_next(&l->conn, &json, &len);
	if (l->leaving) {
		if (got > 0)
			free(json);
		if (got < 0)
			hub_drop(h, i);
		return false;
	}
	if (!got && l->conn.state == FRAME_OPEN)
		return false;
	if (got <= 0) {
		lose(h, i, NULL, event);
		return true;
	}
	event->message = message_decode(json, len, &fault);
	free(json);
	if (!event->message) {
		(void)snprintf(text, sizeof(text), "bad message: %.280s",
			       fault.text);
		lose(h, i, text, event);
		return true;
	}
	event->what = HUB_MESSAGE;
	event->peer = i;
	event->known = l->known;
	return true;
}

void hub_next(struct hub *h, struct hub_event *event)
{
	struct epoll_event events[64];
	int k, n = epoll_wait(h->epoll_fd, events, 64, 0);

	memset(event, 0, sizeof(*event));
	event->peer = -1;
	for (k = 0; k < n; k++) {
		int number = (int)events[k].data.u32;

		if (number >= HUB_LISTENER_BASE)
			accept_some(h,
				    h->listeners[number - HUB_LISTENER_BASE]);
	}
	/* Frames may wait in our own buffers too, so look at every link. */
	for (k = 0; k < h->n; k++) {
		int i = (h->turn + k) % h->n;

		if (look(h, i, event)) {
			h->turn = (i + 1) % h->n;
			return;
		}
	}
}

/* A peer is lost for silence; the next hub_next() reports it. */
static void give_up(struct link *l)
{
	l->conn.state = FRAME_BROKEN;
	l->conn.err = ETIMEDOUT;
	/* Wakes the poller even when nothing arrives any more. */
	(void)shutdown(l->conn.fd, SHUT_RDWR);
}

static nsec_t tick_known(struct hub *h, int i, nsec_t now)
{
	struct link *l = &h->links[i];
	struct message alive = { .type = MESSAGE_ALIVE };
	nsec_t beat, idle = l->conn.heard + h->idle;

	if (idle <= now) {
		give_up(l);
		return now;
	}
	if (l->conn.sent + HUB_HEARTBEAT <= now)
		(void)hub_send(h, i, &alive); /* a failure shows as lost */
	beat = l->conn.sent + HUB_HEARTBEAT;
	return beat < idle && beat > now ? beat : idle;
}

nsec_t hub_tick(struct hub *h, nsec_t now)
{
	nsec_t next = NSEC_NEVER;
	int i;

	for (i = 0; i < h->n; i++) {
		struct link *l = &h->links[i];
		nsec_t at = l->deadline;

		if (!l->used)
			continue;
		if (l->known && !l->leaving && l->conn.state == FRAME_OPEN) {
			at = tick_known(h, i, now);
		} else if (!l->known || l->leaving) {
			if (at <= now) {
				h->strangers += !l->leaving;
				hub_drop(h, i);
				continue;
			}
		}
		if (at < next)
			next = at;
	}
	if (h->paused && h->paused <= now) {
		watch_listeners(h, true);
		h->paused = 0;
	}
	return h->paused && h->paused < next ? h->paused : next;
}

int hub_send(struct hub *h, int peer, const struct message *m)
{
	struct link *l = &h->links[peer];
	size_t len;
	char *json;
	int failed;

	if (!l->used)
		return -1;
	json = message_encode(m, &len);
	if (!json)
		return -1;
	failed = frame_send(&l->conn, json, len);
	free(json);
	if (!failed)
		watch_output(h, peer);
	return failed;
}

void hub_refuse(struct hub *h, int peer, const char *program, int code,
		const char *fmt, ...)
{
	struct message *m = calloc(1, sizeof(*m));
	struct link *l = &h->links[peer];
	va_list ap;

	if (!m) {
		hub_drop(h, peer);
		return;
	}
	m->type = MESSAGE_REFUSE;
	m->refuse.code = code;
	(void)snprintf(m->refuse.program, sizeof(m->refuse.program), "%s",
		       program);
	va_start(ap, fmt);
	(void)vsnprintf(m->refuse.text, sizeof(m->refuse.text), fmt, ap);
	va_end(ap);
	if (hub_send(h, peer, m)) {
		hub_drop(h, peer);
	} else {
		/* Closing with unread bytes would reset and lose the text. */
		l->leaving = true;
		l->deadline = clock_now() + HUB_PATIENCE;
		(void)shutdown(l->conn.fd, SHUT_WR);
	}
	message_free(m);
}

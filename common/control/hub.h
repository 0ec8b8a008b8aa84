/* SPDX-License-Identifier: Apache-2.0 */
/* All control connections of one end: strangers, peers, messages, silence. */
#ifndef NAPIER_CONTROL_HUB_H
#define NAPIER_CONTROL_HUB_H

#include <stdbool.h>

#include "common/control/message.h"
#include "common/plan/addr.h"

struct hub;

/* A connection must say hello within this time. */
#define HUB_PATIENCE (5 * NSEC_PER_SEC)
/* A peer that has nothing to say says so this often. */
#define HUB_HEARTBEAT (500 * NSEC_PER_MSEC)

enum hub_what {
	HUB_NOTHING, /* no event now */
	HUB_MESSAGE, /* a message came */
	HUB_LOST, /* the connection is gone; its number is free again */
};

struct hub_event {
	enum hub_what what;
	int peer; /* number of the connection */
	bool known; /* it had been made a peer by hub_know() */
	bool foreign; /* HUB_LOST: what it sent is another protocol */
	struct message *message; /* HUB_MESSAGE: for message_free() */
	char why[320]; /* HUB_LOST: one line */
};

/*
 * Make an empty hub. A known peer that is silent for @idle ns counts as lost.
 * NULL with @fault.
 */
struct hub *hub_open(nsec_t idle, struct fault *fault);

/* Close every connection and release; NULL is fine. */
void hub_close(struct hub *h);

/*
 * Also take connections from the listening socket @fd, borrowed. Each is a
 * stranger first: it may send small frames only, and for HUB_PATIENCE.
 */
int hub_listen(struct hub *h, int fd, struct fault *fault);

/*
 * Add the connected socket @fd, owned from here on, as a known peer. Returns
 * its number, or -1 with @fault.
 */
int hub_add(struct hub *h, int fd, struct fault *fault);

/* Make stranger @peer a known one: large frames, heartbeats, idle limit. */
void hub_know(struct hub *h, int peer);

/* Address of the other end of @peer. */
const struct addr *hub_address(const struct hub *h, int peer);

/* Address of this end of @peer, into *@out. 0, or -1 when it is gone. */
int hub_local_address(const struct hub *h, int peer, struct addr *out);

/* Descriptor that turns readable when hub_next() has something to do. */
int hub_fd(const struct hub *h);

/* The next event without waiting. Call until it says HUB_NOTHING. */
void hub_next(struct hub *h, struct hub_event *event);

/*
 * Send heartbeats and drop what is overdue. Returns the instant by which it
 * wants to be called again, NSEC_NEVER if none.
 */
nsec_t hub_tick(struct hub *h, nsec_t now);

/*
 * Queue @m for @peer. A failure shows as HUB_LOST in time; -1 says that it
 * has happened.
 */
int hub_send(struct hub *h, int peer, const struct message *m);

/* Refuse @peer with a code and a printf text, then close it in order. */
void hub_refuse(struct hub *h, int peer, const char *program, int code,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Instant of the last byte that came from @peer. */
nsec_t hub_heard(const struct hub *h, int peer);

/* True while bytes for @peer wait for the kernel. */
bool hub_unsent(const struct hub *h, int peer);

/* Close @peer without an event. */
void hub_drop(struct hub *h, int peer);

/* Connections dropped for not speaking the protocol. */
int hub_strangers(const struct hub *h);

#endif

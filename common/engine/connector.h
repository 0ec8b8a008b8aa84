/* SPDX-License-Identifier: Apache-2.0 */
/* Opens all flows in parallel, a bounded number at a time. */
#ifndef NAPIER_ENGINE_CONNECTOR_H
#define NAPIER_ENGINE_CONNECTOR_H

#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/die.h"
#include "common/engine/preamble.h"
#include "common/plan/addr.h"

struct connector;
struct sock_plan;

struct connector_request {
	struct sock_plan *plan; /* borrowed */
	const struct addr *peers; /* borrowed; flow i goes to i mod n_peers */
	int n_peers;
	const struct addr *locals; /* borrowed; source i mod n_locals */
	int n_locals; /* 0: any source address */
	int source_port; /* flow i binds source_port + i; 0 or less: any */
	int family; /* of the peers */
	int flows;
	int window; /* most flows begun but not confirmed by the peer */
	uint32_t participant;
	uint8_t cookie[PREAMBLE_COOKIE];
	/* Takes the socket of flow @flow, owned from there. */
	void (*take)(void *arg, int flow, int fd, nsec_t connect_time);
	void *arg;
};

/* Prepare; nothing is opened before connector_run(). NULL with @fault. */
struct connector *connector_open(const struct connector_request *rq,
				 struct fault *fault);

/* Close what is under way and release; NULL is fine. */
void connector_close(struct connector *c);

/* Descriptor that turns readable when connector_run() has something to do. */
int connector_fd(const struct connector *c);

/*
 * Begin and finish what can be without blocking. Returns 0, or -1 with
 * @fault when a flow cannot be opened.
 */
int connector_run(struct connector *c, struct fault *fault);

/* The peer says that it has @n flows: the window moves on. */
void connector_confirm(struct connector *c, int n);

/* True when connector_run() would begin a flow at once. */
int connector_can_begin(const struct connector *c);

/* Flows that are connected and handed over. */
int connector_done(const struct connector *c);

/* SYNs that had to be sent again, over all flows so far. */
int connector_retransmits(const struct connector *c);

/* Instant of the first connect, 0 before it. */
nsec_t connector_began(const struct connector *c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Takes data connections, reads their preamble, drops strangers. */
#ifndef NAPIER_ENGINE_ACCEPTOR_H
#define NAPIER_ENGINE_ACCEPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/die.h"
#include "common/engine/preamble.h"
#include "common/plan/addr.h"

struct acceptor;
struct sock_plan;

/* A connection must show its preamble within this time. */
#define ACCEPTOR_PATIENCE (5 * NSEC_PER_SEC)

/* Where the data listeners are. */
struct acceptor_request {
	const struct addr *addrs; /* one per family, port ignored */
	int n_addrs;
	int port; /* first port, or 0: any free ones */
	int n_ports; /* consecutive ports */
	bool scatter; /* any free ones but for the first */
	int backlog;
	bool v6only; /* IPv6 listeners take no IPv4 */
	bool freebind;
	struct sock_plan *plan; /* settings, or NULL between tests */
};

/* Flows that are expected, and who takes them. */
struct acceptor_test {
	uint8_t cookie[PREAMBLE_COOKIE];
	int participants;
	int flows; /* of each participant */
	/* Takes the socket of flow @flow of @participant, owned from there. */
	void (*take)(void *arg, int participant, int flow, int fd);
	void *arg;
};

/*
 * Open the listeners. Returns NULL with @fault naming the port that failed.
 */
struct acceptor *acceptor_open(const struct acceptor_request *rq,
			       struct fault *fault);

/* Close listeners and guests, release; NULL is fine. */
void acceptor_close(struct acceptor *a);

/* Port of listener @i in 0..n_ports-1, host byte order. */
int acceptor_port(const struct acceptor *a, int i);
/* Number of data ports. */
int acceptor_ports(const struct acceptor *a);

/* Descriptor that turns readable when acceptor_run() has something to do. */
int acceptor_fd(const struct acceptor *a);

/*
 * Expect the flows of @test (copied), or nobody when NULL: everyone is a
 * stranger then. 0, or -1 with errno ENOMEM.
 */
int acceptor_expect(struct acceptor *a, const struct acceptor_test *test);

/*
 * Accept and read what is there without blocking. Returns the instant by
 * which it wants to run again, NSEC_NEVER if none.
 */
nsec_t acceptor_run(struct acceptor *a, nsec_t now);

/* Flows taken since acceptor_expect(). */
int acceptor_taken(const struct acceptor *a);

/* Connections dropped as strangers since acceptor_open(). */
int acceptor_strangers(const struct acceptor *a);

/* Why a flow could not be taken (settings, descriptors), or an empty fault. */
const struct fault *acceptor_fault(const struct acceptor *a);

#endif

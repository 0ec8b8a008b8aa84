/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a server, shared by its files; no code. */
#ifndef NAPIER_SERVER_STATE_H
#define NAPIER_SERVER_STATE_H

#include "common/context.h"
#include "common/control/admit.h"
#include "common/engine/acceptor.h"
#include "common/test.h"

#define SERVER_ADDRS 4 /* most addresses it listens on */
#define SERVER_HELD 64 /* most hellos kept while there is no place */

/* A hello that met a test under way. */
struct held_hello {
	int link;
	struct message *message; /* owned */
	nsec_t until; /* then it is answered, unless the test is ending */
};

struct server {
	struct run *run;
	const struct options *own; /* own command line */
	struct admit_rules rules;
	struct hub *hub;
	struct addr addrs[SERVER_ADDRS]; /* control; with real ports */
	int listeners[SERVER_ADDRS], n_addrs;
	bool v6only;
	int port; /* real data port */
	struct acceptor *acceptor;
	int strangers; /* of acceptors closed since */
	/* the test under way */
	struct test test;
	bool agreed; /* test is prepared */
	int joined; /* participants that were accepted */
	bool announced; /* the start was told: the test is used up */
	nsec_t gathering; /* deadline for participants and flows */
	uint8_t cookie[PREAMBLE_COOKIE];
	int *have, *told; /* owned: flows of each participant */
	char boot_id[40];
	uint64_t overflows; /* of the host's listeners before the test */
	nsec_t first_flow;
	int index; /* number of the test */
	struct held_hello held[SERVER_HELD];
	int n_held;
	struct fault fault;
};

#endif

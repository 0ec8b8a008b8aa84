/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses that the flows of a test run between. */
#ifndef NAPIER_ENGINE_PATHS_H
#define NAPIER_ENGINE_PATHS_H

#include "common/plan/addr.h"

/* Pairs of addresses that the flows of a test run between. */
#define PATHS_MOST 16

struct paths {
	int n;
	bool more; /* than there is room for */
	struct {
		struct addr local, peer;
	} path[PATHS_MOST]; /* each host's address, whatever the ports */
};

/* Remember the addresses @local and @peer of a socket, each pair once. */
void paths_note(struct paths *p, const struct addr *local,
		const struct addr *peer);

/* The two ends of one connection as this end's socket names them. */
struct path_ends {
	int local_port, peer_port; /* 0 unknown */
	char local[64], peer[64]; /* addresses as text, "" unknown */
};

/* Fill @e from the two addresses of a socket. */
void paths_ends(struct path_ends *e, const struct addr *local,
		const struct addr *peer);

#endif

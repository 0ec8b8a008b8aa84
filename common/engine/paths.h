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

/* Remember the addresses of the connected socket @fd, each pair once. */
void paths_note(struct paths *p, int fd);

#endif

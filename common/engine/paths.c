/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses that the flows of a test run between. */
#include "common/engine/paths.h"

void paths_note(struct paths *p, const struct addr *local,
		const struct addr *peer)
{
	int i;

	for (i = 0; i < p->n; i++) {
		if (addr_same_host(&p->path[i].local, local) &&
		    addr_same_host(&p->path[i].peer, peer))
			return;
	}
	p->more |= p->n == PATHS_MOST;
	if (p->more)
		return;
	p->path[p->n].local = *local;
	p->path[p->n++].peer = *peer;
}

void paths_ends(struct path_ends *e, const struct addr *local,
		const struct addr *peer)
{
	e->local_port = addr_port(local);
	e->peer_port = addr_port(peer);
	(void)addr_text(local, false, e->local, sizeof(e->local));
	(void)addr_text(peer, false, e->peer, sizeof(e->peer));
}

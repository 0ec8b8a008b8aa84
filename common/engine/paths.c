/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses that the flows of a test run between. */
#include "common/engine/paths.h"
#include "common/engine/sock.h"

void paths_note(struct paths *p, int fd)
{
	struct addr local, peer;
	int i;

	if (sock_path(fd, &local, &peer))
		return;
	for (i = 0; i < p->n; i++) {
		if (addr_same_host(&p->path[i].local, &local) &&
		    addr_same_host(&p->path[i].peer, &peer))
			return;
	}
	p->more |= p->n == PATHS_MOST;
	if (p->more)
		return;
	p->path[p->n].local = local;
	p->path[p->n++].peer = peer;
}

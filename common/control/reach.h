/* SPDX-License-Identifier: Apache-2.0 */
/* Reach a control port: addresses in turn, again while it is refused. */
#ifndef NAPIER_CONTROL_REACH_H
#define NAPIER_CONTROL_REACH_H

#include <stdbool.h>

#include "common/base/clock.h"
#include "common/base/die.h"
#include "common/plan/addr.h"

/* Addresses one name may have. */
#define REACH_ADDRS 16

/* An attempt under way. Fields are private to reach.c. */
struct reach {
	struct addr addrs[REACH_ADDRS], local;
	int n, next; /* addresses; the one to be tried next */
	int fd; /* connect under way, or -1 */
	int epoll_fd; /* turns readable when reach_step() is to be called */
	nsec_t limit; /* all of it ends then */
	nsec_t turn; /* the address under way, or the pause, ends then */
	struct fault last; /* why the latest address failed */
	bool pausing; /* between two rounds */
	bool refused; /* some address answered with a refusal */
};

/*
 * Prepare to reach one of the @n addresses at @addrs from source @local
 * (NULL: any) before the instant @limit. 0, or -1 with @fault.
 */
int reach_open(struct reach *r, const struct addr *addrs, int n,
	       const struct addr *local, nsec_t limit, struct fault *fault);

/*
 * Go on without blocking. Returns a connected descriptor, owned by the
 * caller, -1 when more time is needed (until *@again or epoll_fd is
 * readable), -2 with @fault when no address can be reached in time. Only a
 * refusal (ECONNREFUSED) is tried again, every 200 ms.
 */
int reach_step(struct reach *r, nsec_t *again, struct fault *fault);

/* Give up what is under way. */
void reach_close(struct reach *r);

#endif

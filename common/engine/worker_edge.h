/* SPDX-License-Identifier: Apache-2.0 */
/* A worker passes the edges of windows; for the worker's own thread. */
#ifndef NAPIER_ENGINE_WORKER_EDGE_H
#define NAPIER_ENGINE_WORKER_EDGE_H

#include "common/engine/worker_state.h"

/* Has the main thread asked for something that was not carried out yet? */
static inline bool worker_commanded(const struct worker *w)
{
	return atomic_load_explicit(&w->shared->command,
				    memory_order_relaxed) != w->obeyed;
}

/*
 * Carry out the command word: take a snapshot at each edge asked for, begin
 * flows at the first, end them at the last, note that it is time to quit.
 */
void worker_obey(struct worker *w);

#endif

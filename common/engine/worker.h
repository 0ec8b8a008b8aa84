/* SPDX-License-Identifier: Apache-2.0 */
/* A pinned thread's loop and its memory: start, wake, join. */
#ifndef NAPIER_ENGINE_WORKER_H
#define NAPIER_ENGINE_WORKER_H

#include "common/engine/worker_state.h"

/*
 * Start worker @w, whose index, cpu, node, room and shared are set and which
 * is zero besides: its thread is pinned to @w->cpu before it runs (-1: not).
 * Returns 0, or -1 with @fault. Memory is prepared by the thread itself;
 * `prepared` and report_fd tell when.
 */
int worker_start(struct worker *w, struct fault *fault);

/* Put @mail into the worker's box without waking it. Main thread only. */
void worker_post(struct worker *w, const struct worker_mail *mail);

/* Wake the worker so that it looks at its box and at the command. */
void worker_wake(struct worker *w);

/* Wait for the thread, which was told to quit, and release everything. */
void worker_join(struct worker *w);

#endif

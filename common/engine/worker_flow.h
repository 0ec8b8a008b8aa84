/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker does with its flows; for the worker's own thread. */
#ifndef NAPIER_ENGINE_WORKER_FLOW_H
#define NAPIER_ENGINE_WORKER_FLOW_H

#include "common/engine/worker_state.h"

/* Kinds of things in a worker's poller. */
enum worker_tag {
	TAG_WAKE, /* wake_fd */
	TAG_FLOW, /* index is a slot */
};

/* Do sends go out at set times? */
static inline bool worker_timed(const struct worker *w)
{
	return w->lane.transfer->delay > 0;
}

/* Let the main thread know that something is there to be looked at. */
void worker_report(struct worker *w);

/*
 * What TCP says of @f now, or said when it died; all unknown when it says
 * nothing. Costs a system call of 1.4 us: for edges, not for transfers.
 */
void worker_ask_tcp(const struct worker *w, const struct flow *f,
		    struct tcp_figures *out);

/* Close @f; one that dies before its time is counted and named. */
void worker_close_flow(struct worker *w, struct flow *f);

/* Make the poller watch what the state of @f wants. */
void worker_watch(struct worker *w, struct flow *f);

/* Take the flows out of the mail box. */
void worker_open_mail(struct worker *w);

/* Serve the flow in @slot, for which the poller reported @events. */
void worker_serve(struct worker *w, uint32_t slot, uint32_t events);

/* Serve the flows on the ready list once each (edge-triggered events). */
void worker_serve_ready(struct worker *w);

/*
 * Serve due flows; a bounded number, so that a worker that cannot keep up
 * still sees its events. Returns how long the poller may wait: ns, 0 not at
 * all, -1 for ever.
 */
nsec_t worker_run_timed(struct worker *w);

/*
 * Decide whether the only flow of @w can be served by blocking transfers: a
 * flow that moves bytes one way and shares its worker with nobody needs no
 * poller, which halves the system calls of a receiver.
 */
void worker_judge_alone(struct worker *w);

/* Serve that flow; blocks for a few milliseconds at most. */
void worker_serve_alone(struct worker *w);

#endif

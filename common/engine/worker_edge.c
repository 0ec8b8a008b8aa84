/* SPDX-License-Identifier: Apache-2.0 */
/* A worker passes the edges of windows: snapshots, start and end of flows. */
#include <sched.h>

#include "common/engine/worker_edge.h"
#include "common/engine/worker_flow.h"
#include "common/measure/usage.h"

/* Let flow @f begin: edge 0 has come. */
static void begin(struct worker *w, struct flow *f)
{
	flow_move(f, FLOW_RUNNING);
	if (worker_timed(w) && (f->roles & FLOW_SENDS)) {
		nsec_t phase = (nsec_t)((__int128)w->lane.transfer->delay *
					f->id / w->shared->flows);

		f->due = w->shared->start + phase;
		heap_push(&w->due, f->due, f->slot);
	}
	worker_watch(w, f);
}

static void ask_tcp(const struct worker *w, unsigned k)
{
	uint32_t i;

	for (i = 0; i < w->n_flows; i++)
		worker_ask_tcp(w, &w->flows[i], &w->edges[k].tcp[i]);
}

static void pass_edge(struct worker *w, unsigned k, bool last)
{
	struct worker_edge *e = &w->edges[k];
	uint32_t i;

	/* Asking takes its time, which must not fall into the window: it
	 * comes before the snapshot that opens one, after that which closes
	 * the last. */
	if (!last && k >= (unsigned)w->shared->opens)
		ask_tcp(w, k);
	e->when = clock_now();
	for (i = 0; i < w->n_flows; i++) {
		e->tx[i] = counter_get(&w->flows[i].tx_bytes);
		e->rx[i] = counter_get(&w->flows[i].rx_bytes);
		e->err[i] = w->flows[i].err;
	}
	e->cpu = sched_getcpu();
	e->counts = lane_counts(&w->lane);
	e->zc = lane_zc(&w->lane);
	e->usage = usage_thread();
	if (last)
		ask_tcp(w, k);
	for (i = 0; i < w->n_flows; i++) {
		struct flow *f = &w->flows[i];

		if (k == 0 && !last && f->state == FLOW_READY)
			begin(w, f);
		if (last && f->state < FLOW_DRAINING) {
			flow_move(f, FLOW_DRAINING);
			worker_watch(w, f);
		}
	}
	worker_judge_alone(w);
	atomic_store_explicit(&w->pending, w->lane.zc_pending,
			      memory_order_release);
	atomic_store_explicit(&w->edges_done, k + 1, memory_order_release);
	worker_report(w);
}

void worker_obey(struct worker *w)
{
	unsigned command =
		atomic_load_explicit(&w->shared->command, memory_order_acquire);
	unsigned asked = command & COMMAND_EDGES, k;

	/* Flows that were dealt before the start must take part in it. */
	if (!(w->obeyed & COMMAND_EDGES))
		worker_open_mail(w);
	for (k = w->obeyed & COMMAND_EDGES; k < asked; k++)
		pass_edge(w, k, k + 1 == asked && (command & COMMAND_FINAL));
	if (command & COMMAND_QUIT)
		w->quit = true;
	w->obeyed = command;
}

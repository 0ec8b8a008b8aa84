/* SPDX-License-Identifier: Apache-2.0 */
/* A worker passes the edges of windows: snapshots, start and end of flows. */
#include <sched.h>

#include "common/engine/worker_edge.h"
#include "common/engine/worker_flow.h"
#include "common/measure/usage.h"

static struct io_counts read_counts(const struct lane_counters *c)
{
	return (struct io_counts){
		.tx_bytes = counter_get(&c->tx_bytes),
		.rx_bytes = counter_get(&c->rx_bytes),
		.tx_transfers = counter_get(&c->tx_transfers),
		.rx_transfers = counter_get(&c->rx_transfers),
		.tx_short = counter_get(&c->tx_short),
		.rx_short = counter_get(&c->rx_short),
		.tx_again = counter_get(&c->tx_again),
		.rx_again = counter_get(&c->rx_again),
		.rx_truncated = counter_get(&c->rx_truncated),
		.waits = counter_get(&c->waits),
		.wakeups = counter_get(&c->wakeups),
		.late = counter_get(&c->late),
	};
}

static struct zc_counts read_zc(const struct worker *w)
{
	const struct lane_counters *c = &w->lane.counters;

	return (struct zc_counts){
		.sends = counter_get(&c->zc_sends),
		.completions = counter_get(&c->zc_completions),
		.copied = counter_get(&c->zc_copied),
		.enobufs = counter_get(&c->zc_enobufs),
		.fallbacks = counter_get(&c->zc_fallbacks),
		.peak_pinned = counter_get(&c->zc_peak),
	};
}

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

static void pass_edge(struct worker *w, unsigned k, bool last)
{
	struct worker_edge *e = &w->edges[k];
	uint32_t i;

	e->when = clock_now();
	for (i = 0; i < w->n_flows; i++) {
		e->tx[i] = counter_get(&w->flows[i].tx_bytes);
		e->rx[i] = counter_get(&w->flows[i].rx_bytes);
		e->err[i] = w->flows[i].err;
	}
	e->cpu = sched_getcpu();
	e->counts = read_counts(&w->lane.counters);
	e->zc = read_zc(w);
	e->usage = usage_thread();
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

/* SPDX-License-Identifier: Apache-2.0 */
/* All workers of one end together: dealing, edges, totals, results. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/engine/crew.h"
#include "common/engine/sock.h"
#include "common/engine/worker.h"
#include "common/measure/tcpinfo.h"

/* Receive queues that --deal napi remembers a worker for. */
#define CREW_QUEUES 256

struct crew {
	struct worker_shared shared;
	const struct plan *plan; /* borrowed */
	int started; /* workers that have a thread */
	struct worker *workers; /* owned, plan->n_workers */
	struct path_ends *ends; /* owned, of each flow by id */
	unsigned queues[CREW_QUEUES]; /* NAPI id of each known queue */
	int queue_worker[CREW_QUEUES];
	int n_queues;
	struct paths paths;
};

static struct worker *worker_at(const struct crew *c, int i)
{
	return &c->workers[i];
}

/* ---- starting ---- */

static int start_one(struct crew *c, int i, struct fault *fault)
{
	struct worker *w = worker_at(c, i);

	w->index = i;
	w->shared = &c->shared;
	w->cpu = c->plan->workers[i].cpu;
	w->node = c->plan->workers[i].node;
	/* Under --deal cpu or napi the least loaded one fills up, so the
	 * plan's own ceiling holds for each. */
	w->room = (uint32_t)c->plan->flows_per_worker;
	if (worker_start(w, fault))
		return -1;
	c->started++;
	return 0;
}

static int await_prepared(struct crew *c, bool strict,
			  struct warnings *warnings, struct fault *fault)
{
	int i;

	for (i = 0; i < c->started; i++) {
		struct worker *w = worker_at(c, i);
		struct pollfd p = { .fd = c->shared.report_fd,
				    .events = POLLIN };

		while (!atomic_load_explicit(&w->prepared,
					     memory_order_acquire) &&
		       !atomic_load_explicit(&w->broken,
					     memory_order_acquire)) {
			(void)poll(&p, 1, 100); /* then looks again */
			crew_listen(c);
		}
		if (atomic_load_explicit(&w->broken, memory_order_acquire))
			return fault_set(fault, 0, "%s", w->fault.text);
		if (w->warning.text[0] && strict)
			return fault_set(fault, 0, "%s (--strict)",
					 w->warning.text);
		if (w->warning.text[0])
			warnings_add(warnings, "%s", w->warning.text);
	}
	return 0;
}

struct crew *crew_start(const struct crew_request *rq,
			struct warnings *warnings, struct fault *fault)
{
	struct crew *c = NULL;
	int i, n = rq->plan->n_workers;

	if (posix_memalign((void **)&c, CACHE_LINE, sizeof(*c))) {
		(void)fault_set(fault, ENOMEM, "workers");
		return NULL;
	}
	memset(c, 0, sizeof(*c));
	c->plan = rq->plan;
	c->shared.workload = rq->workload;
	c->shared.options = rq->options;
	c->shared.transfer = rq->transfer;
	c->shared.memory = rq->plan->memory;
	c->shared.huge_pages = rq->plan->huge_pages;
	c->shared.sends = rq->sends;
	c->shared.receives = rq->receives;
	c->shared.maxevents = rq->maxevents;
	c->shared.edges = rq->windows + 2;
	c->shared.opens = rq->opens;
	c->shared.flows = rq->plan->flows;
	c->shared.report_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->ends = calloc((size_t)rq->plan->flows, sizeof(*c->ends));
	if (c->shared.report_fd < 0 || !c->ends ||
	    posix_memalign((void **)&c->workers, CACHE_LINE,
			   (size_t)n * sizeof(*c->workers))) {
		(void)fault_set(fault, errno, "workers");
		crew_free(c);
		return NULL;
	}
	memset(c->workers, 0, (size_t)n * sizeof(*c->workers));
	for (i = 0; i < n; i++) {
		if (start_one(c, i, fault))
			break;
	}
	if (i < n || await_prepared(c, rq->strict, warnings, fault)) {
		crew_free(c);
		return NULL;
	}
	return c;
}

static void command(struct crew *c, unsigned word)
{
	int i;

	atomic_store_explicit(&c->shared.command, word, memory_order_release);
	for (i = 0; i < c->started; i++)
		worker_wake(worker_at(c, i));
}

void crew_free(struct crew *c)
{
	int i;

	if (!c)
		return;
	command(c, atomic_load(&c->shared.command) | COMMAND_QUIT);
	for (i = 0; i < c->started; i++)
		worker_join(worker_at(c, i));
	if (c->shared.report_fd >= 0)
		(void)close(c->shared.report_fd); /* an eventfd */
	free(c->workers);
	free(c->ends);
	free(c);
}

/* ---- dealing ---- */

static int least_loaded(const struct crew *c)
{
	int i, best = 0;

	for (i = 1; i < c->started; i++) {
		if (worker_at(c, i)->given < worker_at(c, best)->given)
			best = i;
	}
	return best;
}

static bool has_room(const struct crew *c, int i)
{
	return worker_at(c, i)->given < worker_at(c, i)->room;
}

static int deal_by_cpu(const struct crew *c, int fd)
{
	int cpu = sock_incoming_cpu(fd), i;

	for (i = 0; i < c->started; i++) {
		if (worker_at(c, i)->cpu == cpu && has_room(c, i))
			return i;
	}
	return least_loaded(c);
}

static int deal_by_queue(struct crew *c, int fd)
{
	unsigned id = sock_incoming_napi(fd);
	int i, to;

	for (i = 0; id && i < c->n_queues; i++) {
		if (c->queues[i] == id && has_room(c, c->queue_worker[i]))
			return c->queue_worker[i];
	}
	to = least_loaded(c);
	/* Loopback has no queue: id 0 is never remembered. */
	if (id && c->n_queues < CREW_QUEUES) {
		c->queues[c->n_queues] = id;
		c->queue_worker[c->n_queues++] = to;
	}
	return to;
}

const struct paths *crew_paths(const struct crew *c)
{
	return &c->paths;
}

void crew_give(struct crew *c, int id, int fd, unsigned roles,
	       nsec_t connect_time)
{
	struct worker_mail m = { .id = (uint32_t)id,
				 .fd = fd,
				 .roles = roles,
				 .connect_time = connect_time };
	struct addr local, peer;
	struct worker *w;
	int to = plan_worker_of(c->plan, id);

	if (c->plan->deal == DEAL_CPU)
		to = deal_by_cpu(c, fd);
	else if (c->plan->deal == DEAL_NAPI)
		to = deal_by_queue(c, fd);
	w = worker_at(c, to);
	if (!sock_path(fd, &local, &peer)) {
		paths_ends(&c->ends[id], &local, &peer);
		paths_note(&c->paths, &local, &peer);
	}
	w->given++;
	worker_post(w, &m);
}

void crew_flush(struct crew *c)
{
	int i;

	for (i = 0; i < c->started; i++)
		worker_wake(worker_at(c, i));
}

/* ---- edges and totals ---- */

int crew_fd(const struct crew *c)
{
	return c->shared.report_fd;
}

void crew_listen(struct crew *c)
{
	uint64_t n;

	(void)!read(c->shared.report_fd, &n, sizeof(n)); /* only empties it */
}

int crew_edges(const struct crew *c)
{
	return (int)(atomic_load(&c->shared.command) & COMMAND_EDGES);
}

void crew_edge(struct crew *c, bool final, nsec_t start)
{
	unsigned word = atomic_load(&c->shared.command);

	if (!(word & COMMAND_EDGES))
		c->shared.start = start;
	command(c, (word + 1) | (final ? COMMAND_FINAL : 0));
}

bool crew_settled(const struct crew *c)
{
	unsigned asked = (unsigned)crew_edges(c);
	int i;

	for (i = 0; i < c->started; i++) {
		if (atomic_load_explicit(&worker_at(c, i)->edges_done,
					 memory_order_acquire) < asked)
			return false;
	}
	return true;
}

static void add_counts(struct io_counts *sum, const struct io_counts *c)
{
	sum->tx_bytes += c->tx_bytes;
	sum->rx_bytes += c->rx_bytes;
	sum->tx_transfers += c->tx_transfers;
	sum->rx_transfers += c->rx_transfers;
	sum->tx_short += c->tx_short;
	sum->rx_short += c->rx_short;
	sum->tx_again += c->tx_again;
	sum->rx_again += c->rx_again;
	sum->rx_truncated += c->rx_truncated;
	sum->waits += c->waits;
	sum->wakeups += c->wakeups;
	sum->late += c->late;
}

static struct io_counts minus(const struct io_counts *b,
			      const struct io_counts *a)
{
	return (struct io_counts){
		.tx_bytes = b->tx_bytes - a->tx_bytes,
		.rx_bytes = b->rx_bytes - a->rx_bytes,
		.tx_transfers = b->tx_transfers - a->tx_transfers,
		.rx_transfers = b->rx_transfers - a->rx_transfers,
		.tx_short = b->tx_short - a->tx_short,
		.rx_short = b->rx_short - a->rx_short,
		.tx_again = b->tx_again - a->tx_again,
		.rx_again = b->rx_again - a->rx_again,
		.rx_truncated = b->rx_truncated - a->rx_truncated,
		.waits = b->waits - a->waits,
		.wakeups = b->wakeups - a->wakeups,
		.late = b->late - a->late,
	};
}

struct io_counts crew_counts(const struct crew *c)
{
	struct io_counts sum = { 0 };
	int i;

	for (i = 0; i < c->started; i++) {
		struct io_counts one = lane_counts(&worker_at(c, i)->lane);

		add_counts(&sum, &one);
	}
	return sum;
}

struct io_counts crew_counts_at(const struct crew *c, int k)
{
	struct io_counts sum = { 0 };
	int i;

	for (i = 0; i < c->started; i++)
		add_counts(&sum, &worker_at(c, i)->edges[k].counts);
	return sum;
}

void crew_flow_counts(const struct crew *c, int k, struct flow_count *out)
{
	uint32_t slot;
	int i;

	for (i = 0; i < c->plan->flows; i++)
		out[i] = (struct flow_count){ 0, 0, -1 };
	for (i = 0; i < c->started; i++) {
		const struct worker *w = worker_at(c, i);

		/* No flow is added from edge 0 on, so the slots stand. */
		for (slot = 0; slot < w->n_flows; slot++) {
			const struct flow *f = &w->flows[slot];
			struct flow_count *o = &out[f->id];

			o->worker = i;
			o->tx_bytes = k < 0 ? counter_get(&f->tx_bytes) :
					      w->edges[k].tx[slot];
			o->rx_bytes = k < 0 ? counter_get(&f->rx_bytes) :
					      w->edges[k].rx[slot];
		}
	}
}

nsec_t crew_edge_time(const struct crew *c, int k)
{
	nsec_t first = worker_at(c, 0)->edges[k].when, sum = 0;
	int i;

	for (i = 0; i < c->started; i++)
		sum += worker_at(c, i)->edges[k].when - first;
	return first + sum / c->started;
}

unsigned crew_pending(const struct crew *c)
{
	unsigned sum = 0;
	int i;

	for (i = 0; i < c->started; i++)
		sum += atomic_load_explicit(&worker_at(c, i)->pending,
					    memory_order_acquire);
	return sum;
}

unsigned crew_satisfied(const struct crew *c)
{
	unsigned sum = 0;
	int i;

	for (i = 0; i < c->started; i++)
		sum += atomic_load_explicit(&worker_at(c, i)->satisfied,
					    memory_order_acquire);
	return sum;
}

unsigned crew_dead(const struct crew *c)
{
	unsigned sum = 0;
	int i;

	for (i = 0; i < c->started; i++)
		sum += atomic_load_explicit(&worker_at(c, i)->dead,
					    memory_order_acquire);
	return sum;
}

const struct fault *crew_fault(const struct crew *c)
{
	int i;

	for (i = 0; i < c->started; i++) {
		if (atomic_load_explicit(&worker_at(c, i)->broken,
					 memory_order_acquire))
			return &worker_at(c, i)->fault;
	}
	return NULL;
}

/* ---- results ---- */

/* CPUs in the real affinity mask of worker @w, or 0 when unknown. */
static int64_t real_affinity(const struct worker *w)
{
	cpu_set_t *set = CPU_ALLOC(8192);
	size_t size = CPU_ALLOC_SIZE(8192);
	int64_t n = 0;

	if (!set)
		return 0;
	if (!pthread_getaffinity_np(w->thread, size, set))
		n = CPU_COUNT_S(size, set);
	CPU_FREE(set);
	return n;
}

/*
 * The zero-copy ledger covers the whole life of the flows up to now: sends
 * and completions cannot be matched at a window's edge.
 */
static struct zc_counts zc_life(const struct worker *w)
{
	struct zc_counts z = lane_zc(&w->lane);

	z.outstanding = z.sends - z.completions;
	return z;
}

static void collect_worker(const struct worker *w, int a, int b,
			   struct worker_result *r)
{
	const struct worker_edge *from = &w->edges[a], *to = &w->edges[b];

	r->cpu = w->cpu;
	r->node = w->tx_memory.base ? w->tx_memory.node :
		  w->rx_memory.base ? w->rx_memory.node :
				      w->flow_memory.node;
	r->flows = w->given;
	r->affinity = real_affinity(w);
	r->window = to->when - from->when;
	r->cpu_user = to->usage.user - from->usage.user;
	r->cpu_system = to->usage.system - from->usage.system;
	r->counts = minus(&to->counts, &from->counts);
	r->zc = zc_life(w);
	r->last_cpu = to->cpu;
}

/* The flows array belongs to the worker; after the final edge the fields
 * read here no longer change but for the byte counters. */
static void collect_flows(const struct worker *w, int a, int b,
			  struct flow_result *flows)
{
	uint32_t i;

	for (i = 0; i < w->n_flows; i++) {
		const struct flow *f = &w->flows[i];
		struct flow_result *r = &flows[f->id];

		r->id = f->id;
		r->worker = w->index;
		r->tx_bytes = w->edges[b].tx[i] - w->edges[a].tx[i];
		r->rx_bytes = w->edges[b].rx[i] - w->edges[a].rx[i];
		r->connect_time = f->connect_time;
		r->err = w->edges[b].err[i];
		tcpinfo_since(&w->edges[a].tcp[i], &w->edges[b].tcp[i],
			      &r->tcp);
	}
}

static void collect_sums(const struct crew *c, int a, int b,
			 struct end_result *r)
{
	int i;

	r->start = crew_edge_time(c, a);
	r->end = crew_edge_time(c, b);
	r->seconds = r->end - r->start;
	for (i = 0; i < c->started; i++) {
		const struct worker_result *w = &r->workers[i];
		nsec_t off = w->window > r->seconds ? w->window - r->seconds :
						      r->seconds - w->window;

		add_counts(&r->counts, &w->counts);
		r->zc.sends += w->zc.sends;
		r->zc.completions += w->zc.completions;
		r->zc.copied += w->zc.copied;
		r->zc.enobufs += w->zc.enobufs;
		r->zc.fallbacks += w->zc.fallbacks;
		r->zc.peak_pinned += w->zc.peak_pinned;
		r->zc.outstanding += w->zc.outstanding;
		if (off > r->edge_spread)
			r->edge_spread = off;
	}
	r->flows_failed = (int64_t)crew_dead(c);
}

int crew_collect(const struct crew *c, int a, int b, struct end_result *r)
{
	int i;

	r->n_workers = c->started;
	r->n_flows = c->plan->flows;
	r->workers = calloc((size_t)r->n_workers, sizeof(*r->workers));
	r->flows = calloc((size_t)r->n_flows, sizeof(*r->flows));
	if (!r->workers || !r->flows)
		return -1;
	for (i = 0; i < r->n_flows; i++) {
		r->flows[i].id = i;
		r->flows[i].worker = -1;
		tcpinfo_unknown(&r->flows[i].tcp);
		r->flows[i].local_port = c->ends[i].local_port;
		r->flows[i].peer_port = c->ends[i].peer_port;
		memcpy(r->flows[i].local_addr, c->ends[i].local,
		       sizeof(r->flows[i].local_addr));
		memcpy(r->flows[i].peer_addr, c->ends[i].peer,
		       sizeof(r->flows[i].peer_addr));
	}
	for (i = 0; i < c->started; i++) {
		collect_worker(worker_at(c, i), a, b, &r->workers[i]);
		collect_flows(worker_at(c, i), a, b, r->flows);
	}
	collect_sums(c, a, b, r);
	tcpinfo_sum(r->flows, r->n_flows, &r->tcp);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A pinned thread's loop: its flows, its buffers, its snapshots. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/engine/sock.h"
#include "common/engine/worker.h"
#include "common/engine/zerocopy_tx.h"
#include "common/measure/usage.h"

/* Kinds of things in a worker's poller. */
enum tag {
	TAG_WAKE, /* wake_fd */
	TAG_FLOW, /* index is a slot */
};

#define WORKER_STACK (256 * 1024)

static bool timed(const struct worker *w)
{
	return w->lane.transfer->delay > 0;
}

static void report(struct worker *w)
{
	uint64_t one = 1;

	/* Cannot block or fail before 2^64 reports are unread. */
	(void)!write(w->shared->report_fd, &one, sizeof(one));
}

static void die_quietly(struct worker *w, int err, const char *what)
{
	(void)fault_set(&w->fault, err, "worker %d: %s", w->index, what);
	atomic_store_explicit(&w->broken, true, memory_order_release);
	report(w);
}

/* ---- flows ---- */

/* Close @f; one that dies before its time is counted and named. */
static void close_flow(struct worker *w, struct flow *f)
{
	bool untimely = f->state < FLOW_DRAINING && f->err;

	if (f->fd >= 0) {
		poller_remove(&w->poller, f->fd);
		(void)close(f->fd); /* data in flight is given up on purpose */
		f->fd = -1;
	}
	w->lane.zc_pending -= zerocopy_tx_pending(f);
	f->zc_done = f->zc_next;
	flow_move(f, FLOW_CLOSED);
	if (!untimely) {
		f->err = 0;
		return;
	}
	if (!w->lane.failed++) {
		w->lane.first_err = f->err;
		w->lane.first_failed = f->id;
	}
	atomic_store_explicit(&w->dead, (unsigned)w->lane.failed,
			      memory_order_release);
	report(w);
}

/* Make the poller watch what the state of @f wants. */
static void watch(struct worker *w, struct flow *f)
{
	uint32_t wanted = flow_wanted(f, timed(w));

	if (wanted == f->watched || f->fd < 0)
		return;
	if (poller_change(&w->poller, f->fd, wanted, TAG_FLOW, f->slot)) {
		f->err = errno;
		close_flow(w, f);
		return;
	}
	f->watched = wanted;
}

static void adopt(struct worker *w, const struct worker_mail *m)
{
	struct flow *f = &w->flows[w->n_flows];

	f->slot = w->n_flows++;
	f->fd = m->fd;
	f->id = m->id;
	f->roles = (uint8_t)m->roles;
	f->connect_time = m->connect_time;
	f->local_port = (uint16_t)m->local_port;
	f->peer_port = (uint16_t)m->peer_port;
	flow_move(f, FLOW_READY);
	f->watched = flow_wanted(f, timed(w));
	if (poller_add(&w->poller, f->fd, f->watched, TAG_FLOW, f->slot)) {
		f->err = errno;
		close_flow(w, f);
	}
}

static void open_mail(struct worker *w)
{
	uint32_t i;

	pthread_mutex_lock(&w->lock);
	for (i = 0; i < w->n_mail; i++)
		adopt(w, &w->mail[i]);
	w->n_mail = 0;
	pthread_mutex_unlock(&w->lock);
}

/*
 * An error or a hang-up was reported. Completions of zero-copy sends come
 * that way too and mean nothing bad. True when @f was closed.
 */
static bool trouble(struct worker *w, struct flow *f, uint32_t events)
{
	int drained = 0;

	if (w->lane.transfer->zerocopy) {
		drained = zerocopy_tx_drain(&w->lane, f);
		if (drained < 0)
			goto dead;
		if (f->state == FLOW_DRAINING)
			atomic_store_explicit(&w->pending, w->lane.zc_pending,
					      memory_order_release);
		if (f->state == FLOW_DRAINING && !w->lane.zc_pending)
			report(w);
	}
	if (drained)
		return false;
	/* Whoever transfers now meets the error himself, after the data. */
	if (events & f->watched & (EPOLLIN | EPOLLOUT))
		return false;
	f->err = sock_connect_result(f->fd);
	if (!f->err && !(events & EPOLLHUP))
		return false;
	if (!f->err)
		f->err = ECONNRESET;
dead:
	close_flow(w, f);
	return true;
}

static void serve(struct worker *w, uint32_t slot, uint32_t events)
{
	struct flow *f = &w->flows[slot];
	unsigned ready = 0;

	if (f->state == FLOW_CLOSED || f->state == FLOW_NONE)
		return;
	if ((events & (EPOLLERR | EPOLLHUP)) && trouble(w, f, events))
		return;
	events &= f->watched;
	if (events & EPOLLIN)
		ready |= FLOW_READABLE;
	if (events & EPOLLOUT)
		ready |= FLOW_WRITABLE;
	if (!ready)
		return;
	w->shared->workload->ready(&w->lane, f, ready);
	if (f->err) {
		close_flow(w, f);
		return;
	}
	if (f->blocked && (ready & FLOW_WRITABLE)) {
		f->blocked = false;
		f->due += w->lane.transfer->delay;
		heap_push(&w->due, f->due, f->slot);
		watch(w, f);
	}
}

/* ---- timed sends ---- */

/* Send what is due on the flow at the top of the heap. */
static void serve_due(struct worker *w, nsec_t now)
{
	struct flow *f = &w->flows[heap_top(&w->due)->id];
	nsec_t period = w->lane.transfer->delay;
	uint64_t before = counter_get(&f->tx_bytes);

	if (f->state != FLOW_RUNNING) {
		heap_pop(&w->due);
		return;
	}
	if (now - f->due >= period)
		counter_add(&w->lane.counters.late, 1);
	w->shared->workload->ready(&w->lane, f, FLOW_WRITABLE);
	if (f->err) {
		heap_pop(&w->due);
		close_flow(w, f);
		return;
	}
	if (counter_get(&f->tx_bytes) == before) {
		/* No room: now the socket is waited for, then the clock. */
		heap_pop(&w->due);
		f->blocked = true;
		watch(w, f);
		return;
	}
	f->due += period;
	heap_delay_top(&w->due, f->due);
}

/*
 * Serve due flows; a bounded number, so that a worker that cannot keep up
 * still sees its events. Returns how long the poller may wait.
 */
static nsec_t run_timed(struct worker *w)
{
	const struct heap_item *top = heap_top(&w->due);
	uint32_t budget = w->n_flows + 1;
	nsec_t now;

	if (!top)
		return -1;
	now = clock_now();
	while (top && top->due <= now && budget--) {
		serve_due(w, now);
		top = heap_top(&w->due);
	}
	if (!top)
		return -1;
	return top->due > now ? top->due - now : 0;
}

/* ---- edges ---- */

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
	if (timed(w) && (f->roles & FLOW_SENDS)) {
		nsec_t phase = (nsec_t)((__int128)w->lane.transfer->delay *
					f->id / w->shared->flows);

		f->due = w->shared->start + phase;
		heap_push(&w->due, f->due, f->slot);
	}
	watch(w, f);
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
			watch(w, f);
		}
	}
	atomic_store_explicit(&w->pending, w->lane.zc_pending,
			      memory_order_release);
	atomic_store_explicit(&w->edges_done, k + 1, memory_order_release);
	report(w);
}

static void obey(struct worker *w)
{
	unsigned command =
		atomic_load_explicit(&w->shared->command, memory_order_acquire);
	unsigned asked = command & COMMAND_EDGES, k;

	/* Flows that were dealt before the start must take part in it. */
	if (!(w->obeyed & COMMAND_EDGES))
		open_mail(w);
	for (k = w->obeyed & COMMAND_EDGES; k < asked; k++)
		pass_edge(w, k, k + 1 == asked && (command & COMMAND_FINAL));
	if (command & COMMAND_QUIT)
		w->quit = true;
	w->obeyed = command;
}

static bool commanded(const struct worker *w)
{
	return atomic_load_explicit(&w->shared->command,
				    memory_order_relaxed) != w->obeyed;
}

/* ---- the thread ---- */

static void take_wake(struct worker *w)
{
	uint64_t n;

	/* Only empties the counter; mail and command are looked at anyway. */
	(void)!read(w->wake_fd, &n, sizeof(n));
	open_mail(w);
}

/* One wait and the events it brought; -1 when the poller failed. */
static int turn(struct worker *w, nsec_t timeout)
{
	int n = poller_wait(&w->poller, timeout), i;

	if (n < 0)
		return -1;
	counter_add(&w->lane.counters.waits, 1);
	counter_add(&w->lane.counters.wakeups, (uint64_t)n);
	for (i = 0; i < n; i++) {
		struct poller_event e = poller_event(&w->poller, i);

		if (e.tag == TAG_FLOW)
			serve(w, e.index, e.events);
		else
			take_wake(w);
		/* An edge must not wait for the rest of a long batch. */
		if (commanded(w))
			obey(w);
	}
	return 0;
}

/* A worker whose poller failed still passes edges, so that the run ends. */
static void limp(struct worker *w)
{
	struct pollfd p = { .fd = w->wake_fd, .events = POLLIN };

	while (!w->quit) {
		(void)poll(&p, 1, 1000); /* a time-out only looks again */
		if (p.revents)
			take_wake(w);
		if (commanded(w))
			obey(w);
	}
}

static void loop(struct worker *w)
{
	while (!w->quit) {
		nsec_t timeout = timed(w) ? run_timed(w) : -1;

		if (turn(w, timeout)) {
			die_quietly(w, errno, "waiting for events failed");
			limp(w);
			return;
		}
	}
}

/* Memory by the plan's policy; the first warning is kept. */
static int get_memory(struct worker *w, struct memory *m, size_t size,
		      bool huge)
{
	struct fault warning = { 0 };
	int failed = memory_get(m, size, w->shared->memory, huge, &warning,
				&w->fault);

	if (warning.text[0])
		(void)fault_set(&w->warning, 0, "worker %d: %s", w->index,
				warning.text);
	return failed;
}

static int prepare_edges(struct worker *w)
{
	size_t n = (size_t)w->shared->edges, room = w->room;
	uint64_t *at;
	size_t k;

	w->edges = calloc(n, sizeof(*w->edges));
	if (!w->edges)
		return fault_set(&w->fault, ENOMEM, "worker %d", w->index);
	if (get_memory(w, &w->snapshots, n * room * 3 * sizeof(uint64_t),
		       false))
		return -1;
	at = w->snapshots.base;
	for (k = 0; k < n; k++) {
		w->edges[k].tx = at + 3 * k * room;
		w->edges[k].rx = w->edges[k].tx + room;
		w->edges[k].err = (int64_t *)(w->edges[k].rx + room);
	}
	return 0;
}

/* Allocate and touch all memory of this worker, from its own CPU. */
static int prepare(struct worker *w)
{
	struct worker_shared *s = w->shared;
	size_t tx = w->lane.transfer->tx_size + TRANSFER_PERIOD;

	if (get_memory(w, &w->flow_memory, w->room * sizeof(struct flow),
		       false))
		return -1;
	w->flows = w->flow_memory.base;
	if (s->sends) {
		if (get_memory(w, &w->tx_memory, tx, s->huge_pages))
			return -1;
		w->lane.tx_buffer = w->tx_memory.base;
		s->workload->fill(s->options, w->lane.tx_buffer, tx);
	}
	if (s->receives && !w->lane.transfer->discard) {
		if (get_memory(w, &w->rx_memory, w->lane.transfer->rx_size,
			       s->huge_pages))
			return -1;
		w->lane.rx_buffer = w->rx_memory.base;
	}
	if (timed(w) && heap_init(&w->due, w->room))
		return fault_set(&w->fault, ENOMEM, "worker %d", w->index);
	return prepare_edges(w);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	uint32_t i;

	/* The default slack of 50 us would make every timed send late. */
	if (timed(w))
		(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (prepare(w) || poller_open(&w->poller, w->shared->maxevents) ||
	    poller_add(&w->poller, w->wake_fd, EPOLLIN, TAG_WAKE, 0)) {
		die_quietly(w, errno, "cannot prepare");
		return NULL;
	}
	atomic_store_explicit(&w->prepared, true, memory_order_release);
	report(w);
	loop(w);
	for (i = 0; i < w->n_flows; i++) {
		if (w->flows[i].fd >= 0)
			(void)close(w->flows[i].fd); /* reset, or in order */
	}
	return NULL;
}

/* Start the thread with its affinity set in its attributes (hwloc is not
 * needed for that; more than 1024 CPUs are). */
static int launch(struct worker *w)
{
	pthread_attr_t attr;
	cpu_set_t *set = NULL;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WORKER_STACK);
	if (w->cpu >= 0) {
		size_t size = CPU_ALLOC_SIZE((size_t)w->cpu + 1);

		set = CPU_ALLOC((size_t)w->cpu + 1);
		if (!set) {
			pthread_attr_destroy(&attr);
			return ENOMEM;
		}
		CPU_ZERO_S(size, set);
		CPU_SET_S((size_t)w->cpu, size, set);
		pthread_attr_setaffinity_np(&attr, size, set);
	}
	err = pthread_create(&w->thread, &attr, worker_main, w);
	if (set)
		CPU_FREE(set);
	pthread_attr_destroy(&attr);
	return err;
}

int worker_start(struct worker *w, struct fault *fault)
{
	int err;

	w->lane.transfer = w->shared->transfer;
	w->lane.options = w->shared->options;
	w->lane.tx_flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	w->lane.rx_flags = MSG_DONTWAIT;
	if (w->lane.transfer->more)
		w->lane.tx_flags |= MSG_MORE;
	if (w->lane.transfer->zerocopy)
		w->lane.tx_flags |= MSG_ZEROCOPY;
	if (w->lane.transfer->discard)
		w->lane.rx_flags |= MSG_TRUNC;
	w->mail = calloc(w->room, sizeof(*w->mail));
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!w->mail || w->wake_fd < 0) {
		(void)fault_set(fault, errno, "worker %d", w->index);
		goto err;
	}
	pthread_mutex_init(&w->lock, NULL);
	err = launch(w);
	if (err) {
		(void)fault_set(fault, err, "cannot start worker %d on CPU %d",
				w->index, w->cpu);
		pthread_mutex_destroy(&w->lock);
		goto err;
	}
	return 0;
err:
	free(w->mail);
	w->mail = NULL;
	if (w->wake_fd >= 0)
		(void)close(w->wake_fd); /* an eventfd */
	return -1;
}

void worker_post(struct worker *w, const struct worker_mail *mail)
{
	pthread_mutex_lock(&w->lock);
	w->mail[w->n_mail++] = *mail;
	pthread_mutex_unlock(&w->lock);
}

void worker_wake(struct worker *w)
{
	uint64_t one = 1;

	(void)!write(w->wake_fd, &one, sizeof(one)); /* as in report() */
}

void worker_join(struct worker *w)
{
	uint32_t i;

	pthread_join(w->thread, NULL);
	/* Mail that was never opened holds sockets of its own. */
	for (i = 0; i < w->n_mail; i++)
		(void)close(w->mail[i].fd);
	pthread_mutex_destroy(&w->lock);
	free(w->mail);
	free(w->edges);
	heap_free(&w->due);
	poller_close(&w->poller);
	memory_put(&w->tx_memory);
	memory_put(&w->rx_memory);
	memory_put(&w->flow_memory);
	memory_put(&w->snapshots);
	(void)close(w->wake_fd); /* an eventfd */
}

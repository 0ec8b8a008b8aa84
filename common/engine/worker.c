/* SPDX-License-Identifier: Apache-2.0 */
/* A pinned thread's loop: its flows, its buffers, its snapshots. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/engine/worker.h"
#include "common/engine/worker_edge.h"
#include "common/engine/worker_flow.h"

#define WORKER_STACK (256 * 1024)

static void die_quietly(struct worker *w, int err, const char *what)
{
	(void)fault_set(&w->fault, err, "worker %d: %s", w->index, what);
	atomic_store_explicit(&w->broken, true, memory_order_release);
	worker_report(w);
}

static void take_wake(struct worker *w)
{
	uint64_t n;

	/* Only empties the counter; mail and command are looked at anyway. */
	(void)!read(w->wake_fd, &n, sizeof(n));
	worker_open_mail(w);
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
			worker_serve(w, e.index, e.events);
		else
			take_wake(w);
		/* An edge must not wait for the rest of a long batch. */
		if (worker_commanded(w))
			worker_obey(w);
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
		if (worker_commanded(w))
			worker_obey(w);
	}
}

static void loop(struct worker *w)
{
	while (!w->quit) {
		nsec_t timeout = worker_timed(w) ? worker_run_timed(w) : -1;

		if (w->alone) {
			worker_serve_alone(w);
			if (worker_commanded(w))
				worker_obey(w);
			continue;
		}
		if (w->n_ready) {
			worker_serve_ready(w);
			timeout = w->n_ready ? 0 : timeout;
			if (worker_commanded(w))
				worker_obey(w);
		}
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

/*
 * Room for what TCP_INFO says at each edge, and at the death of a flow. It is
 * touched by this worker when something is read: most of it never is.
 */
static int prepare_readings(struct worker *w)
{
	size_t n = (size_t)w->shared->edges, room = w->room, k;
	struct tcp_figures *at;

	at = calloc((n + 1) * room, sizeof(*at));
	if (!at)
		return fault_set(&w->fault, ENOMEM, "worker %d", w->index);
	w->readings = at;
	for (k = 0; k < n; k++)
		w->edges[k].tcp = at + k * room;
	w->last = at + n * room;
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
	if (s->receives && w->lane.transfer->discard) {
		/* Never touched, so no memory: a place of its own to name. */
		w->unread = malloc(w->lane.transfer->rx_size);
		if (!w->unread)
			return fault_set(&w->fault, ENOMEM, "worker %d",
					 w->index);
		w->lane.rx_buffer = w->unread;
	}
	if (w->lane.transfer->edge) {
		w->ready = calloc(w->room, sizeof(*w->ready));
		if (!w->ready)
			return fault_set(&w->fault, ENOMEM, "worker %d",
					 w->index);
	}
	if (worker_timed(w) && heap_init(&w->due, w->room))
		return fault_set(&w->fault, ENOMEM, "worker %d", w->index);
	return prepare_edges(w) || prepare_readings(w) ? -1 : 0;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	uint32_t i;

	/* The default slack of 50 us would make every timed send late. */
	if (worker_timed(w))
		(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (prepare(w) || poller_open(&w->poller, w->shared->maxevents) ||
	    poller_add(&w->poller, w->wake_fd, EPOLLIN, TAG_WAKE, 0)) {
		die_quietly(w, errno, "cannot prepare");
		return NULL;
	}
	atomic_store_explicit(&w->prepared, true, memory_order_release);
	worker_report(w);
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

	(void)!write(w->wake_fd, &one, sizeof(one)); /* as in worker_report() */
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
	free(w->ready);
	free(w->unread);
	heap_free(&w->due);
	poller_close(&w->poller);
	memory_put(&w->tx_memory);
	memory_put(&w->rx_memory);
	memory_put(&w->flow_memory);
	memory_put(&w->snapshots);
	free(w->readings);
	(void)close(w->wake_fd); /* an eventfd */
}

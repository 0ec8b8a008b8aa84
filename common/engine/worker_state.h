/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one worker, and what it shares with the main thread. */
#ifndef NAPIER_ENGINE_WORKER_STATE_H
#define NAPIER_ENGINE_WORKER_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/base/heap.h"
#include "common/engine/flow.h"
#include "common/engine/poller.h"
#include "common/engine/workload.h"
#include "common/plan/memory.h"
#include "common/result/result.h"

/*
 * What the main thread asks of all workers, in one word: the number of edges
 * (boundaries of windows) passed so far, whether the last of them ends the
 * run, and whether to leave. Edge 0 is the start: flows begin to move.
 */
#define COMMAND_EDGES 0xffffu
#define COMMAND_FINAL 0x10000u
#define COMMAND_QUIT 0x20000u

/* What all workers of a crew share; written by the main thread only. */
struct worker_shared {
	const struct workload *workload;
	const void *options; /* the workload's, agreed */
	const struct transfer *transfer;
	struct memory_choice memory;
	bool huge_pages;
	bool sends, receives; /* some flow does so at this end */
	int maxevents;
	int edges; /* most edges there will be */
	int opens; /* the edge that opens the first measured window */
	int flows; /* of the whole test: spreads timed sends */
	nsec_t start; /* instant of edge 0; set before it is asked for */
	int report_fd; /* eventfd(2) that workers bump when they report */
	_Alignas(CACHE_LINE) atomic_uint command;
};

/* A flow on its way to a worker. */
struct worker_mail {
	uint32_t id;
	int fd;
	unsigned roles;
	nsec_t connect_time;
};

/* What a worker found at an edge. Written once, before edges_done says so. */
struct worker_edge {
	nsec_t when;
	struct usage usage; /* of the thread */
	struct io_counts counts;
	struct zc_counts zc;
	uint64_t *tx, *rx; /* bytes of each slot; borrowed from `snapshots` */
	int64_t *err; /* errno each slot died of, 0 alive; likewise */
	struct tcp_figures *tcp; /* of each slot; borrowed from `readings` */
	int cpu; /* CPU the thread was on */
};

struct worker {
	struct lane lane; /* first: aligned to its own cache lines */
	struct worker_shared *shared;
	struct poller poller;
	struct flow *flows; /* slots, in memory of `flow_memory` */
	uint32_t n_flows, room;
	unsigned obeyed; /* command word carried out */
	bool quit;
	bool alone; /* its only flow is served by blocking transfers */
	uint32_t *ready; /* edge-triggered: slots to be served again; owned */
	uint32_t n_ready;
	uint8_t *unread; /* where discarded bytes would go; owned */
	struct heap due; /* timed senders by due time */
	struct memory tx_memory, rx_memory, flow_memory, snapshots;
	struct tcp_figures *readings; /* owned */
	struct tcp_figures *last; /* of each slot when it died; likewise */
	bool silent; /* TCP_INFO would not describe the flows: MPTCP */
	struct worker_edge *edges; /* owned, shared->edges of them */
	/* between this worker and the main thread */
	_Alignas(CACHE_LINE) atomic_uint edges_done;
	atomic_bool prepared; /* memory is there, or fault says why not */
	atomic_bool broken; /* the loop failed; fault says why */
	atomic_uint pending; /* zero-copy sends open while draining */
	atomic_uint satisfied; /* flows that received their limit of bytes */
	atomic_uint dead; /* flows that died before the final edge */
	int index, cpu, node; /* cpu, node -1: not pinned, unknown */
	int wake_fd; /* eventfd(2): mail or a command is there */
	struct fault fault, warning;
	pthread_t thread;
	pthread_mutex_t lock; /* guards mail and n_mail */
	struct worker_mail *mail; /* owned, room of them */
	uint32_t n_mail;
	uint32_t given; /* flows dealt to it; main thread only */
};

#endif

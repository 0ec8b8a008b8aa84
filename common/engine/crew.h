/* SPDX-License-Identifier: Apache-2.0 */
/* All workers of one end together: dealing, edges, totals, results. */
#ifndef NAPIER_ENGINE_CREW_H
#define NAPIER_ENGINE_CREW_H

#include <stdbool.h>

#include "common/engine/paths.h"
#include "common/engine/workload.h"
#include "common/plan/plan.h"
#include "common/result/result.h"

struct crew;

/* What a crew is made of; borrowed for its life, but for the struct itself. */
struct crew_request {
	const struct workload *workload;
	const void *options; /* the workload's, agreed */
	const struct transfer *transfer;
	const struct plan *plan;
	bool sends, receives; /* some flow does so at this end */
	int maxevents;
	int windows; /* measured windows and warm-ups */
	int opens; /* the edge that opens the first measured one */
	bool strict; /* a refused memory policy is a failure */
};

/*
 * Start the workers of the plan and wait until each has its memory. Returns
 * NULL with @fault; lines in @warnings where memory is not where it should
 * be. crew_free() takes it back.
 */
struct crew *crew_start(const struct crew_request *rq,
			struct warnings *warnings, struct fault *fault);

/* Descriptor that turns readable when a worker reports something. */
int crew_fd(const struct crew *c);

/* Take note of reports: empties the descriptor. */
void crew_listen(struct crew *c);

/*
 * Deal the connected socket @fd, owned from here on, as flow @id to a worker
 * by the plan's policy. crew_flush() makes the workers look.
 */
void crew_give(struct crew *c, int id, int fd, unsigned roles,
	       nsec_t connect_time);
/* The paths of the flows given so far; valid as long as @c. */
const struct paths *crew_paths(const struct crew *c);

/* Wake the workers so that they take what was given. */
void crew_flush(struct crew *c);

/*
 * Ask every worker to pass the next edge now. Edge 0, the start, is due at
 * @start. @final: it is the last, senders stop.
 */
void crew_edge(struct crew *c, bool final, nsec_t start);
/* Have all workers passed all edges asked for? */
bool crew_settled(const struct crew *c);

/* Edges asked for so far. */
int crew_edges(const struct crew *c);

/* Sums over the workers now, between edges. */
struct io_counts crew_counts(const struct crew *c);

/* Sums at edge @k, which all have passed. */
struct io_counts crew_counts_at(const struct crew *c, int k);

/*
 * What each flow has moved, by its id, at edge @k, which all have passed, or
 * now where @k is negative. Call from edge 0 on. @out has room for all flows.
 */
void crew_flow_counts(const struct crew *c, int k, struct flow_count *out);

/* Mean over the workers of the instant they passed edge @k. */
nsec_t crew_edge_time(const struct crew *c, int k);

/* Zero-copy sends not completed; meaningful once the final edge settled. */
unsigned crew_pending(const struct crew *c);

/* Flows that have received their limit of bytes. */
unsigned crew_satisfied(const struct crew *c);

/* Flows that have died so far. */
unsigned crew_dead(const struct crew *c);

/* The fault of a worker whose loop failed, or NULL. */
const struct fault *crew_fault(const struct crew *c);

/*
 * Fill the workers', flows' and sums' part of @r for the window between
 * edges @a and @b. Returns 0, or -1 with errno ENOMEM. Call after the final
 * edge settled.
 */
int crew_collect(const struct crew *c, int a, int b, struct end_result *r);

/* Tell the workers to quit, close all flows, wait, release. NULL is fine. */
void crew_free(struct crew *c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The immutable plan of one end: which worker, CPU, address for each flow. */
#ifndef NAPIER_PLAN_PLAN_H
#define NAPIER_PLAN_PLAN_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/die.h"
#include "common/plan/memory.h"
#include "common/result/result.h"

struct topo;

/* Which worker serves which flow; an end's own choice, not protocol. */
enum deal {
	DEAL_INDEX, /* flow i to worker i mod T */
	DEAL_CPU, /* worker on the CPU that its packets arrive on */
	DEAL_NAPI, /* worker that serves the flow's receive queue already */
};

/* What a plan is made of: the agreed test as far as placement needs it. */
struct plan_request {
	int flows; /* data connections this end takes part in */
	int threads; /* wanted workers */
	const char *pin; /* --pin policy text */
	enum deal deal;
	bool other_end; /* take the CPU order from its other end: a server on
			 * the client's host, so that the two stay apart */
	bool same_host; /* the peer is this host ("pair" needs it) */
	const char *interface; /* of the route to the peer, or NULL unknown */
	struct memory_choice memory;
	bool huge_pages;
	bool strict; /* a placement that cannot be had is a failure */
};

struct plan_worker {
	int cpu; /* OS index, or -1 not pinned */
	int node; /* NUMA node of that CPU, or -1 */
};

struct plan {
	int flows;
	int n_workers;
	struct plan_worker *workers; /* owned, n_workers */
	int flows_per_worker; /* most that one worker serves */
	enum deal deal;
	struct memory_choice memory;
	bool huge_pages;
	char policy[64]; /* as carried out: "auto (cores)" */
	char *cpus; /* owned text: CPUs in the workers' order, or "none" */
	struct warnings warnings;
};

/*
 * Make the plan for @rq on topology @topo. Pure: opens nothing. Returns a
 * plan to be released by plan_free(), or NULL with @fault. More workers than
 * flows are cut to the number of flows with a warning.
 */
struct plan *plan_make(const struct plan_request *rq, const struct topo *topo,
		       struct fault *fault);

/* Release a plan; NULL is fine. */
void plan_free(struct plan *p);

/* Worker of flow @flow under DEAL_INDEX. */
int plan_worker_of(const struct plan *p, int flow);

/*
 * Text of the plan for --plan and --dry-run as key=value lines. Returns a
 * string for the caller to free, or NULL with errno ENOMEM.
 */
char *plan_text(const struct plan *p);

/* Add one formatted line to @w unless the same line is there already. */
void warnings_add(struct warnings *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif

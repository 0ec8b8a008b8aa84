/* SPDX-License-Identifier: Apache-2.0 */
/* The table that a workload exports: all the core knows of it. */
#ifndef NAPIER_ENGINE_WORKLOAD_H
#define NAPIER_ENGINE_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/die.h"
#include "common/cli/opt.h"
#include "common/plan/transfer.h"

struct flow;
struct lane;

/*
 * Every options pointer below is to the workload's own options struct, whose
 * first member is struct options.
 */
struct workload {
	const char *name; /* of the program and on the wire */
	const char *purpose; /* one line for --help */

	/* Its own option table; *@n is set to the length. */
	const struct opt *(*table)(size_t *n);
	size_t options_size; /* bytes of its options struct */

	/* Fill @options with the defaults, the shared ones included. */
	void (*defaults)(void *options);

	/* Checks across options; 0, or -1 with @fault. Run on what an end was
	 * given and again on what both agreed. */
	int (*check)(const void *options, struct fault *fault);

	/*
	 * Called at the server: is what the client asks compatible with what
	 * the server was told on its own command line? 0, or -1 with @fault
	 * naming both.
	 */
	int (*reconcile)(const void *client, const void *server,
			 struct fault *fault);

	/* Number of data connections that the test needs. */
	int (*flows)(const void *options);

	/* What flow @id does at the end named: bits of enum flow_role. */
	unsigned (*roles)(const void *options, bool client, int id);

	/* Fill @t from the agreed options. */
	void (*transfer)(const void *options, struct transfer *t);

	/* Fill a worker's send buffer of @size bytes with the payload. */
	void (*fill)(const void *options, void *buffer, size_t size);

	/*
	 * Bytes can move on @flow: @ready holds bits of enum flow_ready. Moves
	 * a bounded number and returns; runs on the worker that owns @lane.
	 */
	void (*ready)(struct lane *lane, struct flow *flow, unsigned ready);

	/* Name of the unit of the throughput key (report/units.h). */
	const char *(*unit)(const void *options);
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The loaded topology as topo.c and topo_order.c share it; private to them. */
#ifndef NAPIER_PLAN_TOPO_INTERNAL_H
#define NAPIER_PLAN_TOPO_INTERNAL_H

#include <stdbool.h>

#include <hwloc.h>

/* One hardware thread that hwloc shows us. */
struct topo_cpu {
	int os; /* OS index */
	int core; /* logical index of its core, or -1 */
	int l3; /* logical index of its third-level cache, or -1 */
	int node; /* OS index of its NUMA node, or -1 */
	int thread; /* which of its core's allowed CPUs it is: 0, 1, ... */
	bool allowed; /* the affinity mask has it too */
};

struct topo {
	hwloc_topology_t hw;
	hwloc_bitmap_t allowed; /* OS indexes of CPUs we may use, not empty */
	int n_allowed;
	int n_nodes; /* that hold an allowed CPU */
	struct topo_cpu *cpus; /* all that hwloc shows, in logical order */
	int n_cpus;
	int *where; /* OS index to position in cpus, or -1 */
	int n_where;
};

/* The CPU with OS index @os, or NULL when hwloc does not show it. */
const struct topo_cpu *topo_cpu(const struct topo *t, int os);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's CPUs in the order a pinning policy wants them (hwloc). */
#ifndef NAPIER_PLAN_TOPO_H
#define NAPIER_PLAN_TOPO_H

#include <stdbool.h>

#include "common/base/die.h"

struct topo; /* a loaded topology, restricted to what this process may use */

/*
 * Load the topology of this machine, or a synthetic or XML one for tests and
 * --plan studies when the environment says so (HWLOC_SYNTHETIC, HWLOC_XMLFILE;
 * hwloc(7)). Of this machine, only CPUs that both the cpuset cgroup and the
 * affinity mask of the calling thread allow are kept. Returns NULL with
 * @fault filled when hwloc fails.
 */
struct topo *topo_load(struct fault *fault);

/*
 * As topo_load() for a synthetic @description ("pack:2 numa:1 core:32 pu:2")
 * or, when it starts with '<' or '/', XML text or an XML file; restricted to
 * the CPU list @allowed ("0-3,8") unless NULL. For tests.
 */
struct topo *topo_load_from(const char *description, const char *allowed,
			    struct fault *fault);

/* Release a topology; NULL is fine. */
void topo_free(struct topo *t);

/* Number of CPUs (hardware threads) this process may use. */
int topo_cpus(const struct topo *t);

/* NUMA node (OS index) of CPU @cpu (OS index), or -1 when unknown. */
int topo_node_of(const struct topo *t, int cpu);

/* Number of NUMA nodes that hold an allowed CPU. */
int topo_nodes(const struct topo *t);

/* True when NUMA node with OS index @node exists on the machine. */
bool topo_has_node(const struct topo *t, int node);

/* How close two CPUs are. */
enum topo_distance {
	TOPO_SAME_CPU,
	TOPO_SAME_CORE,
	TOPO_SAME_L3,
	TOPO_SAME_NODE,
	TOPO_REMOTE,
};

/* Class of the distance between CPUs @a and @b (OS indexes, both known). */
enum topo_distance topo_distance(const struct topo *t, int a, int b);

/*
 * Order: every function below fills *@cpus with a newly allocated array of
 * OS indexes of allowed CPUs in the order of use, sets *@n, and returns 0; the
 * caller frees. On failure -1 with @fault filled. Worker i takes
 * cpus[i mod n].
 */

/*
 * "cores": one hardware thread of every core first (cores in logical order),
 * then the second thread of every core, and so on.
 */
int topo_order_cores(const struct topo *t, int **cpus, int *n,
		     struct fault *fault);

/* "compact": hardware threads in logical order, filling core after core. */
int topo_order_compact(const struct topo *t, int **cpus, int *n,
		       struct fault *fault);

/*
 * "numa": nodes taken in turn; within a node as "cores". So worker i sits on
 * node i mod nodes, as neper's -N.
 */
int topo_order_numa(const struct topo *t, int **cpus, int *n,
		    struct fault *fault);

/*
 * "nic": as "cores", those of the NUMA node (or the set of CPUs) that the
 * network interface @ifname hangs on first, the rest after them.
 * *@local is set to the number of near CPUs at the head of the order; 0 when
 * the interface has no known place (lo, veth, virtio without numa_node), then
 * the order is that of "cores". An interface that does not exist on this
 * machine (if_nametoindex) and not in the topology is a failure.
 */
int topo_order_nic(const struct topo *t, const char *ifname, int **cpus, int *n,
		   int *local, struct fault *fault);

/*
 * An explicit list "0-3,8" in the order written (a range may fall: "3-0").
 * A CPU outside the allowed set, twice named, or bad syntax is a failure that
 * names the CPU and the allowed list.
 */
int topo_order_list(const struct topo *t, const char *list, int **cpus, int *n,
		    struct fault *fault);

/* The allowed CPUs as a list "0-3,8". Caller frees; NULL with errno ENOMEM. */
char *topo_allowed_list(const struct topo *t);

/* Format @n CPU numbers as given, runs joined: "0-3,8". Caller frees. */
char *topo_format_cpus(const int *cpus, int n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the topology by hwloc, keeps a flat CPU table, answers questions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/plan/topo.h"
#include "common/plan/topo_internal.h"

/* Where the topology comes from: at most one is set, none is this machine. */
struct source {
	const char *synthetic;
	const char *xml_file;
	const char *xml_text;
};

static int set_source(hwloc_topology_t hw, const struct source *from,
		      struct fault *fault)
{
	int rc = 0;
	const char *what = "";

	if (from->synthetic) {
		what = from->synthetic;
		rc = hwloc_topology_set_synthetic(hw, what);
	} else if (from->xml_file) {
		what = from->xml_file;
		rc = hwloc_topology_set_xml(hw, what);
	} else if (from->xml_text) {
		what = "XML text";
		rc = hwloc_topology_set_xmlbuffer(
			hw, from->xml_text, (int)strlen(from->xml_text) + 1);
	}
	if (rc)
		return fault_set(fault, errno, "no topology from \"%s\"", what);
	return 0;
}

/*
 * Leave out what costs start-up time and tells nothing about CPUs and NICs:
 * the GPU components open drivers and displays. "pci" opens the devices
 * through libpciaccess, which leaks; without it hwloc reads the same from
 * sysfs. "x86" binds this thread to each CPU in turn, whatever --pin says. A
 * component that this hwloc was not built with is refused: ignored.
 */
static void leave_out(hwloc_topology_t hw)
{
	static const char *const components[] = {
		"cuda",	  "nvml", "rsmi", "levelzero",
		"opencl", "gl",	  "pci",  "x86",
	};
	size_t n = sizeof(components) / sizeof(components[0]);

	for (size_t i = 0; i < n; i++)
		(void)hwloc_topology_set_components(
			hw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
			components[i]);
}

static int discover(struct topo *t, const struct source *from,
		    struct fault *fault)
{
	if (hwloc_topology_init(&t->hw)) {
		t->hw = NULL;
		return fault_set(fault, errno, "hwloc_topology_init");
	}
	leave_out(t->hw);
	if (hwloc_topology_set_io_types_filter(
		    t->hw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT))
		return fault_set(fault, errno, "hwloc I/O filter");
	if (set_source(t->hw, from, fault))
		return -1;
	if (hwloc_topology_load(t->hw))
		return fault_set(fault, errno,
				 "hwloc cannot load the topology");
	return 0;
}

/* Cut t->allowed down by the calling thread's mask, which hwloc leaves out. */
static int keep_affinity(struct topo *t, struct fault *fault)
{
	hwloc_bitmap_t mask = hwloc_bitmap_alloc();
	int rc = 0;

	if (!mask)
		return fault_set(fault, ENOMEM, "topology");
	if (hwloc_get_cpubind(t->hw, mask, HWLOC_CPUBIND_THREAD))
		rc = fault_set(fault, errno, "cannot read the affinity mask");
	else if (hwloc_bitmap_and(t->allowed, t->allowed, mask))
		rc = fault_set(fault, ENOMEM, "topology");
	hwloc_bitmap_free(mask);
	return rc;
}

static int keep_list(struct topo *t, const char *list, struct fault *fault)
{
	hwloc_bitmap_t mask = hwloc_bitmap_alloc();
	int rc = 0;

	if (!mask)
		return fault_set(fault, ENOMEM, "topology");
	if (hwloc_bitmap_list_sscanf(mask, list))
		rc = fault_set(fault, 0, "\"%s\" is not a CPU list", list);
	else if (hwloc_bitmap_and(t->allowed, t->allowed, mask))
		rc = fault_set(fault, ENOMEM, "topology");
	hwloc_bitmap_free(mask);
	return rc;
}

static int index_above(hwloc_topology_t hw, hwloc_obj_type_t type,
		       hwloc_obj_t pu)
{
	hwloc_obj_t obj = hwloc_get_ancestor_obj_by_type(hw, type, pu);

	return obj ? (int)obj->logical_index : -1;
}

/*
 * A CPU may be near several nodes (memory of two kinds on one package); the
 * lowest is its ordinary memory on every such machine. A node that the cgroup
 * denies is only in the complete set, and still is where the CPU sits.
 */
static int node_of(hwloc_obj_t pu)
{
	int node = hwloc_bitmap_first(pu->nodeset);

	return node >= 0 ? node : hwloc_bitmap_first(pu->complete_nodeset);
}

/* Number the allowed threads of each core; cores are adjacent in t->cpus. */
static void number_threads(struct topo *t)
{
	int core = -1, thread = 0;

	for (int i = 0; i < t->n_cpus; i++) {
		struct topo_cpu *c = &t->cpus[i];

		/* hwloc knows no cores at all: every CPU is its own */
		if (c->core < 0 || c->core != core)
			thread = 0;
		core = c->core;
		if (c->allowed)
			c->thread = thread++;
	}
}

static int fill_cpus(struct topo *t, struct fault *fault)
{
	int n = hwloc_get_nbobjs_by_type(t->hw, HWLOC_OBJ_PU);
	int last = hwloc_bitmap_last(hwloc_topology_get_topology_cpuset(t->hw));

	if (n <= 0 || last < 0)
		return fault_set(fault, 0, "hwloc shows no CPU");
	t->cpus = calloc((size_t)n, sizeof(*t->cpus));
	t->where = calloc((size_t)last + 1, sizeof(*t->where));
	if (!t->cpus || !t->where)
		return fault_set(fault, ENOMEM, "topology of %d CPUs", n);
	t->n_cpus = n;
	t->n_where = last + 1;
	for (int i = 0; i <= last; i++)
		t->where[i] = -1;
	for (int i = 0; i < n; i++) {
		struct topo_cpu *c = &t->cpus[i];
		hwloc_obj_t pu =
			hwloc_get_obj_by_type(t->hw, HWLOC_OBJ_PU, (unsigned)i);

		c->os = (int)pu->os_index;
		c->core = index_above(t->hw, HWLOC_OBJ_CORE, pu);
		c->l3 = index_above(t->hw, HWLOC_OBJ_L3CACHE, pu);
		c->node = node_of(pu);
		c->allowed = hwloc_bitmap_isset(t->allowed, pu->os_index);
		t->where[c->os] = i;
	}
	number_threads(t);
	return 0;
}

static int count_nodes(struct topo *t, struct fault *fault)
{
	hwloc_bitmap_t nodes = hwloc_bitmap_alloc();

	if (!nodes)
		return fault_set(fault, ENOMEM, "topology");
	for (int i = 0; i < t->n_cpus; i++) {
		const struct topo_cpu *c = &t->cpus[i];

		if (c->allowed && c->node >= 0 &&
		    hwloc_bitmap_set(nodes, (unsigned)c->node)) {
			hwloc_bitmap_free(nodes);
			return fault_set(fault, ENOMEM, "topology");
		}
	}
	t->n_nodes = hwloc_bitmap_weight(nodes);
	hwloc_bitmap_free(nodes);
	return 0;
}

/*
 * The mask only marks the table and does not restrict hwloc's topology: a
 * restricted one loses the NICs and nodes that sit beside the CPUs taken out.
 */
static int load(struct topo *t, const struct source *from, const char *allowed,
		bool affinity, struct fault *fault)
{
	if (discover(t, from, fault))
		return -1;
	t->allowed =
		hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(t->hw));
	if (!t->allowed)
		return fault_set(fault, ENOMEM, "topology");
	if (affinity && hwloc_topology_is_thissystem(t->hw) &&
	    keep_affinity(t, fault))
		return -1;
	if (allowed && keep_list(t, allowed, fault))
		return -1;
	t->n_allowed = hwloc_bitmap_weight(t->allowed);
	if (t->n_allowed <= 0)
		return fault_set(fault, 0, "no CPU is left to use");
	if (fill_cpus(t, fault))
		return -1;
	return count_nodes(t, fault);
}

static struct topo *load_new(const struct source *from, const char *allowed,
			     bool affinity, struct fault *fault)
{
	struct topo *t = calloc(1, sizeof(*t));

	if (!t) {
		(void)fault_set(fault, ENOMEM, "topology");
		return NULL;
	}
	if (load(t, from, allowed, affinity, fault)) {
		topo_free(t);
		return NULL;
	}
	return t;
}

static const char *env_text(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? text : NULL;
}

/*
 * hwloc reads both variables by itself, but passes over a bad one in silence
 * and shows this machine; a study of another machine needs to know.
 */
struct topo *topo_load(struct fault *fault)
{
	struct source from = {
		.synthetic = env_text("HWLOC_SYNTHETIC"),
		.xml_file = env_text("HWLOC_XMLFILE"),
	};

	return load_new(&from, NULL, true, fault);
}

struct topo *topo_load_from(const char *description, const char *allowed,
			    struct fault *fault)
{
	struct source from = { 0 };

	if (*description == '<')
		from.xml_text = description;
	else if (*description == '/')
		from.xml_file = description;
	else
		from.synthetic = description;
	return load_new(&from, allowed, false, fault);
}

void topo_free(struct topo *t)
{
	if (!t)
		return;
	free(t->where);
	free(t->cpus);
	hwloc_bitmap_free(t->allowed);
	if (t->hw)
		hwloc_topology_destroy(t->hw);
	free(t);
}

const struct topo_cpu *topo_cpu(const struct topo *t, int os)
{
	if (os < 0 || os >= t->n_where || t->where[os] < 0)
		return NULL;
	return &t->cpus[t->where[os]];
}

int topo_cpus(const struct topo *t)
{
	return t->n_allowed;
}

int topo_node_of(const struct topo *t, int cpu)
{
	const struct topo_cpu *c = topo_cpu(t, cpu);

	return c ? c->node : -1;
}

int topo_nodes(const struct topo *t)
{
	return t->n_nodes;
}

/* The complete set: a node without CPUs, or denied by the cgroup, exists. */
bool topo_has_node(const struct topo *t, int node)
{
	return node >= 0 &&
	       hwloc_bitmap_isset(hwloc_topology_get_complete_nodeset(t->hw),
				  (unsigned)node);
}

enum topo_distance topo_distance(const struct topo *t, int a, int b)
{
	const struct topo_cpu *x = topo_cpu(t, a), *y = topo_cpu(t, b);

	if (a == b)
		return TOPO_SAME_CPU;
	if (!x || !y)
		return TOPO_REMOTE;
	if (x->core >= 0 && x->core == y->core)
		return TOPO_SAME_CORE;
	if (x->l3 >= 0 && x->l3 == y->l3)
		return TOPO_SAME_L3;
	if (x->node >= 0 && x->node == y->node)
		return TOPO_SAME_NODE;
	return TOPO_REMOTE;
}

char *topo_allowed_list(const struct topo *t)
{
	char *list;

	if (hwloc_bitmap_list_asprintf(&list, t->allowed) < 0) {
		errno = ENOMEM;
		return NULL;
	}
	return list;
}

char *topo_format_cpus(const int *cpus, int n)
{
	/* each number takes at most ten digits and a separator */
	size_t room = (size_t)n * 11 + 1, used = 0;
	char *text = calloc(1, room);

	if (!text)
		return NULL;
	for (int i = 0, end; i < n; i = end + 1) {
		for (end = i; end + 1 < n && cpus[end + 1] == cpus[end] + 1;)
			end++;
		used += (size_t)snprintf(text + used, room - used, "%s%d",
					 i ? "," : "", cpus[i]);
		if (end > i)
			used += (size_t)snprintf(text + used, room - used,
						 "-%d", cpus[end]);
	}
	return text;
}

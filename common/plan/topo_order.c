/* SPDX-License-Identifier: Apache-2.0 */
/* The allowed CPUs in the order of each pinning policy: sorts and lists. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <net/if.h>

#include "common/plan/topo.h"
#include "common/plan/topo_internal.h"

/*
 * An order is a sort of the allowed CPUs by two keys, then by their logical
 * position; each policy only sets the keys.
 */
struct slot {
	int first, second;
	int position;
	struct topo_cpu cpu;
};

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (x->second != y->second)
		return x->second < y->second ? -1 : 1;
	return x->position < y->position ? -1 : 1;
}

static void sort_slots(const struct topo *t, struct slot *slots)
{
	qsort(slots, (size_t)t->n_allowed, sizeof(*slots), compare_slots);
}

/* The allowed CPUs in logical order, keys 0; NULL with @fault. */
static struct slot *take_slots(const struct topo *t, struct fault *fault)
{
	struct slot *slots = calloc((size_t)t->n_allowed, sizeof(*slots));
	int n = 0;

	if (!slots) {
		(void)fault_set(fault, ENOMEM, "order of %d CPUs",
				t->n_allowed);
		return NULL;
	}
	for (int i = 0; i < t->n_cpus; i++) {
		if (!t->cpus[i].allowed)
			continue;
		slots[n].position = i;
		slots[n].cpu = t->cpus[i];
		n++;
	}
	return slots;
}

/* Turn @slots, which are freed, into the array the caller asked for. */
static int give_order(const struct topo *t, struct slot *slots, int **cpus,
		      int *n, struct fault *fault)
{
	int *order = calloc((size_t)t->n_allowed, sizeof(*order));

	if (!order) {
		free(slots);
		return fault_set(fault, ENOMEM, "order of %d CPUs",
				 t->n_allowed);
	}
	for (int i = 0; i < t->n_allowed; i++)
		order[i] = slots[i].cpu.os;
	free(slots);
	*cpus = order;
	*n = t->n_allowed;
	return 0;
}

static void sort_by_cores(const struct topo *t, struct slot *slots)
{
	for (int i = 0; i < t->n_allowed; i++)
		slots[i].first = slots[i].cpu.thread;
	sort_slots(t, slots);
}

int topo_order_cores(const struct topo *t, int **cpus, int *n,
		     struct fault *fault)
{
	struct slot *slots = take_slots(t, fault);

	if (!slots)
		return -1;
	sort_by_cores(t, slots);
	return give_order(t, slots, cpus, n, fault);
}

int topo_order_compact(const struct topo *t, int **cpus, int *n,
		       struct fault *fault)
{
	struct slot *slots = take_slots(t, fault);

	if (!slots)
		return -1;
	return give_order(t, slots, cpus, n, fault);
}

int topo_order_numa(const struct topo *t, int **cpus, int *n,
		    struct fault *fault)
{
	struct slot *slots = take_slots(t, fault);
	int last = -1;
	int *taken;

	if (!slots)
		return -1;
	for (int i = 0; i < t->n_allowed; i++)
		if (slots[i].cpu.node > last)
			last = slots[i].cpu.node;
	/* one count a node, and one (the first) for CPUs of unknown place */
	taken = calloc((size_t)last + 2, sizeof(*taken));
	if (!taken) {
		free(slots);
		return fault_set(fault, ENOMEM, "order of %d CPUs",
				 t->n_allowed);
	}
	/* the k-th CPU of every node, then the next one of every node */
	sort_by_cores(t, slots);
	for (int i = 0; i < t->n_allowed; i++) {
		int node = slots[i].cpu.node;

		slots[i].first = taken[node + 1]++;
		slots[i].second = node >= 0 ? node : INT_MAX;
	}
	free(taken);
	sort_slots(t, slots);
	return give_order(t, slots, cpus, n, fault);
}

static hwloc_obj_t find_interface(const struct topo *t, const char *ifname)
{
	hwloc_obj_t obj = NULL;

	while ((obj = hwloc_get_next_osdev(t->hw, obj)))
		if (obj->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK &&
		    obj->name && !strcmp(obj->name, ifname))
			break;
	return obj;
}

/*
 * The CPUs next to @ifname; NULL when that is unknown. A device that tells no
 * node (virtio, numa_node -1) hangs on the whole machine, which says nothing.
 */
static hwloc_const_cpuset_t near_cpus(const struct topo *t, hwloc_obj_t nic)
{
	hwloc_obj_t place;

	if (!nic)
		return NULL;
	place = hwloc_get_non_io_ancestor_obj(t->hw, nic);
	if (!place || !place->cpuset ||
	    hwloc_bitmap_isincluded(hwloc_topology_get_topology_cpuset(t->hw),
				    place->cpuset))
		return NULL;
	return place->cpuset;
}

int topo_order_nic(const struct topo *t, const char *ifname, int **cpus, int *n,
		   int *local, struct fault *fault)
{
	hwloc_obj_t nic = find_interface(t, ifname);
	hwloc_const_cpuset_t near;
	struct slot *slots;
	int n_near = 0;

	if (!nic && !if_nametoindex(ifname))
		return fault_set(fault, 0, "no network interface \"%s\"",
				 ifname);
	near = near_cpus(t, nic);
	slots = take_slots(t, fault);
	if (!slots)
		return -1;
	for (int i = 0; i < t->n_allowed; i++) {
		unsigned os = (unsigned)slots[i].cpu.os;
		bool is_near = near && hwloc_bitmap_isset(near, os);

		slots[i].first = is_near ? 0 : 1;
		slots[i].second = slots[i].cpu.thread;
		n_near += is_near;
	}
	sort_slots(t, slots);
	if (give_order(t, slots, cpus, n, fault))
		return -1;
	*local = n_near;
	return 0;
}

/* An explicit list while it is read. */
struct listing {
	const struct topo *t;
	const char *list; /* as written, for messages */
	const char *next; /* what is still to be read */
	int *cpus; /* owned, room for every allowed CPU */
	int n;
	hwloc_bitmap_t named;
};

static int list_fault(const struct listing *l, struct fault *fault, int cpu,
		      const char *problem)
{
	char *allowed = topo_allowed_list(l->t);
	const char *text = allowed ? allowed : "?";

	if (cpu < 0)
		(void)fault_set(fault, 0, "CPU list \"%s\": %s; allowed: %s",
				l->list, problem, text);
	else
		(void)fault_set(fault, 0,
				"CPU list \"%s\": CPU %d %s; allowed: %s",
				l->list, cpu, problem, text);
	free(allowed);
	return -1;
}

/* Read one number; -1 when there is none or it is beyond any CPU. */
static int read_number(struct listing *l)
{
	int value = 0;

	if (*l->next < '0' || *l->next > '9')
		return -1;
	for (; *l->next >= '0' && *l->next <= '9'; l->next++) {
		if (value > INT_MAX / 10 - 1)
			return -1;
		value = value * 10 + (*l->next - '0');
	}
	return value;
}

static int add_cpu(struct listing *l, int cpu, struct fault *fault)
{
	if (!hwloc_bitmap_isset(l->t->allowed, (unsigned)cpu))
		return list_fault(l, fault, cpu, "is not allowed");
	if (hwloc_bitmap_isset(l->named, (unsigned)cpu))
		return list_fault(l, fault, cpu, "is named twice");
	if (hwloc_bitmap_set(l->named, (unsigned)cpu))
		return fault_set(fault, ENOMEM, "CPU list");
	l->cpus[l->n++] = cpu;
	return 0;
}

/* Read "3", "0-3" or "3-0". */
static int read_range(struct listing *l, struct fault *fault)
{
	static const char form[] = "want numbers and ranges as in 0-3,8";
	int first = read_number(l);
	int last = first;
	int step;

	if (first >= 0 && *l->next == '-') {
		l->next++;
		last = read_number(l);
	}
	if (first < 0 || last < 0 || (*l->next && *l->next != ','))
		return list_fault(l, fault, -1, form);
	step = first <= last ? 1 : -1;
	/* an endless range stops at the first CPU that is not allowed */
	for (int cpu = first; cpu != last; cpu += step)
		if (add_cpu(l, cpu, fault))
			return -1;
	return add_cpu(l, last, fault);
}

static int read_list(struct listing *l, struct fault *fault)
{
	for (;;) {
		if (read_range(l, fault))
			return -1;
		if (!*l->next)
			return 0;
		l->next++; /* the comma; another range must follow */
	}
}

int topo_order_list(const struct topo *t, const char *list, int **cpus, int *n,
		    struct fault *fault)
{
	struct listing l = { .t = t, .list = list, .next = list };
	int rc;

	l.cpus = calloc((size_t)t->n_allowed, sizeof(*l.cpus));
	l.named = hwloc_bitmap_alloc();
	if (!l.cpus || !l.named)
		rc = fault_set(fault, ENOMEM, "CPU list");
	else
		rc = read_list(&l, fault);
	hwloc_bitmap_free(l.named);
	if (rc) {
		free(l.cpus);
		return -1;
	}
	*cpus = l.cpus;
	*n = l.n;
	return 0;
}

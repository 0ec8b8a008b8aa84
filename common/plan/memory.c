/* SPDX-License-Identifier: Apache-2.0 */
/* Maps, places and touches buffers; the place is read back, not assumed. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <numaif.h>
#include <sys/mman.h>

#include "common/base/num.h"
#include "common/plan/memory.h"

/* The kernel's own upper limit (MAX_NUMNODES with NODES_SHIFT 10). */
#define MAX_NODES 1024

#define HUGE_PAGE ((size_t)2 << 20)

#define BITS_PER_LONG (sizeof(unsigned long) * CHAR_BIT)

int memory_parse(const char *text, struct memory_choice *choice,
		 struct fault *fault)
{
	struct memory_choice c = { .policy = MEMORY_NONE, .node = -1 };
	int64_t node;

	if (!strcmp(text, "local")) {
		c.policy = MEMORY_LOCAL;
	} else if (!strncmp(text, "node=", 5)) {
		/* digits only: num_parse_int() would take a sign */
		if (text[5] < '0' || text[5] > '9' ||
		    num_parse_int(text + 5, &node) || node >= MAX_NODES)
			return fault_set(fault, 0,
					 "--mem: \"%s\" wants a node from 0 to "
					 "%d after \"node=\"",
					 text, MAX_NODES - 1);
		c.policy = MEMORY_NODE;
		c.node = (int)node;
	} else if (strcmp(text, "none") != 0) {
		return fault_set(fault, 0,
				 "--mem: \"%s\" is not local, node=N or none",
				 text);
	}
	*choice = c;
	return 0;
}

/* @size rounded up to a multiple of @unit, or 0 when that overflows. */
static size_t round_up(size_t size, size_t unit)
{
	if (size > SIZE_MAX - (unit - 1))
		return 0;
	return (size + unit - 1) / unit * unit;
}

/*
 * Map @size bytes that start on a multiple of @align. A huge page needs an
 * aligned place, so more is mapped and what sticks out is given back.
 */
static void *map_aligned(size_t size, size_t align, size_t page)
{
	size_t spare = align > page ? align : 0, head;
	char *base;

	if (size > SIZE_MAX - spare) {
		errno = ENOMEM;
		return NULL;
	}
	base = mmap(NULL, size + spare, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	if (!spare)
		return base;
	head = (align - (uintptr_t)base % align) % align;
	/* unmapping our own pages cannot fail but for lack of map entries */
	if (head)
		(void)munmap(base, head);
	if (spare > head)
		(void)munmap(base + head + size, spare - head);
	return base + head;
}

/*
 * Bind by the plain system call: libnuma's allocators print on standard error
 * and hand out memory of another node when the kernel refuses.
 */
static void bind_to_node(const struct memory *m, int node,
			 struct fault *warning)
{
	int err = EINVAL;

	if (node >= 0 && node < MAX_NODES) {
		unsigned long mask[MAX_NODES / BITS_PER_LONG] = { 0 };
		unsigned int bit = (unsigned int)node;

		mask[bit / BITS_PER_LONG] = 1UL << (bit % BITS_PER_LONG);
		/* the kernel takes one off the number of bits it is given */
		err = 0;
		if (mbind(m->base, m->size, MPOL_BIND, mask, MAX_NODES + 1, 0))
			err = errno;
	}
	if (err)
		(void)fault_set(warning, err,
				"--mem=node=%d is refused, buffers are placed "
				"by first touch",
				node);
}

/* Touching decides the place, so this comes after the policy is set. */
static void touch(const struct memory *m, size_t page)
{
	volatile char *base = m->base;

	for (size_t at = 0; at < m->size; at += page)
		base[at] = 0;
}

/* -1 also without NUMA in the kernel, or where a container denies the call. */
static int node_of(void *address)
{
	int node = -1;

	if (get_mempolicy(&node, NULL, 0, address, MPOL_F_NODE | MPOL_F_ADDR))
		return -1;
	return node;
}

int memory_get(struct memory *m, size_t size, struct memory_choice choice,
	       bool huge, struct fault *warning, struct fault *fault)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t unit = huge && HUGE_PAGE > page ? HUGE_PAGE : page;

	*m = (struct memory){ .size = round_up(size, unit), .node = -1 };
	*warning = (struct fault){ 0 };
	if (size && !m->size)
		errno = ENOMEM; /* rounding up went over the top */
	else
		m->base = map_aligned(m->size, unit, page);
	if (!m->base) {
		m->size = 0;
		return fault_set(fault, errno, "cannot get %zu bytes of memory",
				 size);
	}
	if (choice.policy == MEMORY_NODE)
		bind_to_node(m, choice.node, warning);
	if (huge) {
		m->huge = !madvise(m->base, m->size, MADV_HUGEPAGE);
		if (!m->huge)
			(void)fault_set(warning, errno,
					"--huge-pages is refused, buffers are "
					"in ordinary pages");
	}
	touch(m, page);
	m->node = node_of(m->base);
	if (choice.policy == MEMORY_NODE && m->node >= 0 &&
	    m->node != choice.node)
		(void)fault_set(warning, 0,
				"--mem=node=%d: buffers are on node %d",
				choice.node, m->node);
	return 0;
}

void memory_put(struct memory *m)
{
	if (m->base)
		(void)munmap(m->base, m->size); /* whole mapping, our own */
	*m = (struct memory){ .node = -1 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers on the right NUMA node (first touch; libnuma only when asked). */
#ifndef NAPIER_PLAN_MEMORY_H
#define NAPIER_PLAN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/die.h"

/* Where a worker's buffers go. */
enum memory_policy {
	MEMORY_NONE, /* plain allocation, no claim about its place */
	MEMORY_LOCAL, /* first touched by the pinned worker: no system call */
	MEMORY_NODE, /* bound to one node (mbind(2) through libnuma) */
};

struct memory_choice {
	enum memory_policy policy;
	int node; /* MEMORY_NODE: OS index of the node */
};

/*
 * Parse "none", "local" or "node=N" (@text) into *@choice. -1 with @fault
 * naming --mem, the value and the accepted forms otherwise.
 */
int memory_parse(const char *text, struct memory_choice *choice,
		 struct fault *fault);

struct memory {
	void *base; /* page-aligned, touched; NULL when not allocated */
	size_t size; /* bytes, whole pages */
	int node; /* node the first page was found on, or -1 unknown */
	bool huge; /* MADV_HUGEPAGE was accepted */
};

/*
 * Map @size bytes (rounded up to pages; to 2 MiB with @huge) by @choice and
 * touch every page from the calling thread, which must be pinned already for
 * MEMORY_LOCAL to mean anything. Returns 0; -1 with @fault when memory cannot
 * be had. A refused policy or MADV_HUGEPAGE is not a failure: the memory is
 * there, and @warning holds one line (empty otherwise) for the caller to pass
 * on. Where the pages are is read back by get_mempolicy(2) MPOL_F_ADDR.
 */
int memory_get(struct memory *m, size_t size, struct memory_choice choice,
	       bool huge, struct fault *warning, struct fault *fault);

/* Unmap; harmless on a zeroed struct. */
void memory_put(struct memory *m);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* 64-bit counters with one writing thread and any number of readers. */
#ifndef NAPIER_BASE_COUNTER_H
#define NAPIER_BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/* Size that keeps two owners' data off one cache line (with its neighbour). */
#define CACHE_LINE 64

typedef _Atomic uint64_t counter_t;

/* Add @n; only the owning thread calls this, so no locked instruction. */
static inline void counter_add(counter_t *c, uint64_t n)
{
	uint64_t v = atomic_load_explicit(c, memory_order_relaxed);

	atomic_store_explicit(c, v + n, memory_order_relaxed);
}

/* Set to @v; only the owning thread calls this. */
static inline void counter_set(counter_t *c, uint64_t v)
{
	atomic_store_explicit(c, v, memory_order_relaxed);
}

/* The value now, from any thread; never torn, possibly a little old. */
static inline uint64_t counter_get(const counter_t *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

#endif

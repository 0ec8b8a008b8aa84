/* SPDX-License-Identifier: Apache-2.0 */
/* Binary min-heap of due times: which item is to be served next. */
#ifndef NAPIER_BASE_HEAP_H
#define NAPIER_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"

struct heap_item {
	nsec_t due; /* instant; ties are served in the order of @id */
	uint32_t id; /* caller's index, at most once in the heap */
};

/* Fields are private to heap.c; zero-initialised is an empty heap of room 0. */
struct heap {
	struct heap_item *items; /* owned */
	size_t n;
	size_t room;
};

/* Make an empty heap for at most @room items; 0, or -1 with errno ENOMEM. */
int heap_init(struct heap *h, size_t room);

/* Release what heap_init() took; harmless on a zeroed heap. */
void heap_free(struct heap *h);

/* Add an item; the caller keeps the number of items within the room. */
void heap_push(struct heap *h, nsec_t due, uint32_t id);

/* The item with the least due time, or NULL when empty; valid until changed. */
const struct heap_item *heap_top(const struct heap *h);

/* Remove the top item; the heap must not be empty. */
void heap_pop(struct heap *h);

/* Give the top item a later due time, cheaper than a pop and a push. */
void heap_delay_top(struct heap *h, nsec_t due);

#endif

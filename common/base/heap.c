/* SPDX-License-Identifier: Apache-2.0 */
/* Binary min-heap of due times: which item is to be served next. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/heap.h"

int heap_init(struct heap *h, size_t room)
{
	h->n = 0;
	h->room = room;
	h->items = calloc(room ? room : 1, sizeof(*h->items));
	if (h->items)
		return 0;
	errno = ENOMEM;
	return -1;
}

void heap_free(struct heap *h)
{
	free(h->items);
	*h = (struct heap){ 0 };
}

static bool before(const struct heap_item *a, const struct heap_item *b)
{
	return a->due != b->due ? a->due < b->due : a->id < b->id;
}

static void swap(struct heap *h, size_t a, size_t b)
{
	struct heap_item keep = h->items[a];

	h->items[a] = h->items[b];
	h->items[b] = keep;
}

void heap_push(struct heap *h, nsec_t due, uint32_t id)
{
	size_t i = h->n++;

	h->items[i] = (struct heap_item){ due, id };
	while (i && before(&h->items[i], &h->items[(i - 1) / 2])) {
		swap(h, i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

const struct heap_item *heap_top(const struct heap *h)
{
	return h->n ? &h->items[0] : NULL;
}

/* Let the top item sink to its place. */
static void sink(struct heap *h)
{
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1, least = i;

		if (child < h->n && before(&h->items[child], &h->items[least]))
			least = child;
		child++;
		if (child < h->n && before(&h->items[child], &h->items[least]))
			least = child;
		if (least == i)
			return;
		swap(h, i, least);
		i = least;
	}
}

void heap_pop(struct heap *h)
{
	h->items[0] = h->items[--h->n];
	sink(h);
}

void heap_delay_top(struct heap *h, nsec_t due)
{
	h->items[0].due = due;
	sink(h);
}

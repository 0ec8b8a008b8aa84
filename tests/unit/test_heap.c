/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of due times against sorting, with ties, delays and extremes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "common/base/heap.h"

#define MOST 400

/* A small generator of its own, so that every run sees the same numbers. */
static uint32_t seed;

static uint32_t roll(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static int by_due(const void *a, const void *b)
{
	const struct heap_item *x = a, *y = b;

	if (x->due != y->due)
		return x->due < y->due ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void expect_sorted(struct heap *h, struct heap_item *items, size_t n)
{
	qsort(items, n, sizeof(*items), by_due);
	for (size_t i = 0; i < n; i++) {
		const struct heap_item *top = heap_top(h);

		assert_non_null(top);
		assert_true(top->due == items[i].due);
		assert_int_equal(top->id, items[i].id);
		heap_pop(h);
	}
	assert_null(heap_top(h));
}

static void test_empty(void **state)
{
	struct heap h = { 0 };

	(void)state;
	assert_null(heap_top(&h));
	heap_free(&h);
	assert_int_equal(heap_init(&h, 0), 0);
	assert_null(heap_top(&h));
	heap_free(&h);
	assert_int_equal(heap_init(&h, 1), 0);
	heap_push(&h, 5, 9);
	assert_int_equal(heap_top(&h)->id, 9);
	heap_pop(&h);
	assert_null(heap_top(&h));
	heap_free(&h);
	heap_free(&h);
}

/* Every size up to 64 and some more, few and many ties. */
static void test_against_sorting(void **state)
{
	static const uint32_t spreads[] = { 1, 3, 50, 1000000 };
	struct heap_item items[MOST];
	struct heap h;

	(void)state;
	for (size_t n = 1; n <= MOST; n = n < 64 ? n + 1 : n * 2) {
		for (size_t s = 0; s < 4; s++) {
			assert_int_equal(heap_init(&h, n), 0);
			for (uint32_t i = 0; i < n; i++) {
				items[i].due = roll(spreads[s]);
				items[i].id = i;
				heap_push(&h, items[i].due, i);
			}
			expect_sorted(&h, items, n);
			heap_free(&h);
		}
	}
}

/* Times rise and fall by turns, over the whole range of nsec_t. */
static void test_extremes(void **state)
{
	struct heap_item items[] = {
		{ INT64_MAX, 0 },  { INT64_MIN, 1 },	  { 0, 2 },
		{ INT64_MAX, 3 },  { INT64_MIN, 4 },	  { -1, 5 },
		{ 1, UINT32_MAX }, { 0, UINT32_MAX - 1 },
	};
	size_t n = sizeof(items) / sizeof(items[0]);
	struct heap h;

	(void)state;
	assert_int_equal(heap_init(&h, n), 0);
	for (size_t i = 0; i < n; i++)
		heap_push(&h, items[i].due, items[i].id);
	expect_sorted(&h, items, n);
	heap_free(&h);
}

/* What a worker does: take the top, do it, put it back a period later. */
static void test_delay_top(void **state)
{
	struct heap_item items[MOST];
	struct heap h;

	(void)state;
	assert_int_equal(heap_init(&h, MOST), 0);
	for (uint32_t i = 0; i < MOST; i++) {
		items[i] = (struct heap_item){ roll(1000), i };
		heap_push(&h, items[i].due, i);
	}
	for (int turn = 0; turn < 20 * MOST; turn++) {
		nsec_t due = heap_top(&h)->due;
		uint32_t id = heap_top(&h)->id;

		for (uint32_t i = 0; i < MOST; i++)
			assert_true(by_due(&items[id], &items[i]) <= 0);
		assert_true(due == items[id].due);
		items[id].due += roll(700);
		heap_delay_top(&h, items[id].due);
	}
	expect_sorted(&h, items, MOST);
	heap_free(&h);
}

/* Equal periods keep the flows in order, round after round. */
static void test_fair_turns(void **state)
{
	struct heap h;

	(void)state;
	assert_int_equal(heap_init(&h, 7), 0);
	for (uint32_t i = 7; i-- > 0;)
		heap_push(&h, 100, i);
	for (int round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < 7; i++) {
			assert_int_equal(heap_top(&h)->id, i);
			heap_delay_top(&h, heap_top(&h)->due + 100);
		}
	}
	heap_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_against_sorting),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_delay_top),
		cmocka_unit_test(test_fair_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

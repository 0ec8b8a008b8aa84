/* SPDX-License-Identifier: Apache-2.0 */
/* The first 32 bytes of a data connection, byte by byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/engine/preamble.h"

static const uint8_t wire[PREAMBLE_SIZE] = {
	'N',  'P',  'R',  'D',	1,    0,    0x12, 0x34, 0xde, 0xad, 0xbe,
	0xef, 0x01, 0x02, 0x03, 0x04, 0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5,
	0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff,
};

static const struct preamble plain = {
	.window = 0x1234,
	.participant = 0xdeadbeef,
	.flow = 0x01020304,
	.cookie = { 0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9,
		    0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff },
};

static void same(const struct preamble *a, const struct preamble *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->window, b->window);
	assert_true(a->participant == b->participant && a->flow == b->flow);
	assert_memory_equal(a->cookie, b->cookie, PREAMBLE_COOKIE);
}

static void test_wire(void **state)
{
	uint8_t out[PREAMBLE_SIZE + 1];
	struct preamble back;

	(void)state;
	out[PREAMBLE_SIZE] = 0x5a;
	preamble_encode(&plain, out);
	assert_memory_equal(out, wire, PREAMBLE_SIZE);
	assert_int_equal(out[PREAMBLE_SIZE], 0x5a);
	memset(&back, 0xaa, sizeof(back));
	assert_int_equal(preamble_decode(wire, &back), 0);
	same(&back, &plain);
}

static void test_extremes(void **state)
{
	struct preamble p = { .window = UINT16_MAX,
			      .participant = UINT32_MAX,
			      .flow = UINT32_MAX };
	uint8_t out[PREAMBLE_SIZE];
	struct preamble back;

	(void)state;
	preamble_encode(&p, out);
	assert_int_equal(preamble_decode(out, &back), 0);
	same(&back, &p);
	memset(&p, 0, sizeof(p));
	preamble_encode(&p, out);
	assert_int_equal(preamble_decode(out, &back), 0);
	same(&back, &p);
}

/* Each bit of magic, version and kind counts, no other does. */
static void test_every_bit(void **state)
{
	struct preamble back;

	(void)state;
	for (int bit = 0; bit < 8 * PREAMBLE_SIZE; bit++) {
		uint8_t in[PREAMBLE_SIZE];

		memcpy(in, wire, sizeof(in));
		in[bit / 8] ^= (uint8_t)(1 << (bit % 8));
		assert_int_equal(preamble_decode(in, &back),
				 bit / 8 < 6 ? -1 : 0);
	}
}

/* A stranger is told apart at its first wrong byte, not before. */
static void test_possible(void **state)
{
	static const char *const strangers[] = {
		"GET / HTTP/1.1", "SSH-2.0", "NPR1", "NPRD\2", "N ", "\x16\x03"
	};

	(void)state;
	for (unsigned n = 1; n <= PREAMBLE_SIZE; n++)
		assert_true(preamble_possible(wire, n));
	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
		const uint8_t *in = (const uint8_t *)strangers[i];
		unsigned n, good = 0;

		while (in[good] && in[good] == wire[good])
			good++;
		for (n = 1; n <= strlen(strangers[i]); n++)
			assert_int_equal(!!preamble_possible(in, n), n <= good);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_possible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

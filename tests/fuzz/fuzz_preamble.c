/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz the preamble: decoding, encoding what was decoded, early verdicts. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/engine/preamble.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t in[PREAMBLE_SIZE], out[PREAMBLE_SIZE];
	struct preamble p;
	uint8_t *exact;
	size_t n = size < PREAMBLE_SIZE ? size : PREAMBLE_SIZE;
	int possible = 1, decoded;

	if (!size)
		return 0;
	/* The verdict on a longer piece is never better than on a shorter. */
	for (size_t k = 1; k <= n; k++) {
		int now;

		exact = malloc(k);
		assert(exact);
		memcpy(exact, data, k);
		now = preamble_possible(exact, (unsigned)k);
		assert(possible || !now);
		possible = now;
		free(exact);
	}
	if (size < PREAMBLE_SIZE)
		return 0;
	memcpy(in, data, PREAMBLE_SIZE);
	decoded = !preamble_decode(in, &p);
	assert(possible || !decoded);
	if (!decoded)
		return 0;
	preamble_encode(&p, out);
	assert(!memcmp(in, out, PREAMBLE_SIZE));
	return 0;
}

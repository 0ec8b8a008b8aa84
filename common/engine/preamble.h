/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of a data connection: which test and flow it belongs to. */
#ifndef NAPIER_ENGINE_PREAMBLE_H
#define NAPIER_ENGINE_PREAMBLE_H

#include <stdint.h>

#define PREAMBLE_SIZE 32
#define PREAMBLE_COOKIE 16
#define PREAMBLE_VERSION 1

/* docs/protocol.md, "Data connections". All integers are big-endian there. */
struct preamble {
	uint8_t kind; /* 0: a flow of the workload */
	uint16_t window; /* first window the connection serves */
	uint32_t participant; /* client's number within the test */
	uint32_t flow; /* flow id within that client */
	uint8_t cookie[PREAMBLE_COOKIE]; /* of the test, from the accept */
};

/* Write @p as PREAMBLE_SIZE bytes to @out. */
void preamble_encode(const struct preamble *p, uint8_t *out);

/*
 * Read PREAMBLE_SIZE bytes at @in. Returns 0, or -1 when magic, version or
 * kind are not ours.
 */
int preamble_decode(const uint8_t *in, struct preamble *p);

/*
 * Can the first @n bytes (1 to PREAMBLE_SIZE) at @in still become one? Tells
 * a stranger apart at its first wrong byte.
 */
int preamble_possible(const uint8_t *in, unsigned n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of a data connection: which test and flow it belongs to. */
#include <string.h>

#include "common/engine/preamble.h"

static const uint8_t head[5] = { 'N', 'P', 'R', 'D', PREAMBLE_VERSION };

static void put32(uint8_t *at, uint32_t v)
{
	at[0] = (uint8_t)(v >> 24);
	at[1] = (uint8_t)(v >> 16);
	at[2] = (uint8_t)(v >> 8);
	at[3] = (uint8_t)v;
}

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

void preamble_encode(const struct preamble *p, uint8_t *out)
{
	memcpy(out, head, sizeof(head));
	out[5] = p->kind;
	out[6] = (uint8_t)(p->window >> 8);
	out[7] = (uint8_t)p->window;
	put32(out + 8, p->participant);
	put32(out + 12, p->flow);
	memcpy(out + 16, p->cookie, PREAMBLE_COOKIE);
}

int preamble_decode(const uint8_t *in, struct preamble *p)
{
	if (memcmp(in, head, sizeof(head)) || in[5] != 0)
		return -1;
	p->kind = in[5];
	p->window = (uint16_t)(in[6] << 8 | in[7]);
	p->participant = get32(in + 8);
	p->flow = get32(in + 12);
	memcpy(p->cookie, in + 16, PREAMBLE_COOKIE);
	return 0;
}

int preamble_possible(const uint8_t *in, unsigned n)
{
	return !memcmp(in, head, n < sizeof(head) ? n : sizeof(head));
}

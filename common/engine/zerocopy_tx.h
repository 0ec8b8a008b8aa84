/* SPDX-License-Identifier: Apache-2.0 */
/* MSG_ZEROCOPY: completion ranges, the copied share, and ENOBUFS. */
#ifndef NAPIER_ENGINE_ZEROCOPY_TX_H
#define NAPIER_ENGINE_ZEROCOPY_TX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct flow;
struct lane;

/* One notification: sends first to last (inclusive, modulo 2^32). */
struct zerocopy_range {
	uint32_t first, last;
	bool copied; /* SO_EE_CODE_ZEROCOPY_COPIED */
};

/* Sends that @r covers: 1 to 2^32, right across the wrap of the ids. */
uint64_t zerocopy_range_length(struct zerocopy_range r);

/*
 * Enter @r, which arrived for @f, into the ledgers of @f and @l. Ranges may
 * come in any order; one that completes more than was sent is an error of the
 * kernel or of ours: returns -1 and enters nothing.
 */
int zerocopy_tx_complete(struct lane *l, struct flow *f,
			 struct zerocopy_range r);

/*
 * Drain the error queue of @f by recvmsg(2) with MSG_ERRQUEUE until it is
 * empty. Returns the number of notifications read, or -1 with f->err set when
 * the queue holds a real error of the connection.
 */
int zerocopy_tx_drain(struct lane *l, struct flow *f);

/*
 * Account for a send of @len bytes at @data with MSG_ZEROCOPY that returned
 * @n. On ENOBUFS the error queue is drained and the send repeated once as a
 * copying one, which is counted. Returns what flow_send() should take as
 * send's result, errno set when negative.
 */
ssize_t zerocopy_tx_sent(struct lane *l, struct flow *f, const void *data,
			 size_t len, ssize_t n);

/* Sends of @f without a completion yet. */
uint32_t zerocopy_tx_pending(const struct flow *f);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One flow: a data connection, its states, and how a workload moves bytes. */
#ifndef NAPIER_ENGINE_FLOW_H
#define NAPIER_ENGINE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/counter.h"
#include "common/plan/transfer.h"
#include "common/result/result.h"

/*
 * Life of a flow. Only flow_move() changes the state, and only forward.
 *
 * FLOW_NONE      slot without a socket
 * FLOW_READY     connected and known to both ends; silent until the start
 * FLOW_RUNNING   transfers go on
 * FLOW_DRAINING  the windows are over: received bytes still count towards
 *                the life of the flow but no longer to a window, nothing is
 *                sent, zero-copy completions are still collected
 * FLOW_CLOSED    socket closed; err tells why, 0 when it was in order
 */
enum flow_state {
	FLOW_NONE,
	FLOW_READY,
	FLOW_RUNNING,
	FLOW_DRAINING,
	FLOW_CLOSED,
};

struct flow {
	int fd; /* owned by the worker; -1 without a socket */
	uint32_t id; /* flow id, the same on both ends */
	uint8_t state; /* enum flow_state */
	uint8_t roles; /* enum flow_role */
	uint8_t ready; /* edge-triggered: what is possible still, enum flow_ready */
	bool queued; /* edge-triggered: on the worker's ready list */
	bool sent_all, got_all; /* reached the limit of bytes */
	bool satisfied; /* got_all was reported to the main thread */
	bool blocked; /* a timed sender that waits for room, not for time */
	uint32_t watched; /* events registered with the poller */
	uint32_t slot; /* own index in the worker's array */
	uint32_t zc_next; /* zero-copy sends so far, modulo 2^32 */
	uint32_t zc_done; /* of them completed, modulo 2^32 */
	int err; /* errno that closed it, 0 none */
	counter_t tx_bytes, rx_bytes; /* since it was opened */
	nsec_t due; /* when the next timed send is to go out */
	nsec_t connect_time; /* connect(2) to established, 0 if accepted */
};

/* Counters of one worker; it alone writes them, others may read. */
struct lane_counters {
	counter_t tx_bytes, rx_bytes, tx_transfers, rx_transfers;
	counter_t tx_short, rx_short, tx_again, rx_again, rx_truncated;
	counter_t waits, wakeups, late;
	counter_t zc_sends, zc_completions, zc_copied, zc_enobufs;
	counter_t zc_fallbacks, zc_peak;
};

/*
 * What a workload sees of the worker that serves a flow: how to move bytes,
 * where from and to, and where to count.
 */
struct lane {
	_Alignas(CACHE_LINE) struct lane_counters counters;
	_Alignas(CACHE_LINE) const struct transfer *transfer;
	const void *options; /* the workload's agreed options */
	uint8_t *tx_buffer; /* tx_size + TRANSFER_PERIOD bytes, or NULL */
	uint8_t *rx_buffer; /* rx_size bytes, or NULL */
	uint32_t zc_pending; /* sends of this worker not yet completed */
	uint64_t failed; /* flows that died */
	int tx_flags; /* send(2) flags of every send */
	int rx_flags; /* recv(2) flags of every receive */
};

/* What is possible on a flow now. */
enum flow_ready {
	FLOW_READABLE = 1,
	FLOW_WRITABLE = 2,
};

/* Change the state of @f, asserting that the move is a legal one. */
void flow_move(struct flow *f, enum flow_state to);

/* Name of a state, for messages. */
const char *flow_state_name(enum flow_state state);

/*
 * Events the poller should report for @f as it is now: computed from roles,
 * state and whether its sends are timed; 0 is none but errors.
 */
uint32_t flow_wanted(const struct flow *f, bool timed);

/*
 * Bits of enum flow_ready that @f has left over from an edge and still wants
 * (edge-triggered events).
 */
unsigned flow_possible(const struct flow *f);

/* The counters of @l now, from any thread. */
struct io_counts lane_counts(const struct lane *l);

/* The zero-copy counters of @l now; `outstanding` is left 0. */
struct zc_counts lane_zc(const struct lane *l);

/*
 * Bytes that @f may still send, at most @len: less near the limit of bytes,
 * 0 once it is reached.
 */
static inline size_t flow_allowance(const struct lane *l, const struct flow *f,
				    size_t len)
{
	uint64_t left;

	if (!l->transfer->limit)
		return len;
	left = l->transfer->limit - counter_get(&f->tx_bytes);
	return left < len ? (size_t)left : len;
}

/* Start of the payload of flow @f's next send in the lane's buffer. */
static inline const uint8_t *flow_payload(const struct lane *l,
					  const struct flow *f)
{
	uint64_t at = counter_get(&f->tx_bytes) + 8ull * f->id;

	return l->tx_buffer + (at & (TRANSFER_PERIOD - 1));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* How flows move bytes: what a workload's options mean for the engine. */
#ifndef NAPIER_PLAN_TRANSFER_H
#define NAPIER_PLAN_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"

/* What a flow does at this end; several may be set. */
enum flow_role {
	FLOW_SENDS = 1,
	FLOW_RECEIVES = 2,
};

/*
 * The payload repeats with this period: byte k of flow i is byte
 * (k + 8 i) mod TRANSFER_PERIOD of the pattern, so that a receiver can check
 * it from the offset and the flow alone. A page, so that full-page sends keep
 * their alignment.
 */
#define TRANSFER_PERIOD 4096

/* Filled by a workload from its agreed options; const afterwards. */
struct transfer {
	size_t tx_size; /* bytes a send */
	size_t rx_size; /* bytes a receive */
	int tx_ops, rx_ops; /* most transfers per event */
	bool more; /* sends carry MSG_MORE, to fill segments */
	bool zerocopy; /* sends carry MSG_ZEROCOPY */
	bool discard; /* receives carry MSG_TRUNC: payload is not copied */
	bool edge; /* events are edge-triggered */
	uint64_t limit; /* bytes of a flow and direction; 0: none */
	nsec_t delay; /* period of a flow's sends; 0: as fast as it can */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One flow: a data connection, its states, and how a workload moves bytes. */
#include <assert.h>
#include <sys/epoll.h>

#include "common/engine/flow.h"

static const char *const names[] = { "none", "ready", "running", "draining",
				     "closed" };

_Static_assert(sizeof(names) / sizeof(names[0]) == FLOW_CLOSED + 1,
	       "a name for every state");

const char *flow_state_name(enum flow_state state)
{
	return names[state];
}

void flow_move(struct flow *f, enum flow_state to)
{
	/* NONE is entered again never; CLOSED can follow any other. */
	assert(to > f->state);
	f->state = (uint8_t)to;
}

uint32_t flow_wanted(const struct flow *f, bool timed)
{
	uint32_t wanted = 0;

	if (f->state == FLOW_RUNNING || f->state == FLOW_DRAINING) {
		if ((f->roles & FLOW_RECEIVES) && !f->got_all)
			wanted |= EPOLLIN;
	}
	if (f->state == FLOW_RUNNING && (f->roles & FLOW_SENDS) &&
	    !f->sent_all) {
		if (!timed || f->blocked)
			wanted |= EPOLLOUT;
	}
	return wanted;
}

unsigned flow_possible(const struct flow *f)
{
	uint32_t wanted = flow_wanted(f, false);
	unsigned bits = 0;

	if (wanted & EPOLLIN)
		bits |= FLOW_READABLE;
	if (wanted & EPOLLOUT)
		bits |= FLOW_WRITABLE;
	return f->ready & bits;
}

struct io_counts lane_counts(const struct lane *l)
{
	const struct lane_counters *c = &l->counters;

	return (struct io_counts){
		.tx_bytes = counter_get(&c->tx_bytes),
		.rx_bytes = counter_get(&c->rx_bytes),
		.tx_transfers = counter_get(&c->tx_transfers),
		.rx_transfers = counter_get(&c->rx_transfers),
		.tx_short = counter_get(&c->tx_short),
		.rx_short = counter_get(&c->rx_short),
		.tx_again = counter_get(&c->tx_again),
		.rx_again = counter_get(&c->rx_again),
		.rx_truncated = counter_get(&c->rx_truncated),
		.waits = counter_get(&c->waits),
		.wakeups = counter_get(&c->wakeups),
		.late = counter_get(&c->late),
	};
}

struct zc_counts lane_zc(const struct lane *l)
{
	const struct lane_counters *c = &l->counters;

	return (struct zc_counts){
		.sends = counter_get(&c->zc_sends),
		.completions = counter_get(&c->zc_completions),
		.copied = counter_get(&c->zc_copied),
		.enobufs = counter_get(&c->zc_enobufs),
		.fallbacks = counter_get(&c->zc_fallbacks),
		.peak_pinned = counter_get(&c->zc_peak),
	};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Figures that every report shares. */
#include <stddef.h>

#include "common/report/report.h"

static double seconds(nsec_t ns)
{
	return (double)ns / 1e9;
}

static double rate(uint64_t bytes, nsec_t window)
{
	return window > 0 ? (double)bytes / seconds(window) : -1;
}

static double cpu_of(const struct end_result *r)
{
	return seconds(r->usage_end.user - r->usage_start.user +
		       r->usage_end.system - r->usage_start.system);
}

/* Jain's index (Jain, Chiu, Hawe 1984) of the bytes that flows received. */
static double jain(const struct end_result *r)
{
	double sum = 0, squares = 0;
	int i, n = 0;

	for (i = 0; i < r->n_flows && r->flows; i++) {
		const struct flow_result *f = &r->flows[i];
		double x = (double)f->rx_bytes;

		/* A flow that only sends here has no share of what came in. */
		if (f->tx_bytes && !f->rx_bytes)
			continue;
		sum += x;
		squares += x * x;
		n++;
	}
	return squares > 0 ? sum * sum / (n * squares) : -1;
}

/* Sum up what the peers said; false when one of them said nothing. */
static bool add_peers(const struct report *r, struct report_figures *f,
		      uint64_t *bytes)
{
	bool all = r->n_peers > 0;
	int i;

	f->remote_rate = f->remote_cpu = 0;
	for (i = 0; i < r->n_peers; i++) {
		const struct end_result *p = r->peers[i];

		if (!p || p->seconds <= 0) {
			all = false;
			continue;
		}
		f->remote_rate += rate(p->counts.rx_bytes, p->seconds);
		f->remote_cpu += cpu_of(p);
		f->complete &= p->complete;
		*bytes += p->counts.rx_bytes;
		if (f->fairness < 0)
			f->fairness = jain(p);
	}
	return all;
}

struct report_figures report_figures(const struct report *r)
{
	const struct end_result *l = r->local;
	struct report_figures f = {
		.local_rate = rate(l->counts.rx_bytes, l->seconds),
		.local_cpu = cpu_of(l),
		.local_cost = -1,
		.remote_cost = -1,
		.both_cost = -1,
		.fairness = jain(l),
		.complete = l->complete,
	};
	uint64_t bytes = l->counts.rx_bytes;
	bool all = add_peers(r, &f, &bytes);

	if (!all) {
		/* What the other end received cannot be told from here. */
		f.remote_rate = f.remote_cpu = -1;
		f.complete = false;
		bytes = l->counts.rx_bytes + l->counts.tx_bytes;
	}
	f.gigabits = (double)bytes * 8 / 1e9;
	if (bytes) {
		f.local_cost = f.local_cpu / f.gigabits;
		if (all) {
			f.remote_cost = f.remote_cpu / f.gigabits;
			f.both_cost = f.local_cost + f.remote_cost;
		}
	}
	return f;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a run, folded as they come: nothing grows with its length. */
#include <math.h>
#include <string.h>

#include "common/measure/series.h"

void series_begin(struct series *s, nsec_t now, const struct io_counts *totals,
		  nsec_t cpu)
{
	memset(s, 0, sizeof(*s));
	s->edge = now;
	s->tx_bytes = totals->tx_bytes;
	s->rx_bytes = totals->rx_bytes;
	s->cpu = cpu;
	series_measure(s);
}

void series_measure(struct series *s)
{
	s->base = s->edge;
	s->base_bytes = s->rx_bytes;
	s->samples = 0;
	s->sum_xy = s->sum_xx = s->sum_yy = 0;
}

struct row series_row(struct series *s, nsec_t now,
		      const struct io_counts *totals, nsec_t cpu, bool warmup)
{
	struct row row = {
		.index = s->index++,
		.warmup = warmup,
		.start = s->edge,
		.end = now,
		.tx_bytes = totals->tx_bytes - s->tx_bytes,
		.rx_bytes = totals->rx_bytes - s->rx_bytes,
		.cpu = cpu - s->cpu,
	};

	s->edge = now;
	s->tx_bytes = totals->tx_bytes;
	s->rx_bytes = totals->rx_bytes;
	s->cpu = cpu;
	if (!warmup) {
		double x = (double)(now - s->base) / 1e9;
		double y = (double)(s->rx_bytes - s->base_bytes);

		s->samples++;
		s->sum_xy += x * y;
		s->sum_xx += x * x;
		s->sum_yy += y * y;
	}
	return row;
}

double series_correlation(const struct series *s)
{
	double d = s->sum_xx * s->sum_yy;

	return d > 0 ? s->sum_xy / sqrt(d) : -1;
}

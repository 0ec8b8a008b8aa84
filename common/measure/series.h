/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a run, folded as they come: nothing grows with its length. */
#ifndef NAPIER_MEASURE_SERIES_H
#define NAPIER_MEASURE_SERIES_H

#include "common/result/result.h"

struct series {
	int64_t index; /* of the next row */
	nsec_t edge; /* end of the last row, own clock */
	uint64_t tx_bytes, rx_bytes; /* totals at that edge */
	nsec_t cpu; /* process CPU time at that edge */
	nsec_t base; /* start of the measured window */
	uint64_t base_bytes; /* received at that instant */
	int64_t samples; /* rows of the measured window */
	double sum_xy, sum_xx, sum_yy; /* of seconds and bytes, for neper's
					* correlation coefficient */
};

/* Begin at instant @now with the given totals. */
void series_begin(struct series *s, nsec_t now, const struct io_counts *totals,
		  nsec_t cpu);

/* The measured window begins where the last row ended. */
void series_measure(struct series *s);

/*
 * Close a row at instant @now with totals since the flows were opened.
 * Returns the row; @warmup marks it as outside the measured window.
 */
struct row series_row(struct series *s, nsec_t now,
		      const struct io_counts *totals, nsec_t cpu, bool warmup);

/*
 * neper's correlation_coefficient: the cosine of elapsed seconds and bytes
 * received over the rows, or -1 when nothing was received.
 */
double series_correlation(const struct series *s);

#endif

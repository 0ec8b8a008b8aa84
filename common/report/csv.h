/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of every flow as comma-separated values, neper's columns first. */
#ifndef NAPIER_REPORT_CSV_H
#define NAPIER_REPORT_CSV_H

#include "common/report/out.h"
#include "common/result/result.h"

/* Zero is closed: all calls do nothing. */
struct csv {
	struct out out;
	int64_t run; /* measured window that rows belong to, from 1 */
	int64_t n; /* flows */
	int64_t first; /* id of the first of them */
	uint64_t *last_rx; /* owned: of each flow at its last row */
};

/* Open @path and write the heading. 0, or -1 with @fault. */
int csv_open(struct csv *c, const char *path, struct fault *fault);

/* The next rows are those of another run with @n flows from id @first on. */
void csv_begin(struct csv *c, int64_t n, int64_t first);

/*
 * Write one row for each flow: @counts at the end of @row, @usage of the
 * process then, @start the agreed start.
 */
void csv_rows(struct csv *c, const struct row *row,
	      const struct flow_count *counts, const struct usage *usage,
	      nsec_t start);

/* Close the file. 0, or -1 when a write failed, which was said then. */
int csv_close(struct csv *c);

#endif

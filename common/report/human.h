/* SPDX-License-Identifier: Apache-2.0 */
/* What a person at a terminal sees: a live line, a table at the end. */
#ifndef NAPIER_REPORT_HUMAN_H
#define NAPIER_REPORT_HUMAN_H

#include <stdbool.h>

#include "common/report/report.h"

/* State of the live line. Zero is silence. */
struct human {
	bool on; /* standard error is a terminal and not --quiet */
	bool colour;
	bool live; /* a live line stands unfinished */
	bool verbose;
};

/* Look at standard error, NO_COLOR and TERM; @quiet turns all off. */
void human_open(struct human *h, bool quiet, bool verbose);

/* A printf line for people, only shown on a terminal. */
void human_say(struct human *h, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Rewrite the live line for @row of this end; @peer_rx is what the other end
 * received in its latest interval, in bytes a second, negative when unknown.
 */
void human_row(struct human *h, const struct row *row, nsec_t start,
	       double peer_rx);

/* The table of the whole run. */
void human_summary(struct human *h, const struct report *r);

#endif

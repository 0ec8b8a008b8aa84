/* SPDX-License-Identifier: Apache-2.0 */
/* What a JSON document says of one end. */
#ifndef NAPIER_REPORT_DOCUMENT_END_H
#define NAPIER_REPORT_DOCUMENT_END_H

#include "common/report/document.h"

/* A result with the place it has in the test. */
struct document_view {
	bool client;
	int64_t participant; /* -1 for a server */
	const struct end_result *r; /* NULL where it never came */
};

/* Member @key: what an end or a thread counted. */
void document_counts(struct emit *e, const char *key,
		     const struct io_counts *c);

/* The members of an end that both documents hold. */
void document_end(struct emit *e, const struct document_view *v);

/*
 * Member "options" of this end: those that concern it alone, and those that
 * the other end may hold otherwise.
 */
void document_options(struct emit *e, const struct document_tool *tool,
		      const struct agreement *a);

#endif

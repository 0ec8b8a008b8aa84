/* SPDX-License-Identifier: Apache-2.0 */
/* JSON written front to back: commas, quotes, exact numbers (RFC 8259). */
#ifndef NAPIER_REPORT_EMIT_H
#define NAPIER_REPORT_EMIT_H

#include "common/report/out.h"

#define EMIT_DEPTH 16 /* deepest nesting; more aborts */

/*
 * What is open at the moment. Nothing is kept of what was written, so a
 * document may be of any length. Every @key below is the member's name inside
 * an object and NULL in an array or for the outermost value; keys are texts
 * of the program, not of the user, and are not escaped.
 */
struct emit {
	struct out *out; /* borrowed */
	int depth;
	struct {
		char close; /* '}' or ']' */
		bool more; /* something stands in it already */
	} open[EMIT_DEPTH];
};

/* Begin an object or array; emit_end() closes the innermost one. */
void emit_object(struct emit *e, const char *key);
/* The same for an array. */
void emit_array(struct emit *e, const char *key);
/* Close what was begun last. */
void emit_end(struct emit *e);

/* Integers: all digits, never through a double. */
void emit_i64(struct emit *e, const char *key, int64_t v);
/* The same for an unsigned number. */
void emit_u64(struct emit *e, const char *key, uint64_t v);

/* @ns as a number of seconds with 9 digits behind the point. */
void emit_seconds(struct emit *e, const char *key, nsec_t ns);

/* @v with @places digits behind the point; null where it is not finite. */
void emit_real(struct emit *e, const char *key, double v, int places);

/* A figure that is negative where nobody can vouch for it: then null. */
void emit_figure(struct emit *e, const char *key, double v, int places);

/* true or false. */
void emit_bool(struct emit *e, const char *key, bool v);
/* null. */
void emit_null(struct emit *e, const char *key);

/*
 * A text in quotes; NULL is null. Bytes that are not UTF-8 become U+FFFD:
 * host names and titles hold whatever somebody put there.
 */
void emit_text(struct emit *e, const char *key, const char *text);

#endif

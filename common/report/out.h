/* SPDX-License-Identifier: Apache-2.0 */
/* A buffered file or standard output that remembers its first failure. */
#ifndef NAPIER_REPORT_OUT_H
#define NAPIER_REPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/die.h"

/* Name of standard output where a file is asked for. */
#define OUT_STDOUT "-"

/* Zero is closed: whatever is put there goes nowhere. */
struct out {
	bool open;
	int fd; /* owned, but for standard output */
	int err; /* errno of the first failed write; nothing is written after */
	bool told; /* that failure has been shown */
	const char *name; /* for messages; borrowed */
	size_t n; /* bytes waiting */
	char buf[16384];
};

/*
 * Open @path for writing, emptied; OUT_STDOUT is standard output. @path must
 * outlive @o. 0, or -1 with @fault.
 */
int out_open(struct out *o, const char *path, struct fault *fault);

/* Append @n bytes. Failures are kept for out_close(). */
void out_bytes(struct out *o, const char *bytes, size_t n);
/* Append a text. */
void out_text(struct out *o, const char *text);
/* Append a decimal number: digits, whatever the locale. */
void out_u64(struct out *o, uint64_t v);
/* The same with a sign where it is negative. */
void out_i64(struct out *o, int64_t v);

/* Append @ns as seconds with a point and @places (0 to 9) digits, cut. */
void out_seconds(struct out *o, nsec_t ns, int places);

/*
 * Append @v rounded to @places (0 to 9) digits behind a point, without an
 * exponent. @v must be finite.
 */
void out_real(struct out *o, double v, int places);

/* Hand what waits to the kernel. 0, or -1 when a write failed, ever. */
int out_flush(struct out *o);

/*
 * Flush, and say once on standard error which file could not be written and
 * why. 0, or -1 when a write failed, ever.
 */
int out_check(struct out *o);

/* out_check() and close; harmless when closed. */
int out_close(struct out *o);

#endif

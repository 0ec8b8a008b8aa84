/* SPDX-License-Identifier: Apache-2.0 */
/* Text to numbers and back: whole string, range-checked, locale-free. */
#ifndef NAPIER_BASE_NUM_H
#define NAPIER_BASE_NUM_H

#include <stddef.h>
#include <stdint.h>

/*
 * All parsers take the whole of @text (no leading or trailing space, no
 * leftover), never depend on the locale, and return 0 with *@out set, or -1
 * with *@out untouched when the text has not the form or the value does not
 * fit in int64_t. A fraction has at most 9 digits. Range checks beyond that
 * are the caller's.
 */

/* A decimal integer with optional sign: "-5", "42". No suffix, no base. */
int num_parse_int(const char *text, int64_t *out);

/*
 * A non-negative number of bits such as a mark: decimal, or hexadecimal after
 * "0x".
 */
int num_parse_bits(const char *text, int64_t *out);

/*
 * A size in bytes: a decimal number, a fraction allowed where a suffix makes
 * the result whole ("1.5K" is 1536), with one optional binary suffix K M G T
 * (also KiB MiB GiB TiB; a trailing "B" alone is bytes): powers of 1024.
 */
int num_parse_size(const char *text, int64_t *out);

/*
 * A duration in nanoseconds: number (fraction allowed) and optional suffix
 * ns, us, ms, s, m, h. A bare number is taken in units of @bare nanoseconds
 * (1 for ns, 1000000000 for seconds). A result below 1 ns that is not 0 is an
 * error.
 */
int num_parse_duration(const char *text, int64_t bare, int64_t *out);

/*
 * A rate in bytes per second. Accepted: a bare number (bytes/s); neper's
 * one-letter suffixes k m g b (decimal bits: 125, 125000, 1.25e8, 1/8 bytes)
 * and K M G B (binary bytes: 1024, 2^20, 2^30, 1); or a full unit of
 * [K|M|G|T] followed by "bit" or "bit/s" (decimal bits per second: "10Gbit",
 * "10Mbit/s") or of [K|M|G|T] followed by "B" or "B/s" (decimal bytes) *only*
 * where the number holds a '.' or the unit ends in "/s" ("1.25GB",
 * "10MB/s"). What neper misreads is refused: "10Mb", "10KB", "10mfoo". A
 * rate below 1 byte/s that is not 0 is an error.
 */
int num_parse_rate(const char *text, int64_t *out);

/*
 * A transaction or unit rate per second: a positive decimal number, fraction
 * allowed, with optional decimal suffix k, M or G ("10k" is 10000). Returned
 * in thousandths per second, so that 0.5/s is 500.
 */
int num_parse_frequency(const char *text, int64_t *out);

/*
 * Format a duration of @ns so that num_parse_duration() reads the same value
 * back: the largest unit that keeps it whole ("1500us", "10s"). Returns @buf.
 */
char *num_format_duration(int64_t ns, char *buf, size_t size);

/*
 * Format @value with three significant digits and a decimal prefix for
 * people ("12.3 G"), followed by @unit; negative and zero allowed. Returns
 * @buf, which needs 32 bytes plus the unit.
 */
char *num_format_si(double value, const char *unit, char *buf, size_t size);

/* Format @bytes for people with a binary prefix: "64 KiB". Returns @buf. */
char *num_format_bytes(uint64_t bytes, char *buf, size_t size);

#endif

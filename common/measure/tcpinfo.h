/* SPDX-License-Identifier: Apache-2.0 */
/* TCP_INFO: readings, their differences, figures over all flows. */
#ifndef NAPIER_MEASURE_TCPINFO_H
#define NAPIER_MEASURE_TCPINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "common/result/result.h"

/* Set all of @t to unknown (-1). */
void tcpinfo_unknown(struct tcp_figures *t);

/*
 * Read the first @len bytes of @info, a struct tcp_info as some kernel wrote
 * it: members that it is too short for are left unknown. @info needs no
 * alignment.
 */
void tcpinfo_parse(const void *info, size_t len, struct tcp_figures *out);

/* Ask the kernel about socket @fd now; all unknown when it does not say. */
void tcpinfo_read(int fd, struct tcp_figures *out);

/*
 * Is @fd a plain TCP socket? Of an MPTCP one the kernel describes the first
 * subflow, which says nothing of the connection.
 */
bool tcpinfo_plain(int fd);

/*
 * What happened from reading @a to the later reading @b of the same socket:
 * differences of the counters, the rest as in @b. Unknown in one is unknown in
 * @out. 32-bit counters of the kernel may have wrapped once.
 */
void tcpinfo_since(const struct tcp_figures *a, const struct tcp_figures *b,
		   struct tcp_figures *out);

/* Congestion window of @t in bytes, -1 unknown. */
int64_t tcpinfo_cwnd_bytes(const struct tcp_figures *t);

/*
 * Figures over the @n flows at @flows, whose `tcp` holds what
 * tcpinfo_since() said of the window. All unknown when memory is short.
 */
void tcpinfo_sum(const struct flow_result *flows, int n,
		 struct tcp_result *out);

#endif

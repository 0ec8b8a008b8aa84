/* SPDX-License-Identifier: Apache-2.0 */
/* The one table that tcp_stream exports. */
#ifndef NAPIER_TCP_STREAM_WORKLOAD_H
#define NAPIER_TCP_STREAM_WORKLOAD_H

struct workload;

/* The workload table of tcp_stream; static storage. */
const struct workload *stream_workload(void);

#endif

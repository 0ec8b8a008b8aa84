/* SPDX-License-Identifier: Apache-2.0 */
/* key=value lines of TCP_INFO, the interface and the stack. */
#ifndef NAPIER_REPORT_KV_NETWORK_H
#define NAPIER_REPORT_KV_NETWORK_H

#include "common/result/result.h"

/*
 * Print what TCP, the interface and the stack of one end say of its window
 * (docs/tcp_info.md); @end prefixes the keys, what is unknown has no value.
 */
void kv_network(const char *end, const struct end_result *r);

/* Print the part of a flow's line that TCP_INFO fills, from a space on. */
void kv_flow_tcp(const struct tcp_figures *t);

#endif

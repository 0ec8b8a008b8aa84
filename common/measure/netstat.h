/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's protocol counters in /proc/net/netstat and /proc/net/snmp. */
#ifndef NAPIER_MEASURE_NETSTAT_H
#define NAPIER_MEASURE_NETSTAT_H

#include <stdint.h>

#include "common/result/result.h"

/*
 * Find counter @name of group @prefix ("TcpExt", without the colon) in @text,
 * which has the form of those files: a line of names, then a line of values,
 * both headed by the group. Returns 0 with *@out set; -1 with *@out untouched
 * when it is not there or is no number from 0 up (Tcp MaxConn is -1).
 */
int netstat_value(const char *text, const char *prefix, const char *name,
		  uint64_t *out);

/*
 * TcpExt ListenOverflows now: connections that this host (network namespace)
 * dropped because a listener's accept queue was full. 0 when unreadable.
 */
uint64_t netstat_listen_overflows(void);

/*
 * Set the `stack_` members of @out whose counters stand in @text, which has
 * the form of those files. The others are left as they are.
 */
void netstat_counts(const char *text, struct net_counts *out);

#endif

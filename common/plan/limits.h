/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor, port and memory limits, checked before any flow exists. */
#ifndef NAPIER_PLAN_LIMITS_H
#define NAPIER_PLAN_LIMITS_H

#include "common/base/die.h"
#include "common/result/result.h"

/* Descriptors a process needs besides one a flow: epoll sets, listeners. */
#define LIMITS_SPARE_FDS 64

/*
 * Make room for @flows data sockets: raise the soft RLIMIT_NOFILE towards the
 * hard one when needed (setrlimit(2)). Returns 0, or -1 with @fault naming
 * the limit, the need and how many flows would fit.
 */
int limits_descriptors(int flows, int threads, struct fault *fault);

/* First and last ephemeral port, as read from ip_local_port_range. */
struct port_range {
	int first, last;
};

/*
 * Parse the text of /proc/sys/net/ipv4/ip_local_port_range. 0, or -1 when it
 * has another form.
 */
int limits_parse_range(const char *text, struct port_range *range);

/*
 * Check that @flows connections from @sources addresses to @ports ports of
 * one address can all have a source port out of @range. Pure. Returns 0, or
 * -1 with @fault naming the range, how many fit, and the remedies.
 */
int limits_ports(int flows, int sources, int ports,
		 const struct port_range *range, struct fault *fault);

/*
 * The system's ephemeral range; falls back to the kernel's default of 32768
 * to 60999 where the file cannot be read.
 */
struct port_range limits_range(void);

/*
 * The backlog that listen(2) will really use for a wish of @wanted:
 * min(wanted, somaxconn). A somaxconn that cannot be read counts as @wanted.
 */
int limits_backlog(int wanted);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of interface, stack and softirqs, read at a window's edges. */
#ifndef NAPIER_MEASURE_NETDEV_H
#define NAPIER_MEASURE_NETDEV_H

#include <stddef.h>

#include "common/measure/ethtool.h"
#include "common/plan/addr.h"
#include "common/result/result.h"

/*
 * Set the `wire_` members of @out from @text, that of /proc/net/dev, for
 * @interface. 0; -1 with @out untouched when it is not there. That file shows
 * this process's network namespace, /sys/class/net that of who mounted it.
 */
int netdev_parse(const char *text, const char *interface,
		 struct net_counts *out);

/*
 * Set the `softnet_` members of @out to sums, modulo 2^32, over the CPUs in
 * @text, that of /proc/net/softnet_stat. 0; -1 with @out untouched when a
 * line has another form.
 */
int netdev_parse_softnet(const char *text, struct net_counts *out);

/*
 * Network softirqs of each CPU out of @text, that of /proc/softirqs. Returns
 * an array of *@n to be freed, or NULL when the text has another form or
 * memory is short.
 */
struct softirq_cpu *netdev_parse_softirqs(const char *text, int *n);

/* All of it at one time. */
struct netdev_reading {
	nsec_t when; /* 0: never read */
	struct net_counts counts; /* since boot, softirqs_ ones left out */
	int n_cpus;
	struct softirq_cpu *cpus; /* owned */
	struct ethtool_reading driver;
};

/*
 * Read everything now, for @interface (empty: none) or the whole host. What
 * cannot be read is unknown. Some 50 us, more with a driver of many counters.
 */
void netdev_read(const char *interface, struct netdev_reading *out);

/* Release what netdev_read() took, and zero @r. */
void netdev_free(struct netdev_reading *r);

/*
 * What was added from @a to @b: the counters, CPUs and driver's part of @out.
 * All unknown when one was never read.
 */
void netdev_since(const struct netdev_reading *a,
		  const struct netdev_reading *b, struct net_result *out);

/*
 * Name of the interface that packets between the two addresses of a
 * connection cross here: the loopback when both are this host's. 0, or -1.
 */
int netdev_between(const struct addr *local, const struct addr *peer,
		   char *name, size_t size);

/*
 * Bytes of headers that an interface counts for each packet of a connection
 * from @local: TCP with time stamps, IP, and Ethernet unless @loopback.
 */
int64_t netdev_header(const struct addr *local, bool loopback);

/* Is @interface a loopback? */
bool netdev_is_loopback(const char *interface);

/* The counter number @i of net_counts: its name, and its value in @c. */
const char *netdev_counter(size_t i, const struct net_counts *c,
			   int64_t *value);

/* How many there are. */
size_t netdev_counters(void);

#endif

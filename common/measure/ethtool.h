/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of an interface's driver, as ethtool -S shows them. */
#ifndef NAPIER_MEASURE_ETHTOOL_H
#define NAPIER_MEASURE_ETHTOOL_H

#include "common/result/result.h"

/* One reading of all counters of a driver. */
struct ethtool_reading {
	uint32_t n;
	char *names; /* owned, ETHTOOL_NAME bytes each, perhaps without end */
	uint64_t *values; /* owned */
};

#define ETHTOOL_NAME 32

/* Read the counters of @interface; none (n is 0) when there are none. */
void ethtool_read(const char *interface, struct ethtool_reading *out);

/* Release what ethtool_read() took, and zero @r. */
void ethtool_free(struct ethtool_reading *r);

/*
 * Put those counters that differ between @a and the later @b into the
 * driver's part of @out, up to its room, and count the rest. Nothing when the
 * two are not readings of the same set.
 */
void ethtool_since(const struct ethtool_reading *a,
		   const struct ethtool_reading *b, struct net_result *out);

#endif

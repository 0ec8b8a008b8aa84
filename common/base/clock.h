/* SPDX-License-Identifier: Apache-2.0 */
/* Time in nanoseconds; nobody else calls clock_gettime. */
#ifndef NAPIER_BASE_CLOCK_H
#define NAPIER_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

typedef int64_t nsec_t; /* a duration or an instant, in nanoseconds */

#define NSEC_PER_USEC ((nsec_t)1000)
#define NSEC_PER_MSEC ((nsec_t)1000000)
#define NSEC_PER_SEC ((nsec_t)1000000000)
#define NSEC_NEVER INT64_MAX /* a deadline that does not come */

/* Clock @id now, in ns; for the functions below. */
static inline nsec_t clock_read(clockid_t id)
{
	struct timespec ts;

	/* Cannot fail: the ids used are always present on Linux. */
	(void)clock_gettime(id, &ts);
	return (nsec_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* The instant now on CLOCK_MONOTONIC (clock_gettime(2)): never steps. */
static inline nsec_t clock_now(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

/* Wall-clock time since the epoch, for stamps only, never for differences. */
static inline nsec_t clock_wall(void)
{
	return clock_read(CLOCK_REALTIME);
}

/* @ns as a struct timespec, for calls that want one; negative becomes 0. */
static inline struct timespec clock_timespec(nsec_t ns)
{
	struct timespec ts = { 0, 0 };

	if (ns > 0) {
		ts.tv_sec = (time_t)(ns / NSEC_PER_SEC);
		ts.tv_nsec = (long)(ns % NSEC_PER_SEC);
	}
	return ts;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time and memory of this thread, process or machine. */
#ifndef NAPIER_MEASURE_USAGE_H
#define NAPIER_MEASURE_USAGE_H

#include "common/result/result.h"

/* Usage of the calling thread now (getrusage(2), RUSAGE_THREAD). */
struct usage usage_thread(void);

/* Usage of this process now. */
struct usage usage_process(void);

/*
 * System, irq and softirq time of the whole machine since boot out of the
 * text of /proc/stat (proc(5)) at @hz ticks a second, or -1 when the text has
 * another form. For -S.
 */
nsec_t usage_parse_stat(const char *text, long hz);

/* The same, read from this machine now; -1 when it cannot be read. */
nsec_t usage_machine_system(void);

#endif

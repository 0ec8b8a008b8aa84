/* SPDX-License-Identifier: Apache-2.0 */
/* key=value lines on standard output, as neper prints them, and more. */
#ifndef NAPIER_REPORT_KV_H
#define NAPIER_REPORT_KV_H

#include "common/cli/opt.h"
#include "common/report/report.h"

/*
 * Print the version and all options, then flush. @control_port and @port,
 * when not 0, take the place of the options' values: the ports really in use.
 */
void kv_options(const struct opt_list *list, const void *values,
		int control_port, int port);

/* Print ready-made lines, such as a plan's or the usage text, and flush. */
void kv_text(const char *lines);

/* Print one warning= line of this end, a printf text, and flush. */
void kv_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Print neper's --iostat-ms line and flush: what was @moved in @time,
 * @elapsed after the start.
 */
void kv_iostat(nsec_t elapsed, nsec_t time, const struct io_counts *moved);

/*
 * Print the results of one test and flush. Returns 0, or -1 with errno when
 * standard output could not take them.
 */
int kv_results(const struct report *r);

#endif

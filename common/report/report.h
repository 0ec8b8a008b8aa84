/* SPDX-License-Identifier: Apache-2.0 */
/* What every report is made of: both ends' results of one window. */
#ifndef NAPIER_REPORT_REPORT_H
#define NAPIER_REPORT_REPORT_H

#include <stdbool.h>

#include "common/result/result.h"

/* Borrowed for the time of a call. */
struct report {
	bool client;
	const char *title; /* or NULL */
	int64_t test; /* number of the test, from 1; 0 when there is one only */
	const char *unit; /* of the throughput key */
	const struct end_result *local;
	int n_peers; /* peers that were agreed with */
	const struct end_result *const *peers; /* NULL where it never came */
	int64_t samples; /* rows of the window times flows */
	double correlation; /* negative: unknown */
	int64_t strangers; /* connections dropped for not being ours */
	nsec_t machine_start, machine_end; /* -S: system time; 0 without */
	bool verbose; /* per-thread and per-flow figures too */
	bool zerocopy, discard; /* asked for */
	bool one_host; /* both ends are on this host */
};

/* How a test ended, and what went wrong. Texts are borrowed, "" or NULL. */
struct report_outcome {
	enum status status;
	bool complete;
	const char *reason; /* "time", or what ended it early */
	const char *kind; /* of the error: "usage", "busy", ... */
	const char *message; /* of the error */
	int err; /* errno, 0 none */
};

/* Figures derived from a report; negative where nobody can vouch. */
struct report_figures {
	double local_rate, remote_rate; /* bytes/s received here and there */
	double gigabits; /* moved both ways in the window */
	double local_cpu, remote_cpu; /* CPU seconds of each end's process */
	double local_cost, remote_cost, both_cost; /* CPU-seconds per gigabit */
	double fairness; /* Jain index of the bytes per flow received */
	bool complete; /* both ends ran to the end and lost nothing */
};

/* Work the figures out. */
struct report_figures report_figures(const struct report *r);

#endif

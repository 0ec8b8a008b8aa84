/* SPDX-License-Identifier: Apache-2.0 */
/* What one end measured in one window, as plain structs without code. */
#ifndef NAPIER_RESULT_RESULT_H
#define NAPIER_RESULT_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/die.h"

/*
 * Counts of one worker, or sums over several. Names are those of the wire
 * and of the output, and do not depend on the engine that moved the bytes.
 */
struct io_counts {
	uint64_t tx_bytes; /* bytes handed to the kernel to send */
	uint64_t rx_bytes; /* bytes received, discarded ones included */
	uint64_t tx_transfers; /* sends that took at least one byte */
	uint64_t rx_transfers; /* receives that gave at least one byte */
	uint64_t tx_short; /* sends that took less than asked */
	uint64_t rx_short; /* receives that gave less than asked */
	uint64_t tx_again; /* sends refused: no room */
	uint64_t rx_again; /* receives refused: nothing there */
	uint64_t rx_truncated; /* receives that discarded in the kernel */
	uint64_t waits; /* waits for events */
	uint64_t wakeups; /* events those waits returned */
	uint64_t late; /* timed sends that were made up after their time */
};

/* Ledger of zero-copy sending (kernel: networking/msg_zerocopy.rst). */
struct zc_counts {
	uint64_t sends; /* sends the kernel took with MSG_ZEROCOPY */
	uint64_t completions; /* of them, reported complete */
	uint64_t copied; /* of those, copied by the kernel after all */
	uint64_t enobufs; /* sends refused with ENOBUFS */
	uint64_t fallbacks; /* sends repeated as copying sends because of it */
	uint64_t peak_pinned; /* most bytes in flight, upper bound, bytes */
	uint64_t outstanding; /* sends never reported by the end of the run */
};

/* One reading of getrusage(2), with the instant it was taken. */
struct usage {
	nsec_t when; /* CLOCK_MONOTONIC */
	nsec_t user, system; /* CPU time */
	int64_t maxrss; /* KiB */
	int64_t minflt, majflt, nvcsw, nivcsw;
};

/* One worker thread in the window. */
struct worker_result {
	int64_t cpu; /* CPU it was pinned to, or -1 */
	int64_t last_cpu; /* CPU it was seen on at the end */
	int64_t node; /* NUMA node of its buffers, or -1 unknown */
	int64_t flows; /* flows it served */
	int64_t affinity; /* number of CPUs its real affinity mask holds */
	nsec_t window; /* length of its window */
	nsec_t cpu_user, cpu_system; /* its CPU time in the window */
	struct io_counts counts;
	struct zc_counts zc;
};

/* One flow in the window. */
struct flow_result {
	int64_t id; /* flow id, the same on both ends */
	int64_t worker; /* index of the worker that served it */
	int64_t local_port, peer_port;
	uint64_t tx_bytes, rx_bytes; /* in the window */
	nsec_t connect_time; /* at the connecting end; 0 elsewhere */
	int64_t err; /* errno it died of, 0 while alive */
};

/* How one socket setting came out. */
struct setting {
	char name[24]; /* option's long name */
	char requested[32];
	char effective[32]; /* read back; empty when it cannot be */
	char set_by[12]; /* "client", "server" or "napier" */
	int64_t differing; /* flows whose value differed from `effective` */
};

#define RESULT_SETTINGS 24
#define RESULT_WARNINGS 24

/* Lines for people that qualify the figures; each at most once. */
struct warnings {
	int n;
	char text[RESULT_WARNINGS][320];
};

/* Comparison of the two ends' clocks: peer's clock minus ours. */
struct clock_match {
	bool known;
	nsec_t offset;
	nsec_t bound; /* half the least round trip */
};

/* Everything one end says about one window. Arrays are owned. */
struct end_result {
	int64_t window; /* index of the measured window, from 0 */
	bool complete; /* ran to its agreed end */
	char end_reason[160]; /* "time", or what ended it early */
	char host[64];
	char boot_id[40];
	nsec_t wall_start; /* wall clock at the start of the window */
	nsec_t start, end; /* own CLOCK_MONOTONIC: means over the workers */
	nsec_t seconds; /* length of the window: mean over the workers */
	nsec_t edge_spread; /* most by which a worker's window differed */
	struct io_counts counts; /* sum over the workers */
	struct zc_counts zc;
	struct io_counts life; /* since the flows were opened, drain included */
	struct usage usage_start, usage_end; /* this process */
	int64_t flows_failed;
	nsec_t connect_p50, connect_p99, connect_max; /* over the flows */
	nsec_t connect_phase; /* first connect to the last flow ready */
	int64_t syn_retransmits;
	int64_t listen_overflows; /* of the whole host, while flows opened */
	char pin_policy[64]; /* as carried out */
	char cpus[256]; /* of the workers, in their order */
	struct clock_match clock_before, clock_after;
	int64_t n_settings;
	struct setting settings[RESULT_SETTINGS];
	struct warnings warnings;
	int n_workers;
	struct worker_result *workers; /* n_workers */
	int n_flows;
	struct flow_result *flows; /* n_flows, by id */
	int flows_read; /* of n_flows: those that have come over the wire */
};

/* Totals of one end at the close of interval `index`. */
struct row {
	int64_t index; /* rows are counted from the start, warm-up included */
	bool warmup;
	nsec_t start, end; /* own CLOCK_MONOTONIC */
	uint64_t tx_bytes, rx_bytes; /* in the interval */
	nsec_t cpu; /* CPU time of the process in the interval */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The options all workloads share: struct, defaults, table, cross-checks. */
#ifndef NAPIER_CLI_OPTIONS_H
#define NAPIER_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/cli/opt.h"

/*
 * First member of every program's own options struct. Written only by the
 * parser and by the agreement of the two ends; const for everyone else.
 */
struct options {
	/* roles and addresses */
	bool client;
	const char *host;
	const char *control_host;
	int64_t control_port, port;
	bool ipv4, ipv6;
	const char *local_hosts;
	int64_t source_port;
	int64_t num_ports;
	bool freebind;
	/* the test */
	int64_t num_flows, num_threads, num_clients;
	nsec_t test_length, warmup, interval;
	nsec_t delay;
	/* deadlines */
	nsec_t suicide_length, connect_timeout, idle_timeout, wait_busy;
	nsec_t wait_start;
	/* placement */
	bool pin_cpu, pin_numa;
	const char *pin, *peer_pin;
	int64_t deal;
	const char *mem;
	bool huge_pages;
	/* sockets */
	int64_t max_pacing_rate;
	int64_t sndbuf, rcvbuf, mss, tos, notsent_lowat, rcvlowat, busy_poll;
	int64_t mark, tcp_tx_delay;
	const char *bind_dev;
	const char *congestion_control;
	bool no_delay, nagle, reuseaddr, debug, time_wait;
	int64_t listen_backlog;
	int64_t maxevents;
	/* the server */
	bool persistent;
	int64_t num_tests, max_flows;
	nsec_t max_seconds;
	const char *allow;
	/* output */
	bool plan, dry_run, help, version, strict, verbose, quiet;
	bool stime_use_proc, logtostderr, nolog, nonblocking;
	int64_t magic;
	const char *title;
	const char *json, *json_stream; /* file, or "-" */
	const char *all_samples; /* file */
	int64_t iostat_ms;
	const char *unused; /* where options of later versions would go */
};

/* Defaults shared by all programs. */
struct options options_defaults(void);

/* The shared table; *@n is set to its length. */
const struct opt *options_table(size_t *n);

/*
 * Checks across the shared options, for one end's own command line. Returns
 * 0, or -1 with @fault naming both options.
 */
int options_check(const struct options *o, struct fault *fault);

/*
 * The pinning policy in force: --pin where given, else what -U and -N stand
 * for, else "auto". Never NULL.
 */
const char *options_pin(const struct options *o);

#endif

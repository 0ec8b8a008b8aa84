/* SPDX-License-Identifier: Apache-2.0 */
/* The main thread's wait: signals, control, data connections, workers, time. */
#ifndef NAPIER_PHASE_H
#define NAPIER_PHASE_H

#include "common/base/clock.h"
#include "common/base/die.h"

/* What phase_wait() saw; bits. */
enum phase_seen {
	PHASE_SIGNAL = 1, /* SIGINT or SIGTERM came */
	PHASE_HUB = 2,
	PHASE_DATA = 4, /* acceptor or connector */
	PHASE_CREW = 8,
};

struct phase {
	int signal_fd; /* owned; -1 before phase_open() */
	int hub_fd, data_fd, crew_fd; /* borrowed; -1: not watched */
	int signal; /* number of the first signal, 0 none yet */
	void (*abandon)(void *arg); /* called before a second one ends all */
	void *arg; /* of abandon */
};

/*
 * Block SIGINT and SIGTERM for this thread and those it starts later, receive
 * them here, and ignore SIGPIPE. Call before any thread exists. 0, or -1 with
 * @fault.
 */
int phase_open(struct phase *p, struct fault *fault);

/* Close what phase_open() opened; signals stay blocked. */
void phase_close(struct phase *p);

/*
 * Wait until something happens or the instant @deadline comes. Returns bits
 * of enum phase_seen, 0 for time. A second signal ends the process at once
 * with STATUS_INCOMPLETE.
 */
unsigned phase_wait(struct phase *p, nsec_t deadline);

/* Name of the signal that came: "SIGINT". */
const char *phase_signal_name(const struct phase *p);

#endif

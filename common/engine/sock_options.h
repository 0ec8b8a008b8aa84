/* SPDX-License-Identifier: Apache-2.0 */
/* The options of data sockets: set, read back, compared with the wish. */
#ifndef NAPIER_ENGINE_SOCK_OPTIONS_H
#define NAPIER_ENGINE_SOCK_OPTIONS_H

#include <stdbool.h>

#include "common/base/die.h"
#include "common/cli/options.h"
#include "common/result/result.h"

/* Above so many flows unsent bytes are capped unless the user sized buffers. */
#define SOCK_MANY_FLOWS 500
#define SOCK_MANY_NOTSENT (128 * 1024)

/*
 * The settings of this end's data sockets: what each option asks for, who
 * asked, and what the kernel made of it. Filled by sock_plan().
 */
struct sock_plan {
	const struct options *options; /* borrowed */
	bool sends; /* some flow sends at this end: pacing applies */
	bool zerocopy; /* SO_ZEROCOPY is to be set */
	bool notsent_by_us; /* TCP_NOTSENT_LOWAT set because of many flows */
	int n;
	struct setting settings[RESULT_SETTINGS];
};

/*
 * Prepare @p from the agreed options and try every setting on a socket of
 * @family that is never connected. @flows decides on the cap for many flows.
 * @by names who set the option with a given long name. Returns 0 with a line
 * in @warnings for every value the kernel clamped (a failure with --strict),
 * or -1 with @fault naming the option, the value and the reason; for an
 * unknown congestion control algorithm the available ones.
 */
int sock_plan(struct sock_plan *p, const struct options *o, int family,
	      int flows, const char *(*by)(void *arg, const char *name),
	      void *arg, struct warnings *warnings, struct fault *fault);

/*
 * Set all of @p on socket @fd of @family and note, or compare, what is read
 * back. 0, or -1 with @fault naming the option and the value.
 */
int sock_apply(struct sock_plan *p, int fd, int family, struct fault *fault);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The server: listen, agree, take the flows, run, report, serve again. */
#ifndef NAPIER_SERVER_H
#define NAPIER_SERVER_H

#include "common/base/die.h"
#include "common/context.h"

/*
 * Serve tests by @run's options until the agreed number is done or a signal
 * comes. Returns the worst status of them.
 */
enum status server_run(struct run *run);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The client: reach the server, agree, open the flows, run, report. */
#ifndef NAPIER_CLIENT_H
#define NAPIER_CLIENT_H

#include "common/base/die.h"
#include "common/context.h"

/* Run one test as the client of @run's options. Returns the exit status. */
enum status client_run(struct run *run);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Composition root: the calls that are a run, from argv to exit status. */
#ifndef NAPIER_RUN_H
#define NAPIER_RUN_H

struct workload;

/*
 * The whole of main(): parse @argv by @w's table, run as client or server,
 * and return the exit status (base/die.h).
 */
int run_main(const struct workload *w, int argc, char **argv);

#endif

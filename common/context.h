/* SPDX-License-Identifier: Apache-2.0 */
/* What stays the same for the life of a process. */
#ifndef NAPIER_CONTEXT_H
#define NAPIER_CONTEXT_H

#include "common/cli/opt.h"
#include "common/cli/options.h"
#include "common/control/agree.h"
#include "common/engine/workload.h"
#include "common/phase.h"
#include "common/report/sink.h"

struct run {
	const struct workload *workload;
	int argc;
	char **argv;
	struct opt_list list;
	void *values; /* program's options struct, const after parsing */
	const struct options *options; /* its shared part */
	struct opt_given given;
	struct phase phase;
	struct sink sink;
};

/* The line of @run's own end, for the agreement. */
struct agree_line run_line(const struct run *run);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What stays the same for the life of a process. */
#include "common/context.h"

struct agree_line run_line(const struct run *run)
{
	return (struct agree_line){ &run->list, run->values,
				    run->workload->options_size, &run->given };
}

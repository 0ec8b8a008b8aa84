/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_stream: bulk TCP transfer. */
#include "common/run.h"
#include "tcp_stream/workload.h"

int main(int argc, char **argv)
{
	return run_main(stream_workload(), argc, argv);
}

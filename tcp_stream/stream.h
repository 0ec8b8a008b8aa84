/* SPDX-License-Identifier: Apache-2.0 */
/* Options of tcp_stream, and the parts its files share. */
#ifndef NAPIER_TCP_STREAM_STREAM_H
#define NAPIER_TCP_STREAM_STREAM_H

#include "common/cli/options.h"

struct stream_options {
	struct options common; /* first: the shared table counts on it */
	bool enable_read, enable_write, enable_tcp_maerts, split_bidir;
	int64_t buffer_size, read_size;
	int64_t bytes; /* of each flow and direction; 0: no limit */
	bool zerocopy, skip_rx_copy, no_cork, edge_trigger;
	int64_t throughput_opt; /* unit of the throughput key */
};

/* Which way bytes go. */
enum stream_direction {
	STREAM_FORWARD, /* client to server */
	STREAM_REVERSE, /* server to client */
	STREAM_BOTH, /* both ways on every flow */
	STREAM_SPLIT, /* both ways, each flow one of them */
};

/* What a client's options ask for; -M wins over -r and -w, as in neper. */
enum stream_direction stream_direction(const struct stream_options *o);

/* The table of tcp_stream's own options; *@n is set to its length. */
const struct opt *stream_table(size_t *n);

/* Fill @options (a struct stream_options) with the defaults. */
void stream_defaults(void *options);

/* Checks across options; struct workload, check. */
int stream_check(const void *options, struct fault *fault);

/* struct workload, reconcile. */
int stream_reconcile(const void *client, const void *server,
		     struct fault *fault);

/* Name of the unit of the throughput key; struct workload, unit. */
const char *stream_unit(const void *options);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Options of tcp_stream: table, defaults, checks, directions. */
#include <stdio.h>
#include <string.h>

#include "tcp_stream/stream.h"

#define AT(member) offsetof(struct stream_options, member)

/* Units of the throughput key, as neper names them; see report/units.h. */
static const char *const unit_choices[] = {
	"Mb",	   "b",	     "k",	"m",   "g",   "B",   "K",
	"M",	   "G",	     "Kb",	"Gb",  "KB",  "MB",  "GB",
	"Kib",	   "Mib",    "Gib",	"KiB", "MiB", "GiB", "auto-b",
	"auto-ib", "auto-B", "auto-iB", NULL,
};
#define UNIT_MBIT 0

#define SWITCH(n, c, s, m, h)                                               \
	{                                                                   \
		.name = n, .letter = c, .type = OPT_FLAG, .scope = OPT_##s, \
		.offset = AT(m), .help = h                                  \
	}
#define COMMON(m) offsetof(struct stream_options, common.m)
#define LATER(n, c, t)                                                       \
	{                                                                    \
		.name = n, .letter = c, .type = OPT_##t, .scope = OPT_LOCAL, \
		.offset = COMMON(unused), .later = true, .shut = true,       \
		.help = "planned"                                            \
	}

static const struct opt table[] = {
	SWITCH("no-cork", 0, PEER, no_cork,
	       "send without MSG_MORE, so that small sends leave at once"),
	SWITCH("enable-tcp-maerts", 'M', TEST, enable_tcp_maerts,
	       "server to client only; wins over -r and -w"),
	SWITCH("split-bidir", 0, TEST, split_bidir,
	       "2F flows: even ids client to server, odd ones back"),
	SWITCH("enable-write", 'w', TEST, enable_write,
	       "client: client to server (the default)"),
	SWITCH("enable-read", 'r', TEST, enable_read,
	       "client: both ways on the same flows"),
	SWITCH("skip-rx-copy", 0, PEER, skip_rx_copy,
	       "discard received bytes in the kernel (MSG_TRUNC)"),
	{ .name = "buffer-size",
	  .letter = 'B',
	  .type = OPT_SIZE,
	  .scope = OPT_PEER,
	  .offset = AT(buffer_size),
	  .min = 1,
	  .max = 1 << 30,
	  .unit = "bytes",
	  .help = "bytes a send" },
	{ .name = "read-size",
	  .type = OPT_SIZE,
	  .scope = OPT_PEER,
	  .offset = AT(read_size),
	  .min = 0,
	  .max = 1 << 30,
	  .unit = "bytes",
	  .help = "bytes a receive; 0 is the larger of --buffer-size and 64K, "
		  "or 1M with --skip-rx-copy" },
	{ .name = "throughput-opt",
	  .type = OPT_CHOICE,
	  .scope = OPT_LOCAL,
	  .offset = AT(throughput_opt),
	  .choices = unit_choices,
	  .help = "unit of the throughput key" },
	SWITCH("zerocopy", 'Z', PEER, zerocopy, "send with MSG_ZEROCOPY"),
	{ .name = "reuseaddr",
	  .letter = 'R',
	  .type = OPT_FLAG,
	  .scope = OPT_LOCAL,
	  .offset = COMMON(reuseaddr),
	  .help = "set SO_REUSEADDR on data sockets" },
	{ .name = "test-length",
	  .letter = 'l',
	  .type = OPT_SECONDS,
	  .scope = OPT_TEST,
	  .offset = COMMON(test_length),
	  .min = NSEC_PER_MSEC,
	  .max = INT64_C(4000000) * NSEC_PER_SEC,
	  .unit = "seconds",
	  .help = "length of the measured window" },
	LATER("rx-zerocopy", 'z', FLAG),
	SWITCH("edge-trigger", 'E', PEER, edge_trigger,
	       "edge-triggered events, with the same number of transfers each"),
	{ .name = "bytes",
	  .type = OPT_SIZE,
	  .scope = OPT_TEST,
	  .offset = AT(bytes),
	  .min = 1,
	  .max = INT64_MAX,
	  .unit = "bytes",
	  .off_is_0 = true,
	  .help = "end once each flow has moved so many bytes each way it "
		  "moves any; without -l there is no limit of time" },
	LATER("zerocopy-reuse", 0, STRING),
	LATER("buffers", 0, INT),
	LATER("sendfile", 0, FLAG),
	LATER("verify", 0, FLAG),
	LATER("rate", 0, STRING),
	LATER("burst", 0, INT),
};

const struct opt *stream_table(size_t *n)
{
	*n = sizeof(table) / sizeof(table[0]);
	return table;
}

void stream_defaults(void *options)
{
	struct stream_options o = {
		.common = options_defaults(),
		.buffer_size = 16384,
		.throughput_opt = UNIT_MBIT,
	};

	memcpy(options, &o, sizeof(o));
}

int stream_check(const void *options, struct fault *fault)
{
	const struct stream_options *o = options;
	nsec_t length = o->common.test_length;

	if (length <= 0)
		return fault_set(fault, 0, "--test-length must be above 0");
	if (o->split_bidir &&
	    (o->enable_read || o->enable_write || o->enable_tcp_maerts))
		return fault_set(fault, 0,
				 "--split-bidir and -r, -w or -M "
				 "exclude each other");
	if (o->bytes && o->common.warmup)
		return fault_set(fault, 0,
				 "--bytes and --warmup exclude each "
				 "other");
	if (o->split_bidir && o->common.source_port > 0 &&
	    o->common.source_port + 2 * o->common.num_flows > 65536)
		return fault_set(fault, 0,
				 "--source-port: %lld with "
				 "--split-bidir passes port 65535",
				 (long long)o->common.source_port);
	return 0;
}

enum stream_direction stream_direction(const struct stream_options *o)
{
	if (o->split_bidir)
		return STREAM_SPLIT;
	if (o->enable_tcp_maerts)
		return STREAM_REVERSE;
	return o->enable_read ? STREAM_BOTH : STREAM_FORWARD;
}

/* The direction flags of @o as typed, for a message. */
static const char *typed(const struct stream_options *o, char *buf, size_t n)
{
	(void)snprintf(buf, n, "%s%s%s%s",
		       o->enable_tcp_maerts ? " --enable-tcp-maerts" : "",
		       o->enable_read ? " --enable-read" : "",
		       o->enable_write ? " --enable-write" : "",
		       o->split_bidir ? " --split-bidir" : "");
	return buf[0] ? buf + 1 : "client to server";
}

/*
 * A server's own flags say what it, the server, does, as in neper: -w, it
 * writes too; -r, it reads, which it does anyway.
 */
int stream_reconcile(const void *client, const void *server,
		     struct fault *fault)
{
	const struct stream_options *c = client, *s = server;
	enum stream_direction wanted = stream_direction(c);
	char theirs[96], ours[96];
	bool fits = true;

	if (s->split_bidir)
		fits = wanted == STREAM_SPLIT;
	else if (s->enable_tcp_maerts)
		fits = wanted == STREAM_REVERSE;
	else if (s->enable_write)
		fits = wanted == STREAM_BOTH;
	else if (s->enable_read)
		fits = wanted == STREAM_BOTH || wanted == STREAM_FORWARD;
	if (fits)
		return 0;
	return fault_set(fault, 0,
			 "direction: the client asks %s, the server was "
			 "started with %s",
			 typed(c, theirs, sizeof(theirs)),
			 typed(s, ours, sizeof(ours)));
}

const char *stream_unit(const void *options)
{
	const struct stream_options *o = options;

	return unit_choices[o->throughput_opt];
}

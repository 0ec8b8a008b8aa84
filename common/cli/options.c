/* SPDX-License-Identifier: Apache-2.0 */
/* The options all workloads share: struct, defaults, table, cross-checks. */
#include <string.h>

#include "common/cli/options.h"

#define AT(member) offsetof(struct options, member)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_SECONDS (INT64_C(4000000) * NSEC_PER_SEC)

static const char *const deal_choices[] = { "index", "cpu", "napi", NULL };

/* Rows of the table, so that each option reads as one sentence. */
#define FLAG(n, c, s, m, h)                                                 \
	{                                                                   \
		.name = n, .letter = c, .type = OPT_FLAG, .scope = OPT_##s, \
		.offset = AT(m), .help = h                                  \
	}
#define NUM(n, c, t, s, m, lo, hi, u, h)                                    \
	{                                                                   \
		.name = n, .letter = c, .type = OPT_##t, .scope = OPT_##s,  \
		.offset = AT(m), .min = lo, .max = hi, .unit = u, .help = h \
	}
#define TEXT(n, c, s, m, h)                                                   \
	{                                                                     \
		.name = n, .letter = c, .type = OPT_STRING, .scope = OPT_##s, \
		.offset = AT(m), .help = h                                    \
	}
#define OUTPUT(n, m, h)                                                   \
	{                                                                 \
		.name = n, .type = OPT_FILE, .scope = OPT_LOCAL,          \
		.offset = AT(m), .fallback = "-", .shut = true, .help = h \
	}
#define LATER(n, c, t)                                                       \
	{                                                                    \
		.name = n, .letter = c, .type = OPT_##t, .scope = OPT_LOCAL, \
		.offset = AT(unused), .later = true, .shut = true,           \
		.help = "planned"                                            \
	}

static const struct opt table[] = {
	/* the socket options of neper's TCP programs */
	TEXT("congestion-control", 0, PEER, congestion_control,
	     "congestion control algorithm of the data sockets"),
	FLAG("no-delay", 0, PEER, no_delay, "set TCP_NODELAY"),
	NUM("tcp-tx-delay", 't', INT, PEER, tcp_tx_delay, 0, 2000000, "us",
	    "delay every transmission (TCP_TX_DELAY)"),
	FLAG("pin-numa", 'N', LOCAL, pin_numa, "the same as --pin=numa"),
	NUM("num-ports", 0, INT, TEST, num_ports, 1, 1024, "ports",
	    "data ports, from --port on; flow i uses port i mod N"),
	/* neper's common options, in the order it prints them */
	NUM("wait-start", 0, SECONDS, LOCAL, wait_start, 0, MAX_SECONDS,
	    "seconds", "client: pause between the agreement and the flows"),
	FLAG("time-wait", 0, LOCAL, time_wait,
	     "close data sockets in order, leaving TIME_WAIT behind"),
	NUM("port", 'P', PORT, LOCAL, port, 0, 65535, NULL,
	    "data port; 0 lets a server take any free one"),
	NUM("control-port", 'C', PORT, LOCAL, control_port, 0, 65535, NULL,
	    "control port; 0 lets a server take any free one"),
	TEXT("host", 'H', LOCAL, host,
	     "client: server's name or address; server: address to bind"),
	TEXT("local-hosts", 'L', LOCAL, local_hosts,
	     "client: comma list of source addresses, taken in turn"),
	NUM("max-pacing-rate", 'm', RATE, PEER, max_pacing_rate, 0, INT64_MAX,
	    "bytes/s", "pace each sending socket (SO_MAX_PACING_RATE)"),
	NUM("interval", 'I', SECONDS, TEST, interval, NSEC_PER_MSEC,
	    MAX_SECONDS, "seconds", "length of a sample"),
	FLAG("freebind", 0, PEER, freebind, "set IP_FREEBIND"),
	FLAG("nonblocking", 0, LOCAL, nonblocking,
	     "accepted for neper's sake; control sockets always are"),
	FLAG("nolog", 0, LOCAL, nolog, "accepted for neper's sake"),
	FLAG("logtostderr", 0, LOCAL, logtostderr, "accepted for neper's sake"),
	FLAG("pin-cpu", 'U', LOCAL, pin_cpu, "the same as --pin=cores"),
	FLAG("dry-run", 'n', LOCAL, dry_run,
	     "print options and plan, open no socket"),
	FLAG("debug", 'd', LOCAL, debug, "set SO_DEBUG on data sockets"),
	FLAG("client", 'c', LOCAL, client, "be the client"),
	FLAG("ipv6", '6', LOCAL, ipv6, "use IPv6 only"),
	FLAG("ipv4", '4', LOCAL, ipv4, "use IPv4 only"),
	FLAG("stime-use-proc", 'S', LOCAL, stime_use_proc,
	     "print the whole machine's system time as stime"),
	NUM("source-port", 0, INT, LOCAL, source_port, -1, 65535, NULL,
	    "client: flow i binds source port N + i"),
	NUM("suicide-length", 's', SECONDS, LOCAL, suicide_length, 0,
	    MAX_SECONDS, "seconds", "hard upper limit of the run; 0 is none"),
	NUM("listen-backlog", 0, INT, LOCAL, listen_backlog, 1, 1 << 20,
	    "connections", "server: backlog of the listening sockets"),
	NUM("num-clients", 0, INT, LOCAL, num_clients, 1, 1024, "clients",
	    "server: clients that share one test"),
	NUM("num-threads", 'T', INT, PEER, num_threads, 1, 65536, "threads",
	    "worker threads"),
	NUM("num-flows", 'F', INT, TEST, num_flows, 1, 10000000, "flows",
	    "flows (TCP connections)"),
	NUM("maxevents", 0, INT, LOCAL, maxevents, 1, 65536, "events",
	    "most events taken by one wait"),
	NUM("magic", 0, INT, LOCAL, magic, INT32_MIN, INT32_MAX, NULL,
	    "accepted for neper's sake; tests are told apart by a cookie"),
	/* what is new */
	NUM("warmup", 0, SECONDS, TEST, warmup, 0, MAX_SECONDS, "seconds",
	    "run before the measured window, left out of every figure"),
	TEXT("pin", 0, LOCAL, pin,
	     "auto, none, cores, compact, numa, nic[=IF], pair or a CPU list"),
	TEXT("peer-pin", 0, PEER, peer_pin,
	     "client: --pin for a server that was not given one"),
	{ .name = "deal",
	  .type = OPT_CHOICE,
	  .scope = OPT_LOCAL,
	  .offset = AT(deal),
	  .choices = deal_choices,
	  .help = "which worker serves which flow" },
	TEXT("mem", 0, LOCAL, mem, "buffers: local, node=N or none"),
	FLAG("huge-pages", 0, LOCAL, huge_pages, "buffers in huge pages"),
	NUM("sndbuf", 0, SIZE, PEER, sndbuf, 0, INT32_MAX, "bytes",
	    "send buffer (SO_SNDBUF)"),
	NUM("rcvbuf", 0, SIZE, PEER, rcvbuf, 0, INT32_MAX, "bytes",
	    "receive buffer (SO_RCVBUF)"),
	NUM("mss", 0, INT, PEER, mss, 0, 32767, "bytes",
	    "largest segment (TCP_MAXSEG)"),
	NUM("tos", 0, BITS, PEER, tos, 0, 255, NULL,
	    "type of service or traffic class byte"),
	TEXT("bind-dev", 0, PEER, bind_dev,
	     "interface of the data sockets (SO_BINDTODEVICE)"),
	NUM("notsent-lowat", 0, SIZE, PEER, notsent_lowat, 0, INT32_MAX,
	    "bytes", "unsent bytes above which a socket is not writable"),
	NUM("rcvlowat", 0, SIZE, PEER, rcvlowat, 0, INT32_MAX, "bytes",
	    "bytes below which a socket is not readable (SO_RCVLOWAT)"),
	NUM("busy-poll", 0, INT, PEER, busy_poll, 0, 1000000, "us",
	    "busy-poll the device queue (SO_BUSY_POLL)"),
	NUM("mark", 0, BITS, PEER, mark, 0, UINT32_MAX, NULL,
	    "mark of the data packets (SO_MARK)"),
	FLAG("nagle", 0, PEER, nagle, "leave Nagle's algorithm on"),
	NUM("delay", 'D', NSECS, PEER, delay, 0, MAX_SECONDS, "ns",
	    "period of each flow's sends; late ones are made up"),
	FLAG("persistent", 0, LOCAL, persistent,
	     "server: keep serving tests until a signal"),
	NUM("num-tests", 0, INT, LOCAL, num_tests, 1, INT32_MAX, "tests",
	    "server: tests to serve before it exits"),
	NUM("max-flows", 0, INT, LOCAL, max_flows, 0, 10000000, "flows",
	    "server: refuse tests with more flows; 0 is no limit"),
	NUM("max-seconds", 0, SECONDS, LOCAL, max_seconds, 0, MAX_SECONDS,
	    "seconds", "server: refuse longer tests; 0 is no limit"),
	TEXT("allow", 0, LOCAL, allow,
	     "server: comma list of networks whose clients are served"),
	FLAG("plan", 0, LOCAL, plan, "print placement and limits, then stop"),
	TEXT("control-host", 0, LOCAL, control_host,
	     "control address where it differs from --host"),
	FLAG("strict", 0, LOCAL, strict,
	     "a setting that did not take effect is a failure"),
	NUM("connect-timeout", 0, SECONDS, LOCAL, connect_timeout,
	    NSEC_PER_MSEC, MAX_SECONDS, "seconds",
	    "limit for reaching the other end and for opening the flows"),
	NUM("idle-timeout", 0, SECONDS, LOCAL, idle_timeout,
	    100 * NSEC_PER_MSEC, MAX_SECONDS, "seconds",
	    "silence after which the other end counts as lost"),
	NUM("wait-busy", 0, SECONDS, LOCAL, wait_busy, 0, MAX_SECONDS,
	    "seconds", "client: keep asking a busy server for so long"),
	TEXT("title", 0, LOCAL, title, "a name for the run, printed as is"),
	FLAG("verbose", 0, LOCAL, verbose, "figures for every thread and flow"),
	{ .name = "all-samples",
	  .letter = 'A',
	  .type = OPT_FILE,
	  .scope = OPT_LOCAL,
	  .offset = AT(all_samples),
	  .fallback = "samples.csv",
	  .help = "a CSV row for every flow and interval" },
	NUM("iostat-ms", 0, INT, LOCAL, iostat_ms, 0, 3600000, "ms",
	    "a line of totals so often; 0 is never"),
	OUTPUT("json", json,
	       "one JSON document a test; without a file on "
	       "standard output, in place of key=value"),
	OUTPUT("json-stream", json_stream,
	       "the same as one JSON object a line: start, intervals, end"),
	FLAG("quiet", 0, LOCAL, quiet, "nothing on standard error but faults"),
	FLAG("help", 'h', LOCAL, help, "print this text"),
	FLAG("version", 'v', LOCAL, version, "print the version"),
	/* known, refused until they are built */
	LATER("tcp-fastopen", 'X', FLAG),
	LATER("runs", 0, INT),
	LATER("keep-flows", 0, FLAG),
	LATER("until-ci", 0, STRING),
	LATER("mptcp", 0, FLAG),
	LATER("wait", 0, STRING),
	LATER("cpu-latency", 0, INT),
	LATER("perf-control", 0, STRING),
	LATER("trace-marker", 0, FLAG),
	LATER("require-valid", 0, FLAG),
	LATER("neper", 0, FLAG),
};

struct options options_defaults(void)
{
	const struct options defaults = {
		.control_port = 12866,
		.port = 12867,
		.source_port = -1,
		.num_ports = 1,
		.num_flows = 1,
		.num_threads = 1,
		.num_clients = 1,
		.test_length = 10 * NSEC_PER_SEC,
		.interval = NSEC_PER_SEC,
		.connect_timeout = 30 * NSEC_PER_SEC,
		.idle_timeout = 10 * NSEC_PER_SEC,
		.listen_backlog = 4096,
		.maxevents = 1000,
		.num_tests = 1,
		.magic = 42,
	};

	return defaults;
}

const struct opt *options_table(size_t *n)
{
	*n = COUNT(table);
	return table;
}

static int check_roles(const struct options *o, struct fault *fault)
{
	if (o->ipv4 && o->ipv6)
		return fault_set(fault, 0,
				 "--ipv4 and --ipv6 exclude each "
				 "other; give neither for both");
	if (!o->client && o->local_hosts)
		return fault_set(fault, 0,
				 "--local-hosts is for clients; a "
				 "server binds by --host");
	if (!o->client && o->wait_start)
		return fault_set(fault, 0, "--wait-start is for clients");
	if (!o->client && o->peer_pin)
		return fault_set(fault, 0, "--peer-pin is for clients");
	if (o->client && (o->persistent || o->allow))
		return fault_set(fault, 0, "%s is for servers",
				 o->persistent ? "--persistent" : "--allow");
	if (o->client && !o->port)
		return fault_set(fault, 0,
				 "--port: \"0\" is for servers; a "
				 "client needs 1 to 65535");
	if (o->client && !o->control_port)
		return fault_set(fault, 0,
				 "--control-port: \"0\" is for "
				 "servers; a client needs 1 to "
				 "65535");
	return 0;
}

static int check_ports(const struct options *o, struct fault *fault)
{
	if (o->source_port == 0)
		return fault_set(fault, 0,
				 "--source-port: \"0\" is not a "
				 "port (accepted: 1 to 65535)");
	if (o->source_port > 0 && o->local_hosts)
		return fault_set(fault, 0,
				 "--source-port and --local-hosts "
				 "exclude each other");
	if (o->source_port > 0 && o->source_port + o->num_flows > 65536)
		return fault_set(fault, 0,
				 "--source-port: %lld with --num-flows %lld "
				 "passes port 65535 (accepted: 1 to %lld)",
				 (long long)o->source_port,
				 (long long)o->num_flows,
				 (long long)(65536 - o->num_flows));
	if (o->port && o->port + o->num_ports > 65536)
		return fault_set(fault, 0,
				 "--num-ports: %lld from --port %lld pass "
				 "port 65535",
				 (long long)o->num_ports, (long long)o->port);
	return 0;
}

static int check_pins(const struct options *o, struct fault *fault)
{
	if (o->pin_cpu + o->pin_numa + (o->pin != NULL) > 1)
		return fault_set(fault, 0,
				 "--pin, --pin-cpu and --pin-numa "
				 "exclude each other");
	if (o->nagle && o->no_delay)
		return fault_set(fault, 0,
				 "--nagle and --no-delay exclude "
				 "each other");
	if (o->verbose && o->quiet)
		return fault_set(fault, 0,
				 "--verbose and --quiet exclude "
				 "each other");
	if (o->logtostderr && o->nolog)
		return fault_set(fault, 0,
				 "--logtostderr and --nolog exclude "
				 "each other");
	if (o->persistent && o->num_tests > 1)
		return fault_set(fault, 0,
				 "--persistent and --num-tests "
				 "exclude each other");
	return 0;
}

static bool same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static int check_outputs(const struct options *o, struct fault *fault)
{
	if (same(o->all_samples, "-"))
		return fault_set(fault, 0,
				 "--all-samples: \"-\" is not a file");
	if (same(o->all_samples, o->json) ||
	    same(o->all_samples, o->json_stream))
		return fault_set(fault, 0,
				 "--all-samples and JSON cannot both go to %s",
				 o->all_samples);
	if (o->iostat_ms && (same(o->json, "-") || same(o->json_stream, "-")))
		return fault_set(fault, 0,
				 "--iostat-ms and JSON cannot both go to "
				 "standard output");
	if (same(o->json, o->json_stream))
		return fault_set(fault, 0,
				 "--json and --json-stream cannot both go to "
				 "%s",
				 !strcmp(o->json, "-") ? "standard output" :
							 o->json);
	return 0;
}

int options_check(const struct options *o, struct fault *fault)
{
	if (check_roles(o, fault) || check_ports(o, fault) ||
	    check_pins(o, fault))
		return -1;
	return check_outputs(o, fault);
}

const char *options_pin(const struct options *o)
{
	if (o->pin)
		return o->pin;
	if (o->pin_cpu)
		return "cores";
	if (o->pin_numa)
		return "numa";
	/* What the client wishes for its server, where nobody said otherwise. */
	return !o->client && o->peer_pin ? o->peer_pin : "auto";
}

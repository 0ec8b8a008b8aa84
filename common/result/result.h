/* SPDX-License-Identifier: Apache-2.0 */
/* What one end measured in one window, as plain structs without code. */
#ifndef NAPIER_RESULT_RESULT_H
#define NAPIER_RESULT_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/die.h"

/*
 * Counts of one worker, or sums over several. Names are those of the wire
 * and of the output, and do not depend on the engine that moved the bytes.
 */
struct io_counts {
	uint64_t tx_bytes; /* bytes handed to the kernel to send */
	uint64_t rx_bytes; /* bytes received, discarded ones included */
	uint64_t tx_transfers; /* sends that took at least one byte */
	uint64_t rx_transfers; /* receives that gave at least one byte */
	uint64_t tx_short; /* sends that took less than asked */
	uint64_t rx_short; /* receives that gave less than asked */
	uint64_t tx_again; /* sends refused: no room */
	uint64_t rx_again; /* receives refused: nothing there */
	uint64_t rx_truncated; /* receives that discarded in the kernel */
	uint64_t waits; /* waits for events */
	uint64_t wakeups; /* events those waits returned */
	uint64_t late; /* timed sends that were made up after their time */
};

/* Ledger of zero-copy sending (kernel: networking/msg_zerocopy.rst). */
struct zc_counts {
	uint64_t sends; /* sends the kernel took with MSG_ZEROCOPY */
	uint64_t completions; /* of them, reported complete */
	uint64_t copied; /* of those, copied by the kernel after all */
	uint64_t enobufs; /* sends refused with ENOBUFS */
	uint64_t fallbacks; /* sends repeated as copying sends because of it */
	uint64_t peak_pinned; /* most bytes in flight, upper bound, bytes */
	uint64_t outstanding; /* sends never reported by the end of the run */
};

/* One reading of getrusage(2), with the instant it was taken. */
struct usage {
	nsec_t when; /* CLOCK_MONOTONIC */
	nsec_t user, system; /* CPU time */
	int64_t maxrss; /* KiB */
	int64_t minflt, majflt, nvcsw, nivcsw;
};

/* One worker thread in the window. */
struct worker_result {
	int64_t cpu; /* CPU it was pinned to, or -1 */
	int64_t last_cpu; /* CPU it was seen on at the end */
	int64_t node; /* NUMA node of its buffers, or -1 unknown */
	int64_t flows; /* flows it served */
	int64_t affinity; /* number of CPUs its real affinity mask holds */
	nsec_t window; /* length of its window */
	nsec_t cpu_user, cpu_system; /* its CPU time in the window */
	struct io_counts counts;
	struct zc_counts zc;
};

/*
 * What TCP itself says of one flow (TCP_INFO, docs/tcp_info.md): a reading,
 * or what a window added to the counters and how it left the rest. A member
 * is -1 where the kernel does not say.
 */
struct tcp_figures {
	/* state at the time of the reading */
	int64_t state; /* as in /proc/net/tcp, 1 is established */
	int64_t ca_state; /* of congestion control, 0 is open */
	int64_t pmtu, mss; /* bytes; mss is that of sending */
	int64_t rtt_us, rttvar_us, min_rtt_us;
	int64_t cwnd, ssthresh; /* segments */
	int64_t snd_wnd; /* bytes the peer would take */
	int64_t notsent; /* bytes written and not sent yet */
	int64_t delivery_rate; /* bytes a second */
	/* counters */
	int64_t retransmits; /* segments sent again */
	int64_t bytes_acked, bytes_received; /* first time, in order */
	int64_t bytes_sent, bytes_retrans; /* the first holds the second */
	int64_t segs_out, segs_in, data_segs_out, data_segs_in;
	int64_t delivered_ce; /* segments acknowledged with ECN's mark */
	int64_t dsack_dups; /* DSACK blocks: sent again for nothing */
	int64_t reorderings; /* times that reordering was noticed */
	int64_t busy_us; /* with data to send; holds the next two */
	int64_t rwnd_limited_us, sndbuf_limited_us;
};

/* Percentiles over flows, each -1 where no flow has the figure. */
struct spread {
	int64_t p50, p90, max;
};

/* TCP_INFO of all flows of one end in one window. */
struct tcp_result {
	int64_t flows; /* flows that were read at both edges */
	struct tcp_figures sum; /* counters only, the rest is -1 */
	int64_t other_busy_us; /* busy, but limited by neither */
	int64_t min_rtt_us; /* least over the flows */
	/* at the window's end, over the flows alive; all but rtt over those
	 * that sent data in the window */
	struct spread rtt_us, cwnd, cwnd_bytes, delivery_rate;
};

/*
 * What the window added to counters of this end's interface, network
 * namespace and machine; -1 where unknown. Names are those of the output.
 */
struct net_counts {
	int64_t wire_rx_bytes, wire_tx_bytes; /* of the interface */
	int64_t wire_rx_packets, wire_tx_packets;
	int64_t wire_rx_errors, wire_tx_errors;
	int64_t wire_rx_dropped, wire_tx_dropped;
	/* of the namespace's TCP, the tool's and others' connections */
	int64_t stack_in_segs, stack_out_segs, stack_retrans_segs;
	int64_t stack_in_errors, stack_out_resets;
	int64_t stack_listen_overflows, stack_listen_drops;
	int64_t stack_timeouts, stack_syn_retrans, stack_lost_retransmits;
	int64_t stack_out_of_order, stack_out_of_order_drops;
	int64_t stack_receive_queue_drops, stack_backlog_drops;
	int64_t stack_pruned, stack_collapsed, stack_zero_windows;
	int64_t stack_memory_pressures, stack_ce_packets;
	/* of the machine */
	int64_t softnet_processed, softnet_dropped, softnet_squeezed;
	int64_t softirqs_net_rx, softirqs_net_tx;
};

/* Network softirqs that one CPU ran in the window. */
struct softirq_cpu {
	int64_t cpu, net_rx, net_tx;
};

/* A counter of the interface's driver (ethtool -S) that moved. */
struct driver_counter {
	char name[33]; /* of RESULT_NAME_CHARACTERS */
	int64_t delta;
};

/* What the name of a driver's counter may consist of. */
#define RESULT_NAME_CHARACTERS       \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789_.-"

#define RESULT_SOFTIRQ_CPUS 256
#define RESULT_DRIVER_COUNTERS 64

/* The interface and the stack in one window. */
struct net_result {
	char interface[16]; /* of the flows; empty when there is not just one */
	bool loopback; /* carries both directions in each counter */
	int64_t header; /* bytes of headers that it counts for a packet */
	nsec_t seconds; /* between the readings: the window and a little */
	struct net_counts counts;
	int64_t n_cpus; /* that ran any, as far as there is room */
	struct softirq_cpu cpus[RESULT_SOFTIRQ_CPUS];
	int64_t n_driver;
	int64_t driver_left_out; /* counters that moved but found no room */
	struct driver_counter driver[RESULT_DRIVER_COUNTERS];
};

/* What one flow has moved since it was opened. */
struct flow_count {
	uint64_t tx_bytes, rx_bytes;
	int64_t worker; /* that serves it, -1 none */
};

/* One flow in the window. */
struct flow_result {
	int64_t id; /* flow id, the same on both ends */
	int64_t worker; /* index of the worker that served it */
	int64_t local_port, peer_port;
	uint64_t tx_bytes, rx_bytes; /* in the window */
	nsec_t connect_time; /* at the connecting end; 0 elsewhere */
	int64_t err; /* errno it died of, 0 while alive */
	struct tcp_figures tcp; /* what the window added; see tcp_figures */
	/* as text; of this end's own flows only, "" elsewhere */
	char local_addr[64], peer_addr[64];
};

/* How one socket setting came out. */
struct setting {
	char name[24]; /* option's long name */
	char requested[32];
	char effective[32]; /* read back; empty when it cannot be */
	char set_by[12]; /* "client", "server" or "napier" */
	int64_t differing; /* flows whose value differed from `effective` */
};

#define RESULT_SETTINGS 24
#define RESULT_WARNINGS 24

/* Lines for people that qualify the figures; each at most once. */
struct warnings {
	int n;
	char text[RESULT_WARNINGS][320];
};

/* Comparison of the two ends' clocks: peer's clock minus ours. */
struct clock_match {
	bool known;
	nsec_t offset;
	nsec_t bound; /* half the least round trip */
};

/* Everything one end says about one window. Arrays are owned. */
struct end_result {
	int64_t window; /* index of the measured window, from 0 */
	bool complete; /* ran to its agreed end */
	char end_reason[160]; /* "time", or what ended it early */
	char host[64];
	char boot_id[40];
	nsec_t wall_start; /* wall clock at the start of the window */
	nsec_t start, end; /* own CLOCK_MONOTONIC: means over the workers */
	nsec_t seconds; /* length of the window: mean over the workers */
	nsec_t edge_spread; /* most by which a worker's window differed */
	struct io_counts counts; /* sum over the workers */
	struct zc_counts zc;
	struct io_counts life; /* since the flows were opened, drain included */
	struct usage usage_start, usage_end; /* this process */
	struct tcp_result tcp;
	struct net_result net;
	int64_t flows_failed;
	nsec_t connect_p50, connect_p99, connect_max; /* over the flows */
	nsec_t connect_phase; /* first connect to the last flow ready */
	int64_t syn_retransmits;
	int64_t listen_overflows; /* of the whole host, while flows opened */
	char pin_policy[64]; /* as carried out */
	char cpus[256]; /* of the workers, in their order */
	struct clock_match clock_before, clock_after;
	int64_t n_settings;
	struct setting settings[RESULT_SETTINGS];
	struct warnings warnings;
	int n_workers;
	struct worker_result *workers; /* n_workers */
	int n_flows;
	struct flow_result *flows; /* n_flows, by id */
	int flows_read; /* of n_flows: those that have come over the wire */
};

/* Totals of one end at the close of interval `index`. */
struct row {
	int64_t index; /* rows are counted from the start, warm-up included */
	bool warmup;
	nsec_t start, end; /* own CLOCK_MONOTONIC */
	uint64_t tx_bytes, rx_bytes; /* in the interval */
	nsec_t cpu; /* CPU time of the process in the interval */
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One agreed test at this end: prepared, measured, exchanged, released. */
#ifndef NAPIER_TEST_H
#define NAPIER_TEST_H

#include "common/control/agree.h"
#include "common/control/hub.h"
#include "common/engine/crew.h"
#include "common/engine/sock.h"
#include "common/engine/workload.h"
#include "common/measure/netdev.h"
#include "common/measure/series.h"
#include "common/phase.h"
#include "common/plan/plan.h"
#include "common/report/sink.h"

/* Ping-pongs of one clock comparison (docs/protocol.md, "Clocks"). */
#define TEST_PINGS 16

/*
 * The exchange of results ends when the other end was silent for so long, or
 * took so long in all: results share a slow link with what data flows had
 * queued, and an end that is there must not be given up.
 */
#define TEST_SILENCE (5 * NSEC_PER_SEC)
#define TEST_EXCHANGE (30 * NSEC_PER_SEC)

/* The other end of the control connection within a test. */
struct test_peer {
	int link; /* number in the hub, -1 when gone */
	bool ready; /* its flows are there and it was told so */
	struct clock_match before, after;
	int pings; /* of the comparison under way, answered */
	nsec_t asked; /* when the open ping was sent */
	struct end_result result;
	bool have_result; /* all parts came */
	bool done; /* received its limit of bytes on every flow */
	bool bye; /* has all it needs from us */
	struct row row; /* its latest */
};

/*
 * What else goes on at the end that runs a test: a server must answer
 * newcomers and drop strangers all the while. Members may be NULL.
 */
struct test_host {
	void *arg;
	/* An event of a connection that is no peer of the test. */
	void (*other)(void *arg, struct hub_event *event);
	/* Data connections may need care; returns when to call again. */
	nsec_t (*data)(void *arg, nsec_t now);
};

struct test {
	const struct workload *workload;
	const struct options *options; /* agreed, the shared part */
	struct agreement agreement; /* owns the agreed values */
	bool client;
	int flows; /* of each participant */
	int n_peers; /* participants at a server, 1 at a client */
	struct test_peer *peers; /* owned, n_peers */
	int participants; /* of the whole test */
	int participant; /* own number, at a client */
	int index; /* number of the test at this end; 0: the only one */
	char uuid[40]; /* "" where each of several clients has its own */
	struct transfer transfer;
	bool sends; /* some flow sends at this end */
	int sending, receiving; /* flows that do so at this end */
	bool untimed; /* --bytes without -l: no limit of time */
	bool moved; /* the limit of bytes ended the run */
	bool done_told; /* our own part of --bytes is complete and said so */
	struct sock_plan socks;
	struct plan *plan; /* owned */
	struct crew *crew; /* owned */
	struct hub *hub; /* borrowed */
	struct phase *phase; /* borrowed */
	struct sink *sink; /* borrowed */
	struct test_host host;
	nsec_t deadline; /* --suicide-length, NSEC_NEVER without */
	bool started; /* the start was announced */
	bool measuring; /* a loss or a stop now ends the run early */
	nsec_t start; /* agreed instant, own clock */
	int64_t confirmed; /* client: flows that the server says it has */
	bool after; /* the clock comparison under way is the second */
	char early[160]; /* why the run ended before its time, or "" */
	bool symptom; /* early may be a mere effect of a peer's loss */
	bool failed; /* a worker failed: status 1 */
	struct series series;
	struct flow_count *flow_counts; /* owned; for samples of flows */
	struct io_counts stat; /* totals at the last --iostat-ms line */
	nsec_t stat_edge; /* and its instant */
	struct end_result local;
	struct usage usage_start, usage_end; /* of the process */
	nsec_t machine_start, machine_end; /* -S */
	struct netdev_reading net_start, net_end;
};

/* What test_prepare() needs to know besides the agreement. */
struct test_place {
	bool same_host; /* the peer is this host */
	const char *interface; /* of the route to the peer, or NULL */
	int family; /* of the data sockets */
};

/*
 * Length of the measured window that the options @values of @w ask for: 0
 * where it lasts until a limit of bytes is reached, which is so unless a
 * length was given too.
 */
nsec_t test_length(const struct workload *w, const void *values,
		   bool length_given);

/*
 * Make the plan, try the socket settings, check the limits and start the
 * workers of @t, whose fields down to n_peers and the borrowed ones are set.
 * No data socket is opened. 0, or -1 with @fault; test_free() in both cases.
 */
int test_prepare(struct test *t, const struct test_place *place,
		 struct fault *fault);

/*
 * Wait until something happens or @deadline comes, and handle it: signals,
 * peers, workers, newcomers. Whatever ends the run sets t->early.
 */
void test_wait(struct test *t, nsec_t deadline);

/* End the run before its time; the first reason, a printf text, is kept. */
void test_end_early(struct test *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Handle one hub event that concerns the peers of @t: pings, rows, results,
 * stops, losses. A loss or a stop sets t->early. Releases the message.
 */
void test_hear(struct test *t, struct hub_event *event);

/* Send @m to every peer that is still there. */
void test_tell(struct test *t, const struct message *m);

/*
 * Run from the agreed start through all windows to the final edge, or to
 * whatever ends the run early. Sends rows to the peers.
 */
void test_measure(struct test *t);

/*
 * Compare clocks with all peers at once (a server does); @after: into
 * peer->after. Returns 0 when all answered before @deadline, else -1.
 */
int test_compare_clocks(struct test *t, bool after, nsec_t deadline);

/* Fill t->local after the final edge, zero-copy stragglers awaited. */
int test_collect(struct test *t);

/* Exchange results with the peers while they are heard of. */
void test_exchange(struct test *t);

/* Tear the flows down and release all that @t owns. */
void test_free(struct test *t);

#endif

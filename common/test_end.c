/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a test: what was measured is gathered and exchanged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/control/result_wire.h"
#include "common/host.h"
#include "common/measure/tcpinfo.h"
#include "common/measure/usage.h"
#include "common/measure/wire.h"
#include "common/test.h"

/* Zero-copy sends get this long to be reported complete after the end. */
#define STRAGGLERS (500 * NSEC_PER_MSEC)

static int by_value(const void *a, const void *b)
{
	const nsec_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Percentiles of the connect times, where this end connected. */
static void sum_connects(struct end_result *r)
{
	nsec_t *times = calloc((size_t)r->n_flows + 1, sizeof(*times));
	int i, n = 0;

	if (!times)
		return; /* the figures stay 0: unknown */
	for (i = 0; i < r->n_flows; i++) {
		if (r->flows[i].connect_time > 0)
			times[n++] = r->flows[i].connect_time;
	}
	qsort(times, (size_t)n, sizeof(*times), by_value);
	if (n) {
		r->connect_p50 = times[n / 2];
		r->connect_p99 = times[(n * 99) / 100];
		r->connect_max = times[n - 1];
	}
	free(times);
}

static void judge_zerocopy(const struct test *t, struct end_result *r)
{
	const struct zc_counts *z = &r->zc;

	if (t->transfer.zerocopy && z->completions &&
	    z->copied == z->completions)
		warnings_add(&r->warnings,
			     "--zerocopy: the kernel copied all of the sends "
			     "(as it always does on loopback and veth): "
			     "nothing was gained");
	if (z->enobufs)
		warnings_add(&r->warnings,
			     "--zerocopy: ENOBUFS, sends were copied instead: "
			     "raise RLIMIT_MEMLOCK (ulimit -l) or "
			     "net.core.optmem_max");
	if (z->outstanding)
		warnings_add(&r->warnings,
			     "--zerocopy: sends were still not reported "
			     "complete 0.5 s after the end");
}

/* Bytes that the interface counted must be those that the flows moved. */
static void judge_wire(struct end_result *r)
{
	struct wire_parts p;
	int way;

	for (way = 0; way < 2; way++) {
		const char *what = way ? "received" : "sent";
		int off = wire_split(r, !way, &p) ? wire_judge(r, &p) : 0;

		if (off < 0)
			warnings_add(&r->warnings,
				     "%s %s %.0f bytes, the flows' payload and "
				     "headers are %.0f more: do they all use "
				     "that interface?",
				     r->net.interface, what, p.bytes, -p.other);
		if (off > 0)
			warnings_add(&r->warnings,
				     "%s %s %.0f bytes, of which %.0f are not "
				     "this test's: others share it",
				     r->net.interface, what, p.bytes, p.other);
	}
}

static void judge_flows(struct end_result *r)
{
	int i;

	for (i = 0; i < r->n_flows; i++) {
		const struct flow_result *f = &r->flows[i];

		if (!f->err)
			continue;
		warnings_add(&r->warnings,
			     "flow %d died: %s (%lld of %d flows lost)", i,
			     strerror((int)f->err), (long long)r->flows_failed,
			     r->n_flows);
		return;
	}
}

/* Did the window last as long as was agreed? Overloaded CPUs stretch it. */
static void judge_window(const struct test *t, struct end_result *r)
{
	nsec_t wanted = t->options->test_length;
	nsec_t off = r->seconds - wanted;

	if (t->early[0] || t->moved ||
	    (off < 0 ? -off : off) < wanted / 100 + 10 * NSEC_PER_MSEC)
		return;
	warnings_add(&r->warnings,
		     "the window lasted %.3f s instead of %.3f s: the threads "
		     "did not get their CPUs in time",
		     (double)r->seconds / 1e9, (double)wanted / 1e9);
}

static void name_ends(struct test *t, struct end_result *r)
{
	const char *reason = t->early[0] ? t->early :
			     t->moved	 ? "bytes" :
					   "time";

	(void)snprintf(r->end_reason, sizeof(r->end_reason), "%s", reason);
	host_name(r->host, sizeof(r->host));
	host_boot_id(r->boot_id, sizeof(r->boot_id));
	(void)snprintf(r->pin_policy, sizeof(r->pin_policy), "%s",
		       t->plan->policy);
	(void)snprintf(r->cpus, sizeof(r->cpus), "%s", t->plan->cpus);
}

int test_collect(struct test *t)
{
	nsec_t limit = clock_now() + STRAGGLERS;
	int b = crew_edges(t->crew) - 1, a = t->options->warmup ? 1 : 0;
	struct end_result *r = &t->local;

	while (crew_pending(t->crew) && clock_now() < limit)
		test_wait(t, limit);
	if (!crew_settled(t->crew))
		return -1;
	r->warnings = t->plan->warnings;
	if (crew_collect(t->crew, a < b ? a : b, b, r))
		return -1;
	r->usage_start = t->usage_start;
	r->usage_end = t->usage_end;
	r->n_settings = t->socks.n;
	memcpy(r->settings, t->socks.settings, sizeof(r->settings));
	r->complete = !t->early[0] && !r->flows_failed;
	name_ends(t, r);
	sum_connects(r);
	netdev_since(&t->net_start, &t->net_end, &r->net);
	judge_zerocopy(t, r);
	judge_wire(r);
	judge_flows(r);
	judge_window(t, r);
	return 0;
}

/*
 * The part of the local result that concerns participant @i: its flows under
 * its own ids, and the sums over them. With one participant that is all.
 */
static int share_of(const struct test *t, int i, struct end_result *share)
{
	struct tcp_result tcp;
	int k;

	*share = t->local;
	share->clock_before = t->peers[i].before;
	share->clock_after = t->peers[i].after;
	if (t->n_peers == 1)
		return 0; /* all of it, without a copy of every flow */
	share->n_flows = t->flows;
	share->flows =
		calloc((size_t)share->n_flows + 1, sizeof(*share->flows));
	if (!share->flows)
		return -1;
	share->counts.tx_bytes = share->counts.rx_bytes = 0;
	for (k = 0; k < share->n_flows; k++) {
		struct flow_result *f = &share->flows[k];

		*f = t->local.flows[i * t->flows + k];
		f->id = k;
		share->counts.tx_bytes += f->tx_bytes;
		share->counts.rx_bytes += f->rx_bytes;
	}
	tcpinfo_sum(share->flows, share->n_flows, &tcp);
	share->tcp = tcp;
	share->net.header = -1; /* the wire carried all of them */
	return 0;
}

static void send_result(struct test *t, int i)
{
	struct end_result share;
	struct message m = { .type = MESSAGE_RESULT, .result = &share };

	if (t->peers[i].link < 0 || share_of(t, i, &share))
		return;
	m.parts = result_wire_parts(&share);
	for (m.part = 1; m.part <= m.parts; m.part++) {
		if (hub_send(t->hub, t->peers[i].link, &m))
			break; /* shows as lost */
	}
	if (share.flows != t->local.flows)
		free(share.flows);
}

/*
 * The comparisons of clocks with the only peer, as seen from this end. A
 * client learns of the second one from the server's result.
 */
static void keep_clocks(struct test *t)
{
	const struct test_peer *p = &t->peers[0];

	if (t->n_peers != 1)
		return;
	t->local.clock_before = p->before;
	t->local.clock_after = p->after;
	if (t->client && p->have_result) {
		t->local.clock_after = p->result.clock_after;
		t->local.clock_after.offset = -p->result.clock_after.offset;
	}
}

/* Is something still to come from, or to go to, a peer that is there? */
static bool unfinished(const struct test *t)
{
	int i;

	for (i = 0; i < t->n_peers; i++) {
		const struct test_peer *p = &t->peers[i];

		if (p->link < 0)
			continue;
		if (!p->have_result || hub_unsent(t->hub, p->link))
			return true;
		if (!t->client && !p->bye)
			return true;
	}
	return false;
}

/* Instant until which a peer that is there may still finish. */
static nsec_t patience(const struct test *t, nsec_t began)
{
	nsec_t heard = began;
	int i;

	for (i = 0; i < t->n_peers; i++) {
		const struct test_peer *p = &t->peers[i];

		if (p->link >= 0 && hub_heard(t->hub, p->link) > heard)
			heard = hub_heard(t->hub, p->link);
	}
	heard += TEST_SILENCE;
	return heard < began + TEST_EXCHANGE ? heard : began + TEST_EXCHANGE;
}

static void await_peers(struct test *t, nsec_t began)
{
	while (unfinished(t) && clock_now() < patience(t, began))
		test_wait(t, patience(t, began));
}

/* Has every peer told us all, and said that it has heard all? */
static bool all_told(const struct test *t)
{
	int i;

	for (i = 0; i < t->n_peers; i++) {
		if (!t->peers[i].have_result || !t->peers[i].bye)
			return false;
	}
	return true;
}

/* A client's last words: that it has all it needs, or that it has not. */
static void part(struct test *t)
{
	struct message last = { .type = MESSAGE_BYE };
	nsec_t began, limit;

	if (!t->peers[0].have_result) {
		last.type = MESSAGE_STOP;
		(void)snprintf(last.reason, sizeof(last.reason),
			       "the result of the server did not arrive");
	}
	t->peers[0].bye = true;
	test_tell(t, &last);
	/*
	 * The server closes once it has heard that. To reset the flows earlier
	 * could overtake it: some relays drop all of a pair at the first reset,
	 * and a slow link may hold these words for seconds. A server that owes
	 * its result is not waited for again.
	 */
	began = clock_now();
	limit = began + NSEC_PER_SEC;
	while (t->peers[0].link >= 0 && clock_now() < limit) {
		test_wait(t, limit);
		if (t->peers[0].have_result)
			limit = patience(t, began);
	}
}

void test_exchange(struct test *t)
{
	nsec_t began = clock_now();
	bool cut = t->early[0];
	int i;

	/* Without an answer the second comparison is just not known. */
	if (!t->client)
		(void)test_compare_clocks(t, true, clock_now() + NSEC_PER_SEC);
	/* As late as may be: what was under way has come in meanwhile. */
	t->local.life = crew_counts(t->crew);
	for (i = 0; i < t->n_peers; i++)
		send_result(t, i);
	await_peers(t, began);
	for (i = 0; i < t->n_peers; i++) {
		if (!t->peers[i].have_result)
			warnings_add(&t->local.warnings,
				     "the result of the %s did not arrive",
				     t->client ? "server" : "client");
	}
	keep_clocks(t);
	if (t->client)
		part(t);
	/*
	 * What one end calls cut short must not be complete at the other; but
	 * a signal that comes when all is measured and told cuts nothing.
	 */
	if (!cut && all_told(t))
		t->early[0] = 0;
	if (t->early[0]) {
		t->local.complete = false;
		name_ends(t, &t->local);
	}
}

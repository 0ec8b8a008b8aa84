/* SPDX-License-Identifier: Apache-2.0 */
/* The measured part of a test: edges, rows, the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/measure/usage.h"
#include "common/test.h"

/* A worker that does not pass an edge within this time has failed. */
#define EDGE_PATIENCE (5 * NSEC_PER_SEC)

/* Instants of a run that lie ahead, on this end's clock. */
struct agenda {
	nsec_t edges[3]; /* start, (end of the warm-up), end */
	int n_edges;
	int next; /* of edges */
	int window; /* edge that opens the measured window */
	nsec_t tick; /* end of the current interval */
	nsec_t stat; /* of the current --iostat-ms period, or never */
};

static void make_agenda(struct agenda *a, const struct test *t)
{
	const struct options *o = t->options;

	memset(a, 0, sizeof(*a));
	a->edges[a->n_edges++] = t->start;
	if (o->warmup)
		a->edges[a->n_edges++] = t->start + o->warmup;
	a->window = a->n_edges - 1;
	a->edges[a->n_edges++] =
		t->untimed ? NSEC_NEVER : t->start + o->warmup + o->test_length;
	a->tick = t->start + o->interval;
	a->stat = o->iostat_ms ? t->start + o->iostat_ms * NSEC_PER_MSEC :
				 NSEC_NEVER;
}

static void await_settled(struct test *t)
{
	nsec_t limit = clock_now() + EDGE_PATIENCE;

	while (!crew_settled(t->crew) && clock_now() < limit)
		test_wait(t, limit);
	if (!crew_settled(t->crew)) {
		test_end_early(t, "a worker does not answer");
		t->failed = true;
	}
}

static nsec_t cpu_of(const struct usage *u)
{
	return u->user + u->system;
}

/*
 * Show what each flow moved up to the end of @row: edge @k, or now where @k
 * is negative.
 */
static void show_flows(struct test *t, const struct row *row, int k,
		       const struct usage *usage)
{
	if (!sink_wants_flows(t->sink))
		return;
	if (!t->flow_counts)
		t->flow_counts =
			calloc((size_t)t->plan->flows, sizeof(*t->flow_counts));
	if (!t->flow_counts) {
		test_end_early(t, "out of memory");
		t->failed = true;
		return;
	}
	crew_flow_counts(t->crew, k, t->flow_counts);
	sink_flows(t->sink, row, t->flow_counts, usage);
}

/*
 * Close the row that ends at @now, which is edge @k or no edge (-1), and show
 * it.
 */
static void close_row(struct test *t, nsec_t now, int k,
		      const struct usage *usage, bool warmup)
{
	struct io_counts totals = k < 0 ? crew_counts(t->crew) :
					  crew_counts_at(t->crew, k);
	struct message m = { .type = MESSAGE_ROW };
	double peers = -1;
	int i;

	m.row = series_row(&t->series, now, &totals, cpu_of(usage), warmup);
	test_tell(t, &m);
	for (i = 0; i < t->n_peers; i++) {
		const struct row *r = &t->peers[i].row;

		if (r->end > r->start)
			peers = (peers < 0 ? 0 : peers) +
				(double)r->rx_bytes /
					((double)(r->end - r->start) / 1e9);
	}
	sink_row(t->sink, &m.row, peers);
	show_flows(t, &m.row, k, usage);
}

static nsec_t machine_time(const struct test *t)
{
	return t->options->stime_use_proc ? usage_machine_system() : 0;
}

/* Find the interface of the flows, if they all use the same one. */
static void find_interface(struct test *t)
{
	const struct paths *p = crew_paths(t->crew);
	struct net_result *n = &t->local.net;
	char name[sizeof(n->interface)];
	int i;

	for (i = 0; i < p->n && !p->more; i++) {
		if (netdev_between(&p->path[i].local, &p->path[i].peer, name,
				   sizeof(name)) ||
		    (i && strcmp(name, n->interface) != 0)) {
			n->interface[0] = '\0';
			return;
		}
		memcpy(n->interface, name, sizeof(name));
	}
	n->loopback = netdev_is_loopback(n->interface);
	n->header = 0;
	if (n->interface[0])
		n->header = netdev_header(&p->path[0].local, n->loopback);
}

/* Read the network's counters before or after the window. */
static void read_network(struct test *t, struct netdev_reading *r)
{
	netdev_free(r);
	netdev_read(t->local.net.interface, r);
}

/* Edge @k was passed by all workers: rows and readings that belong to it. */
static void note_edge(struct test *t, const struct agenda *a, int k)
{
	struct io_counts totals = crew_counts_at(t->crew, k);
	nsec_t when = crew_edge_time(t->crew, k);
	struct usage now = usage_process();

	if (k == 0) {
		t->usage_start = now;
		t->local.wall_start = clock_wall();
		series_begin(&t->series, when, &totals, cpu_of(&now));
	} else {
		close_row(t, when, k, &now, k <= a->window);
	}
	if (k == a->window) {
		t->usage_start = now;
		t->machine_start = machine_time(t);
		t->local.wall_start = clock_wall();
		series_measure(&t->series);
	}
	t->usage_end = now;
	t->machine_end = machine_time(t);
}

static void pass_edge(struct test *t, struct agenda *a, bool final)
{
	int k = crew_edges(t->crew);

	crew_edge(t->crew, final, t->start);
	/* No driver that takes its time may delay the edge. */
	if (k && k == a->window && !final)
		read_network(t, &t->net_start);
	await_settled(t);
	if (final && t->net_start.when)
		read_network(t, &t->net_end);
	a->next++;
	if (crew_settled(t->crew))
		note_edge(t, a, k);
	/* A row that would end right here has just been closed. */
	while (a->tick <= t->series.edge + NSEC_PER_MSEC / 2)
		a->tick += t->options->interval;
}

/* The line of --iostat-ms for what was moved since the last one. */
static void show_stat(struct test *t, struct agenda *a)
{
	struct io_counts all = crew_counts(t->crew), *last = &t->stat;
	const struct io_counts moved = {
		.tx_bytes = all.tx_bytes - last->tx_bytes,
		.rx_bytes = all.rx_bytes - last->rx_bytes,
		.tx_transfers = all.tx_transfers - last->tx_transfers,
		.rx_transfers = all.rx_transfers - last->rx_transfers,
		.tx_again = all.tx_again - last->tx_again,
		.rx_again = all.rx_again - last->rx_again,
	};
	nsec_t now = clock_now();

	sink_iostat(t->sink, now - t->start,
		    now - (t->stat_edge ? t->stat_edge : t->start), &moved);
	t->stat = all;
	t->stat_edge = now;
	while (a->stat <= now)
		a->stat += t->options->iostat_ms * NSEC_PER_MSEC;
}

static void tick(struct test *t, struct agenda *a)
{
	struct usage now = usage_process();

	close_row(t, clock_now(), -1, &now, a->next <= a->window);
	while (a->tick <= clock_now())
		a->tick += t->options->interval;
}

/*
 * With a limit of bytes the run is over when everything has been received, at
 * either end; each says so of its own part.
 */
static bool all_moved(struct test *t)
{
	struct message done = { .type = MESSAGE_DONE };
	int i;

	if (!t->transfer.limit || crew_satisfied(t->crew) + crew_dead(t->crew) <
					  (unsigned)t->receiving)
		return false;
	if (t->receiving && !t->done_told) {
		t->done_told = true;
		test_tell(t, &done);
	}
	for (i = 0; t->sends && i < t->n_peers; i++) {
		if (!t->peers[i].done)
			return false;
	}
	return true;
}

static void begin_report(const struct test *t)
{
	const struct options *o = t->options;
	const struct report_start start = {
		.client = t->client,
		.test = t->index,
		.uuid = t->uuid,
		.title = o->title,
		.participants = t->participants,
		.participant = t->client ? t->participant : -1,
		.flows = t->flows,
		.c2s_flows = t->client ? t->sending : t->receiving,
		.s2c_flows = t->client ? t->receiving : t->sending,
		.start = t->start,
		.wall = clock_wall() + (t->start - clock_now()),
		.length = t->untimed ? 0 : o->test_length,
		.warmup = o->warmup,
		.interval = o->interval,
		.agreement = &t->agreement,
	};

	sink_begin(t->sink, &start);
}

/* The next thing that is due while flows run. */
static nsec_t next_instant(const struct agenda *a)
{
	nsec_t at = a->edges[a->next];

	if (a->tick < at)
		at = a->tick;
	return a->stat < at ? a->stat : at;
}

void test_measure(struct test *t)
{
	struct message stop = { .type = MESSAGE_STOP };
	struct agenda a;

	make_agenda(&a, t);
	find_interface(t);
	/* Flows are silent before the start, so that this is early enough. */
	if (!a.window)
		read_network(t, &t->net_start);
	begin_report(t);
	while (!t->early[0]) {
		nsec_t now = clock_now(), edge = a.edges[a.next];

		if (now >= edge && a.next == a.n_edges - 1)
			break;
		if (a.next > 0 && all_moved(t)) {
			t->moved = true;
			break;
		}
		if (now >= edge)
			pass_edge(t, &a, false);
		else if (a.next > 0 && now >= a.tick && a.tick < edge)
			tick(t, &a);
		else if (a.next > 0 && now >= a.stat && a.stat < edge)
			show_stat(t, &a);
		else
			test_wait(t, a.next > 0 ? next_instant(&a) : edge);
	}
	pass_edge(t, &a, true);
	if (t->options->iostat_ms && a.next > 1)
		show_stat(t, &a); /* the rest */
	if (t->early[0]) {
		(void)snprintf(stop.reason, sizeof(stop.reason), "%s",
			       t->early);
		test_tell(t, &stop);
	}
}

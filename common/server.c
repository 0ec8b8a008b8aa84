/* SPDX-License-Identifier: Apache-2.0 */
/* The server: wait, take the flows, run, report, serve again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/measure/netstat.h"
#include "common/outcome.h"
#include "common/plan/limits.h"
#include "common/server.h"
#include "common/server_agree.h"
#include "common/server_listen.h"

/* Start is announced this long ahead, besides the round trip. */
#define START_AHEAD (10 * NSEC_PER_MSEC)

/* Tell each participant how many of its flows are here, when it matters. */
static void tell_progress(struct server *s)
{
	struct test *t = &s->test;
	int step = limits_backlog((int)s->own->listen_backlog) / 8 + 1, i;

	for (i = 0; i < s->joined; i++) {
		struct message m = { .type = MESSAGE_FLOWS,
				     .have = s->have[i],
				     .of = t->flows };
		bool full = s->have[i] == t->flows;

		if (t->peers[i].link < 0 || s->have[i] == s->told[i])
			continue;
		if (!full && s->have[i] - s->told[i] < step)
			continue;
		/* "All here" is said when the workers have them too. */
		if (full)
			crew_flush(t->crew);
		(void)hub_send(t->hub, t->peers[i].link, &m);
		s->told[i] = s->have[i];
	}
}

static bool gathered(const struct server *s)
{
	return s->joined == s->test.n_peers &&
	       acceptor_taken(s->acceptor) == s->test.n_peers * s->test.flows;
}

/* Wait for all participants and flows. 0, or -1 with t->early. */
static int gather(struct server *s)
{
	struct test *t = &s->test;

	while (!gathered(s)) {
		const struct fault *f = acceptor_fault(s->acceptor);

		tell_progress(s);
		if (f->text[0])
			test_end_early(t, "%.150s", f->text);
		if (clock_now() >= s->gathering)
			test_end_early(t,
				       "%d of %d clients and %d of %d flows "
				       "came in time",
				       s->joined, t->n_peers,
				       acceptor_taken(s->acceptor),
				       t->n_peers * t->flows);
		if (t->early[0])
			return -1;
		test_wait(t, s->gathering);
	}
	tell_progress(s);
	t->local.connect_phase = clock_now() - s->first_flow;
	t->local.listen_overflows =
		(int64_t)(netstat_listen_overflows() - s->overflows);
	return 0;
}

/* Name one instant to all, each on its own clock. 0, or -1 with t->early. */
static int announce(struct server *s)
{
	struct test *t = &s->test;
	nsec_t trip = 0;
	int i;

	if (test_compare_clocks(t, false, clock_now() + s->own->idle_timeout))
		test_end_early(t, "a client does not answer");
	if (t->early[0])
		return -1;
	for (i = 0; i < t->n_peers; i++) {
		if (t->peers[i].before.bound > trip)
			trip = t->peers[i].before.bound;
	}
	t->start = clock_now() + START_AHEAD + 4 * trip;
	for (i = 0; i < t->n_peers; i++) {
		struct message m = { .type = MESSAGE_START,
				     .match = t->peers[i].before };

		m.time = t->start + m.match.offset;
		(void)hub_send(t->hub, t->peers[i].link, &m);
	}
	t->started = s->announced = true;
	if (s->own->suicide_length)
		t->deadline = clock_now() + s->own->suicide_length;
	return 0;
}

/* The test did not come to its start: everybody is told why. */
static void call_off(struct server *s)
{
	struct message stop = { .type = MESSAGE_STOP };

	(void)snprintf(stop.reason, sizeof(stop.reason), "%s", s->test.early);
	test_tell(&s->test, &stop);
	/* No test was used up, so the status does not hear of it. */
	sink_warn(&s->run->sink, "test called off: %s", s->test.early);
}

static void drop_peers(struct server *s)
{
	int i;

	for (i = 0; i < s->test.n_peers; i++) {
		if (s->test.peers[i].link >= 0)
			hub_drop(s->hub, s->test.peers[i].link);
	}
}

static void run_test(struct server *s, enum status *status)
{
	struct test *t = &s->test;

	test_measure(t);
	if (test_collect(t)) {
		*status = outcome_lost(s->run, t);
		return;
	}
	test_exchange(t);
	*status =
		outcome_report(s->run, t,
			       s->strangers + acceptor_strangers(s->acceptor) +
				       hub_strangers(s->hub));
}

/* Wait for a hello and carry its test out. True when a test was used up. */
static bool serve_one(struct server *s, enum status *status)
{
	bool used = false;

	if (!gather(s) && !announce(s)) {
		used = true;
		run_test(s, status);
	} else {
		call_off(s);
	}
	drop_peers(s);
	server_end_test(s);
	return used;
}

/* Idle: newcomers are answered until one of them begins a test. */
static void idle(struct server *s)
{
	struct phase *phase = &s->run->phase;
	struct hub_event event;

	while (!s->agreed && !phase->signal && s->acceptor) {
		nsec_t now = clock_now(), at = hub_tick(s->hub, now);
		nsec_t data = server_tend(s, now);

		if (s->agreed || !s->acceptor)
			return; /* one that was held has begun a test */
		(void)phase_wait(phase, at < data ? at : data);
		do {
			hub_next(s->hub, &event);
			if (event.what != HUB_NOTHING)
				server_hear_other(s, &event);
		} while (event.what != HUB_NOTHING);
	}
}

static int reopen(struct server *s)
{
	memset(&s->fault, 0, sizeof(s->fault));
	return server_listen_data(s, NULL, (int)s->own->num_ports);
}

static enum status give_up(struct server *s)
{
	sink_fail(&s->run->sink, STATUS_FAILED, "failed", &s->fault);
	return STATUS_FAILED;
}

static enum status serve(struct server *s)
{
	enum status worst = STATUS_OK;
	int64_t left = s->own->persistent ? INT64_MAX : s->own->num_tests;

	s->index = left > 1 ? 1 : 0;
	while (left > 0) {
		enum status one = STATUS_OK;

		idle(s);
		if (!s->acceptor) {
			/* Somebody took the data port between two tests. */
			return give_up(s);
		}
		if (!s->agreed)
			break;
		if (serve_one(s, &one)) {
			left--;
			s->index += s->index > 0;
		}
		if (one > worst)
			worst = one;
		if (s->run->phase.signal)
			break;
		if (left > 0 && reopen(s))
			return give_up(s);
	}
	return worst;
}

enum status server_run(struct run *run)
{
	struct server *s = calloc(1, sizeof(*s));
	enum status status = STATUS_FAILED;

	if (!s) {
		complain("out of memory");
		return STATUS_FAILED;
	}
	s->run = run;
	s->own = run->options;
	if (server_open(s)) {
		status = give_up(s);
	} else {
		sink_options(&run->sink, addr_port(&s->addrs[0]), s->port);
		status = serve(s);
	}
	server_close(s);
	free(s);
	return status;
}

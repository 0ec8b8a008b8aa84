/* SPDX-License-Identifier: Apache-2.0 */
/* One agreed test at this end: prepared, listened to, released. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/result_wire.h"
#include "common/plan/limits.h"
#include "common/plan/topo.h"
#include "common/test.h"

/* ---- preparing ---- */

/* What the flows do at this end: bits of enum flow_role; counts both kinds. */
static unsigned roles_of_all(struct test *t)
{
	unsigned roles = 0, one;
	int i;

	for (i = 0; i < t->flows; i++) {
		one = t->workload->roles(t->agreement.values, t->client, i);
		roles |= one;
		if (one & FLOW_SENDS)
			t->sending += t->n_peers;
		if (one & FLOW_RECEIVES)
			t->receiving += t->n_peers;
	}
	t->sends = roles & FLOW_SENDS;
	return roles;
}

nsec_t test_length(const struct workload *w, const void *values,
		   bool length_given)
{
	const struct options *o = values;
	struct transfer transfer;

	w->transfer(values, &transfer);
	return transfer.limit && !length_given ? 0 : o->test_length;
}

/* Was -l given, here or at the other end? */
static bool length_given(const struct test *t)
{
	int i = opt_find(t->agreement.list, "test-length");

	return t->agreement.by[i] != AGREE_DEFAULT;
}

static int make_plan(struct test *t, const struct test_place *place,
		     struct fault *fault)
{
	const struct options *o = t->options;
	struct plan_request rq = {
		.flows = t->flows * t->n_peers,
		.threads = (int)o->num_threads,
		.pin = options_pin(o),
		.deal = (enum deal)o->deal,
		.other_end = !t->client && place->same_host,
		.same_host = place->same_host,
		.interface = place->interface,
		.memory = { .policy = MEMORY_LOCAL },
		.huge_pages = o->huge_pages,
		.strict = o->strict,
	};
	struct topo *topo;

	if (o->mem && memory_parse(o->mem, &rq.memory, fault))
		return -1;
	topo = topo_load(fault);
	if (!topo)
		return -1;
	t->plan = plan_make(&rq, topo, fault);
	topo_free(topo);
	return t->plan ? 0 : -1;
}

int test_prepare(struct test *t, const struct test_place *place,
		 struct fault *fault)
{
	struct crew_request rq = {
		.workload = t->workload,
		.options = t->agreement.values,
		.transfer = &t->transfer,
		.maxevents = (int)t->options->maxevents,
		.windows = 2,
		.opens = t->options->warmup ? 1 : 0,
		.strict = t->options->strict,
	};
	unsigned roles = roles_of_all(t);

	if (make_plan(t, place, fault) ||
	    limits_descriptors(t->plan->flows, t->plan->n_workers, fault))
		return -1;
	t->workload->transfer(t->agreement.values, &t->transfer);
	t->untimed =
		!test_length(t->workload, t->agreement.values, length_given(t));
	t->socks.sends = roles & FLOW_SENDS;
	t->socks.zerocopy = t->transfer.zerocopy;
	if (sock_plan(&t->socks, t->options, place->family, t->plan->flows,
		      agree_by_name, &t->agreement, &t->plan->warnings, fault))
		return -1;
	t->transfer.zerocopy = t->socks.zerocopy;
	rq.plan = t->plan;
	rq.sends = roles & FLOW_SENDS;
	rq.receives = roles & FLOW_RECEIVES;
	t->crew = crew_start(&rq, &t->plan->warnings, fault);
	if (!t->crew)
		return -1;
	t->phase->crew_fd = crew_fd(t->crew);
	return 0;
}

void test_free(struct test *t)
{
	int i;

	crew_free(t->crew);
	if (t->phase)
		t->phase->crew_fd = -1;
	for (i = 0; i < t->n_peers && t->peers; i++)
		end_result_free(&t->peers[i].result);
	free(t->peers);
	free(t->flow_counts);
	end_result_free(&t->local);
	netdev_free(&t->net_start);
	netdev_free(&t->net_end);
	plan_free(t->plan);
	agree_free(&t->agreement);
	memset(t, 0, sizeof(*t));
}

/* ---- listening ---- */

void test_end_early(struct test *t, const char *fmt, ...)
{
	va_list ap;

	if (t->early[0])
		return;
	va_start(ap, fmt);
	(void)vsnprintf(t->early, sizeof(t->early), fmt, ap);
	va_end(ap);
}

static struct test_peer *peer_of(struct test *t, int link)
{
	int i;

	for (i = 0; i < t->n_peers; i++) {
		if (t->peers[i].link == link)
			return &t->peers[i];
	}
	return NULL;
}

static const char *other_role(const struct test *t)
{
	return t->client ? "server" : "client";
}

static void lose_peer(struct test *t, struct test_peer *p,
		      const struct hub_event *event)
{
	p->link = -1;
	/* After the exchange it may go whenever it likes. */
	if (p->have_result && p->bye)
		return;
	if (t->symptom)
		t->early[0] = 0; /* this is the cause */
	t->symptom = false;
	test_end_early(t, "%s lost: %.120s", other_role(t), event->why);
}

static void ask_time(struct test *t, struct test_peer *p)
{
	struct message ping = { .type = MESSAGE_PING, .seq = p->pings };

	p->asked = clock_now();
	(void)hub_send(t->hub, p->link, &ping); /* a failure shows as lost */
}

static void hear_pong(struct test *t, struct test_peer *p,
		      const struct message *m)
{
	struct clock_match *match = t->after ? &p->after : &p->before;
	nsec_t trip = clock_now() - p->asked;

	if (m->seq != p->pings || p->pings >= TEST_PINGS)
		return; /* an answer to nothing */
	if (!match->known || trip / 2 < match->bound) {
		match->known = true;
		match->bound = trip / 2;
		match->offset = m->time - (p->asked + trip / 2);
	}
	if (++p->pings < TEST_PINGS)
		ask_time(t, p);
}

static void hear_result(struct test *t, struct test_peer *p, struct message *m)
{
	bool ours = m->part > 1 || m->result->n_flows == t->flows;
	int got = ours ? result_wire_add(&p->result, m->result, m->part,
					 m->parts) :
			 -1;

	if (got < 0) {
		hub_drop(t->hub, p->link);
		p->link = -1;
		test_end_early(t, "%s sent a result that does not fit",
			       other_role(t));
	}
	p->have_result = got > 0;
}

/* No clock comparison is wrong by so much. */
#define START_FAR (600 * NSEC_PER_SEC)

static void hear_start(struct test *t, struct test_peer *p,
		       const struct message *m)
{
	nsec_t ahead = m->time - clock_now();

	if (t->started || !t->client)
		return; /* once, and from the server only */
	if (ahead > START_FAR || ahead < -START_FAR) {
		test_end_early(t,
			       "the server names a start that is %.0f s "
			       "away",
			       (double)ahead / 1e9);
		return;
	}
	t->start = m->time;
	t->started = true;
	p->before.known = true;
	/* It told our clock minus its own; kept the other way round. */
	p->before.offset = -m->match.offset;
	p->before.bound = m->match.bound;
}

static void hear_message(struct test *t, struct test_peer *p, struct message *m)
{
	struct message pong = { .type = MESSAGE_PONG,
				.seq = m->seq,
				.time = clock_now() };

	switch (m->type) {
	case MESSAGE_PING:
		(void)hub_send(t->hub, p->link, &pong); /* shows as lost */
		break;
	case MESSAGE_PONG:
		hear_pong(t, p, m);
		break;
	case MESSAGE_FLOWS:
		t->confirmed = m->have;
		break;
	case MESSAGE_START:
		hear_start(t, p, m);
		break;
	case MESSAGE_ROW:
		p->row = m->row;
		sink_peer_row(t->sink, (int)(p - t->peers), &p->row,
			      t->start + p->before.offset);
		break;
	case MESSAGE_DONE:
		p->done = true;
		break;
	case MESSAGE_STOP:
		test_end_early(t, "%s: %s", other_role(t), m->reason);
		break;
	case MESSAGE_RESULT:
		hear_result(t, p, m);
		break;
	case MESSAGE_BYE:
		p->bye = true;
		break;
	case MESSAGE_REFUSE:
		test_end_early(t, "%s: %s", other_role(t), m->refuse.text);
		break;
	case MESSAGE_HELLO:
	case MESSAGE_ACCEPT:
	case MESSAGE_ALIVE:
	case MESSAGE_TYPES:
		break; /* nothing to do in a running test */
	}
}

void test_hear(struct test *t, struct hub_event *event)
{
	struct test_peer *p = peer_of(t, event->peer);

	if (!p) {
		if (t->host.other)
			t->host.other(t->host.arg, event);
		else
			message_free(event->message);
		return;
	}
	if (event->what == HUB_LOST)
		lose_peer(t, p, event);
	else
		hear_message(t, p, event->message);
	message_free(event->message);
}

void test_tell(struct test *t, const struct message *m)
{
	int i;

	for (i = 0; i < t->n_peers; i++) {
		if (t->peers[i].link >= 0)
			(void)hub_send(t->hub, t->peers[i].link, m);
	}
}

static void watch_crew(struct test *t)
{
	const struct fault *f;

	crew_listen(t->crew);
	f = crew_fault(t->crew);
	if (f) {
		test_end_early(t, "%.150s", f->text);
		t->failed = true;
	}
	if (!t->early[0] && crew_dead(t->crew) == (unsigned)t->plan->flows) {
		test_end_early(t, "all flows were lost");
		t->symptom = true;
	}
}

static nsec_t earlier(nsec_t a, nsec_t b)
{
	return a < b ? a : b;
}

void test_wait(struct test *t, nsec_t deadline)
{
	nsec_t now = clock_now();
	struct hub_event event;
	unsigned seen;

	deadline = earlier(deadline, hub_tick(t->hub, now));
	if (t->host.data)
		deadline = earlier(deadline, t->host.data(t->host.arg, now));
	if (!t->early[0])
		deadline = earlier(deadline, t->deadline);
	seen = phase_wait(t->phase, deadline);
	/* At once, so that the caller sees what the event has changed. */
	if ((seen & PHASE_DATA) && t->host.data)
		(void)t->host.data(t->host.arg, clock_now());
	if (seen & PHASE_SIGNAL)
		test_end_early(t, "interrupted by %s",
			       phase_signal_name(t->phase));
	if (clock_now() >= t->deadline)
		test_end_early(t, "--suicide-length passed");
	do {
		hub_next(t->hub, &event);
		if (event.what != HUB_NOTHING)
			test_hear(t, &event);
	} while (event.what != HUB_NOTHING);
	if ((seen & PHASE_CREW) && t->crew)
		watch_crew(t);
}

/* ---- clocks ---- */

int test_compare_clocks(struct test *t, bool after, nsec_t deadline)
{
	int i, open;

	t->after = after;
	for (i = 0; i < t->n_peers; i++) {
		t->peers[i].pings = 0;
		if (t->peers[i].link >= 0)
			ask_time(t, &t->peers[i]);
	}
	do {
		open = 0;
		for (i = 0; i < t->n_peers; i++)
			open += t->peers[i].link >= 0 &&
				t->peers[i].pings < TEST_PINGS;
		if (!open)
			return 0;
		test_wait(t, deadline);
	} while (clock_now() < deadline && (after || !t->early[0]));
	return -1;
}

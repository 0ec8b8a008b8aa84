/* SPDX-License-Identifier: Apache-2.0 */
/* The server: listen, agree, take the flows, run, report, serve again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/control/admit.h"
#include "common/engine/acceptor.h"
#include "common/host.h"
#include "common/measure/netstat.h"
#include "common/outcome.h"
#include "common/plan/limits.h"
#include "common/report/kv.h"
#include "common/server.h"
#include "common/test.h"

#define SERVER_ADDRS 4

/* Start is announced this long ahead, besides the round trip. */
#define START_AHEAD (10 * NSEC_PER_MSEC)

struct server {
	struct run *run;
	const struct options *own; /* own command line */
	struct admit_rules rules;
	struct hub *hub;
	struct addr addrs[SERVER_ADDRS]; /* control; with real ports */
	int listeners[SERVER_ADDRS], n_addrs;
	bool v6only;
	int port; /* real data port */
	struct acceptor *acceptor;
	int strangers; /* of acceptors closed since */
	/* the test under way */
	struct test test;
	bool agreed; /* test is prepared */
	int joined; /* participants that were accepted */
	bool announced; /* the start was told: the test is used up */
	nsec_t gathering; /* deadline for participants and flows */
	uint8_t cookie[PREAMBLE_COOKIE];
	int *have, *told; /* owned: flows of each participant */
	char boot_id[40];
	uint64_t overflows; /* of the host's listeners before the test */
	nsec_t first_flow;
	int index; /* number of the test */
	struct fault fault;
};

/* ---- listening ---- */

static int find_addrs(struct server *s)
{
	const struct options *o = s->own;
	int family = o->ipv4 ? AF_INET : o->ipv6 ? AF_INET6 : AF_UNSPEC;
	int n = addr_resolve(o->host, (int)o->control_port, family, true,
			     s->addrs, SERVER_ADDRS, &s->fault);
	int i;

	if (n < 0)
		return -1;
	s->n_addrs = n;
	s->v6only = o->ipv6;
	if (o->host || o->ipv4 || o->ipv6)
		return 0;
	/* One IPv6 listener takes both families, where there is IPv6. */
	for (i = 0; i < n; i++) {
		if (s->addrs[i].sa.sa_family == AF_INET6) {
			s->addrs[0] = s->addrs[i];
			break;
		}
	}
	s->n_addrs = 1;
	return 0;
}

static int listen_control(struct server *s)
{
	const struct options *o = s->own;
	int i, port = (int)o->control_port;

	for (i = 0; i < s->n_addrs; i++) {
		addr_set_port(&s->addrs[i], port);
		s->listeners[i] = sock_listen(&s->addrs[i], NULL,
					      (int)o->listen_backlog, s->v6only,
					      o->freebind, &s->fault);
		if (s->listeners[i] < 0)
			return -1;
		if (hub_listen(s->hub, s->listeners[i], &s->fault))
			return -1;
		port = addr_port(&s->addrs[i]);
	}
	return 0;
}

/*
 * Open the data listeners anew, with the settings of a test or without: so
 * nothing of one test leaks into the next.
 */
static int listen_data(struct server *s, struct sock_plan *plan, int ports)
{
	struct acceptor_request rq = {
		.addrs = s->addrs,
		.n_addrs = s->n_addrs,
		.port = s->port,
		.n_ports = ports,
		.backlog = (int)s->own->listen_backlog,
		.v6only = s->v6only,
		.freebind = s->own->freebind,
		.plan = plan,
	};

	if (s->acceptor) {
		s->strangers += acceptor_strangers(s->acceptor);
		acceptor_close(s->acceptor);
		s->run->phase.data_fd = -1;
	}
	s->acceptor = acceptor_open(&rq, &s->fault);
	if (!s->acceptor)
		return -1;
	s->port = acceptor_port(s->acceptor, 0);
	s->run->phase.data_fd = acceptor_fd(s->acceptor);
	return 0;
}

static int server_open(struct server *s)
{
	int i;

	for (i = 0; i < SERVER_ADDRS; i++)
		s->listeners[i] = -1;
	s->port = (int)s->own->port;
	host_boot_id(s->boot_id, sizeof(s->boot_id));
	s->hub = hub_open(s->own->idle_timeout, &s->fault);
	if (!s->hub)
		return -1;
	s->run->phase.hub_fd = hub_fd(s->hub);
	if (admit_rules(&s->rules, s->run->workload->name, s->own, &s->fault) ||
	    find_addrs(s) || listen_control(s))
		return -1;
	return listen_data(s, NULL, (int)s->own->num_ports);
}

static void server_close(struct server *s)
{
	int i;

	for (i = 0; i < SERVER_ADDRS; i++) {
		if (s->listeners[i] >= 0)
			(void)close(s->listeners[i]); /* a listener */
	}
	acceptor_close(s->acceptor);
	hub_close(s->hub);
	s->run->phase.hub_fd = s->run->phase.data_fd = -1;
}

/* ---- agreeing ---- */

static void take_flow(void *arg, int participant, int flow, int fd)
{
	struct server *s = arg;
	struct test *t = &s->test;

	if (!s->first_flow)
		s->first_flow = clock_now();
	s->have[participant]++;
	crew_give(t->crew, participant * t->flows + flow, fd,
		  t->workload->roles(t->agreement.values, false, flow), 0);
}

static void serve_other(void *arg, struct hub_event *event);
static nsec_t serve_data(void *arg, nsec_t now);

static int fill_test(struct server *s, const struct message_hello *hello)
{
	struct test *t = &s->test;
	struct agree_line line = run_line(s->run);

	memset(t, 0, sizeof(*t));
	t->workload = s->run->workload;
	t->hub = s->hub;
	t->phase = &s->run->phase;
	t->human = &s->run->human;
	t->deadline = NSEC_NEVER;
	t->host = (struct test_host){ s, serve_other, serve_data };
	t->n_peers = (int)s->own->num_clients;
	t->peers = calloc((size_t)t->n_peers, sizeof(*t->peers));
	s->have = calloc((size_t)t->n_peers, sizeof(*s->have));
	s->told = calloc((size_t)t->n_peers, sizeof(*s->told));
	if (!t->peers || !s->have || !s->told)
		return fault_set(&s->fault, ENOMEM, "test");
	for (int i = 0; i < t->n_peers; i++)
		t->peers[i].link = -1;
	if (agree_serve(&t->agreement, &line, hello, &s->fault))
		return -1;
	t->options = t->agreement.values;
	if (t->workload->check(t->agreement.values, &s->fault))
		return -1;
	t->flows = t->workload->flows(t->agreement.values);
	if (t->flows != hello->flows)
		return fault_set(&s->fault, 0,
				 "the client counts %lld flows, this server %d",
				 (long long)hello->flows, t->flows);
	return 0;
}

/* Does what the client asks fit what this server was told? */
static int reconcile(struct server *s)
{
	return s->run->workload->reconcile(s->test.agreement.values,
					   s->run->values, &s->fault);
}

static int begin_test(struct server *s, const struct message_hello *hello,
		      int link)
{
	struct test *t = &s->test;
	struct addr local;
	char interface[64];
	struct test_place place = { .family = s->addrs[0].sa.sa_family };
	struct acceptor_test expected = { .take = take_flow, .arg = s };

	if (fill_test(s, hello) || reconcile(s))
		return -1;
	place.same_host = s->boot_id[0] && !strcmp(s->boot_id, hello->boot_id);
	if (!hub_local_address(s->hub, link, &local) &&
	    !addr_interface(&local, interface, sizeof(interface)))
		place.interface = interface;
	if (test_prepare(t, &place, &s->fault) ||
	    listen_data(s, &t->socks, (int)t->options->num_ports) ||
	    host_random(s->cookie, sizeof(s->cookie), &s->fault))
		return -1;
	expected.participants = t->n_peers;
	expected.flows = t->flows;
	memcpy(expected.cookie, s->cookie, sizeof(expected.cookie));
	if (acceptor_expect(s->acceptor, &expected))
		return fault_set(&s->fault, ENOMEM, "flows");
	s->overflows = netstat_listen_overflows();
	s->gathering = clock_now() + s->own->connect_timeout;
	s->agreed = true;
	return 0;
}

/* Do test options of @hello differ from those that were agreed first? */
static int same_test(struct server *s, const struct message_hello *hello)
{
	struct agreement other;
	struct agree_line line = run_line(s->run);
	char a[512], b[512];
	int failed = agree_serve(&other, &line, hello, &s->fault);
	size_t i;

	for (i = 0; i < line.list->n && !failed; i++) {
		if (line.list->opt[i]->scope != OPT_TEST)
			continue;
		(void)opt_text(line.list, i, other.values, a, sizeof(a));
		(void)opt_text(line.list, i, s->test.agreement.values, b,
			       sizeof(b));
		if (strcmp(a, b) != 0)
			failed = fault_set(&s->fault, 0,
					   "--%s: %s, but the first client of "
					   "this test has %s",
					   line.list->opt[i]->name, a, b);
	}
	agree_free(&other);
	return failed;
}

static int send_accept(struct server *s, int link)
{
	struct message *m = calloc(1, sizeof(*m));
	struct agree_line line = run_line(s->run);
	struct message_accept *a;
	int i, failed;

	if (!m)
		return fault_set(&s->fault, ENOMEM, "accept");
	m->type = MESSAGE_ACCEPT;
	a = &m->accept;
	a->version = MESSAGE_VERSION;
	(void)snprintf(a->boot_id, sizeof(a->boot_id), "%s", s->boot_id);
	host_name(a->host, sizeof(a->host));
	a->participant = s->joined;
	a->participants = s->test.n_peers;
	memcpy(a->cookie, s->cookie, sizeof(a->cookie));
	a->backlog = limits_backlog((int)s->own->listen_backlog);
	a->n_ports = acceptor_ports(s->acceptor);
	for (i = 0; i < a->n_ports; i++)
		a->ports[i] = (uint16_t)acceptor_port(s->acceptor, i);
	failed = agree_answer(&s->test.agreement, &line, a) ||
		 hub_send(s->hub, link, m);
	message_free(m);
	return failed ? fault_set(&s->fault, 0, "cannot answer") : 0;
}

static void end_test(struct server *s)
{
	s->agreed = s->announced = false;
	s->joined = 0;
	s->first_flow = 0;
	test_free(&s->test);
	free(s->have);
	free(s->told);
	s->have = s->told = NULL;
}

/* A stranger says hello: it becomes a participant, or is refused. */
static void hear_hello(struct server *s, int link,
		       const struct message_hello *hello)
{
	const char *program = s->run->workload->name;
	int code;

	memset(&s->fault, 0, sizeof(s->fault));
	code = admit(&s->rules, hello, hub_address(s->hub, link), &s->fault);
	if (!code && s->agreed && s->joined == s->test.n_peers) {
		hub_refuse(s->hub, link, program, REFUSAL_BUSY,
			   "busy with another test");
		return;
	}
	if (!code &&
	    (s->agreed ? same_test(s, hello) : begin_test(s, hello, link)))
		code = REFUSAL_OPTION;
	if (!code && send_accept(s, link))
		code = REFUSAL_FAILED;
	if (code) {
		hub_refuse(s->hub, link, program, code, "%s", s->fault.text);
		if (!s->joined && s->test.workload) {
			end_test(s);
			(void)listen_data(s, NULL, (int)s->own->num_ports);
		}
		return;
	}
	hub_know(s->hub, link);
	s->test.peers[s->joined++].link = link;
}

/* An event of a connection that takes no part in a test (yet). */
static void serve_other(void *arg, struct hub_event *event)
{
	struct server *s = arg;
	struct message *m = event->message;

	if (event->what == HUB_MESSAGE && m->type == MESSAGE_HELLO)
		hear_hello(s, event->peer, &m->hello);
	else if (event->what == HUB_MESSAGE && m->type != MESSAGE_ALIVE)
		hub_refuse(s->hub, event->peer, s->run->workload->name,
			   REFUSAL_FAILED, "\"%s\" before a hello",
			   message_name(m->type));
	message_free(m);
}

static nsec_t serve_data(void *arg, nsec_t now)
{
	struct server *s = arg;

	return acceptor_run(s->acceptor, now);
}

/* ---- one test ---- */

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
	human_say(&s->run->human, "test called off: %s", s->test.early);
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
		*status = STATUS_FAILED;
		complain("%s", t->early);
		return;
	}
	test_exchange(t);
	*status =
		outcome_report(s->run, t, s->index,
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
	end_test(s);
	return used;
}

/* Idle: newcomers are answered until one of them begins a test. */
static void idle(struct server *s)
{
	struct phase *phase = &s->run->phase;
	struct hub_event event;

	while (!s->agreed && !phase->signal) {
		nsec_t now = clock_now(), at = hub_tick(s->hub, now);
		nsec_t data = acceptor_run(s->acceptor, now);

		(void)phase_wait(phase, at < data ? at : data);
		do {
			hub_next(s->hub, &event);
			if (event.what != HUB_NOTHING)
				serve_other(s, &event);
		} while (event.what != HUB_NOTHING);
	}
}

static int reopen(struct server *s)
{
	memset(&s->fault, 0, sizeof(s->fault));
	return listen_data(s, NULL, (int)s->own->num_ports);
}

static enum status serve(struct server *s)
{
	enum status worst = STATUS_OK;
	int64_t left = s->own->persistent ? INT64_MAX : s->own->num_tests;

	s->index = left > 1 ? 1 : 0;
	while (left > 0) {
		enum status one = STATUS_OK;

		idle(s);
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
		if (left > 0 && reopen(s)) {
			complain("%s", s->fault.text);
			return STATUS_FAILED;
		}
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
		complain("%s", s->fault.text);
	} else {
		kv_options(&run->list, run->values, addr_port(&s->addrs[0]),
			   s->port);
		human_say(&run->human, "listening on port %d, data on port %d",
			  addr_port(&s->addrs[0]), s->port);
		status = serve(s);
	}
	server_close(s);
	free(s);
	return status;
}

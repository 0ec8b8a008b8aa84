/* SPDX-License-Identifier: Apache-2.0 */
/* The client: reach the server, agree, open the flows, run, report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/client.h"
#include "common/control/reach.h"
#include "common/engine/connector.h"
#include "common/host.h"
#include "common/outcome.h"
#include "common/plan/limits.h"
#include "common/test.h"

#define CLIENT_LOCALS 1024

/* State of one run of the client. */
struct client {
	struct run *run;
	const struct options *own; /* own command line */
	struct hub *hub;
	int link; /* of the server in the hub */
	struct addr server; /* of the control connection */
	char where[ADDR_TEXT]; /* the same as text, with port */
	struct message_accept accept;
	struct message *answer; /* holds what accept borrows */
	struct addr data[MESSAGE_PORTS]; /* data addresses */
	int n_data;
	struct addr *locals; /* -L; owned, CLIENT_LOCALS */
	int n_locals;
	struct test test;
	struct connector *connector;
	char uuid[40]; /* of the test */
	const char *kind; /* of the fault where the server answered */
	struct fault fault; /* why no test came about */
};

static int client_family(const struct options *o)
{
	if (o->ipv4)
		return AF_INET;
	return o->ipv6 ? AF_INET6 : AF_UNSPEC;
}

/* ---- reaching the server ---- */

/* First -L entry of @family, as the source of the control connection. */
static int first_local(struct client *c, const struct addr *to,
		       struct addr *out)
{
	int n;

	if (!c->own->local_hosts)
		return 0;
	n = addr_list(c->own->local_hosts, to->sa.sa_family, c->locals,
		      CLIENT_LOCALS, &c->fault);
	if (n < 0)
		return -1;
	c->n_locals = n;
	*out = c->locals[0];
	return 1;
}

static int connect_control(struct client *c)
{
	const struct options *o = c->own;
	const char *host = o->control_host ? o->control_host : o->host;
	struct addr addrs[REACH_ADDRS], local;
	struct phase *phase = &c->run->phase;
	struct reach reach;
	nsec_t again = 0;
	int fd = -1, n, bound;

	n = addr_resolve(host, (int)o->control_port, client_family(o), false,
			 addrs, REACH_ADDRS, &c->fault);
	if (n < 0)
		return -1;
	bound = first_local(c, &addrs[0], &local);
	if (bound < 0 ||
	    reach_open(&reach, addrs, n, bound ? &local : NULL,
		       clock_now() + o->connect_timeout, &c->fault))
		return -1;
	phase->data_fd = reach.epoll_fd;
	for (;;) {
		fd = reach_step(&reach, &again, &c->fault);
		if (fd != -1)
			break;
		if (phase_wait(phase, again) & PHASE_SIGNAL) {
			(void)fault_set(&c->fault, 0, "interrupted by %s",
					phase_signal_name(phase));
			break;
		}
	}
	phase->data_fd = -1;
	reach_close(&reach);
	return fd < 0 ? -1 : fd;
}

static void fill_hello(const struct client *c, struct message_hello *h)
{
	const struct options *o = c->own;
	bool given = opt_was_given(
		&c->run->given, (size_t)opt_find(&c->run->list, "test-length"));

	h->version_min = h->version_max = MESSAGE_VERSION;
	(void)snprintf(h->program, sizeof(h->program), "%s",
		       c->run->workload->name);
	host_name(h->host, sizeof(h->host));
	host_boot_id(h->boot_id, sizeof(h->boot_id));
	h->flows = c->run->workload->flows(c->run->values);
	if (o->warmup)
		h->windows[h->n_windows++] =
			(struct message_window){ true, o->warmup };
	h->windows[h->n_windows++] = (struct message_window){
		false, test_length(c->run->workload, c->run->values, given)
	};
}

static int say_hello(struct client *c)
{
	struct message *m = calloc(1, sizeof(*m));
	struct agree_line line = run_line(c->run);
	int failed;

	if (!m)
		return fault_set(&c->fault, ENOMEM, "hello");
	m->type = MESSAGE_HELLO;
	fill_hello(c, &m->hello);
	(void)host_uuid(m->hello.uuid, sizeof(m->hello.uuid), &c->fault);
	(void)snprintf(c->uuid, sizeof(c->uuid), "%s", m->hello.uuid);
	failed = c->fault.text[0] || agree_ask(&line, &m->hello) ||
		 hub_send(c->hub, c->link, m);
	message_free(m);
	if (failed)
		return fault_set(&c->fault, 0, "cannot say hello to %s",
				 c->where);
	return 0;
}

/* An event before the answer: 1 answer, 2 busy, 0 nothing, -1 over. */
static int weigh_answer(struct client *c, struct hub_event *e)
{
	struct message *m = e->message;

	if (e->what == HUB_LOST) {
		if (e->foreign)
			return fault_set(&c->fault, 0,
					 "peer is not a %s server: %s",
					 c->run->workload->name, e->why);
		return fault_set(&c->fault, 0, "%s (during the handshake)",
				 e->why);
	}
	if (m->type == MESSAGE_ACCEPT) {
		c->answer = m;
		c->accept = m->accept;
		return 1;
	}
	if (m->type == MESSAGE_REFUSE)
		c->kind = m->refuse.code == REFUSAL_BUSY ? "busy" : "refused";
	if (m->type == MESSAGE_REFUSE && m->refuse.code == REFUSAL_BUSY) {
		(void)fault_set(&c->fault, 0, "%s: %s", c->where,
				m->refuse.text);
		message_free(m);
		return 2;
	}
	if (m->type == MESSAGE_REFUSE)
		(void)fault_set(&c->fault, 0, "%s refused: %s", c->where,
				m->refuse.text);
	message_free(m);
	return c->fault.text[0] ? -1 : 0;
}

/* Wait for the server's word on the hello; as weigh_answer(). */
static int await_answer(struct client *c)
{
	nsec_t limit = clock_now() + c->own->connect_timeout;
	struct phase *phase = &c->run->phase;
	struct hub_event e;
	int got = 0;

	while (!got) {
		nsec_t at = hub_tick(c->hub, clock_now());

		if (phase_wait(phase, at < limit ? at : limit) & PHASE_SIGNAL)
			return fault_set(&c->fault, 0, "interrupted by %s",
					 phase_signal_name(phase));
		do {
			hub_next(c->hub, &e);
			if (e.what != HUB_NOTHING)
				got = weigh_answer(c, &e);
		} while (!got && e.what != HUB_NOTHING);
		if (!got && clock_now() >= limit)
			return fault_set(&c->fault, ETIMEDOUT,
					 "%s does not answer the hello",
					 c->where);
	}
	return got;
}

/* One attempt to agree a test: 1 agreed, 2 busy, -1 with a fault. */
static int ask_once(struct client *c)
{
	int fd = connect_control(c);

	if (fd < 0)
		return -1;
	c->link = hub_add(c->hub, fd, &c->fault);
	if (c->link < 0)
		return -1;
	c->server = *hub_address(c->hub, c->link);
	(void)addr_text(&c->server, true, c->where, sizeof(c->where));
	return say_hello(c) ? -1 : await_answer(c);
}

static int ask(struct client *c)
{
	nsec_t limit = clock_now() + c->own->wait_busy;
	int got;

	for (;;) {
		got = ask_once(c);
		if (got != 2 || clock_now() >= limit)
			return got == 1 ? 0 : -1;
		hub_drop(c->hub, c->link);
		memset(&c->fault, 0, sizeof(c->fault));
		c->kind = NULL;
		if (phase_wait(&c->run->phase,
			       clock_now() + 200 * NSEC_PER_MSEC) &
		    PHASE_SIGNAL)
			return fault_set(&c->fault, 0, "interrupted by %s",
					 phase_signal_name(&c->run->phase));
	}
}

/* ---- the flows ---- */

/* Where the data connections go: one address, the agreed ports. */
static int find_data(struct client *c)
{
	const struct options *o = c->own;
	struct addr base = c->server;
	bool given = opt_was_given(&c->run->given,
				   (size_t)opt_find(&c->run->list, "port"));
	/* A port that is not the server's own is a relay's. */
	bool relay = given && o->port != c->accept.ports[0];
	int i;

	if (o->control_host &&
	    addr_resolve(o->host, (int)o->port, client_family(o), false, &base,
			 1, &c->fault) < 0)
		return -1;
	c->n_data = c->accept.n_ports;
	for (i = 0; i < c->n_data; i++) {
		c->data[i] = base;
		addr_set_port(&c->data[i],
			      relay ? (int)o->port + i : c->accept.ports[i]);
	}
	return 0;
}

static int check_ports(struct client *c)
{
	struct port_range range = limits_range();

	if (c->own->source_port > 0)
		return 0; /* ports of our own, outside the range */
	return limits_ports(c->test.flows, c->n_locals ? c->n_locals : 1,
			    c->n_data, &range, &c->fault);
}

static void take_flow(void *arg, int flow, int fd, nsec_t connect_time)
{
	struct test *t = arg;

	crew_give(t->crew, flow, fd,
		  t->workload->roles(t->agreement.values, true, flow),
		  connect_time);
}

static int prepare(struct client *c)
{
	struct test *t = &c->test;
	struct agree_line line = run_line(c->run);
	char boot[40], interface[64];
	struct addr local = { .len = sizeof(local.ss) };
	struct test_place place = { .family = c->data[0].sa.sa_family };

	t->workload = c->run->workload;
	t->client = true;
	t->n_peers = 1;
	t->participant = (int)c->accept.participant;
	t->participants = (int)c->accept.participants;
	(void)snprintf(t->uuid, sizeof(t->uuid), "%s", c->uuid);
	t->hub = c->hub;
	t->phase = &c->run->phase;
	t->sink = &c->run->sink;
	t->peers = calloc(1, sizeof(*t->peers));
	if (!t->peers)
		return fault_set(&c->fault, ENOMEM, "test");
	t->peers[0].link = c->link;
	if (agree_join(&t->agreement, &line, &c->accept, &c->fault))
		return -1;
	t->options = t->agreement.values;
	t->flows = t->workload->flows(t->agreement.values);
	host_boot_id(boot, sizeof(boot));
	place.same_host = boot[0] && !strcmp(boot, c->accept.boot_id);
	if (!hub_local_address(c->hub, c->link, &local) &&
	    !addr_interface(&local, interface, sizeof(interface)))
		place.interface = interface;
	return check_ports(c) || test_prepare(t, &place, &c->fault) ? -1 : 0;
}

static int open_connector(struct client *c)
{
	struct test *t = &c->test;
	struct connector_request rq = {
		.plan = &t->socks,
		.peers = c->data,
		.n_peers = c->n_data,
		.locals = c->locals,
		.n_locals = c->n_locals,
		.source_port = (int)c->own->source_port,
		.family = c->data[0].sa.sa_family,
		.flows = t->flows,
		.window = (int)(c->accept.backlog / 2),
		.participant = (uint32_t)t->participant,
		.take = take_flow,
		.arg = t,
	};

	if (rq.window < 1)
		rq.window = 1;
	memcpy(rq.cookie, c->accept.cookie, sizeof(rq.cookie));
	c->connector = connector_open(&rq, &c->fault);
	return c->connector ? 0 : -1;
}

/* Did something end the test before it began? */
static int ended(struct client *c)
{
	if (!c->test.early[0])
		return 0;
	return fault_set(&c->fault, 0, "%s", c->test.early);
}

static int pause_before_flows(struct client *c)
{
	nsec_t until = clock_now() + c->own->wait_start;

	while (c->own->wait_start && clock_now() < until && !ended(c))
		test_wait(&c->test, until);
	return ended(c);
}

static int open_flows(struct client *c)
{
	nsec_t limit = clock_now() + c->own->connect_timeout;
	struct test *t = &c->test;

	if (open_connector(c))
		return -1;
	t->phase->data_fd = connector_fd(c->connector);
	while (t->confirmed < t->flows) {
		if (connector_run(c->connector, &c->fault) || ended(c))
			return -1;
		connector_confirm(c->connector, (int)t->confirmed);
		if (clock_now() >= limit)
			return fault_set(&c->fault, ETIMEDOUT,
					 "%lld of %d flows open after %.1f s",
					 (long long)t->confirmed, t->flows,
					 (double)c->own->connect_timeout / 1e9);
		test_wait(t, connector_can_begin(c->connector) ? 0 : limit);
		connector_confirm(c->connector, (int)t->confirmed);
	}
	crew_flush(t->crew);
	t->local.connect_phase = clock_now() - connector_began(c->connector);
	t->local.syn_retransmits = connector_retransmits(c->connector);
	return 0;
}

static int await_start(struct client *c)
{
	nsec_t limit = clock_now() + c->own->connect_timeout;

	c->run->phase.data_fd = -1;
	while (!c->test.started) {
		if (ended(c))
			return -1;
		if (clock_now() >= limit)
			return fault_set(&c->fault, ETIMEDOUT,
					 "the server does not start the test");
		test_wait(&c->test, limit);
	}
	return 0;
}

/* ---- all of it ---- */

static int agree(struct client *c)
{
	c->hub = hub_open(c->own->idle_timeout, &c->fault);
	c->locals = calloc(CLIENT_LOCALS, sizeof(*c->locals));
	if (!c->hub || !c->locals)
		return fault_set(&c->fault, ENOMEM, "client");
	c->run->phase.hub_fd = hub_fd(c->hub);
	return ask(c) || find_data(c) ? -1 : 0;
}

static int begin(struct client *c)
{
	nsec_t limit = c->own->suicide_length;

	c->test.deadline = limit ? clock_now() + limit : NSEC_NEVER;
	return prepare(c) || pause_before_flows(c) || open_flows(c) ||
			       await_start(c) ?
		       -1 :
		       0;
}

/* Tell the server why nothing comes, so that it can serve the next one. */
static void call_off(struct client *c)
{
	struct message stop = { .type = MESSAGE_STOP };

	if (!c->hub || !c->answer || c->test.n_peers == 0)
		return;
	(void)snprintf(stop.reason, sizeof(stop.reason), "%.150s",
		       c->fault.text);
	test_tell(&c->test, &stop);
}

static void finish(struct client *c)
{
	connector_close(c->connector);
	c->run->phase.data_fd = -1;
	test_free(&c->test);
	hub_close(c->hub);
	c->run->phase.hub_fd = -1;
	message_free(c->answer);
	free(c->locals);
	free(c);
}

enum status client_run(struct run *run)
{
	struct client *c = calloc(1, sizeof(*c));
	enum status status = STATUS_FAILED;

	if (!c) {
		complain("out of memory");
		return STATUS_FAILED;
	}
	c->run = run;
	c->own = run->options;
	if (agree(c) || begin(c)) {
		call_off(c);
		sink_fail(&run->sink, status, outcome_kind(run, c->kind),
			  &c->fault);
	} else {
		test_measure(&c->test);
		if (!test_collect(&c->test)) {
			test_exchange(&c->test);
			status = outcome_report(run, &c->test, 0);
		} else {
			status = outcome_lost(run, &c->test);
		}
	}
	finish(c);
	return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How a server comes to a test: hellos are weighed, answered or refused. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/host.h"
#include "common/measure/netstat.h"
#include "common/plan/limits.h"
#include "common/server_agree.h"
#include "common/server_listen.h"

/* How long a hello is kept while a test goes on, see hold(). */
#define SERVER_HOLD (50 * NSEC_PER_MSEC)

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

/*
 * The windows of @hello must be those of its options: the limits of admit()
 * are held against the windows, the run follows the options.
 */
static int check_windows(const struct message_hello *hello,
			 const struct test *t, struct fault *fault)
{
	int at = opt_find(t->agreement.list, "test-length");
	nsec_t length = test_length(t->workload, t->agreement.values,
				    t->agreement.by[at] != AGREE_DEFAULT);
	nsec_t warmup = 0, measured = 0;
	int i, n = 0;

	for (i = 0; i < hello->n_windows; i++) {
		const struct message_window *w = &hello->windows[i];

		if (w->warmup && !n && !warmup) {
			warmup = w->length;
			continue;
		}
		/* A second warm-up counts as one more: refused. */
		measured = w->length;
		n++;
	}
	if (n == 1 && warmup == t->options->warmup && measured == length)
		return 0;
	return fault_set(fault, 0,
			 "the windows of the client are not its --warmup and "
			 "--test-length");
}

static int fill_test(struct server *s, const struct message_hello *hello)
{
	struct test *t = &s->test;
	struct agree_line line = run_line(s->run);

	memset(t, 0, sizeof(*t));
	t->workload = s->run->workload;
	t->hub = s->hub;
	t->phase = &s->run->phase;
	t->sink = &s->run->sink;
	t->index = s->index;
	t->deadline = NSEC_NEVER;
	t->host = (struct test_host){ s, server_hear_other, server_tend };
	t->n_peers = t->participants = (int)s->own->num_clients;
	if (t->n_peers == 1)
		(void)snprintf(t->uuid, sizeof(t->uuid), "%s", hello->uuid);
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
	if (check_windows(hello, t, &s->fault))
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

/* The kernel cuts a longer backlog in silence; many flows then open slowly. */
static void judge_backlog(struct server *s)
{
	int wanted = (int)s->own->listen_backlog;
	int real = limits_backlog(wanted);
	struct test *t = &s->test;

	if (real < wanted && real < t->flows * t->n_peers)
		warnings_add(&t->plan->warnings,
			     "--listen-backlog: asked for %d, "
			     "net.core.somaxconn allows %d",
			     wanted, real);
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
	    server_listen_data(s, &t->socks, (int)t->options->num_ports) ||
	    host_random(s->cookie, sizeof(s->cookie), &s->fault))
		return -1;
	expected.participants = t->n_peers;
	expected.flows = t->flows;
	memcpy(expected.cookie, s->cookie, sizeof(expected.cookie));
	if (acceptor_expect(s->acceptor, &expected))
		return fault_set(&s->fault, ENOMEM, "flows");
	judge_backlog(s);
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

void server_end_test(struct server *s)
{
	s->agreed = s->announced = false;
	s->joined = 0;
	s->first_flow = 0;
	test_free(&s->test);
	free(s->have);
	free(s->told);
	s->have = s->told = NULL;
}

static bool is_full(const struct server *s)
{
	return s->agreed && s->joined == s->test.n_peers;
}

/* Is the test under way over, but for its end? */
static bool is_ending(const struct server *s, nsec_t now)
{
	const struct test *t = &s->test;

	return t->early[0] ||
	       (t->started &&
		now >= t->start + t->options->warmup + t->options->test_length);
}

/* A stranger says hello: it becomes a participant, or is refused. */
static void hear_hello(struct server *s, int link,
		       const struct message_hello *hello)
{
	const char *program = s->run->workload->name;
	int code;

	memset(&s->fault, 0, sizeof(s->fault));
	code = admit(&s->rules, hello, hub_address(s->hub, link), &s->fault);
	if (!code && is_full(s)) {
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
			server_end_test(s);
			memset(&s->fault, 0, sizeof(s->fault));
			/* Without listeners the server ends: see serve(). */
			(void)server_listen_data(s, NULL,
						 (int)s->own->num_ports);
		}
		return;
	}
	hub_know(s->hub, link);
	s->test.peers[s->joined++].link = link;
}

/*
 * Keep a hello for which there is no place. The test under way may be about
 * to end: its client is gone, or has said bye, and we have not seen it yet or
 * are still reporting. Then the newcomer is not early, and must be served.
 */
static bool hold(struct server *s, struct hub_event *event)
{
	struct fault ignored = { 0 };

	if (!is_full(s) || s->n_held == SERVER_HELD ||
	    admit(&s->rules, &event->message->hello,
		  hub_address(s->hub, event->peer), &ignored))
		return false;
	hub_know(s->hub, event->peer); /* not dropped without an event */
	s->held[s->n_held++] = (struct held_hello){ event->peer, event->message,
						    clock_now() + SERVER_HOLD };
	return true;
}

/* Take the @i-th held hello out; the caller frees it. */
static struct message *take_held(struct server *s, int i)
{
	struct message *m = s->held[i].message;

	s->n_held--;
	memmove(&s->held[i], &s->held[i + 1],
		(size_t)(s->n_held - i) * sizeof(s->held[0]));
	return m;
}

/* Answer the held hellos whose time has come; when does the next one's? */
static nsec_t answer_held(struct server *s, nsec_t now)
{
	nsec_t next = NSEC_NEVER;
	int i = 0;

	while (i < s->n_held) {
		const struct held_hello h = s->held[i];

		if (is_full(s) && is_ending(s, now)) {
			i++;
		} else if (is_full(s) && now < h.until) {
			if (h.until < next)
				next = h.until;
			i++;
		} else {
			(void)take_held(s, i); /* it is in h too */
			hear_hello(s, h.link, &h.message->hello);
			message_free(h.message);
		}
	}
	return next;
}

nsec_t server_tend(void *arg, nsec_t now)
{
	struct server *s = arg;
	int taken = acceptor_taken(s->acceptor), joined = s->joined;
	bool fine = !acceptor_fault(s->acceptor)->text[0], news;
	nsec_t data = acceptor_run(s->acceptor, now), held;

	news = acceptor_taken(s->acceptor) != taken ||
	       (fine && acceptor_fault(s->acceptor)->text[0]);
	held = answer_held(s, now);
	/* The caller waits for just that: it must look before it sleeps. */
	if (news || s->joined != joined)
		return now;
	return data < held ? data : held;
}

/* What somebody says who takes no part in a test, and is not held. */
static void hear_stranger(struct server *s, const struct hub_event *event)
{
	const struct message *m = event->message;

	if (m->type == MESSAGE_HELLO)
		hear_hello(s, event->peer, &m->hello);
	else if (m->type != MESSAGE_ALIVE)
		hub_refuse(s->hub, event->peer, s->run->workload->name,
			   REFUSAL_FAILED, "\"%s\" before a hello",
			   message_name(m->type));
}

/* An event of a connection that takes no part in a test (yet). */
void server_hear_other(void *arg, struct hub_event *event)
{
	struct server *s = arg;
	struct message *m = event->message;
	int i = 0;

	while (i < s->n_held && s->held[i].link != event->peer)
		i++;
	if (i < s->n_held) {
		/* Whatever it says, it has to wait; it may go. */
		if (event->what == HUB_LOST)
			message_free(take_held(s, i));
	} else if (event->what == HUB_MESSAGE) {
		if (m->type == MESSAGE_HELLO && hold(s, event))
			return; /* with the message */
		hear_stranger(s, event);
	}
	message_free(m);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A server's listeners: control for its life, data anew for each test. */
#include <unistd.h>

#include "common/engine/sock.h"
#include "common/host.h"
#include "common/server_listen.h"

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
int server_listen_data(struct server *s, struct sock_plan *plan, int ports)
{
	struct acceptor_request rq = {
		.addrs = s->addrs,
		.n_addrs = s->n_addrs,
		.port = s->port,
		.n_ports = ports,
		.scatter = !s->own->port,
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

int server_open(struct server *s)
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
	return server_listen_data(s, NULL, (int)s->own->num_ports);
}

void server_close(struct server *s)
{
	int i;

	for (i = 0; i < s->n_held; i++)
		message_free(s->held[i].message);
	for (i = 0; i < SERVER_ADDRS; i++) {
		if (s->listeners[i] >= 0)
			(void)close(s->listeners[i]); /* a listener */
	}
	acceptor_close(s->acceptor);
	hub_close(s->hub);
	s->run->phase.hub_fd = s->run->phase.data_fd = -1;
}

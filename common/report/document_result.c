/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a JSON document about both ends: result, warnings, outcome. */
#include <string.h>

#include "common/report/document.h"
#include "common/report/document_end.h"
#include "common/report/document_text.h"

/* ---- directions ---- */

/* What went one way, over all participants. */
struct direction {
	bool sent_known, received_known;
	uint64_t sent, received;
	double rate; /* bits a second, negative unknown */
	double sum, squares; /* of the bytes each flow received */
	nsec_t window; /* of the receiving end; 0 where there are several */
};

static void add_received(struct direction *d, const struct end_result *r)
{
	int i;

	d->received += r->counts.rx_bytes;
	d->window = d->window ? 0 : r->seconds;
	if (r->seconds > 0 && d->rate >= 0)
		d->rate +=
			(double)r->counts.rx_bytes * 8e9 / (double)r->seconds;
	else
		d->rate = -1;
	for (i = 0; i < r->n_flows && r->flows; i++) {
		double x = (double)r->flows[i].rx_bytes;

		d->sum += x;
		d->squares += x * x;
	}
}

/* Sum up what the client sent (@c2s) or the server, and what arrived. */
static struct direction sum_direction(const struct report *r, bool c2s)
{
	struct direction d = { .sent_known = true, .received_known = true };
	bool out = r->client == c2s; /* this end sends */
	int i;

	if (out)
		d.sent = r->local->counts.tx_bytes;
	else
		add_received(&d, r->local);
	for (i = 0; i < r->n_peers; i++) {
		const struct end_result *p = r->peers[i];

		if (!p && out)
			d.received_known = false;
		else if (!p)
			d.sent_known = false;
		else if (out)
			add_received(&d, p);
		else
			d.sent += p->counts.tx_bytes;
	}
	return d;
}

static void put_direction(struct emit *e, const char *key,
			  const struct direction *d, int64_t flows)
{
	/* Jain's index (Jain, Chiu, Hawe 1984) over the flows of that way. */
	double fairness =
		d->squares > 0 && flows && d->received_known ?
			d->sum * d->sum / ((double)flows * d->squares) :
			-1;

	emit_object(e, key);
	emit_i64(e, "flows", flows);
	if (d->sent_known)
		emit_u64(e, "bytes_sent", d->sent);
	else
		emit_null(e, "bytes_sent");
	if (d->received_known)
		emit_u64(e, "bytes_received", d->received);
	else
		emit_null(e, "bytes_received");
	emit_figure(e, "bits_per_second", d->received_known ? d->rate : -1, 3);
	if (d->received_known && d->window)
		emit_seconds(e, "seconds", d->window);
	else
		emit_null(e, "seconds");
	emit_figure(e, "fairness", fairness, 6);
	emit_end(e);
}

/* ---- both ends ---- */

/* The server's clock minus the client's, whoever writes. */
static void put_clock(struct emit *e, const char *key,
		      const struct clock_match *m, bool client)
{
	if (!m->known) {
		emit_null(e, key);
		return;
	}
	emit_object(e, key);
	emit_i64(e, "server_minus_client_ns", client ? m->offset : -m->offset);
	emit_i64(e, "bound_ns", m->bound);
	emit_end(e);
}

static void put_zerocopy(struct emit *e, const struct document_view *v)
{
	const struct zc_counts *z = &v->r->zc;

	if (!z->sends && !z->enobufs)
		return; /* this end sent nothing so */

	emit_object(e, NULL);
	emit_text(e, "side", document_side(v->client));
	document_participant(e, v->participant);
	emit_u64(e, "sends", z->sends);
	emit_u64(e, "completions", z->completions);
	emit_u64(e, "copied", z->copied);
	emit_u64(e, "enobufs", z->enobufs);
	emit_u64(e, "fallbacks", z->fallbacks);
	emit_u64(e, "peak_pinned_bytes", z->peak_pinned);
	emit_u64(e, "outstanding", z->outstanding);
	emit_end(e);
}

static void put_threads(struct emit *e, const struct document_view *v)
{
	int i;

	for (i = 0; i < v->r->n_workers; i++) {
		const struct worker_result *w = &v->r->workers[i];

		emit_object(e, NULL);
		emit_text(e, "side", document_side(v->client));
		document_participant(e, v->participant);
		emit_i64(e, "thread", i);
		emit_i64(e, "flows", w->flows);
		document_place(e, "cpu", w->cpu);
		document_place(e, "last_cpu", w->last_cpu);
		document_place(e, "node", w->node);
		emit_i64(e, "allowed_cpus", w->affinity);
		emit_seconds(e, "seconds", w->window);
		emit_seconds(e, "user_seconds", w->cpu_user);
		emit_seconds(e, "system_seconds", w->cpu_system);
		document_counts(e, "counts", &w->counts);
		emit_end(e);
	}
}

/* The two ends as client and server; r NULL where it never came. */
struct pair {
	struct document_view client, server;
};

static struct pair pair_of(const struct report *r, int64_t participant, int i)
{
	struct document_view here = { r->client, r->client ? participant : -1,
				      r->local };
	struct document_view there = { !r->client, r->client ? -1 : i,
				       r->peers[i] };

	return r->client ? (struct pair){ here, there } :
			   (struct pair){ there, here };
}

/* Call @put for every end whose result is here, the clients first. */
static void each_end(struct emit *e, const char *key, const struct report *r,
		     int64_t participant,
		     void (*put)(struct emit *e, const struct document_view *v))
{
	struct pair p = { 0 };
	int i;

	emit_array(e, key);
	for (i = 0; i < r->n_peers; i++) {
		p = pair_of(r, participant, i);
		if (p.client.r)
			put(e, &p.client);
	}
	if (p.server.r)
		put(e, &p.server);
	emit_end(e);
}

/* One end's share in a flow. */
static void put_share(struct emit *e, const char *key,
		      const struct flow_result *f, bool client)
{
	if (!f) {
		emit_null(e, key);
		return;
	}
	emit_object(e, key);
	document_place(e, "thread", f->worker);
	emit_u64(e, "bytes_sent", f->tx_bytes);
	emit_u64(e, "bytes_received", f->rx_bytes);
	if (client)
		emit_i64(e, "connect_ns", f->connect_time);
	emit_text(e, "error", f->err ? strerror((int)f->err) : NULL);
	emit_text(e, "errno_name",
		  f->err ? strerrorname_np((int)f->err) : NULL);
	emit_end(e);
}

static void put_port(struct emit *e, const char *key, int64_t port)
{
	if (port)
		emit_i64(e, key, port);
	else
		emit_null(e, key);
}

/* A flow's tuple is what this end's socket says of it. */
static void put_flow(struct emit *e, const struct report_start *s,
		     int64_t participant, int64_t k,
		     const struct flow_result *own,
		     const struct flow_result *other)
{
	const char *local = own->local_addr[0] ? own->local_addr : NULL;
	const char *peer = own->peer_addr[0] ? own->peer_addr : NULL;

	emit_object(e, NULL);
	emit_i64(e, "id", participant * s->flows + k);
	emit_i64(e, "participant", participant);
	emit_text(e, "client_address", s->client ? local : peer);
	put_port(e, "client_port",
		 s->client ? own->local_port : own->peer_port);
	emit_text(e, "server_address", s->client ? peer : local);
	put_port(e, "server_port",
		 s->client ? own->peer_port : own->local_port);
	put_share(e, "client", s->client ? own : other, true);
	put_share(e, "server", s->client ? other : own, false);
	emit_end(e);
}

static void put_flows(struct emit *e, const struct report_start *s,
		      const struct report *r)
{
	const struct end_result *l = r->local;
	int64_t i, k;

	emit_array(e, "flows");
	for (i = 0; i < r->n_peers; i++) {
		const struct end_result *p = r->peers[i];
		int64_t base = s->client ? 0 : i * s->flows;

		for (k = 0; k < s->flows && base + k < l->n_flows; k++)
			put_flow(e, s, s->client ? s->participant : i, k,
				 &l->flows[base + k],
				 p && p->flows && k < p->n_flows ?
					 &p->flows[k] :
					 NULL);
	}
	emit_end(e);
}

static void put_result(struct emit *e, const struct report_start *s,
		       const struct report *r)
{
	struct report_figures f = report_figures(r);
	struct direction c2s = sum_direction(r, true);
	struct direction s2c = sum_direction(r, false);
	int64_t me = s->participant;

	emit_object(e, "result");
	put_direction(e, "c2s", &c2s, s->c2s_flows);
	put_direction(e, "s2c", &s2c, s->s2c_flows);
	emit_object(e, "cpu_seconds_per_gigabit");
	emit_figure(e, "client", r->client ? f.local_cost : f.remote_cost, 6);
	emit_figure(e, "server", r->client ? f.remote_cost : f.local_cost, 6);
	emit_figure(e, "both", f.both_cost, 6);
	emit_end(e);
	emit_bool(e, "one_host", r->one_host);
	emit_bool(e, "payload_read", !r->discard);
	emit_object(e, "clock");
	put_clock(e, "before", &r->local->clock_before, r->client);
	put_clock(e, "after", &r->local->clock_after, r->client);
	emit_end(e);
	each_end(e, "zero_copy", r, me, put_zerocopy);
	each_end(e, "threads", r, me, put_threads);
	put_flows(e, s, r);
	emit_end(e);
}

static void put_peer(struct emit *e, const char *key,
		     const struct document_view *v)
{
	if (!v->r) {
		emit_null(e, key);
		return;
	}
	emit_object(e, key);
	document_end(e, v);
	emit_end(e);
}

void document_result(struct emit *e, const struct document_tool *tool,
		     const struct report_start *s, const struct report *r)
{
	struct document_view here = { .r = NULL };
	struct pair p;
	int i;

	if (!r || !s) {
		emit_null(e, "result");
		emit_null(e, "local");
		emit_null(e, "peer");
		return;
	}
	put_result(e, s, r);
	here = (struct document_view){ s->client, s->participant, r->local };
	emit_object(e, "local");
	document_end(e, &here);
	document_options(e, tool, s->agreement);
	emit_i64(e, "strangers", r->strangers);
	emit_end(e);
	p = pair_of(r, s->participant, 0);
	if (r->n_peers == 1) {
		put_peer(e, "peer", s->client ? &p.server : &p.client);
		return;
	}
	emit_null(e, "peer");
	emit_array(e, "peers");
	for (i = 0; i < r->n_peers; i++) {
		p = pair_of(r, s->participant, i);
		put_peer(e, NULL, &p.client);
	}
	emit_end(e);
}

/* ---- the end ---- */

static void put_warnings(struct emit *e, const char *side, int64_t participant,
			 const struct warnings *w)
{
	int i;

	for (i = 0; i < w->n; i++) {
		emit_object(e, NULL);
		emit_text(e, "side", side);
		document_participant(e, participant);
		emit_text(e, "text", w->text[i]);
		emit_end(e);
	}
}

/* Why members of this document are null that a test usually fills. */
static void explain(struct warnings *w, const struct report *r)
{
	int64_t i;

	if (!r->local->clock_before.known)
		warnings_add(w, "\"clock\" is null: with several clients each "
				"compares clocks for itself");
	else if (!r->local->clock_after.known)
		warnings_add(w,
			     "\"clock\" after the test is null: the ends did "
			     "not compare clocks again");
	for (i = 0; i < r->local->n_settings; i++) {
		if (!r->local->settings[i].effective[0])
			warnings_add(w,
				     "%s cannot be read back: \"effective\" "
				     "is null",
				     r->local->settings[i].name);
	}
}

void document_warnings(struct emit *e, const struct document_tool *tool,
		       const struct report_start *s, const struct report *r)
{
	struct warnings nulls = { 0 };
	int i;

	emit_array(e, "warnings");
	put_warnings(e, NULL, -1, &tool->noted);
	if (s && r) {
		const char *other = document_side(!r->client);

		put_warnings(e, document_side(r->client), s->participant,
			     &r->local->warnings);
		for (i = 0; i < r->n_peers; i++) {
			if (r->peers[i])
				put_warnings(e, other, r->client ? -1 : i,
					     &r->peers[i]->warnings);
		}
		explain(&nulls, r);
	}
	put_warnings(e, NULL, -1, &nulls);
	emit_end(e);
}

void document_outcome(struct emit *e, const struct report_outcome *o)
{
	emit_bool(e, "complete", o->complete);
	emit_text(e, "end_reason", o->reason && *o->reason ? o->reason : NULL);
	emit_bool(e, "valid", o->complete);
	emit_array(e, "reasons");
	if (!o->complete)
		emit_text(e, NULL, "incomplete");
	emit_end(e);
	document_error(e, o);
}

void document_error(struct emit *e, const struct report_outcome *o)
{
	if (o->status == STATUS_OK) {
		emit_null(e, "error");
		return;
	}
	emit_object(e, "error");
	emit_i64(e, "status", o->status);
	emit_text(e, "kind", o->kind);
	emit_text(e, "message", o->message);
	emit_text(e, "errno_name", o->err ? strerrorname_np(o->err) : NULL);
	emit_end(e);
}

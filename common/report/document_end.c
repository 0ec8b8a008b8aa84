/* SPDX-License-Identifier: Apache-2.0 */
/* What a JSON document says of one end. */
#include <string.h>

#include "common/base/num.h"
#include "common/report/document_end.h"
#include "common/report/document_text.h"

void document_counts(struct emit *e, const char *key, const struct io_counts *c)
{
	emit_object(e, key);
	emit_u64(e, "sent_bytes", c->tx_bytes);
	emit_u64(e, "received_bytes", c->rx_bytes);
	emit_u64(e, "sends", c->tx_transfers);
	emit_u64(e, "receives", c->rx_transfers);
	emit_u64(e, "short_sends", c->tx_short);
	emit_u64(e, "short_receives", c->rx_short);
	emit_u64(e, "refused_sends", c->tx_again);
	emit_u64(e, "refused_receives", c->rx_again);
	emit_u64(e, "discarding_receives", c->rx_truncated);
	emit_u64(e, "waits", c->waits);
	emit_u64(e, "wakeups", c->wakeups);
	emit_u64(e, "late_sends", c->late);
	emit_end(e);
}

static void put_cpu(struct emit *e, const struct end_result *r)
{
	const struct usage *a = &r->usage_start, *b = &r->usage_end;

	emit_object(e, "cpu");
	emit_text(e, "source", "process");
	emit_seconds(e, "user_seconds", b->user - a->user);
	emit_seconds(e, "system_seconds", b->system - a->system);
	emit_i64(e, "max_rss_bytes", b->maxrss * 1024);
	emit_i64(e, "minor_faults", b->minflt - a->minflt);
	emit_i64(e, "major_faults", b->majflt - a->majflt);
	emit_i64(e, "voluntary_switches", b->nvcsw - a->nvcsw);
	emit_i64(e, "involuntary_switches", b->nivcsw - a->nivcsw);
	emit_end(e);
}

static void put_window(struct emit *e, const struct end_result *r)
{
	emit_object(e, "window");
	emit_i64(e, "start_ns", r->start);
	emit_i64(e, "end_ns", r->end);
	emit_seconds(e, "seconds", r->seconds);
	emit_seconds(e, "edge_spread_seconds", r->edge_spread);
	document_time(e, "start_epoch_ns", "start", r->wall_start);
	emit_end(e);
}

/* A setting's value: a number where it is one. */
static void put_setting(struct emit *e, const char *key, const char *text)
{
	int64_t n;

	if (!num_parse_int(text, &n))
		emit_i64(e, key, n);
	else
		emit_text(e, key, *text ? text : NULL);
}

/* Key for a setting, or false: names that crossed the wire may be anything. */
static bool setting_key(const char *name, char *key, size_t size)
{
	size_t i;

	if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") !=
	    strlen(name))
		return false;
	for (i = 0; name[i] && i + 1 < size; i++)
		key[i] = (char)(name[i] == '-' ? '_' : name[i]);
	key[i] = 0;
	return true;
}

static void put_sockets(struct emit *e, const struct end_result *r)
{
	char key[sizeof(r->settings[0].name)];
	int64_t i;

	emit_object(e, "sockets");
	for (i = 0; i < r->n_settings; i++) {
		const struct setting *s = &r->settings[i];

		if (!setting_key(s->name, key, sizeof(key)))
			continue;
		emit_object(e, key);
		put_setting(e, "requested", s->requested);
		put_setting(e, "effective", s->effective);
		emit_text(e, "set_by", s->set_by);
		emit_i64(e, "differing_flows", s->differing);
		emit_end(e);
	}
	emit_end(e);
}

/* What opening the flows looked like from a client or from a server. */
static void put_opening(struct emit *e, const struct document_view *v)
{
	const struct end_result *r = v->r;

	emit_object(e, "opening");
	emit_seconds(e, "seconds", r->connect_phase);
	if (v->client) {
		emit_i64(e, "connect_p50_ns", r->connect_p50);
		emit_i64(e, "connect_p99_ns", r->connect_p99);
		emit_i64(e, "connect_max_ns", r->connect_max);
		emit_i64(e, "syn_retransmits", r->syn_retransmits);
	} else {
		emit_i64(e, "listen_overflows", r->listen_overflows);
	}
	emit_end(e);
}

void document_end(struct emit *e, const struct document_view *v)
{
	const struct end_result *r = v->r;

	emit_text(e, "side", document_side(v->client));
	document_participant(e, v->participant);
	emit_text(e, "host", r->host);
	emit_text(e, "boot_id", r->boot_id);
	emit_bool(e, "complete", r->complete);
	emit_text(e, "end_reason", r->end_reason);
	put_window(e, r);
	put_cpu(e, r);
	emit_object(e, "placement");
	emit_text(e, "pin_policy", r->pin_policy);
	emit_text(e, "cpus", r->cpus);
	emit_i64(e, "threads", r->n_workers);
	emit_end(e);
	put_sockets(e, r);
	document_counts(e, "counts", &r->counts);
	document_counts(e, "life", &r->life);
	emit_i64(e, "flows_failed", r->flows_failed);
	put_opening(e, v);
}

void document_options(struct emit *e, const struct document_tool *tool,
		      const struct agreement *a)
{
	size_t i;

	emit_object(e, "options");
	for (i = 0; i < a->list->n; i++) {
		const struct opt *o = a->list->opt[i];
		int port = 0;

		if (o->scope == OPT_TEST)
			continue;
		if (!strcmp(o->name, "port"))
			port = tool->port;
		if (!strcmp(o->name, "control-port"))
			port = tool->control_port;
		document_option(e, a, i, tool->values, port);
	}
	emit_end(e);
}

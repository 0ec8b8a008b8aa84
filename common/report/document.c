/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a JSON document that are known before the results. */
#include <string.h>
#include <sys/utsname.h>

#include "common/report/document.h"
#include "common/report/document_text.h"
#include "common/version.h"

/* ---- head ---- */

static void put_environment(struct emit *e, const struct report_start *start)
{
	struct utsname u;

	memset(&u, 0, sizeof(u));
	(void)uname(&u); /* fails for a bad pointer only */
	emit_object(e, "environment");
	emit_text(e, "host", u.nodename);
	emit_text(e, "system", u.sysname);
	emit_text(e, "kernel", u.release);
	emit_text(e, "machine", u.machine);
	emit_text(e, "version", napier_version());
	document_time(e, "start_epoch_ns", "start",
		      start ? start->wall : clock_wall());
	emit_end(e);
}

void document_head(struct emit *e, const struct document_tool *tool,
		   const struct report_start *start)
{
	emit_i64(e, "schema_version", DOCUMENT_VERSION);
	emit_text(e, "program", tool->program);
	emit_text(e, "role", tool->role);
	document_participant(e, start ? start->participant : -1);
	if (start && start->test)
		emit_i64(e, "number", start->test);
	else
		emit_null(e, "number");
	emit_text(e, "title", start ? start->title : NULL);
	put_environment(e, start);
}

/* ---- options ---- */

/* The value of @o in the struct at @values, as what it is. */
static void put_value(struct emit *e, const char *key, const struct opt *o,
		      const void *values)
{
	const char *at = (const char *)values + o->offset, *text;
	int64_t n = 0;
	bool flag;

	switch (o->type) {
	case OPT_FLAG:
		memcpy(&flag, at, sizeof(flag));
		emit_bool(e, key, flag);
		return;
	case OPT_STRING:
	case OPT_FILE:
		memcpy(&text, at, sizeof(text));
		emit_text(e, key, text);
		return;
	case OPT_INT:
	case OPT_BITS:
	case OPT_SIZE:
	case OPT_RATE:
	case OPT_FREQUENCY:
	case OPT_SECONDS:
	case OPT_NSECS:
	case OPT_CHOICE:
	case OPT_PORT:
		break;
	}
	memcpy(&n, at, sizeof(n));
	if (o->off_is_0 && !n)
		emit_null(e, key);
	else if (o->type == OPT_CHOICE)
		emit_text(e, key, o->choices[n]);
	else if (o->type == OPT_SECONDS)
		emit_seconds(e, key, n);
	else if (o->type == OPT_FREQUENCY) /* kept in thousandths */
		emit_seconds(e, key, n * NSEC_PER_MSEC);
	else
		emit_i64(e, key, n);
}

static bool is_shown(const struct opt *o)
{
	return !o->shut && !o->later && strcmp(o->name, "help") != 0 &&
	       strcmp(o->name, "version") != 0;
}

void document_option(struct emit *e, const struct agreement *a, size_t i,
		     const void *requested, int port)
{
	const struct opt *o = a->list->opt[i];
	const char *by = "default";
	char key[64];

	if (!is_shown(o))
		return;
	if (a->by[i] == AGREE_CLIENT)
		by = "client";
	else if (a->by[i] == AGREE_SERVER)
		by = "server";
	emit_object(e, opt_key(o, key, sizeof(key)));
	put_value(e, "requested", o, requested);
	if (port)
		emit_i64(e, "effective", port);
	else
		put_value(e, "effective", o, a->values);
	emit_text(e, "set_by", by);
	emit_end(e);
}

/* ---- test ---- */

static void put_directions(struct emit *e, const struct report_start *s)
{
	emit_array(e, "directions");
	if (s->c2s_flows)
		emit_text(e, NULL, "c2s");
	if (s->s2c_flows)
		emit_text(e, NULL, "s2c");
	emit_end(e);
}

void document_test(struct emit *e, const struct report_start *s)
{
	const struct agreement *a;
	size_t i;

	if (!s) {
		emit_null(e, "test");
		return;
	}
	a = s->agreement;
	emit_object(e, "test");
	emit_text(e, "uuid", s->uuid && *s->uuid ? s->uuid : NULL);
	emit_i64(e, "participants", s->participants);
	emit_i64(e, "flows", s->flows);
	put_directions(e, s);
	if (s->length)
		emit_seconds(e, "length_seconds", s->length);
	else
		emit_null(e, "length_seconds");
	emit_seconds(e, "warmup_seconds", s->warmup);
	emit_seconds(e, "interval_seconds", s->interval);
	emit_object(e, "options");
	/* What was asked of a test option is what holds, at both ends. */
	for (i = 0; i < a->list->n; i++) {
		if (a->list->opt[i]->scope == OPT_TEST)
			document_option(e, a, i, a->values, 0);
	}
	emit_end(e);
	emit_end(e);
}

/* ---- rows ---- */

static double bits(uint64_t bytes, nsec_t time)
{
	return time > 0 ? (double)bytes * 8e9 / (double)time : -1;
}

void document_row(struct emit *e, const struct report_row *r)
{
	const struct row *row = r->row;
	nsec_t time = row->end - row->start;

	emit_text(e, "side", document_side(r->client));
	document_participant(e, r->participant);
	emit_i64(e, "index", row->index);
	emit_bool(e, "warmup", row->warmup);
	emit_seconds(e, "start_seconds", row->start - r->start);
	emit_seconds(e, "end_seconds", row->end - r->start);
	if (r->client) {
		emit_u64(e, "c2s_bytes_sent", row->tx_bytes);
		emit_u64(e, "s2c_bytes_received", row->rx_bytes);
	} else {
		emit_u64(e, "c2s_bytes_received", row->rx_bytes);
		emit_u64(e, "s2c_bytes_sent", row->tx_bytes);
	}
	emit_figure(e, "sent_bits_per_second", bits(row->tx_bytes, time), 3);
	emit_figure(e, "received_bits_per_second", bits(row->rx_bytes, time),
		    3);
	emit_seconds(e, "cpu_seconds", row->cpu);
}

/* ---- without a test ---- */

void document_plan(struct emit *e, const struct plan *plan)
{
	int i;

	emit_object(e, "plan");
	emit_text(e, "pin_policy", plan->policy);
	emit_text(e, "cpus", plan->cpus);
	emit_i64(e, "flows", plan->flows);
	emit_array(e, "threads");
	for (i = 0; i < plan->n_workers; i++) {
		const struct plan_worker *w = &plan->workers[i];

		emit_object(e, NULL);
		document_place(e, "cpu", w->cpu);
		document_place(e, "node", w->node);
		emit_end(e);
	}
	emit_end(e);
	emit_array(e, "warnings");
	for (i = 0; i < plan->warnings.n; i++)
		emit_text(e, NULL, plan->warnings.text[i]);
	emit_end(e);
	emit_end(e);
}

static void put_names(struct emit *e, const char *key,
		      const struct opt_list *list, bool later)
{
	size_t i;

	emit_array(e, key);
	for (i = 0; i < list->n; i++) {
		if (list->opt[i]->later == later)
			emit_text(e, NULL, list->opt[i]->name);
	}
	emit_end(e);
}

void document_features(struct emit *e, const struct document_tool *tool)
{
	emit_object(e, NULL);
	document_head(e, tool, NULL);
	emit_object(e, "features");
	emit_i64(e, "protocol_version", MESSAGE_VERSION);
	put_names(e, "options", tool->list, false);
	put_names(e, "not_available", tool->list, true);
	emit_end(e);
	emit_end(e);
}

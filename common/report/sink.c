/* SPDX-License-Identifier: Apache-2.0 */
/* Where all that a run has to say goes: each form of output has its share. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/report/kv.h"
#include "common/report/sink.h"
#include "common/version.h"

static bool to_stdout(const char *path)
{
	return path && !strcmp(path, OUT_STDOUT);
}

/* ---- before the run ---- */

int sink_open(struct sink *s, const struct options *o,
	      const struct document_tool *tool, struct fault *fault)
{
	memset(s, 0, sizeof(*s));
	s->tool = *tool;
	s->kv = !to_stdout(o->json) && !to_stdout(o->json_stream);
	s->server = !o->client;
	s->any_port = s->server && (!o->port || !o->control_port);
	s->several = s->server && (o->persistent || o->num_tests > 1);
	human_open(&s->human, o->quiet, o->verbose);
	/* Nothing is measured then, and a file of before is not touched. */
	if (o->all_samples && !o->plan && !o->dry_run &&
	    csv_open(&s->csv, o->all_samples, fault))
		return -1;
	if (o->json && json_open(&s->json[0], o->json, false, fault))
		return -1;
	return o->json_stream && json_open(&s->json[1], o->json_stream, true,
					   fault) ?
		       -1 :
		       0;
}

/*
 * Is JSON wanted on standard output? A command line that getopt refuses is
 * read for just that: 1 --json, 2 --json-stream, 0 neither.
 */
static int wanted_json(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		size_t n = strcspn(argv[i], "=");
		const char *value = argv[i] + n;

		if (n < 6 || strncmp(argv[i], "--json-stream", n) != 0)
			continue;
		if (!*value || to_stdout(value + 1))
			return n == 6 ? 1 : 2;
	}
	return 0;
}

static struct report_outcome outcome_of(enum status status, const char *kind,
					const struct fault *fault)
{
	return (struct report_outcome){
		.status = status,
		.kind = kind,
		.message = fault->text,
		.err = fault->err,
	};
}

void sink_refuse(const char *program, int argc, char **argv, enum status status,
		 const struct fault *fault)
{
	int wanted = wanted_json(argc, argv);
	struct document_tool tool = { .program = program };
	struct report_outcome outcome = outcome_of(
		status, status == STATUS_USAGE ? "usage" : "failed", fault);
	struct fault ignored = { 0 };
	struct json *j = malloc(sizeof(*j));

	if (j && wanted && !json_open(j, OUT_STDOUT, wanted == 2, &ignored)) {
		json_end(j, &tool, NULL, NULL, &outcome);
		(void)json_close(j); /* has said so, and this fails anyway */
	}
	free(j);
}

void sink_version(const struct options *o, const struct document_tool *tool)
{
	struct out out;
	struct emit e = { .out = &out };
	struct fault ignored = { 0 };

	if (!to_stdout(o->json) && !to_stdout(o->json_stream)) {
		kv_text(napier_version());
		kv_text("\n");
		return;
	}
	if (out_open(&out, OUT_STDOUT, &ignored))
		return; /* standard output always opens */
	document_features(&e, tool);
	out_bytes(&out, "\n", 1);
	(void)out_close(&out); /* has said so */
}

void sink_options(struct sink *s, int control_port, int port)
{
	s->tool.control_port = control_port;
	s->tool.port = port;
	if (s->kv)
		kv_options(s->tool.list, s->tool.values, control_port, port);
	else if (s->any_port && control_port)
		complain("listening control_port=%d port=%d", control_port,
			 port);
	if (s->server)
		human_say(&s->human, "listening on port %d, data on port %d",
			  control_port, port);
}

static void put_plan(const struct plan *plan)
{
	char *text = plan_text(plan);
	int i;

	if (text)
		kv_text(text);
	free(text);
	for (i = 0; i < plan->warnings.n; i++) {
		kv_text("warning=local: ");
		kv_text(plan->warnings.text[i]);
		kv_text("\n");
	}
}

void sink_plan(struct sink *s, const struct plan *plan, enum status status,
	       const struct fault *fault)
{
	struct report_outcome outcome = outcome_of(status, "failed", fault);
	int i;

	if (s->kv)
		put_plan(plan);
	for (i = 0; i < SINK_JSON; i++)
		json_plan(&s->json[i], &s->tool, plan, &outcome);
}

/* ---- the run ---- */

void sink_begin(struct sink *s, const struct report_start *start)
{
	int i;

	s->start = *start;
	s->begun = true;
	csv_begin(&s->csv,
		  start->flows * (start->client ? 1 : start->participants),
		  start->client ? start->participant * start->flows : 0);
	for (i = 0; i < SINK_JSON; i++)
		json_begin(&s->json[i], &s->tool, &s->start);
}

static void put_row(struct sink *s, bool client, int64_t participant,
		    const struct row *row, nsec_t start)
{
	const struct report_row r = { client, participant, row, start };
	int i;

	for (i = 0; i < SINK_JSON; i++)
		json_row(&s->json[i], &r);
}

void sink_row(struct sink *s, const struct row *row, double peer_rx)
{
	put_row(s, s->start.client, s->start.participant, row, s->start.start);
	human_row(&s->human, row, s->start.start, peer_rx);
}

void sink_peer_row(struct sink *s, int i, const struct row *row, nsec_t start)
{
	if (s->begun)
		put_row(s, !s->start.client, s->start.client ? -1 : i, row,
			start);
}

bool sink_wants_flows(const struct sink *s)
{
	return s->csv.out.open;
}

void sink_flows(struct sink *s, const struct row *row,
		const struct flow_count *counts, const struct usage *usage)
{
	csv_rows(&s->csv, row, counts, usage, s->start.start);
}

void sink_iostat(struct sink *s, nsec_t elapsed, nsec_t time,
		 const struct io_counts *moved)
{
	if (s->kv)
		kv_iostat(elapsed, time, moved);
}

void sink_warn(struct sink *s, const char *fmt, ...)
{
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (s->kv)
		kv_warning("%s", text);
	human_say(&s->human, "%s", text);
	warnings_add(&s->tool.noted, "%s", text);
}

/* ---- the end ---- */

static void end_documents(struct sink *s, const struct report *r,
			  const struct report_outcome *outcome)
{
	int i;

	for (i = 0; i < SINK_JSON; i++)
		json_end(&s->json[i], &s->tool, s->begun ? &s->start : NULL, r,
			 outcome);
	s->begun = false;
	s->tool.noted.n = 0;
}

enum status sink_results(struct sink *s, const struct report *r,
			 const struct report_outcome *outcome)
{
	struct report_outcome o = *outcome;
	enum status status;
	int i;

	human_summary(&s->human, r);
	if (out_check(&s->csv.out) && o.status == STATUS_OK) {
		o.kind = "failed";
		o.message = "the samples cannot be written";
		o.err = s->csv.out.err;
	}
	if (s->csv.out.err)
		o.status = STATUS_FAILED;
	status = o.status;
	if (s->kv && kv_results(r)) {
		complain("cannot write the results: %s", strerror(errno));
		status = STATUS_FAILED;
	}
	end_documents(s, r, &o);
	for (i = 0; i < SINK_JSON; i++) {
		if (out_check(&s->json[i].out))
			status = STATUS_FAILED;
	}
	return status;
}

void sink_fail(struct sink *s, enum status status, const char *kind,
	       const struct fault *fault)
{
	if (s->human.on)
		human_say(&s->human, "%s", fault->text);
	else
		complain("%s", fault->text);
	s->fault = *fault;
	s->outcome = outcome_of(status, kind, &s->fault);
	s->outcome.reason = s->fault.text;
	if (s->begun)
		end_documents(s, NULL, &s->outcome);
}

void sink_abandon(struct sink *s)
{
	struct fault fault = { .text = "ended at once by a second signal" };
	struct report_outcome outcome =
		outcome_of(STATUS_INCOMPLETE, "interrupted", &fault);
	int i;

	outcome.reason = fault.text;
	for (i = 0; i < SINK_JSON; i++) {
		if (s->json[i].open || !s->json[i].documents)
			json_end(&s->json[i], &s->tool,
				 s->begun ? &s->start : NULL, NULL, &outcome);
	}
}

enum status sink_close(struct sink *s, enum status status)
{
	int i;

	if (csv_close(&s->csv))
		status = STATUS_FAILED;
	s->outcome.status = status;
	if (!s->outcome.reason)
		s->outcome.reason = "ended before any test";
	for (i = 0; i < SINK_JSON; i++) {
		struct json *j = &s->json[i];

		if (!j->documents && (!s->several || status != STATUS_OK))
			json_end(j, &s->tool, NULL, NULL, &s->outcome);
		if (json_close(j))
			status = STATUS_FAILED;
	}
	return status;
}

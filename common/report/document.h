/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a JSON document (docs/json.md), one function each. */
#ifndef NAPIER_REPORT_DOCUMENT_H
#define NAPIER_REPORT_DOCUMENT_H

#include "common/cli/opt.h"
#include "common/control/agree.h"
#include "common/plan/plan.h"
#include "common/report/emit.h"
#include "common/report/report.h"

/* Raised when a member changes its meaning or goes; not for new members. */
#define DOCUMENT_VERSION 1

/* What is known from the command line on. Borrowed. */
struct document_tool {
	const char *program;
	const char *role; /* "client" or "server"; NULL unknown */
	const struct opt_list *list; /* NULL before it was parsed */
	const void *values; /* own command line */
	int control_port, port; /* really in use; 0 unknown */
	struct warnings noted; /* about the process, for the next document */
};

/* What is known at the start of a test. Borrowed. */
struct report_start {
	bool client;
	int64_t test; /* number of the test, from 1; 0 when there is one only */
	const char *uuid; /* of the test */
	const char *title; /* or NULL */
	int64_t participants, participant; /* participant -1 at a server */
	int64_t flows; /* of each participant */
	int64_t c2s_flows, s2c_flows; /* that send so, of all participants */
	nsec_t start; /* agreed, on this end's clock */
	nsec_t wall; /* the same as time since the epoch */
	nsec_t length, warmup, interval; /* length 0: no limit of time */
	const struct agreement *agreement;
};

/* A row of one end. */
struct report_row {
	bool client; /* whose row it is */
	int64_t participant; /* of a client, -1 of a server */
	const struct row *row;
	nsec_t start; /* agreed start on the clock of that end */
};

/* Version of the schema, program, what is this end's own of a test, host. */
void document_head(struct emit *e, const struct document_tool *tool,
		   const struct report_start *start);

/*
 * Option @i of @a with its value in @requested, what holds, and who said so;
 * nothing for options that are not shown. @port, when not 0, is what holds.
 */
void document_option(struct emit *e, const struct agreement *a, size_t i,
		     const void *requested, int port);

/* Member "test"; null where @start is NULL: none was agreed. */
void document_test(struct emit *e, const struct report_start *start);

/* The members of one interval. */
void document_row(struct emit *e, const struct report_row *row);

/* Members "result", "local" and "peer"; null where @r is NULL. */
void document_result(struct emit *e, const struct document_tool *tool,
		     const struct report_start *start, const struct report *r);

/* Member "warnings": of the tool, of both ends, and why figures are null. */
void document_warnings(struct emit *e, const struct document_tool *tool,
		       const struct report_start *start,
		       const struct report *r);

/* Member "error", null where the status of @o is 0. */
void document_error(struct emit *e, const struct report_outcome *o);

/* Members "complete", "end_reason", "valid", "reasons" and "error". */
void document_outcome(struct emit *e, const struct report_outcome *o);

/* Member "plan". */
void document_plan(struct emit *e, const struct plan *plan);

/* What --version says as JSON: versions, and the options of this build. */
void document_features(struct emit *e, const struct document_tool *tool);

#endif

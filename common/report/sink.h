/* SPDX-License-Identifier: Apache-2.0 */
/* Where all that a run has to say goes: each form of output has its share. */
#ifndef NAPIER_REPORT_SINK_H
#define NAPIER_REPORT_SINK_H

#include "common/cli/options.h"
#include "common/report/csv.h"
#include "common/report/human.h"
#include "common/report/json.h"

/* Places that JSON may go to at once: --json and --json-stream. */
#define SINK_JSON 2

/* All outputs of a process. Zero is one that has nowhere to write. */
struct sink {
	struct human human;
	bool kv; /* standard output carries key=value lines */
	struct json json[SINK_JSON];
	struct csv csv;
	struct document_tool tool;
	struct report_start start; /* of the test under way */
	bool begun; /* start is set */
	bool server; /* this end waits for tests */
	bool any_port; /* it listens on ports that nobody named */
	bool several; /* tests, so that none is a possible number */
	struct report_outcome outcome; /* of a run without a document */
	struct fault fault; /* holds the texts of outcome */
};

/*
 * Open all outputs that @options ask for; what @tool points to must outlive
 * @s. 0, or -1 with @fault: an output cannot be opened.
 */
int sink_open(struct sink *s, const struct options *options,
	      const struct document_tool *tool, struct fault *fault);

/*
 * Say a fault of the command line, or of starting up, where @argv asks for
 * JSON on standard output. For callers that leave before sink_open(): the
 * command line may not even be well-formed.
 */
void sink_refuse(const char *program, int argc, char **argv, enum status status,
		 const struct fault *fault);

/*
 * Say what --version asks; JSON where @options want that on standard output.
 */
void sink_version(const struct options *options,
		  const struct document_tool *tool);

/* Show the options, with the ports really in use where they are not 0. */
void sink_options(struct sink *s, int control_port, int port);

/* Show a plan that is not going to be carried out. */
void sink_plan(struct sink *s, const struct plan *plan, enum status status,
	       const struct fault *fault);

/* A test is about to start; what @start points to is kept till its end. */
void sink_begin(struct sink *s, const struct report_start *start);

/*
 * Show a row of this end; @peer_rx is what the other ends received in their
 * latest interval, bytes a second, negative when unknown.
 */
void sink_row(struct sink *s, const struct row *row, double peer_rx);

/*
 * Show a row that peer @i sent; @start is the agreed start on its clock. May
 * come at any time.
 */
void sink_peer_row(struct sink *s, int i, const struct row *row, nsec_t start);

/* Are sink_flows() wanted? Gathering what they take has its price. */
bool sink_wants_flows(const struct sink *s);

/*
 * Show what each flow of this end had moved at the end of @row; @usage of the
 * process then.
 */
void sink_flows(struct sink *s, const struct row *row,
		const struct flow_count *counts, const struct usage *usage);

/*
 * Show the line of --iostat-ms: what was @moved in @time, @elapsed after the
 * start.
 */
void sink_iostat(struct sink *s, nsec_t elapsed, nsec_t time,
		 const struct io_counts *moved);

/* Say a printf line about this process that no test's results hold. */
void sink_warn(struct sink *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Show the results of the test that was begun. Returns the status of
 * @outcome, or STATUS_FAILED when an output could not be written.
 */
enum status sink_results(struct sink *s, const struct report *r,
			 const struct report_outcome *outcome);

/*
 * A test came to nothing: @fault is said to people, kept, and ends the
 * document of a test that was begun. @kind is as in docs/json.md, "error".
 */
void sink_fail(struct sink *s, enum status status, const char *kind,
	       const struct fault *fault);

/* The process ends here and now; documents are completed. */
void sink_abandon(struct sink *s);

/*
 * Close all outputs. One that promises a document and holds none gets one.
 * Returns @status, or STATUS_FAILED when something could not be written.
 */
enum status sink_close(struct sink *s, enum status status);

#endif

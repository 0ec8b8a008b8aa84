/* SPDX-License-Identifier: Apache-2.0 */
/* JSON output: one document a test, or one object a line, as it happens. */
#ifndef NAPIER_REPORT_JSON_H
#define NAPIER_REPORT_JSON_H

#include "common/report/document.h"

/* One place that JSON goes to. Zero is none: all calls do nothing. */
struct json {
	struct out out;
	struct emit emit;
	bool lines; /* --json-stream: start, each interval, end */
	bool open; /* a test was begun and not ended */
	int64_t documents; /* ended so far */
};

/*
 * Open @path; @lines chooses one object a line instead of one document a
 * test. 0, or -1 with @fault.
 */
int json_open(struct json *j, const char *path, bool lines,
	      struct fault *fault);

/* Begin the test @start, NULL where none came about, and flush. */
void json_begin(struct json *j, const struct document_tool *tool,
		const struct report_start *start);

/* Append an interval and flush; nothing outside of a test. */
void json_row(struct json *j, const struct report_row *row);

/*
 * End what json_begin() began, beginning it where nobody has: @r and @start
 * are NULL where nothing was measured.
 */
void json_end(struct json *j, const struct document_tool *tool,
	      const struct report_start *start, const struct report *r,
	      const struct report_outcome *outcome);

/* A whole document that holds a plan, for --plan and --dry-run. */
void json_plan(struct json *j, const struct document_tool *tool,
	       const struct plan *plan, const struct report_outcome *outcome);

/* Close the file. 0, or -1 when a write failed, which was said then. */
int json_close(struct json *j);

#endif

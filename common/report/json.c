/* SPDX-License-Identifier: Apache-2.0 */
/* JSON output: one document a test, or one object a line, as it happens. */
#include <string.h>

#include "common/report/json.h"

int json_open(struct json *j, const char *path, bool lines, struct fault *fault)
{
	memset(j, 0, sizeof(*j));
	j->emit.out = &j->out;
	j->lines = lines;
	return out_open(&j->out, path, fault);
}

static void end_line(struct json *j)
{
	out_bytes(&j->out, "\n", 1);
	(void)out_flush(&j->out); /* a failure is told at the end */
}

/* Begin an object; one of several lines says which it is. */
static void begin_object(struct json *j, const char *event)
{
	emit_object(&j->emit, NULL);
	if (j->lines)
		emit_text(&j->emit, "event", event);
}

void json_begin(struct json *j, const struct document_tool *tool,
		const struct report_start *start)
{
	if (!j->out.open)
		return;
	j->open = true;
	begin_object(j, "start");
	document_head(&j->emit, tool, start);
	document_test(&j->emit, start);
	if (j->lines) {
		emit_end(&j->emit);
		end_line(j);
		return;
	}
	emit_array(&j->emit, "intervals");
	(void)out_flush(&j->out); /* a failure is told at the end */
}

void json_row(struct json *j, const struct report_row *row)
{
	if (!j->open)
		return;
	begin_object(j, "interval");
	document_row(&j->emit, row);
	emit_end(&j->emit);
	if (j->lines)
		end_line(j);
	else
		(void)out_flush(&j->out); /* a failure is told at the end */
}

void json_end(struct json *j, const struct document_tool *tool,
	      const struct report_start *start, const struct report *r,
	      const struct report_outcome *outcome)
{
	if (!j->out.open)
		return;
	if (!j->open)
		json_begin(j, tool, start);
	if (j->lines)
		begin_object(j, "end");
	else
		emit_end(&j->emit);
	document_result(&j->emit, tool, start, r);
	document_warnings(&j->emit, tool, start, r);
	document_outcome(&j->emit, outcome);
	emit_end(&j->emit);
	end_line(j);
	j->open = false;
	j->documents++;
}

void json_plan(struct json *j, const struct document_tool *tool,
	       const struct plan *plan, const struct report_outcome *outcome)
{
	if (!j->out.open)
		return;
	begin_object(j, "plan");
	document_head(&j->emit, tool, NULL);
	document_plan(&j->emit, plan);
	document_error(&j->emit, outcome);
	emit_end(&j->emit);
	end_line(j);
	j->documents++;
}

int json_close(struct json *j)
{
	return out_close(&j->out);
}

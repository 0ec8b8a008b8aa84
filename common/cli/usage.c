/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables as text: values, printed keys, the usage text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/num.h"
#include "common/cli/opt.h"

#define WIDTH 79
#define INDENT 8

/* ---- values as text ---- */

static int64_t number_of(const struct opt *o, const void *values)
{
	const char *at = (const char *)values + o->offset;
	int64_t v;
	bool on;

	if (o->type == OPT_FLAG) {
		memcpy(&on, at, sizeof(on));
		return on;
	}
	memcpy(&v, at, sizeof(v));
	return v;
}

static const char *string_of(const struct opt *o, const void *values)
{
	const char *s;

	memcpy(&s, (const char *)values + o->offset, sizeof(s));
	return s ? s : "";
}

char *opt_text(const struct opt_list *list, size_t index, const void *values,
	       char *buf, size_t size)
{
	const struct opt *o = list->opt[index];
	int64_t v;

	if (o->type == OPT_STRING || o->type == OPT_FILE) {
		(void)snprintf(buf, size, "%s", string_of(o, values));
		return buf;
	}
	v = number_of(o, values);
	if (o->off_is_0 && !v) {
		/* Not "0s" or "0.000": opt_set() knows the off by its text. */
		(void)snprintf(buf, size, "0");
		return buf;
	}
	if (o->type == OPT_SECONDS || o->type == OPT_NSECS)
		return num_format_duration(v, buf, size);
	if (o->type == OPT_CHOICE)
		(void)snprintf(buf, size, "%s", o->choices[v]);
	else if (o->type == OPT_FREQUENCY)
		(void)snprintf(buf, size, "%" PRId64 ".%03" PRId64, v / 1000,
			       v % 1000);
	else
		(void)snprintf(buf, size, "%" PRId64, v);
	return buf;
}

char *opt_dump_text(const struct opt_list *list, size_t index,
		    const void *values, char *buf, size_t size)
{
	const struct opt *o = list->opt[index];
	int64_t v;

	if (o->type != OPT_SECONDS && o->type != OPT_NSECS)
		return opt_text(list, index, values, buf, size);
	v = number_of(o, values);
	if (o->type == OPT_NSECS)
		(void)snprintf(buf, size, "%" PRId64, v);
	else if (v % NSEC_PER_SEC)
		(void)snprintf(buf, size, "%" PRId64 ".%06" PRId64,
			       v / NSEC_PER_SEC,
			       v % NSEC_PER_SEC / NSEC_PER_USEC);
	else
		(void)snprintf(buf, size, "%" PRId64, v / NSEC_PER_SEC);
	return buf;
}

char *opt_key(const struct opt *opt, char *buf, size_t size)
{
	char *c;

	(void)snprintf(buf, size, "%s", opt->key ? opt->key : opt->name);
	for (c = buf; *c; c++) {
		if (*c == '-')
			*c = '_';
	}
	return buf;
}

/* ---- usage ---- */

static int by_name(const void *a, const void *b)
{
	const struct opt *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Print @text wrapped, indented, at most WIDTH columns. */
static void wrap(FILE *out, const char *text)
{
	int column = 0;

	while (*text) {
		int n = (int)strcspn(text, " ");

		if (column && column + 1 + n > WIDTH) {
			(void)fputc('\n', out); /* a memory stream */
			column = 0;
		}
		(void)fprintf(out, "%*s%.*s", column ? 1 : INDENT, "", n, text);
		column += n + (column ? 1 : INDENT);
		text += n;
		text += strspn(text, " ");
	}
	(void)fputc('\n', out); /* a memory stream */
}

static const char *metavar(const struct opt *o)
{
	switch (o->type) {
	case OPT_FLAG:
		return "";
	case OPT_FILE:
		return "[=FILE]";
	case OPT_SIZE:
		return "=SIZE";
	case OPT_RATE:
	case OPT_FREQUENCY:
		return "=RATE";
	case OPT_SECONDS:
	case OPT_NSECS:
		return "=TIME";
	case OPT_PORT:
		return "=PORT";
	case OPT_CHOICE:
		return "=CHOICE";
	case OPT_STRING:
		return "=TEXT";
	case OPT_INT:
	case OPT_BITS:
		break;
	}
	return "=N";
}

static const char *scope(const struct opt *o)
{
	switch (o->scope) {
	case OPT_LOCAL:
		return "this end";
	case OPT_TEST:
		return "the client's value holds on both ends";
	case OPT_PEER:
		break;
	}
	return "both ends; a server's own value wins there";
}

/* What numbers @o takes: "1 to 64 threads"; "" where any will do. */
static void range(const struct opt *o, char *buf, size_t size)
{
	char lo[40], hi[40];

	buf[0] = 0;
	if (o->type == OPT_SECONDS || o->type == OPT_NSECS) {
		(void)snprintf(buf, size, "; %s to %s",
			       num_format_duration(o->min, lo, sizeof(lo)),
			       num_format_duration(o->max, hi, sizeof(hi)));
	} else if (o->type == OPT_INT || o->type == OPT_SIZE) {
		(void)snprintf(hi, sizeof(hi), " to %" PRId64, o->max);
		(void)snprintf(buf, size, "; %" PRId64 "%s%s%s", o->min,
			       o->max == INT64_MAX ? " or more" : hi,
			       o->unit ? " " : "", o->unit ? o->unit : "");
	}
}

static void describe(FILE *out, const struct opt_list *list, size_t index,
		     const void *defaults)
{
	const struct opt *o = list->opt[index];
	char text[900], value[512], numbers[128];
	size_t n;
	int i;

	n = (size_t)snprintf(text, sizeof(text), "%s", o->help);
	if (o->later) {
		wrap(out, "(not available yet)");
		return;
	}
	if (o->type == OPT_CHOICE) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, ":");
		for (i = 0; o->choices[i]; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %s",
					      o->choices[i]);
	}
	range(o, numbers, sizeof(numbers));
	n += (size_t)snprintf(text + n, sizeof(text) - n, "%s; %s", numbers,
			      scope(o));
	(void)opt_dump_text(list, index, defaults, value, sizeof(value));
	/* What stands for "not given" is no value that could be typed. */
	if (o->type != OPT_FLAG && value[0] &&
	    !(o->off_is_0 && !strcmp(value, "0")))
		(void)snprintf(text + n, sizeof(text) - n, " (default %s%s%s)",
			       value, o->unit ? " " : "",
			       o->unit ? o->unit : "");
	wrap(out, text);
}

char *opt_usage(const struct opt_list *list, const char *program,
		const void *defaults)
{
	const struct opt *sorted[OPT_MAX];
	char *text = NULL;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	memcpy(sorted, list->opt, list->n * sizeof(const struct opt *));
	qsort(sorted, list->n, sizeof(const struct opt *), by_name);
	(void)fprintf(out,
		      "Usage: %s [OPTION...]        (a server)\n"
		      "       %s -c -H HOST [OPTION...]\n\n",
		      program, program);
	for (i = 0; i < list->n; i++) {
		const struct opt *o = sorted[i];

		if (o->letter)
			(void)fprintf(out, "  -%c, --%s%s\n", o->letter,
				      o->name, metavar(o));
		else
			(void)fprintf(out, "  --%s%s\n", o->name, metavar(o));
		describe(out, list, (size_t)opt_find(list, o->name), defaults);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

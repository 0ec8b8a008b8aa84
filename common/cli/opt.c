/* SPDX-License-Identifier: Apache-2.0 */
/* Table-driven command line options: the parser. */
#include <getopt.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "common/base/clock.h"
#include "common/base/num.h"
#include "common/cli/opt.h"

/* getopt_long(3) codes of options: their index above any letter. */
#define CODE_BASE 1000

void opt_list_add(struct opt_list *list, const struct opt *table, size_t n)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < list->n; k++) {
			if (!strcmp(list->opt[k]->name, table[i].name) ||
			    (table[i].letter &&
			     list->opt[k]->letter == table[i].letter)) {
				complain("option %s is there twice",
					 table[i].name);
				abort();
			}
		}
		if (list->n == OPT_MAX)
			abort();
		list->opt[list->n++] = &table[i];
	}
}

int opt_find(const struct opt_list *list, const char *name)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (!strcmp(list->opt[i]->name, name))
			return (int)i;
	}
	return -1;
}

bool opt_was_given(const struct opt_given *given, size_t index)
{
	return given->bits[index / 64] >> (index % 64) & 1;
}

void opt_mark_given(struct opt_given *given, size_t index)
{
	given->bits[index / 64] |= UINT64_C(1) << (index % 64);
}

/* ---- setting a value ---- */

/* How messages speak of a type: what it is, its range and some examples. */
struct kind {
	const char *what;
	int places; /* a range is printed in units of 10 to this power */
	const char *like;
};

/* A switch and no table, so that the compiler misses no type. */
static struct kind kind_of(enum opt_type type)
{
	switch (type) {
	case OPT_FLAG:
		return (struct kind){ "a switch", 0, "" };
	case OPT_INT:
		return (struct kind){ "an integer", 0, "" };
	case OPT_BITS:
		return (struct kind){ "a number", 0, ", like 16 or 0x10" };
	case OPT_SIZE:
		return (struct kind){ "a size", 0,
				      " bytes, like 65536 or 64K" };
	case OPT_RATE:
		return (struct kind){ "a rate", 0,
				      " bytes/s, like 1000, 10g (bits), "
				      "10G (bytes), 10Gbit or 1.25GB" };
	case OPT_FREQUENCY:
		return (struct kind){ "a rate per second", 3,
				      " per second, like 500 or 10k" };
	case OPT_SECONDS:
		return (struct kind){ "a duration in seconds", 9,
				      ", like 0.5 or 100ms" };
	case OPT_NSECS:
		return (struct kind){ "a duration in nanoseconds", 0,
				      ", like 1000 or 10us" };
	case OPT_CHOICE:
		return (struct kind){ "one of the choices", 0, "" };
	case OPT_PORT:
		return (struct kind){ "a port", 0, " or a service name" };
	case OPT_STRING:
	case OPT_FILE:
		break; /* any text will do */
	}
	return (struct kind){ "a text", 0, "" };
}

/* @v in units of 10 to the power of @places: "0.001", "86400". */
static char *plain(int64_t v, int places, char *buf, size_t size)
{
	int64_t unit = 1, part;
	char *end;
	int i;

	for (i = 0; i < places; i++)
		unit *= 10;
	part = v % unit;
	(void)snprintf(buf, size, "%s%" PRId64 ".%0*" PRId64,
		       v < 0 && v > -unit ? "-" : "", v / unit, places,
		       part < 0 ? -part : part);
	/* Zeroes say nothing behind the point. */
	end = buf + strlen(buf);
	while (end[-1] == '0')
		end--;
	if (end[-1] == '.')
		end--;
	*end = 0;
	return buf;
}

/* What is accepted for @o, for a message: "0.001 to 10, like 0.5 or 100ms". */
static void accepted(const struct opt *o, char *buf, size_t size)
{
	struct kind kind = kind_of(o->type);
	char lo[40], hi[40];
	size_t n = 0;
	int i;

	if (o->type == OPT_FLAG) {
		(void)snprintf(buf, size, "0 or 1");
		return;
	}
	if (o->type == OPT_CHOICE) {
		buf[0] = 0;
		for (i = 0; o->choices[i] && n < size; i++)
			n += (size_t)snprintf(buf + n, size - n, "%s%s",
					      i ? ", " : "", o->choices[i]);
		return;
	}
	(void)snprintf(buf, size, "%s to %s%s%s%s",
		       plain(o->min, kind.places, lo, sizeof(lo)),
		       plain(o->max, kind.places, hi, sizeof(hi)),
		       o->type == OPT_INT && o->unit ? " " : "",
		       o->type == OPT_INT && o->unit ? o->unit : "", kind.like);
}

static int parse_port(const char *text, int64_t *out)
{
	struct servent *s;

	if (!num_parse_int(text, out))
		return 0;
	s = getservbyname(text, "tcp");
	if (!s)
		return -1;
	*out = ntohs((uint16_t)s->s_port);
	return 0;
}

static int parse_choice(const struct opt *o, const char *text, int64_t *out)
{
	int i;

	for (i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], text)) {
			*out = i;
			return 0;
		}
	}
	return -1;
}

/* Numeric value of @text for @o, range not checked yet. */
static int parse_number(const struct opt *o, const char *text, int64_t *out)
{
	switch (o->type) {
	case OPT_BITS:
		return num_parse_bits(text, out);
	case OPT_SIZE:
		return num_parse_size(text, out);
	case OPT_RATE:
		return num_parse_rate(text, out);
	case OPT_FREQUENCY:
		return num_parse_frequency(text, out);
	case OPT_SECONDS:
		return num_parse_duration(text, NSEC_PER_SEC, out);
	case OPT_NSECS:
		return num_parse_duration(text, 1, out);
	case OPT_CHOICE:
		return parse_choice(o, text, out);
	case OPT_PORT:
		return parse_port(text, out);
	case OPT_INT:
	case OPT_FLAG:
	case OPT_STRING:
	case OPT_FILE:
		break;
	}
	return num_parse_int(text, out);
}

/* @text was refused for @o: because of its form, or of its range? */
static int refuse_value(const struct opt *o, const char *typed,
			const char *text, bool number, struct fault *fault)
{
	const char *digits = text + (*text == '-' || *text == '+');
	char range[256];

	/* A parser does not take what is too large, but a number it is. */
	if (o->type != OPT_CHOICE && *digits &&
	    !digits[strspn(digits, "0123456789")])
		number = true;
	accepted(o, range, sizeof(range));
	return fault_set(fault, 0, "%s: \"%.80s\" is %s%s (accepted: %s)",
			 typed, text, number ? "out of range" : "not ",
			 number ? "" : kind_of(o->type).what, range);
}

/* Set @o from @text; @typed is how the user wrote the option. */
static int set(const struct opt *o, const char *typed, const char *text,
	       void *values, struct fault *fault)
{
	char *at = (char *)values + o->offset;
	int64_t v = 0;

	if (o->type == OPT_STRING || o->type == OPT_FILE) {
		memcpy(at, &text, sizeof(text));
		return 0;
	}
	if (parse_number(o, text, &v))
		return refuse_value(o, typed, text, false, fault);
	if (o->type == OPT_FLAG ?
		    v != 0 && v != 1 :
		    o->type != OPT_CHOICE && (v < o->min || v > o->max))
		return refuse_value(o, typed, text, true, fault);
	if (o->type == OPT_FLAG) {
		bool on = v;

		memcpy(at, &on, sizeof(on));
	} else {
		memcpy(at, &v, sizeof(v));
	}
	return 0;
}

int opt_set(const struct opt_list *list, size_t index, const char *text,
	    void *values, struct fault *fault)
{
	const struct opt *o = list->opt[index];
	char typed[72];

	if (o->off_is_0 && !strcmp(text, "0")) {
		memset((char *)values + o->offset, 0, sizeof(int64_t));
		return 0;
	}
	(void)snprintf(typed, sizeof(typed), "--%s", o->name);
	return set(o, typed, text, values, fault);
}

/* ---- the command line ---- */

/* Number of edits between two names (Levenshtein), for short ones. */
static int distance(const char *a, const char *b)
{
	int row[64], n = (int)strlen(b), i, j;

	if (n >= 64)
		return 1000;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; *a; a++, i++) {
		int corner = row[0];

		row[0] = i;
		for (j = 1; j <= n; j++) {
			int up = row[j], best = corner + (*a != b[j - 1]);

			if (up + 1 < best)
				best = up + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			corner = up;
			row[j] = best;
		}
	}
	return row[n];
}

static int unknown(const struct opt_list *list, const char *typed,
		   struct fault *fault)
{
	const char *name = typed + strspn(typed, "-"), *nearest = "";
	char plain[64];
	int best = 1000;
	size_t i;

	(void)snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(name, "="),
		       name);
	for (i = 0; i < list->n; i++) {
		int d = distance(plain, list->opt[i]->name);

		if (d < best) {
			best = d;
			nearest = list->opt[i]->name;
		}
	}
	return fault_set(fault, 0,
			 "unknown option %.80s (the nearest is "
			 "--%s)",
			 typed, nearest);
}

static int takes_argument(const struct opt *o)
{
	if (o->type == OPT_FLAG)
		return no_argument;
	return o->type == OPT_FILE ? optional_argument : required_argument;
}

/* Tables for getopt_long(3) out of ours. */
struct tables {
	struct option longs[OPT_MAX + 1];
	char shorts[3 * OPT_MAX + 3];
};

static void make_tables(const struct opt_list *list, struct tables *t)
{
	char *at = t->shorts;
	size_t i;

	*at++ = ':'; /* tells a missing argument from an unknown option */
	for (i = 0; i < list->n; i++) {
		const struct opt *o = list->opt[i];
		int arg = takes_argument(o);

		t->longs[i].name = o->name;
		t->longs[i].has_arg = arg;
		t->longs[i].val = CODE_BASE + (int)i;
		if (!o->letter)
			continue;
		*at++ = o->letter;
		if (arg != no_argument)
			*at++ = ':';
		if (arg == optional_argument)
			*at++ = ':';
	}
}

static int by_letter(const struct opt_list *list, int letter)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (list->opt[i]->letter == letter)
			return (int)i;
	}
	return -1;
}

/* getopt_long() was not content with @argv[@at]. */
static int refuse(const struct opt_list *list, int code, const char *word,
		  struct fault *fault)
{
	char typed[84];
	int known = by_letter(list, optopt);

	if (optopt >= CODE_BASE)
		(void)snprintf(typed, sizeof(typed), "--%s",
			       list->opt[optopt - CODE_BASE]->name);
	else
		(void)snprintf(typed, sizeof(typed), "-%c", optopt);
	if (code == ':')
		return fault_set(fault, 0, "%s needs a value", typed);
	if (optopt >= CODE_BASE)
		return fault_set(fault, 0, "%s takes no value", typed);
	if (optopt && known < 0 && strncmp(word, "--", 2) != 0)
		return fault_set(fault, 0, "unknown option %s (see --help)",
				 typed);
	return unknown(list, word, fault);
}

/* Is the long option @word short for several? Then say so. */
static int ambiguous(const struct opt_list *list, const char *word,
		     struct fault *fault)
{
	char names[160] = "";
	size_t i, n;
	int hits = 0;

	/* @word may be a single letter in front of the faulty option. */
	if (strncmp(word, "--", 2) != 0)
		return 0;
	n = strcspn(word + 2, "=");
	for (i = 0; n && i < list->n; i++) {
		size_t used = strlen(names);

		if (strncmp(list->opt[i]->name, word + 2, n) != 0)
			continue;
		(void)snprintf(names + used, sizeof(names) - used, "%s--%s",
			       hits++ ? ", " : "", list->opt[i]->name);
	}
	if (hits < 2)
		return 0;
	return fault_set(fault, 0, "%.80s could be %s", word, names);
}

static int take(const struct opt_list *list, int code, void *values,
		struct opt_given *given, struct fault *fault)
{
	int i = code >= CODE_BASE ? code - CODE_BASE : by_letter(list, code);
	const struct opt *o;
	const char *text = optarg;
	char typed[72];

	if (i < 0)
		return -1; /* getopt_long() only names letters of the table */
	o = list->opt[i];
	if (code >= CODE_BASE)
		(void)snprintf(typed, sizeof(typed), "--%s", o->name);
	else
		(void)snprintf(typed, sizeof(typed), "-%c", o->letter);
	if (o->later)
		return fault_set(fault, 0, "%s is not available yet", typed);
	if (o->type == OPT_FLAG)
		text = "1";
	else if (!text)
		text = o->fallback;
	opt_mark_given(given, (size_t)i);
	return set(o, typed, text, values, fault);
}

int opt_parse(const struct opt_list *list, int argc, char **argv, void *values,
	      struct opt_given *given, struct fault *fault)
{
	struct tables t = { 0 };
	int code, word;

	make_tables(list, &t);
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	for (;;) {
		word = optind ? optind : 1;
		code = getopt_long(argc, argv, t.shorts, t.longs, NULL);
		if (code == -1)
			break;
		if (code == '?' || code == ':') {
			const char *typed = argv[optind - 1];

			if (optind == word)
				typed = argv[word];
			if (ambiguous(list, typed, fault))
				return -1;
			return refuse(list, code, typed, fault);
		}
		if (take(list, code, values, given, fault))
			return -1;
	}
	if (optind < argc)
		return fault_set(fault, 0,
				 "\"%.80s\" is not an option (there "
				 "are no positional arguments)",
				 argv[optind]);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Table-driven command line options; knows no option by name. */
#ifndef NAPIER_CLI_OPT_H
#define NAPIER_CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/die.h"

/* What an option's text means, and the C type of the member it fills. */
enum opt_type {
	OPT_FLAG, /* bool; takes no argument */
	OPT_INT, /* int64_t; decimal integer */
	OPT_BITS, /* int64_t; decimal or 0x... */
	OPT_SIZE, /* int64_t bytes; binary suffixes */
	OPT_RATE, /* int64_t bytes/s; num_parse_rate() */
	OPT_FREQUENCY, /* int64_t thousandths per second */
	OPT_SECONDS, /* nsec_t; a bare number is in seconds */
	OPT_NSECS, /* nsec_t; a bare number is in nanoseconds */
	OPT_STRING, /* const char *, into argv or a string kept for ever */
	OPT_FILE, /* const char *; argument optional ("-A", "-Afile", "--x=f") */
	OPT_CHOICE, /* int64_t index into choices[] */
	OPT_PORT, /* int64_t 0..65535; a number or a services(5) name */
};

/* Whose value holds (see docs/protocol.md, "agreeing"). */
enum opt_scope {
	OPT_LOCAL, /* this end only; never crosses the wire */
	OPT_TEST, /* the client's value holds on both ends */
	OPT_PEER, /* the client's is a wish; the server's own flag wins */
};

/* One option. Tables are static const arrays of these. */
struct opt {
	const char *name; /* long name, dashes */
	char letter; /* short name, or 0 */
	enum opt_type type;
	enum opt_scope scope;
	size_t offset; /* of the member in the program's options struct */
	int64_t min, max; /* accepted range, inclusive; numeric types only */
	const char *const *choices; /* OPT_CHOICE: NULL-terminated */
	const char *fallback; /* OPT_FILE: value when no argument was given */
	const char *key; /* printed key where not the name with underscores */
	const char *unit; /* for help: "bytes", "seconds", or NULL */
	const char *help; /* one sentence, lower case, no full stop */
	bool later; /* known, but this build refuses it: "not available yet" */
	bool shut; /* hidden from the key=value dump */
	bool off_is_0; /* 0 stands for "not given": a user may not type it */
};

#define OPT_MAX 160

/* Options of one program: its own table first, then the shared ones. */
struct opt_list {
	const struct opt *opt[OPT_MAX];
	size_t n;
};

/* Which options of a list were given explicitly; one bit per list index. */
struct opt_given {
	uint64_t bits[(OPT_MAX + 63) / 64];
};

/*
 * Append the @n options of @table to @list. Aborts when a long or short name
 * is taken already or the list is full: a fault of the program, not of input.
 */
void opt_list_add(struct opt_list *list, const struct opt *table, size_t n);

/* Index of the option with long name @name in @list, or -1. */
int opt_find(const struct opt_list *list, const char *name);

/* Was option @index of the list given? */
bool opt_was_given(const struct opt_given *given, size_t index);
/* Note that option @index of the list was given. */
void opt_mark_given(struct opt_given *given, size_t index);

/*
 * Parse @argv by @list into the struct at @values (defaults already there),
 * marking what was given in @given. getopt_long rules: any order, bundled
 * short flags, glued values, unique abbreviations; the last occurrence wins;
 * a positional argument is an error. Returns 0, or -1 with @fault filled: one
 * line that names the option as typed, the value and what is accepted; an
 * unknown option names the nearest known one; an option with `later` set says
 * "not available yet". -h and -v are ordinary flags of the table. May be
 * called more than once in a process. Prints nothing.
 */
int opt_parse(const struct opt_list *list, int argc, char **argv, void *values,
	      struct opt_given *given, struct fault *fault);

/*
 * Set option @index of the struct at @values from @text by the same rules
 * and checks as opt_parse(); flags accept "0" and "1", and "0" stands for "not
 * given" where the option says off_is_0. @text must outlive the
 * values for string types. Used for values that arrive from the other end.
 */
int opt_set(const struct opt_list *list, size_t index, const char *text,
	    void *values, struct fault *fault);

/*
 * Value of option @index as text that opt_set() reads back to the same value:
 * flags 0 or 1, sizes and rates in plain bytes, durations as
 * num_format_duration() writes them, a null string as "". Returns @buf, cut
 * to @size.
 */
char *opt_text(const struct opt_list *list, size_t index, const void *values,
	       char *buf, size_t size);

/*
 * Text for the key=value dump: as neper prints it. As opt_text(), except
 * that OPT_SECONDS print as a plain number of seconds (whole numbers without
 * a point, others with 6 digits) and OPT_NSECS as a plain number of ns.
 */
char *opt_dump_text(const struct opt_list *list, size_t index,
		    const void *values, char *buf, size_t size);

/* Printed key of an option: `key`, or the name with underscores. */
char *opt_key(const struct opt *opt, char *buf, size_t size);

/*
 * The whole usage text, sorted by long name, wrapped at 80 columns, with
 * defaults taken from @defaults, units, ranges, choices and scope; later
 * options marked "(not available yet)". Caller frees. NULL with errno ENOMEM.
 */
char *opt_usage(const struct opt_list *list, const char *program,
		const void *defaults);

#endif

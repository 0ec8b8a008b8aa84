/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for people on standard error, and exit during start-up. */
#ifndef NAPIER_BASE_DIE_H
#define NAPIER_BASE_DIE_H

/* Exit statuses, part of the command line's contract. */
enum status {
	STATUS_OK = 0, /* complete run */
	STATUS_FAILED = 1, /* nothing valid was measured */
	STATUS_USAGE = 2, /* bad command line; nothing was started */
	STATUS_INCOMPLETE = 3, /* ran, but ended early or lost something */
};

/*
 * Set the name that heads every message to the last component of @argv0,
 * which must outlive the process. Call once, before any other function here.
 */
void die_init(const char *argv0);

/* The name set by die_init(), "napier" before that. */
const char *die_program(void);

/*
 * Print "program: message" and a newline on standard error in one write.
 * The format is printf's. Thread-safe.
 */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * As complain(), then exit with @status. Only for start-up: must not be
 * called once a worker thread exists.
 */
_Noreturn void die(enum status status, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Text of one failure, passed up by whoever detects it. Empty when text[0]
 * is 0. The text is one line without the program's name and without a newline.
 */
struct fault {
	int err; /* errno, or 0 where none applies */
	char text[320];
};

/*
 * Fill @f with a printf text; @err, when not 0, is kept in f->err and its
 * strerror text appended after ": ". Returns -1, so that a caller can write
 * `return fault_set(...)`. Keeps the first fault: a no-op when @f holds one.
 */
int fault_set(struct fault *f, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif

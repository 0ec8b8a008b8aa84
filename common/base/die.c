/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for people on standard error, and exit during start-up. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/die.h"

#define LINE 1024

static const char *program = "napier";

void die_init(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');

	program = slash ? slash + 1 : argv0;
}

const char *die_program(void)
{
	return program;
}

/* One write, so that lines of several threads do not mix. */
static void __attribute__((format(printf, 1, 0)))
put(const char *fmt, va_list ap)
{
	char line[LINE];
	size_t n = (size_t)snprintf(line, LINE / 2, "%.200s: ", program);
	int k = vsnprintf(line + n, LINE - n - 1, fmt, ap);

	if (k > 0)
		n += (size_t)k;
	if (n > LINE - 2)
		n = LINE - 2;
	line[n++] = '\n';
	/* There is nobody left to tell when this fails. */
	(void)!write(STDERR_FILENO, line, n);
}

void complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(fmt, ap);
	va_end(ap);
}

void die(enum status status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(fmt, ap);
	va_end(ap);
	exit((int)status);
}

int fault_set(struct fault *f, int err, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (f->text[0])
		return -1;
	f->err = err;
	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	n = strlen(f->text);
	if (err)
		(void)snprintf(f->text + n, sizeof(f->text) - n, ": %s",
			       strerror(err));
	/*
	 * A line stays a line, and a terminal is not commanded, whatever a
	 * name in it holds: it may come from the other end.
	 */
	for (n = 0; f->text[n]; n++) {
		if ((unsigned char)f->text[n] < ' ' || f->text[n] == 0x7f)
			f->text[n] = ' ';
	}
	return -1;
}

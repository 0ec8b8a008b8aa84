/* SPDX-License-Identifier: Apache-2.0 */
/* A buffered file or standard output that remembers its first failure. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/report/out.h"

int out_open(struct out *o, const char *path, struct fault *fault)
{
	memset(o, 0, sizeof(*o));
	o->name = path;
	o->fd = STDOUT_FILENO;
	if (strcmp(path, OUT_STDOUT) != 0)
		o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			     0666);
	else
		o->name = "standard output";
	if (o->fd < 0)
		return fault_set(fault, errno, "cannot open %.200s", path);
	o->open = true;
	return 0;
}

/* Write all of @bytes, also where somebody made the pipe non-blocking. */
static void put(struct out *o, const char *bytes, size_t n)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };

	while (n && !o->err) {
		ssize_t k = write(o->fd, bytes, n);

		if (k >= 0) {
			bytes += k;
			n -= (size_t)k;
		} else if (errno == EAGAIN) {
			(void)poll(&p, 1, -1); /* then the write tells */
		} else if (errno != EINTR) {
			o->err = errno;
		}
	}
}

void out_bytes(struct out *o, const char *bytes, size_t n)
{
	if (!o->open || o->err)
		return;
	if (o->n + n > sizeof(o->buf)) {
		put(o, o->buf, o->n);
		o->n = 0;
	}
	if (n > sizeof(o->buf)) {
		put(o, bytes, n);
		return;
	}
	memcpy(o->buf + o->n, bytes, n);
	o->n += n;
}

void out_text(struct out *o, const char *text)
{
	out_bytes(o, text, strlen(text));
}

/* The last digits of @v before @end, at least @least; their start. */
static char *digits(char *end, uint64_t v, int least)
{
	for (; v || least > 0; v /= 10, least--)
		*--end = (char)('0' + v % 10);
	return end;
}

void out_u64(struct out *o, uint64_t v)
{
	char buf[20], *end = buf + sizeof(buf), *at = digits(end, v, 1);

	out_bytes(o, at, (size_t)(end - at));
}

void out_i64(struct out *o, int64_t v)
{
	if (v < 0)
		out_bytes(o, "-", 1);
	out_u64(o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void out_seconds(struct out *o, nsec_t ns, int places)
{
	uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	char buf[9];

	if (ns < 0)
		out_bytes(o, "-", 1);
	out_u64(o, v / NSEC_PER_SEC);
	if (places <= 0)
		return;
	(void)digits(buf + sizeof(buf), v % NSEC_PER_SEC, 9);
	out_bytes(o, ".", 1);
	out_bytes(o, buf, (size_t)(places < 9 ? places : 9));
}

void out_real(struct out *o, double v, int places)
{
	const char *point = localeconv()->decimal_point, *at;
	char buf[400];

	(void)snprintf(buf, sizeof(buf), "%.*f", places, v);
	at = strstr(buf, point);
	if (!at) {
		out_text(o, buf);
		return;
	}
	out_bytes(o, buf, (size_t)(at - buf));
	out_bytes(o, ".", 1);
	out_text(o, at + strlen(point));
}

int out_flush(struct out *o)
{
	if (o->open && o->n)
		put(o, o->buf, o->n);
	o->n = 0;
	return o->err ? -1 : 0;
}

int out_check(struct out *o)
{
	if (!out_flush(o))
		return 0;
	if (!o->told)
		complain("cannot write %.200s: %s", o->name, strerror(o->err));
	o->told = true;
	return -1;
}

int out_close(struct out *o)
{
	if (!o->open)
		return 0;
	(void)out_flush(o); /* the check below tells */
	if (o->fd != STDOUT_FILENO && close(o->fd) && !o->err)
		o->err = errno;
	o->open = false;
	return out_check(o);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Whole frames over a non-blocking TCP connection: NPR1, length, JSON. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/control/frame.h"

/*
 * Read at most this far ahead of what the next frame needs. It bounds what is
 * moved to the front when a frame is handed out, however many small frames a
 * hostile peer puts behind a large one.
 */
#define READ_AHEAD ((size_t)4096)

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

long frame_scan(const uint8_t *buf, size_t len, size_t limit, size_t *payload)
{
	size_t n;

	/* Each byte counts: a stranger may send three and wait for us. */
	if (memcmp(buf, FRAME_MAGIC, min_size(len, strlen(FRAME_MAGIC))) != 0)
		return -1;
	if (len < FRAME_HEADER)
		return 0;
	n = (size_t)buf[4] << 24 | (size_t)buf[5] << 16 | (size_t)buf[6] << 8 |
	    (size_t)buf[7];
	if (n == 0 || n > limit)
		return -2;
	*payload = n;
	return len - FRAME_HEADER >= n ? (long)(FRAME_HEADER + n) : 0;
}

static int broken(struct frame_conn *c, int err)
{
	c->state = FRAME_BROKEN;
	c->err = err;
	return -1;
}

/* Make *@buf at least @need bytes large, doubling; 0, or -1 out of memory. */
static int reserve(uint8_t **buf, size_t *room, size_t need)
{
	size_t size = *room > 0 ? *room : READ_AHEAD;
	uint8_t *p;

	if (need <= *room)
		return 0;
	while (size < need)
		size *= 2;
	p = realloc(*buf, size);
	if (p == NULL)
		return -1;
	*buf = p;
	*room = size;
	return 0;
}

void frame_open(struct frame_conn *c, int fd, size_t limit)
{
	int flags;

	*c = (struct frame_conn){ .fd = fd, .state = FRAME_OPEN };
	c->limit = min_size(limit, FRAME_MAX);
	c->heard = c->sent = clock_now();
	flags = fcntl(fd, F_GETFL);
	if (flags == -1 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1)
		(void)broken(c, errno);
}

void frame_close(struct frame_conn *c)
{
	/* Nothing to do about a failure: the descriptor is gone either way. */
	if (c->fd != -1)
		(void)close(c->fd);
	c->fd = -1;
	if (c->state == FRAME_OPEN)
		c->state = FRAME_CLOSED;
	free(c->in);
	free(c->out);
	c->in = c->out = NULL;
	c->in_len = c->in_room = c->out_len = c->out_room = 0;
}

/* Keep the @n bytes that recv() has put behind what was unread. */
static void keep(struct frame_conn *c, size_t n)
{
	size_t first = min_size(n, sizeof(c->first) - c->first_len);

	memcpy(c->first + c->first_len, c->in + c->in_len, first);
	c->first_len += first;
	c->in_len += n;
	c->heard = clock_now();
}

/*
 * Read once, up to the end of a frame with @payload bytes (0: not known yet)
 * or READ_AHEAD. Returns 1 when bytes came, 0 when there are none for now, -1
 * when there will be none.
 */
static int fill(struct frame_conn *c, size_t payload)
{
	size_t goal = FRAME_HEADER + payload;
	ssize_t n;

	if (goal < READ_AHEAD)
		goal = READ_AHEAD;
	/* What is claimed is only given room as the bytes come. */
	if (c->in_len == c->in_room &&
	    reserve(&c->in, &c->in_room, min_size(goal, c->in_len + 1)) != 0)
		return broken(c, ENOMEM);
	do
		n = recv(c->fd, c->in + c->in_len,
			 min_size(goal, c->in_room) - c->in_len, 0);
	while (n == -1 && errno == EINTR);
	if (n > 0) {
		keep(c, (size_t)n);
		return 1;
	}
	if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return c->state == FRAME_OPEN ? 0 : -1;
	if (n == -1)
		return broken(c, errno);
	if (c->state == FRAME_OPEN)
		c->state = FRAME_CLOSED;
	return -1;
}

/* Hand out the frame of @size bytes that the unread bytes begin with. */
static int take(struct frame_conn *c, size_t size, char **json, size_t *len)
{
	size_t n = size - FRAME_HEADER;
	char *text = malloc(n + 1);

	if (text == NULL)
		return broken(c, ENOMEM);
	memcpy(text, c->in + FRAME_HEADER, n);
	text[n] = '\0';
	c->in_len -= size;
	memmove(c->in, c->in + size, c->in_len);
	*json = text;
	*len = n;
	return 1;
}

int frame_next(struct frame_conn *c, char **json, size_t *len)
{
	int more;

	for (;;) {
		size_t payload = 0;
		long size = 0;

		if (c->in_len > 0)
			size = frame_scan(c->in, c->in_len, c->limit, &payload);
		if (size > 0)
			return take(c, (size_t)size, json, len);
		if (size < 0) {
			c->state = size == -1 ? FRAME_FOREIGN : FRAME_OVERSIZE;
			return -1;
		}
		/*
		 * After a failed send the kernel may still hold what the other
		 * end said before it went, such as why: read on.
		 */
		if (c->fd == -1 ||
		    (c->state != FRAME_OPEN && c->state != FRAME_BROKEN))
			return -1;
		more = fill(c, payload);
		if (more <= 0)
			return more;
	}
}

int frame_flush(struct frame_conn *c)
{
	size_t done = 0;

	while (c->state == FRAME_OPEN && done < c->out_len) {
		ssize_t n = send(c->fd, c->out + done, c->out_len - done,
				 MSG_NOSIGNAL);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			break;
		else if (errno != EINTR)
			(void)broken(c, errno);
	}
	if (c->state != FRAME_OPEN)
		return -1;
	if (done > 0) {
		c->out_len -= done;
		memmove(c->out, c->out + done, c->out_len);
	}
	return 0;
}

int frame_send(struct frame_conn *c, const char *json, size_t len)
{
	size_t need = c->out_len + FRAME_HEADER + len;
	uint8_t *p;

	if (c->state != FRAME_OPEN || len == 0 || len > FRAME_MAX)
		return -1;
	if (reserve(&c->out, &c->out_room, need) != 0)
		return -1;
	p = c->out + c->out_len;
	memcpy(p, FRAME_MAGIC, 4);
	p[4] = (uint8_t)(len >> 24);
	p[5] = (uint8_t)(len >> 16);
	p[6] = (uint8_t)(len >> 8);
	p[7] = (uint8_t)len;
	memcpy(p + FRAME_HEADER, json, len);
	c->out_len = need;
	c->sent = clock_now();
	return frame_flush(c);
}

bool frame_pending(const struct frame_conn *c)
{
	return c->state == FRAME_OPEN && c->out_len > 0;
}

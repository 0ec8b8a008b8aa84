/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz the frame decoder: the pure step, and a connection fed in pieces. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/control/frame.h"

/* Small enough for a socket pair's buffer, so that a write never blocks. */
#define MOST 32768

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Walk @data with the pure step; returns the whole frames at its front. */
static size_t scan_all(const uint8_t *data, size_t size, size_t limit,
		       long *end)
{
	size_t frames = 0;
	size_t at = 0;

	for (;;) {
		size_t payload = 0;
		long n = frame_scan(data + at, size - at, limit, &payload);

		if (n <= 0) {
			*end = n;
			return frames;
		}
		assert((size_t)n <= size - at);
		assert(payload > 0 && payload <= limit);
		assert((size_t)n == payload + FRAME_HEADER);
		/* One byte less must not do. */
		assert(frame_scan(data + at, (size_t)n - 1, limit, &payload) ==
		       0);
		at += (size_t)n;
		frames++;
	}
}

/* Take what frames there are; each is a terminated copy of its length. */
static int take_all(struct frame_conn *c, size_t *frames)
{
	char *json;
	size_t len;
	int got;

	while ((got = frame_next(c, &json, &len)) == 1) {
		assert(len > 0 && len <= c->limit && json[len] == '\0');
		free(json);
		++*frames;
	}
	return got;
}

/* Feed @data in pieces of @step bytes through a real socket pair. */
static void feed(const uint8_t *data, size_t size, size_t limit, size_t step)
{
	struct frame_conn c;
	size_t want, frames = 0;
	long end;
	int fd[2];
	int got = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		abort();
	frame_open(&c, fd[0], limit);
	want = scan_all(data, size, c.limit, &end);
	for (size_t at = 0; at < size && got == 0; at += step) {
		size_t n = size - at < step ? size - at : step;

		if (write(fd[1], data + at, n) != (ssize_t)n)
			abort();
		got = take_all(&c, &frames);
	}
	close(fd[1]);
	if (got == 0)
		got = take_all(&c, &frames);
	assert(got == -1 && frames == want);
	assert(c.state == (end == 0  ? FRAME_CLOSED :
			   end == -1 ? FRAME_FOREIGN :
				       FRAME_OVERSIZE));
	assert(c.first_len <= size);
	assert(memcmp(c.first, data, c.first_len) == 0);
	frame_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t limits[] = { 1, 2, 64, 4096, FRAME_MAX };
	static const size_t steps[] = { 1, 3, 7, 8, 100, 4096, MOST };
	size_t limit, step;

	if (size < 2 || size > MOST)
		return 0;
	limit = limits[data[0] % (sizeof(limits) / sizeof(limits[0]))];
	step = steps[data[1] % (sizeof(steps) / sizeof(steps[0]))];
	/* Single bytes of a long input are slow and teach nothing new. */
	if (size / step > 2048)
		step = size / 2048 + 1;
	feed(data + 2, size - 2, limit, step);
	return 0;
}

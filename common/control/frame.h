/* SPDX-License-Identifier: Apache-2.0 */
/* Whole frames over a non-blocking TCP connection: NPR1, length, JSON. */
#ifndef NAPIER_CONTROL_FRAME_H
#define NAPIER_CONTROL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"

/*
 * A frame is 4 bytes "NPR1", a 32-bit big-endian payload length (1 to
 * FRAME_MAX), and that many bytes of JSON text (docs/protocol.md).
 */
#define FRAME_MAGIC "NPR1"
#define FRAME_HEADER 8
#define FRAME_MAX ((size_t)1 << 20)

/* Why a connection gives no more frames. */
enum frame_state {
	FRAME_OPEN, /* in use */
	FRAME_CLOSED, /* the other end closed in an orderly way */
	FRAME_BROKEN, /* a socket error; errno kept in err */
	FRAME_FOREIGN, /* bytes that are not a frame: not our protocol */
	FRAME_OVERSIZE, /* a length above the limit, or 0 */
};

struct frame_conn {
	int fd; /* owned; -1 when closed */
	enum frame_state state;
	int err; /* errno of FRAME_BROKEN */
	nsec_t heard; /* instant of the last byte received */
	nsec_t sent; /* instant of the last frame queued */
	uint8_t *in; /* unread bytes; owned */
	size_t in_len, in_room;
	uint8_t *out; /* bytes not yet taken by the kernel; owned */
	size_t out_len, out_room;
	size_t limit; /* largest payload accepted from the other end, bytes */
	uint8_t first[16]; /* first bytes ever received, for a message that
			    * tells what the other end seems to be */
	size_t first_len;
};

/*
 * Start frames on the connected socket @fd, which becomes non-blocking and
 * owned. Payloads above @limit bytes (at most FRAME_MAX) are refused.
 */
void frame_open(struct frame_conn *c, int fd, size_t limit);

/* Close the socket and release the buffers; harmless when closed already. */
void frame_close(struct frame_conn *c);

/*
 * Read what has arrived, without blocking. Returns 1 with *@json set to the
 * text of the next whole frame (NUL-terminated, *@len bytes; the caller
 * frees), 0 when no whole frame is there yet, -1 when none will come (c->state
 * tells why; frames that arrived before are still handed out first).
 */
int frame_next(struct frame_conn *c, char **json, size_t *len);

/*
 * Queue one frame with the @len bytes of @json and write what the kernel
 * takes. Returns 0, or -1 when the connection is no longer open, the payload
 * is empty or above FRAME_MAX, or memory is short. Never raises SIGPIPE.
 */
int frame_send(struct frame_conn *c, const char *json, size_t len);

/* Write more of what is queued; 0, or -1 as frame_send(). */
int frame_flush(struct frame_conn *c);

/* True when bytes are queued: the caller then also waits for POLLOUT. */
bool frame_pending(const struct frame_conn *c);

/*
 * Pure step of the decoder, for tests and the fuzzer: looks at the first
 * @len bytes of @buf. Returns the size of the whole frame (header included)
 * when one is there, 0 when more bytes are needed, -1 not a frame, -2 length
 * 0 or above @limit. *@payload is the payload length whenever the header is
 * whole and valid.
 */
long frame_scan(const uint8_t *buf, size_t len, size_t limit, size_t *payload);

#endif

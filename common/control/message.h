/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the control protocol, version 1, as plain structs. */
#ifndef NAPIER_CONTROL_MESSAGE_H
#define NAPIER_CONTROL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/result/result.h"

#define MESSAGE_VERSION 1
#define MESSAGE_OPTIONS 160 /* most options in one message */
#define MESSAGE_PORTS 1024 /* most data ports */
#define MESSAGE_WINDOWS 16 /* most windows */

/*
 * What one end says to the other. docs/protocol.md gives the JSON of each.
 */
enum message_type {
	/* "I speak these versions and want this test." client to server */
	MESSAGE_HELLO,
	/* "You are participant i; open your flows with this cookie." s to c */
	MESSAGE_ACCEPT,
	/* "No, because ..." server to client, then the connection closes */
	MESSAGE_REFUSE,
	/* "I have this many of your flows." server to client */
	MESSAGE_FLOWS,
	/* "What does your clock say?" and the answer. Either way. */
	MESSAGE_PING,
	MESSAGE_PONG,
	/* "It begins at this instant of your clock." server to client */
	MESSAGE_START,
	/* "These are my totals of interval k." Either way. */
	MESSAGE_ROW,
	/* "All bytes I was to receive are here." Either way, with --bytes. */
	MESSAGE_DONE,
	/* "I ended the run early, because ..." Either way. */
	MESSAGE_STOP,
	/* "Part k of n of what I measured." Either way. */
	MESSAGE_RESULT,
	/* "I have all I need; flows may be torn down." client to server */
	MESSAGE_BYE,
	/* "I am still here." Either way, after half a second of silence. */
	MESSAGE_ALIVE,
	MESSAGE_TYPES,
};

/* Why a hello was refused; numbers are part of the protocol. */
enum refusal {
	REFUSAL_BUSY = 1, /* a test is under way: come again */
	REFUSAL_VERSION = 2, /* no common version */
	REFUSAL_PROGRAM = 3, /* another workload */
	REFUSAL_OPTION = 4, /* an option's value is not acceptable */
	REFUSAL_LIMIT = 5, /* more than this server may or can serve */
	REFUSAL_ADDRESS = 6, /* not among the networks that are served */
	REFUSAL_FEATURE = 7, /* something in `must` is unknown */
	REFUSAL_FAILED = 8, /* the server could not carry it out */
};

/* One option as text, with who set it. */
struct message_option {
	char *name, *value; /* owned */
	bool given; /* on the sender's command line */
};

struct message_window {
	bool warmup;
	nsec_t length;
};

struct message_hello {
	int64_t version_min, version_max;
	char program[32];
	char uuid[40];
	char boot_id[40];
	char host[64];
	char unknown_must[64]; /* a demanded feature we lack, or "" */
	int64_t flows;
	int n_options;
	struct message_option options[MESSAGE_OPTIONS];
	int n_windows;
	struct message_window windows[MESSAGE_WINDOWS];
};

struct message_accept {
	int64_t version;
	char boot_id[40];
	char host[64];
	int64_t participant, participants;
	uint8_t cookie[16];
	int64_t backlog; /* connections the server's kernel really queues */
	int n_ports;
	uint16_t ports[MESSAGE_PORTS];
	int n_options; /* those the server's command line decided */
	struct message_option options[MESSAGE_OPTIONS];
};

struct message_refuse {
	int64_t code; /* enum refusal */
	char program[32]; /* of the server, where code is REFUSAL_PROGRAM */
	char text[320];
};

/* One message; only the member that `type` names is set. */
struct message {
	enum message_type type;
	struct message_hello hello;
	struct message_accept accept;
	struct message_refuse refuse;
	int64_t have, of; /* FLOWS */
	int64_t seq; /* PING, PONG */
	nsec_t time; /* PONG: its clock; START: instant of the receiver's */
	struct clock_match match; /* START: receiver's clock minus sender's */
	struct row row;
	char reason[160]; /* STOP */
	int64_t part, parts; /* RESULT: part k (from 1) of n */
	struct end_result *result; /* RESULT: what this part holds; owned */
};

/* Name of a type on the wire. */
const char *message_name(enum message_type type);

/*
 * JSON text of @m, *@len bytes; the caller frees. NULL with errno ENOMEM or
 * EMSGSIZE when a frame cannot hold it.
 */
char *message_encode(const struct message *m, size_t *len);

/*
 * Read @len bytes of JSON, behind which there is a 0. Returns a message for
 * message_free(), or NULL with @fault naming the member that is missing or out
 * of bounds. Unknown members are ignored; numbers are exact.
 */
struct message *message_decode(const char *json, size_t len,
			       struct fault *fault);

/* Release a message with all it holds; NULL is fine. */
void message_free(struct message *m);

#endif

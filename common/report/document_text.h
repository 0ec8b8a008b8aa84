/* SPDX-License-Identifier: Apache-2.0 */
/* Small members that several blocks of a document share. */
#ifndef NAPIER_REPORT_DOCUMENT_TEXT_H
#define NAPIER_REPORT_DOCUMENT_TEXT_H

#include "common/report/emit.h"

/* "client" or "server". */
const char *document_side(bool client);

/* Member "participant", null for a negative number: a server's. */
void document_participant(struct emit *e, int64_t participant);

/*
 * Members @epoch, nanoseconds since 1970, and @text, the same in RFC 3339;
 * both null for an unknown time, which is 0.
 */
void document_time(struct emit *e, const char *epoch, const char *text,
		   nsec_t wall);

/* A CPU or a node: null where it is negative. */
void document_place(struct emit *e, const char *key, int64_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* How a server comes to a test: hellos are weighed, answered or refused. */
#ifndef NAPIER_SERVER_AGREE_H
#define NAPIER_SERVER_AGREE_H

#include "common/server_state.h"

/*
 * Handle @event of a connection that takes no part in a test, @arg being the
 * struct server: a hello makes it a participant (s->agreed, s->joined) or is
 * refused with a reason. Releases the message. Fits struct test_host.
 */
void server_hear_other(void *arg, struct hub_event *event);

/*
 * Look after data connections and hellos that wait for their answer, @arg
 * being the struct server; returns when to call again. Fits struct test_host.
 */
nsec_t server_tend(void *arg, nsec_t now);

/* Release the test under way, started or not; there is none afterwards. */
void server_end_test(struct server *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A server's listeners: control for its life, data anew for each test. */
#ifndef NAPIER_SERVER_LISTEN_H
#define NAPIER_SERVER_LISTEN_H

#include "common/server_state.h"

/*
 * Open the control and data listeners of @s, whose run and own are set. 0, or
 * -1 with s->fault; server_close() in both cases.
 */
int server_open(struct server *s);

/* Close all listeners and connections. */
void server_close(struct server *s);

/*
 * Open @ports data listeners in place of the present ones, with the settings
 * of @plan or without (NULL): so nothing of one test leaks into the next. 0,
 * or -1 with s->fault; then there are none.
 */
int server_listen_data(struct server *s, struct sock_plan *plan, int ports);

#endif

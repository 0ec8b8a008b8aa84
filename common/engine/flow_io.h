/* SPDX-License-Identifier: Apache-2.0 */
/* Moving bytes on a flow: one send or receive, counted. */
#ifndef NAPIER_ENGINE_FLOW_IO_H
#define NAPIER_ENGINE_FLOW_IO_H

#include <stddef.h>
#include <sys/types.h>

#include "common/engine/flow.h"

/*
 * Send at most @len bytes of @data. Returns the number the kernel took (at
 * least 1), 0 when there is no room now, -1 when the flow is dead (then f->err
 * is set and the caller returns at once; the worker closes it).
 */
ssize_t flow_send(struct lane *l, struct flow *f, const void *data, size_t len);

/*
 * Receive at most @len bytes into @data (or discard them, when the lane says
 * so). Returns their number (at least 1), 0 when nothing is there, -1 when
 * the flow is dead or its peer closed it (f->err is set, ECONNRESET for an
 * orderly close before the end).
 */
ssize_t flow_recv(struct lane *l, struct flow *f, void *data, size_t len);

#endif

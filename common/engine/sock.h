/* SPDX-License-Identifier: Apache-2.0 */
/* Data sockets: listening, connecting, adopting, asking. */
#ifndef NAPIER_ENGINE_SOCK_H
#define NAPIER_ENGINE_SOCK_H

#include <stdbool.h>
#include <sys/time.h>

#include "common/base/die.h"
#include "common/engine/sock_options.h"
#include "common/plan/addr.h"

/*
 * Open a non-blocking socket that listens on @addr with the settings of @p
 * (NULL: none) and @backlog. *@addr gets the real port. Returns the
 * descriptor, or -1 with @fault naming the address and port.
 */
int sock_listen(struct addr *addr, const struct sock_plan *p, int backlog,
		bool v6only, bool freebind, struct fault *fault);

/*
 * Open a non-blocking socket, apply @p, bind to @local (NULL: any address;
 * port 0: any port, chosen late, ip(7) IP_BIND_ADDRESS_NO_PORT), and start
 * connecting to @peer. Returns the descriptor, or -1 with @fault.
 */
int sock_connect(struct sock_plan *p, const struct addr *local,
		 const struct addr *peer, struct fault *fault);

/* Outcome of a connect under way: 0, or the errno of its failure. */
int sock_connect_result(int fd);

/*
 * Apply @p to the accepted socket @fd and compare what was read back with
 * the settings. Returns 0, or -1 with @fault.
 */
int sock_adopt(struct sock_plan *p, int fd, struct fault *fault);

/*
 * Make transfers on @fd without MSG_DONTWAIT block for at most @limit. 0, or
 * -1 with errno.
 */
int sock_block(int fd, const struct timeval *limit);

/* Both addresses of a connected socket. 0, or -1 when one is unknown. */
int sock_path(int fd, struct addr *local, struct addr *peer);

/* SYNs that the connected socket @fd had to repeat, from TCP_INFO, or 0. */
int sock_retransmits(int fd);

/* CPU that the last packet of @fd was handled on (SO_INCOMING_CPU), or -1. */
int sock_incoming_cpu(int fd);

/* NAPI id of the receive queue of @fd (SO_INCOMING_NAPI_ID), 0 unknown. */
unsigned sock_incoming_napi(int fd);

#endif

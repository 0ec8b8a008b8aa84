/* SPDX-License-Identifier: Apache-2.0 */
/* Names and addresses: resolving, formatting, local hosts, interfaces. */
#ifndef NAPIER_PLAN_ADDR_H
#define NAPIER_PLAN_ADDR_H

#include <netdb.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "common/base/die.h"

/* One socket address of either family. */
struct addr {
	socklen_t len;
	union {
		struct sockaddr sa;
		struct sockaddr_storage ss;
	};
};

#define ADDR_TEXT 80 /* room for an address with scope and port */

/*
 * Resolve @host ("name", "1.2.3.4", "::1", "[::1]", "fe80::1%eth0"; NULL with
 * @passive means all local addresses, without it the loopback) and @port for
 * TCP by getaddrinfo(3). @family is AF_UNSPEC, AF_INET or AF_INET6. At most
 * @room results in the resolver's order go to @out. Returns their number (at
 * least 1), or -1 with @fault; a link-local address without a scope is a
 * failure that says so.
 */
int addr_resolve(const char *host, int port, int family, bool passive,
		 struct addr *out, int room, struct fault *fault);

/* Set the port, host byte order. */
void addr_set_port(struct addr *a, int port);
/* The port, host byte order. */
int addr_port(const struct addr *a);

/*
 * Text "1.2.3.4" or "fe80::1%eth0" (v4-mapped ones as plain dotted quad), with
 * ":port" or "[...]:port" when @port is true. Returns @buf.
 */
char *addr_text(const struct addr *a, bool port, char *buf, size_t size);

/* True when both hold the same address, ports ignored. */
bool addr_same_host(const struct addr *a, const struct addr *b);

/*
 * Parse a comma list of numeric source addresses (-L) for @family of the
 * peer. Returns how many were written to @out (at most @room), or -1 with
 * @fault naming the bad one.
 */
int addr_list(const char *list, int family, struct addr *out, int room,
	      struct fault *fault);

/*
 * Name of the interface that holds address @a, into @buf. Returns 0, or -1
 * when none does.
 */
int addr_interface(const struct addr *a, char *buf, size_t size);

/* A network "10.0.0.0/8" or "fd00::/8" or a bare address. */
struct addr_net {
	struct addr base;
	int bits;
};

/* Parse a CIDR text; 0, or -1 with @fault. */
int addr_net_parse(const char *text, struct addr_net *net, struct fault *fault);

/* True when @a lies inside @net (v4-mapped addresses count as IPv4). */
bool addr_net_holds(const struct addr_net *net, const struct addr *a);

#endif

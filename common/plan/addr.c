/* SPDX-License-Identifier: Apache-2.0 */
/* Names and addresses: resolving, formatting, local hosts, interfaces. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/plan/addr.h"

/* Longest numeric text: an address, '%', an interface's name. */
#define NUMERIC_TEXT (INET6_ADDRSTRLEN + IF_NAMESIZE + 1)

static struct sockaddr_in *in4(struct addr *a)
{
	return (struct sockaddr_in *)&a->ss;
}

static struct sockaddr_in6 *in6(struct addr *a)
{
	return (struct sockaddr_in6 *)&a->ss;
}

static const struct sockaddr_in *in4_const(const struct addr *a)
{
	return (const struct sockaddr_in *)&a->ss;
}

static const struct sockaddr_in6 *in6_const(const struct addr *a)
{
	return (const struct sockaddr_in6 *)&a->ss;
}

static struct addr from_in4(struct in_addr host)
{
	struct addr a = { .len = sizeof(struct sockaddr_in) };

	in4(&a)->sin_family = AF_INET;
	in4(&a)->sin_addr = host;
	return a;
}

static struct addr from_in6(const struct in6_addr *host, unsigned scope)
{
	struct addr a = { .len = sizeof(struct sockaddr_in6) };

	in6(&a)->sin6_family = AF_INET6;
	in6(&a)->sin6_addr = *host;
	in6(&a)->sin6_scope_id = scope;
	return a;
}

static struct addr from_sockaddr(const struct sockaddr *sa, socklen_t len)
{
	struct addr a = { .len = len };

	memcpy(&a.ss, sa, len);
	return a;
}

static bool is_link_local(const struct addr *a)
{
	return a->sa.sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&in6_const(a)->sin6_addr);
}

/* connect(2) and bind(2) refuse it with a bare EINVAL. */
static bool lacks_scope(const struct addr *a)
{
	return is_link_local(a) && !in6_const(a)->sin6_scope_id;
}

static int scope_fault(const char *what, const struct addr *a,
		       struct fault *fault)
{
	char text[ADDR_TEXT];

	(void)addr_text(a, false, text, sizeof(text));
	return fault_set(fault, 0,
			 "%s \"%s\" is link-local: it needs %%interface, like "
			 "%s%%eth0",
			 what, text, text);
}

/*
 * Copy @text of @len bytes without the brackets around it. -1 when it is too
 * long for a numeric address.
 */
static int copy_bare(const char *text, size_t len, char bare[NUMERIC_TEXT])
{
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len >= NUMERIC_TEXT)
		return -1;
	memcpy(bare, text, len);
	bare[len] = '\0';
	return 0;
}

/* Index of the interface named or numbered @scope; 0 when there is none. */
static unsigned scope_index(const char *scope)
{
	unsigned index = if_nametoindex(scope);
	char name[IF_NAMESIZE], *end;
	unsigned long number;

	if (index || *scope < '0' || *scope > '9')
		return index;
	errno = 0;
	number = strtoul(scope, &end, 10);
	if (errno || *end || number > UINT32_MAX ||
	    !if_indextoname((unsigned)number, name))
		return 0;
	return (unsigned)number;
}

/*
 * Read the numeric address @text of @len bytes without the resolver. Returns
 * 1 when it is one, 0 when not, or -1 with @fault when its scope does not
 * exist; @what heads the message.
 */
static int read_numeric(const char *what, const char *text, size_t len,
			struct addr *out, struct fault *fault)
{
	char bare[NUMERIC_TEXT], *scope;
	struct in_addr v4;
	struct in6_addr v6;
	unsigned index = 0;

	if (copy_bare(text, len, bare))
		return 0;
	if (inet_pton(AF_INET, bare, &v4) == 1) {
		*out = from_in4(v4);
		return 1;
	}
	scope = strchr(bare, '%');
	if (scope)
		*scope++ = '\0';
	if (inet_pton(AF_INET6, bare, &v6) != 1)
		return 0;
	if (scope) {
		index = scope_index(scope);
		if (!index) {
			(void)fault_set(fault, 0,
					"%s \"%s%%%s\": no network interface "
					"\"%s\"",
					what, bare, scope, scope);
			return -1;
		}
	}
	*out = from_in6(&v6, index);
	return 1;
}

static const char *family_name(int family)
{
	return family == AF_INET6 ? "IPv6" : "IPv4";
}

static bool family_fits(int family, const struct addr *a)
{
	return family == AF_UNSPEC || family == a->sa.sa_family;
}

/* IPv4 first: it is the loopback that every machine has. */
static int give_loopback(int family, struct addr *out, int room)
{
	const struct addr both[] = {
		from_in4((struct in_addr){ htonl(INADDR_LOOPBACK) }),
		from_in6(&in6addr_loopback, 0),
	};
	int n = 0;

	for (int i = 0; i < 2; i++)
		if (family_fits(family, &both[i]) && n < room)
			out[n++] = both[i];
	return n;
}

static bool is_among(const struct addr *a, const struct addr *list, int n)
{
	for (int i = 0; i < n; i++)
		if (addr_same_host(a, &list[i]))
			return true;
	return false;
}

/*
 * Take what can be used out of @found. The resolver repeats addresses that
 * /etc/hosts holds twice; and it gives link-local ones without their scope.
 */
static int take_found(const struct addrinfo *found, const char *host,
		      struct addr *out, int room, struct fault *fault)
{
	char text[ADDR_TEXT] = "";
	int n = 0;

	for (; found && n < room; found = found->ai_next) {
		struct addr a;

		if (found->ai_addrlen > sizeof(a.ss))
			continue;
		a = from_sockaddr(found->ai_addr, found->ai_addrlen);
		if (lacks_scope(&a))
			(void)addr_text(&a, false, text, sizeof(text));
		else if (!is_among(&a, out, n))
			out[n++] = a;
	}
	if (!n && *text)
		return fault_set(fault, 0,
				 "host \"%s\" is %s, which is link-local: it "
				 "needs %%interface, like %s%%eth0",
				 host, text, text);
	if (!n)
		return fault_set(fault, 0, "host \"%s\" has no address", host);
	return n;
}

static int resolve_name(const char *host, int family, bool passive,
			struct addr *out, int room, struct fault *fault)
{
	/* No AI_ADDRCONFIG: it hides ::1 where only the loopback is up. */
	struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_STREAM,
		.ai_protocol = IPPROTO_TCP,
		.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0),
	};
	struct addrinfo *found = NULL;
	int n, rc = getaddrinfo(host, "0", &hints, &found);
	const char *shown = host ? host : "";

	if (rc == EAI_SYSTEM)
		return fault_set(fault, errno, "host \"%s\"", shown);
	if (rc && family != AF_UNSPEC)
		return fault_set(fault, 0, "host \"%s\" as %s: %s", shown,
				 family_name(family), gai_strerror(rc));
	if (rc)
		return fault_set(fault, 0, "host \"%s\": %s", shown,
				 gai_strerror(rc));
	n = take_found(found, shown, out, room, fault);
	freeaddrinfo(found);
	return n;
}

int addr_resolve(const char *host, int port, int family, bool passive,
		 struct addr *out, int room, struct fault *fault)
{
	int n = 0;

	/* A numeric address needs no resolver, and can be told its fault. */
	if (host)
		n = read_numeric("host", host, strlen(host), out, fault);
	if (n < 0)
		return -1;
	if (n) {
		if (!family_fits(family, out))
			return fault_set(fault, 0,
					 "host \"%s\" is not an %s address",
					 host, family_name(family));
		if (lacks_scope(out))
			return scope_fault("host", out, fault);
	} else if (!host && !passive) {
		n = give_loopback(family, out, room);
	} else {
		n = resolve_name(host, family, passive, out, room, fault);
	}
	for (int i = 0; i < n; i++)
		addr_set_port(&out[i], port);
	return n;
}

void addr_set_port(struct addr *a, int port)
{
	if (a->sa.sa_family == AF_INET6)
		in6(a)->sin6_port = htons((uint16_t)port);
	else
		in4(a)->sin_port = htons((uint16_t)port);
}

int addr_port(const struct addr *a)
{
	return ntohs(a->sa.sa_family == AF_INET6 ? in6_const(a)->sin6_port :
						   in4_const(a)->sin_port);
}

/* @a with a v4-mapped address turned into the IPv4 one that it stands for. */
static struct addr unmapped(const struct addr *a)
{
	const struct in6_addr *v6 = &in6_const(a)->sin6_addr;
	struct in_addr v4;
	struct addr plain;

	if (a->sa.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(v6))
		return *a;
	memcpy(&v4, &v6->s6_addr[12], sizeof(v4));
	plain = from_in4(v4);
	addr_set_port(&plain, addr_port(a));
	return plain;
}

static void numeric_text(const struct addr *a, char text[NUMERIC_TEXT])
{
	const struct sockaddr_in6 *v6 = in6_const(a);
	char name[IF_NAMESIZE];
	size_t used;

	if (a->sa.sa_family == AF_INET) {
		(void)inet_ntop(AF_INET, &in4_const(a)->sin_addr, text,
				NUMERIC_TEXT);
		return;
	}
	(void)inet_ntop(AF_INET6, &v6->sin6_addr, text, NUMERIC_TEXT);
	if (!v6->sin6_scope_id)
		return;
	used = strlen(text);
	if (if_indextoname(v6->sin6_scope_id, name))
		snprintf(text + used, NUMERIC_TEXT - used, "%%%s", name);
	else /* the interface has gone */
		snprintf(text + used, NUMERIC_TEXT - used, "%%%u",
			 v6->sin6_scope_id);
}

char *addr_text(const struct addr *a, bool port, char *buf, size_t size)
{
	char text[NUMERIC_TEXT];
	struct addr plain;

	if (a->sa.sa_family != AF_INET && a->sa.sa_family != AF_INET6) {
		snprintf(buf, size, "?");
		return buf;
	}
	plain = unmapped(a);
	numeric_text(&plain, text);
	if (!port)
		snprintf(buf, size, "%s", text);
	else if (plain.sa.sa_family == AF_INET6)
		snprintf(buf, size, "[%s]:%d", text, addr_port(a));
	else
		snprintf(buf, size, "%s:%d", text, addr_port(a));
	return buf;
}

/* Width of an address in bits; 0 for what is none. */
static int host_bits(const struct addr *a)
{
	if (a->sa.sa_family == AF_INET)
		return 32;
	return a->sa.sa_family == AF_INET6 ? 128 : 0;
}

static const unsigned char *host_bytes(const struct addr *a)
{
	if (a->sa.sa_family == AF_INET)
		return (const unsigned char *)&in4_const(a)->sin_addr;
	return in6_const(a)->sin6_addr.s6_addr;
}

/* Both are of one family and equal in their first @bits. */
static bool same_prefix(const struct addr *a, const struct addr *b, int bits)
{
	const unsigned char *x = host_bytes(a), *y = host_bytes(b);
	int whole = bits / 8, rest = bits % 8;

	if (a->sa.sa_family != b->sa.sa_family || !host_bits(a) ||
	    memcmp(x, y, (size_t)whole) != 0)
		return false;
	return !rest || (x[whole] ^ y[whole]) >> (8 - rest) == 0;
}

bool addr_same_host(const struct addr *a, const struct addr *b)
{
	struct addr x = unmapped(a), y = unmapped(b);

	if (!same_prefix(&x, &y, host_bits(&x)))
		return false;
	/* only a link-local address means another host on another link */
	return !is_link_local(&x) ||
	       in6(&x)->sin6_scope_id == in6(&y)->sin6_scope_id;
}

/* Read one address of -L, @text of @len bytes. */
static int read_source(const char *text, size_t len, int family,
		       struct addr *out, struct fault *fault)
{
	int rc = read_numeric("-L:", text, len, out, fault);

	if (rc < 0)
		return -1;
	if (!rc)
		return fault_set(fault, 0,
				 "-L: \"%.*s\" is not a numeric address",
				 (int)len, text);
	if (!family_fits(family, out))
		return fault_set(fault, 0,
				 "-L: \"%.*s\" is not an %s address, as the "
				 "peer's is",
				 (int)len, text, family_name(family));
	if (lacks_scope(out))
		return scope_fault("-L:", out, fault);
	return 0;
}

int addr_list(const char *list, int family, struct addr *out, int room,
	      struct fault *fault)
{
	int n = 0;

	for (const char *end;; list = end + 1) {
		struct addr a = { 0 };

		end = list + strcspn(list, ",");
		if (read_source(list, (size_t)(end - list), family, &a, fault))
			return -1;
		/* twice the same adds no source port to choose from */
		if (is_among(&a, out, n))
			return fault_set(fault, 0,
					 "-L: \"%.*s\" is named twice",
					 (int)(end - list), list);
		if (n == room)
			return fault_set(fault, 0, "-L: more than %d addresses",
					 room);
		out[n++] = a;
		if (!*end)
			return n;
	}
}

/*
 * The kernel takes every address of a loopback interface's network for local:
 * 127.0.0.2 belongs to lo although only 127.0.0.1 is listed.
 */
static bool holds(const struct ifaddrs *ifa, const struct addr *a)
{
	struct addr own, mask;

	if (!ifa->ifa_addr || ifa->ifa_addr->sa_family != a->sa.sa_family)
		return false;
	own = from_sockaddr(ifa->ifa_addr, a->len);
	if (addr_same_host(&own, a))
		return true;
	if (!(ifa->ifa_flags & IFF_LOOPBACK) || !ifa->ifa_netmask ||
	    a->sa.sa_family != AF_INET)
		return false;
	mask = from_sockaddr(ifa->ifa_netmask, a->len);
	return same_prefix(&own, a,
			   __builtin_popcount(in4(&mask)->sin_addr.s_addr));
}

int addr_interface(const struct addr *a, char *buf, size_t size)
{
	struct addr plain = unmapped(a);
	struct ifaddrs *list;
	int rc = -1;

	if (!host_bits(a) || getifaddrs(&list))
		return -1;
	for (const struct ifaddrs *i = list; i && rc; i = i->ifa_next) {
		size_t len;

		if (!holds(i, &plain))
			continue;
		/* an address may carry a label: "eth0:1" is eth0 */
		len = strcspn(i->ifa_name, ":");
		if (len >= size)
			break;
		memcpy(buf, i->ifa_name, len);
		buf[len] = '\0';
		rc = 0;
	}
	freeifaddrs(list);
	return rc;
}

/* Digits up to @most, or -1. */
static int read_bits(const char *text, int most)
{
	size_t len = strspn(text, "0123456789");
	int bits = 0;

	if (!len || len > 3 || text[len])
		return -1;
	while (*text)
		bits = bits * 10 + (*text++ - '0');
	return bits <= most ? bits : -1;
}

int addr_net_parse(const char *text, struct addr_net *net, struct fault *fault)
{
	size_t len = strcspn(text, "/");
	struct addr base, plain;
	int most, bits;
	int rc = read_numeric("--allow:", text, len, &base, fault);

	if (rc < 0)
		return -1;
	if (!rc)
		return fault_set(fault, 0,
				 "--allow: \"%s\" is not an address or a "
				 "network like 10.0.0.0/8 or fd00::/8",
				 text);
	most = host_bits(&base);
	bits = text[len] ? read_bits(text + len + 1, most) : most;
	if (bits < 0)
		return fault_set(fault, 0,
				 "--allow: \"%s\" wants a number from 0 to %d "
				 "after the slash",
				 text, most);
	/* peers are compared as IPv4, so a mapped network has to be one, too */
	plain = unmapped(&base);
	if (plain.sa.sa_family != base.sa.sa_family && bits >= 96) {
		base = plain;
		bits -= 96;
	}
	net->base = base;
	net->bits = bits;
	return 0;
}

bool addr_net_holds(const struct addr_net *net, const struct addr *a)
{
	struct addr x = unmapped(a);
	unsigned scope = 0;

	/* "fe80::%eth0/10" is one link, "fe80::/10" every link */
	if (net->base.sa.sa_family == AF_INET6)
		scope = in6_const(&net->base)->sin6_scope_id;
	if (!same_prefix(&x, &net->base, net->bits))
		return false;
	return !scope || scope == in6(&x)->sin6_scope_id;
}

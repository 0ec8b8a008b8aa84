/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: numeric ones for real, names and interfaces from fakes. */
/* wrap: getaddrinfo freeaddrinfo getifaddrs freeifaddrs */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "common/plan/addr.h"

int __real_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **res);
int __wrap_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **res);
void __real_freeaddrinfo(struct addrinfo *res);
void __wrap_freeaddrinfo(struct addrinfo *res);
int __wrap_getifaddrs(struct ifaddrs **list);
void __wrap_freeifaddrs(struct ifaddrs *list);

#define ROOM 8

/* What the resolver answers; n < 0: the real one is asked. */
static struct {
	int n, rc, err, calls, frees;
	struct addr addrs[ROOM];
	struct addrinfo infos[ROOM];
	struct addrinfo hints;
} names;

int __wrap_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **res)
{
	names.calls++;
	names.hints = *hints;
	if (names.n < 0)
		return __real_getaddrinfo(node, service, hints, res);
	errno = names.err;
	if (names.rc)
		return names.rc;
	for (int i = 0; i < names.n; i++)
		names.infos[i] = (struct addrinfo){
			.ai_family = names.addrs[i].sa.sa_family,
			.ai_addr = &names.addrs[i].sa,
			.ai_addrlen = names.addrs[i].len,
			.ai_next = i + 1 < names.n ? &names.infos[i + 1] : NULL,
		};
	*res = names.infos;
	return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *res)
{
	names.frees++;
	if (names.n < 0)
		__real_freeaddrinfo(res);
}

/* The machine's interfaces; NULL: they cannot be read. */
static struct ifaddrs *interfaces;

int __wrap_getifaddrs(struct ifaddrs **list)
{
	*list = interfaces;
	errno = EMFILE;
	return interfaces ? 0 : -1;
}

void __wrap_freeifaddrs(struct ifaddrs *list)
{
	assert_ptr_equal(list, interfaces);
}

static int reset(void **state)
{
	(void)state;
	memset(&names, 0, sizeof(names));
	interfaces = NULL;
	return 0;
}

/* Address @text with @port; any scope is a number. Independent of addr.c. */
static struct addr at(const char *text, int port)
{
	struct addr a = { 0 };
	struct sockaddr_in *v4 = (struct sockaddr_in *)&a.ss;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a.ss;
	char host[64];
	unsigned scope = 0;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		a.len = sizeof(*v4);
		return a;
	}
	assert_true(sscanf(text, "%63[^%]%%%u", host, &scope) >= 1);
	v6->sin6_family = AF_INET6;
	v6->sin6_scope_id = scope;
	v6->sin6_port = htons((uint16_t)port);
	assert_int_equal(inet_pton(AF_INET6, host, &v6->sin6_addr), 1);
	a.len = sizeof(*v6);
	return a;
}

static unsigned lo_index(void)
{
	unsigned index = if_nametoindex("lo");

	assert_int_not_equal(index, 0);
	return index;
}

static void expect_text(const struct addr *a, bool port, const char *want)
{
	char text[ADDR_TEXT];

	assert_ptr_equal(addr_text(a, port, text, sizeof(text)), text);
	assert_string_equal(text, want);
}

static void expect_host(const char *host, int family, const char *want)
{
	struct fault fault = { 0 };
	struct addr out[ROOM];
	int n = addr_resolve(host, 80, family, false, out, ROOM, &fault);

	if (n != 1)
		fail_msg("%s: %d, %s", host, n, fault.text);
	expect_text(&out[0], true, want);
	assert_int_equal(out[0].len, out[0].sa.sa_family == AF_INET ?
					     sizeof(struct sockaddr_in) :
					     sizeof(struct sockaddr_in6));
}

static void expect_no_host(const char *host, int family, const char *want)
{
	struct fault fault = { 0 };
	struct addr out[ROOM];

	assert_int_equal(
		addr_resolve(host, 80, family, false, out, ROOM, &fault), -1);
	assert_string_equal(fault.text, want);
}

static void test_numeric(void **state)
{
	(void)state;
	expect_host("1.2.3.4", AF_UNSPEC, "1.2.3.4:80");
	expect_host("1.2.3.4", AF_INET, "1.2.3.4:80");
	expect_host("[1.2.3.4]", AF_INET, "1.2.3.4:80");
	expect_host("::1", AF_UNSPEC, "[::1]:80");
	expect_host("[::1]", AF_UNSPEC, "[::1]:80");
	expect_host("[::1]", AF_INET6, "[::1]:80");
	expect_host("FD00:0::0:1", AF_UNSPEC, "[fd00::1]:80");
	expect_host("::ffff:1.2.3.4", AF_UNSPEC, "1.2.3.4:80");
	expect_host("::", AF_UNSPEC, "[::]:80");
	assert_int_equal(names.calls, 0);
}

static void test_numeric_of_other_family(void **state)
{
	(void)state;
	expect_no_host("1.2.3.4", AF_INET6,
		       "host \"1.2.3.4\" is not an IPv6 address");
	expect_no_host("[::1]", AF_INET,
		       "host \"[::1]\" is not an IPv4 address");
}

static void test_scope(void **state)
{
	char number[32];

	(void)state;
	expect_host("fe80::1%lo", AF_UNSPEC, "[fe80::1%lo]:80");
	expect_host("[fe80::1%lo]", AF_UNSPEC, "[fe80::1%lo]:80");
	snprintf(number, sizeof(number), "fe80::1%%%u", lo_index());
	expect_host(number, AF_INET6, "[fe80::1%lo]:80");
	expect_no_host("fe80::1", AF_UNSPEC,
		       "host \"fe80::1\" is link-local: it needs %interface, "
		       "like fe80::1%eth0");
	expect_no_host("[fe80::1]", AF_UNSPEC,
		       "host \"fe80::1\" is link-local: it needs %interface, "
		       "like fe80::1%eth0");
	expect_no_host("fe80::1%nosuch0", AF_UNSPEC,
		       "host \"fe80::1%nosuch0\": no network interface "
		       "\"nosuch0\"");
	expect_no_host("fe80::1%", AF_UNSPEC,
		       "host \"fe80::1%\": no network interface \"\"");
	expect_no_host("fe80::1%99999999", AF_UNSPEC,
		       "host \"fe80::1%99999999\": no network interface "
		       "\"99999999\"");
	expect_no_host("fe80::1%0", AF_UNSPEC,
		       "host \"fe80::1%0\": no network interface \"0\"");
	assert_int_equal(names.calls, 0);
}

static void test_name(void **state)
{
	struct fault fault = { 0 };
	struct addr out[ROOM];

	(void)state;
	names.n = 2;
	names.addrs[0] = at("fd00::1", 0);
	names.addrs[1] = at("10.0.0.1", 0);
	assert_int_equal(addr_resolve("host", 12866, AF_UNSPEC, false, out,
				      ROOM, &fault),
			 2);
	expect_text(&out[0], true, "[fd00::1]:12866");
	expect_text(&out[1], true, "10.0.0.1:12866");
	assert_int_equal(names.calls, 1);
	assert_int_equal(names.frees, 1);
	assert_int_equal(names.hints.ai_socktype, SOCK_STREAM);
	assert_int_equal(names.hints.ai_family, AF_UNSPEC);
	assert_false(names.hints.ai_flags & AI_ADDRCONFIG);
	/* no more than there is room for */
	assert_int_equal(
		addr_resolve("host", 1, AF_INET6, false, out, 1, &fault), 1);
	expect_text(&out[0], true, "[fd00::1]:1");
	assert_int_equal(names.hints.ai_family, AF_INET6);
	assert_string_equal(fault.text, "");
}

/* /etc/hosts with the same address twice, as localhost often has. */
static void test_name_twice(void **state)
{
	struct fault fault = { 0 };
	struct addr out[ROOM];

	(void)state;
	names.n = 3;
	names.addrs[0] = at("127.0.0.1", 0);
	names.addrs[1] = at("127.0.0.1", 0);
	names.addrs[2] = at("::1", 0);
	assert_int_equal(addr_resolve("localhost", 5, AF_UNSPEC, false, out,
				      ROOM, &fault),
			 2);
	expect_text(&out[1], true, "[::1]:5");
}

/* The resolver knows no scope: such an address is passed over. */
static void test_name_link_local(void **state)
{
	struct fault fault = { 0 };
	struct addr out[ROOM];

	(void)state;
	names.n = 2;
	names.addrs[0] = at("fe80::5", 0);
	names.addrs[1] = at("10.0.0.1", 0);
	assert_int_equal(addr_resolve("host", 5, AF_UNSPEC, false, out, ROOM,
				      &fault),
			 1);
	expect_text(&out[0], true, "10.0.0.1:5");
	names.n = 1;
	expect_no_host("host", AF_UNSPEC,
		       "host \"host\" is fe80::5, which is link-local: it "
		       "needs %interface, like fe80::5%eth0");
	assert_int_equal(names.frees, 2);
}

static void test_no_name(void **state)
{
	char longer[2000];
	struct fault fault = { 0 };
	struct addr out[ROOM];

	(void)state;
	names.rc = EAI_NONAME;
	expect_no_host("nosuch", AF_UNSPEC,
		       "host \"nosuch\": Name or service not known");
	expect_no_host("nosuch", AF_INET6,
		       "host \"nosuch\" as IPv6: Name or service not known");
	expect_no_host("", AF_UNSPEC, "host \"\": Name or service not known");
	expect_no_host("[]", AF_UNSPEC,
		       "host \"[]\": Name or service not known");
	expect_no_host("[::1", AF_UNSPEC,
		       "host \"[::1\": Name or service not known");
	expect_no_host("1.2.3.4%lo", AF_UNSPEC,
		       "host \"1.2.3.4%lo\": Name or service not known");
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(addr_resolve(longer, 1, AF_UNSPEC, false, out, ROOM,
				      &fault),
			 -1);
	assert_int_equal(names.frees, 0);
	names.rc = EAI_SYSTEM;
	names.err = EMFILE;
	memset(&fault, 0, sizeof(fault));
	assert_int_equal(addr_resolve("host", 1, AF_UNSPEC, false, out, ROOM,
				      &fault),
			 -1);
	assert_int_equal(fault.err, EMFILE);
}

static void test_loopback(void **state)
{
	struct fault fault = { 0 };
	struct addr out[ROOM];

	(void)state;
	assert_int_equal(
		addr_resolve(NULL, 7, AF_UNSPEC, false, out, ROOM, &fault), 2);
	expect_text(&out[0], true, "127.0.0.1:7");
	expect_text(&out[1], true, "[::1]:7");
	assert_int_equal(
		addr_resolve(NULL, 7, AF_UNSPEC, false, out, 1, &fault), 1);
	expect_text(&out[0], true, "127.0.0.1:7");
	assert_int_equal(
		addr_resolve(NULL, 7, AF_INET6, false, out, ROOM, &fault), 1);
	expect_text(&out[0], true, "[::1]:7");
	assert_int_equal(
		addr_resolve(NULL, 7, AF_INET, false, out, ROOM, &fault), 1);
	expect_text(&out[0], true, "127.0.0.1:7");
	assert_int_equal(names.calls, 0);
}

/* All local addresses: one wildcard of each family. */
static void test_passive(void **state)
{
	struct fault fault = { 0 };
	struct addr out[ROOM];
	int v6 = 0;

	(void)state;
	names.n = -1;
	assert_int_equal(
		addr_resolve(NULL, 9, AF_UNSPEC, true, out, ROOM, &fault), 2);
	for (int i = 0; i < 2; i++) {
		v6 += out[i].sa.sa_family == AF_INET6;
		assert_int_equal(addr_port(&out[i]), 9);
	}
	assert_int_equal(v6, 1);
	assert_int_equal(
		addr_resolve(NULL, 9, AF_INET, true, out, ROOM, &fault), 1);
	expect_text(&out[0], true, "0.0.0.0:9");
	assert_int_equal(
		addr_resolve(NULL, 9, AF_INET6, true, out, ROOM, &fault), 1);
	expect_text(&out[0], true, "[::]:9");
	assert_int_equal(names.calls, 3);
	assert_int_equal(addr_resolve("127.0.0.1", 9, AF_UNSPEC, true, out,
				      ROOM, &fault),
			 1);
	expect_text(&out[0], true, "127.0.0.1:9");
}

static void test_port(void **state)
{
	struct addr v4 = at("1.2.3.4", 1), v6 = at("::1", 2);

	(void)state;
	assert_int_equal(addr_port(&v4), 1);
	assert_int_equal(addr_port(&v6), 2);
	addr_set_port(&v4, 65535);
	addr_set_port(&v6, 0);
	assert_int_equal(addr_port(&v4), 65535);
	assert_int_equal(addr_port(&v6), 0);
}

static void test_text(void **state)
{
	struct addr a = at("1.2.3.4", 5), none = { 0 };
	char small[8];

	(void)state;
	expect_text(&a, false, "1.2.3.4");
	expect_text(&a, true, "1.2.3.4:5");
	addr_text(&a, true, small, sizeof(small));
	assert_string_equal(small, "1.2.3.4");
	a = at("fd00::1", 65535);
	expect_text(&a, false, "fd00::1");
	expect_text(&a, true, "[fd00::1]:65535");
	a = at("::ffff:10.0.0.1", 6);
	expect_text(&a, false, "10.0.0.1");
	expect_text(&a, true, "10.0.0.1:6");
	expect_text(&none, true, "?");
	/* an interface that is not there any more */
	a = at("fe80::1%4000000000", 5);
	expect_text(&a, false, "fe80::1%4000000000");
	expect_text(&a, true, "[fe80::1%4000000000]:5");
	/* the longest one fits */
	a = at("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255%4000000000",
	       65535);
	expect_text(&a, true,
		    "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4000000000]"
		    ":65535");
}

static bool same(const char *x, const char *y)
{
	struct addr a = at(x, 1), b = at(y, 2);

	assert_int_equal(addr_same_host(&a, &b), addr_same_host(&b, &a));
	return addr_same_host(&a, &b);
}

static void test_same_host(void **state)
{
	struct addr none = { 0 };

	(void)state;
	assert_true(same("10.0.0.1", "10.0.0.1"));
	assert_false(same("10.0.0.1", "10.0.0.2"));
	assert_true(same("10.0.0.1", "::ffff:10.0.0.1"));
	assert_true(same("::ffff:10.0.0.1", "::ffff:10.0.0.1"));
	assert_false(same("10.0.0.1", "::10.0.0.1"));
	assert_true(same("::1", "::1"));
	assert_false(same("::1", "::2"));
	assert_false(same("127.0.0.1", "::1"));
	assert_true(same("fe80::1%1", "fe80::1%1"));
	assert_false(same("fe80::1%1", "fe80::1%2"));
	assert_true(same("fd00::1%1", "fd00::1")); /* scope means nothing */
	assert_false(addr_same_host(&none, &none));
}

static void expect_list(const char *list, int family, const char *want)
{
	struct fault fault = { 0 };
	struct addr out[ROOM];
	int n = addr_list(list, family, out, ROOM, &fault);
	char text[ROOM * ADDR_TEXT] = "", one[ADDR_TEXT];
	size_t used = 0;

	for (int i = 0; i < n; i++) {
		assert_int_equal(addr_port(&out[i]), 0);
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s", i ? " " : "",
			addr_text(&out[i], false, one, sizeof(one)));
	}
	assert_string_equal(n < 0 ? fault.text : text, want);
}

static void test_list(void **state)
{
	(void)state;
	expect_list("10.0.0.1", AF_INET, "10.0.0.1");
	expect_list("127.0.0.2,127.0.0.3", AF_INET, "127.0.0.2 127.0.0.3");
	expect_list("fd00::2,[fd00::3]", AF_INET6, "fd00::2 fd00::3");
	expect_list("10.0.0.1,::1", AF_UNSPEC, "10.0.0.1 ::1");
	expect_list("fe80::2%lo,fd00::1", AF_INET6, "fe80::2%lo fd00::1");
	expect_list("1.0.0.1,1.0.0.2,1.0.0.3,1.0.0.4,1.0.0.5,1.0.0.6,1.0.0.7,"
		    "1.0.0.8",
		    AF_INET,
		    "1.0.0.1 1.0.0.2 1.0.0.3 1.0.0.4 1.0.0.5 1.0.0.6 1.0.0.7 "
		    "1.0.0.8");
	assert_int_equal(names.calls, 0);
}

static void test_bad_list(void **state)
{
	(void)state;
	expect_list("", AF_INET, "-L: \"\" is not a numeric address");
	expect_list("10.0.0.1,", AF_INET, "-L: \"\" is not a numeric address");
	expect_list("10.0.0.1, 10.0.0.2", AF_INET,
		    "-L: \" 10.0.0.2\" is not a numeric address");
	expect_list("localhost,10.0.0.1", AF_INET,
		    "-L: \"localhost\" is not a numeric address");
	expect_list("10.0.0.256", AF_INET,
		    "-L: \"10.0.0.256\" is not a numeric address");
	expect_list("10.0.0.1,::1", AF_INET,
		    "-L: \"::1\" is not an IPv4 address, as the peer's is");
	expect_list("10.0.0.1", AF_INET6,
		    "-L: \"10.0.0.1\" is not an IPv6 address, as the peer's "
		    "is");
	expect_list("fd00::1,fe80::2", AF_INET6,
		    "-L: \"fe80::2\" is link-local: it needs %interface, like "
		    "fe80::2%eth0");
	expect_list("fe80::2%nosuch0", AF_INET6,
		    "-L: \"fe80::2%nosuch0\": no network interface "
		    "\"nosuch0\"");
	expect_list("10.0.0.1,10.0.0.2,10.0.0.1", AF_INET,
		    "-L: \"10.0.0.1\" is named twice");
	expect_list("1.0.0.1,1.0.0.2,1.0.0.3,1.0.0.4,1.0.0.5,1.0.0.6,1.0.0.7,"
		    "1.0.0.8,1.0.0.9",
		    AF_INET, "-L: more than 8 addresses");
	assert_int_equal(names.calls, 0);
}

static void expect_interface(const char *text, const char *want)
{
	struct addr a = at(text, 80);
	char name[IF_NAMESIZE] = "";
	int rc = addr_interface(&a, name, sizeof(name));

	assert_string_equal(name, want ? want : "");
	assert_int_equal(rc, want ? 0 : -1);
}

static void test_interface(void **state)
{
	struct sockaddr packet = { .sa_family = 17 /* AF_PACKET */ };
	struct addr own[] = { at("127.0.0.1", 0), at("::1", 0),
			      at("10.0.0.1", 0),  at("10.0.0.9", 0),
			      at("fe80::1%2", 0), at("fe80::1%3", 0) };
	struct addr mask8 = at("255.0.0.0", 0);
	struct ifaddrs list[] = {
		{ .ifa_name = (char[]){ "tun0" } },
		{ .ifa_name = (char[]){ "lo" }, .ifa_addr = &packet },
		{ .ifa_name = (char[]){ "lo" },
		  .ifa_flags = IFF_LOOPBACK,
		  .ifa_addr = &own[0].sa,
		  .ifa_netmask = &mask8.sa },
		{ .ifa_name = (char[]){ "lo" },
		  .ifa_flags = IFF_LOOPBACK,
		  .ifa_addr = &own[1].sa },
		{ .ifa_name = (char[]){ "eth0" },
		  .ifa_addr = &own[2].sa,
		  .ifa_netmask = &mask8.sa },
		{ .ifa_name = (char[]){ "eth1:9" },
		  .ifa_addr = &own[3].sa,
		  .ifa_netmask = &mask8.sa },
		{ .ifa_name = (char[]){ "eth0" }, .ifa_addr = &own[4].sa },
		{ .ifa_name = (char[]){ "eth1" }, .ifa_addr = &own[5].sa },
	};
	size_t n = sizeof(list) / sizeof(list[0]);
	struct addr a = at("10.0.0.1", 0), none = { 0 };
	char small[4];

	(void)state;
	for (size_t i = 0; i + 1 < n; i++)
		list[i].ifa_next = &list[i + 1];
	expect_interface("10.0.0.1", NULL); /* cannot be read */
	interfaces = list;
	expect_interface("127.0.0.1", "lo");
	expect_interface("127.0.0.2", "lo"); /* local without being listed */
	expect_interface("::1", "lo");
	expect_interface("10.0.0.1", "eth0");
	expect_interface("::ffff:10.0.0.1", "eth0");
	expect_interface("::ffff:127.3.2.1", "lo");
	expect_interface("10.0.0.9", "eth1");
	expect_interface("10.0.0.2", NULL); /* a neighbour */
	expect_interface("fe80::1%2", "eth0");
	expect_interface("fe80::1%3", "eth1");
	expect_interface("fe80::1%4", NULL);
	expect_interface("::2", NULL);
	assert_int_equal(addr_interface(&none, small, sizeof(small)), -1);
	assert_int_equal(addr_interface(&a, small, sizeof(small)), -1);
}

static bool net_holds(const char *text, const char *host)
{
	struct fault fault = { 0 };
	struct addr_net net;
	struct addr a = at(host, 1);

	if (addr_net_parse(text, &net, &fault))
		fail_msg("%s", fault.text);
	return addr_net_holds(&net, &a);
}

static void test_net(void **state)
{
	(void)state;
	assert_true(net_holds("10.0.0.0/8", "10.255.0.1"));
	assert_false(net_holds("10.0.0.0/8", "11.0.0.1"));
	assert_true(net_holds("10.1.2.3/8", "10.255.0.1")); /* host bits */
	assert_true(net_holds("10.0.0.0/9", "10.127.0.1"));
	assert_false(net_holds("10.0.0.0/9", "10.128.0.1"));
	assert_true(net_holds("10.0.0.4/31", "10.0.0.5"));
	assert_false(net_holds("10.0.0.4/31", "10.0.0.6"));
	assert_true(net_holds("10.0.0.4/32", "10.0.0.4"));
	assert_false(net_holds("10.0.0.4/32", "10.0.0.5"));
	assert_true(net_holds("10.0.0.4", "10.0.0.4"));
	assert_false(net_holds("10.0.0.4", "10.0.0.5"));
	assert_true(net_holds("0.0.0.0/0", "255.255.255.255"));
	assert_false(net_holds("0.0.0.0/0", "::1"));
}

static void test_net_v6(void **state)
{
	(void)state;
	assert_true(net_holds("fd00::/8", "fdff::1"));
	assert_false(net_holds("fd00::/8", "fc00::1"));
	assert_true(net_holds("2001:db8::/33", "2001:db8:7fff::1"));
	assert_false(net_holds("2001:db8::/33", "2001:db8:8000::1"));
	assert_true(net_holds("::1", "::1"));
	assert_false(net_holds("::1", "::2"));
	assert_true(net_holds("::/0", "fd00::1"));
	assert_false(net_holds("::/0", "10.0.0.1"));
	assert_false(net_holds("::/0", "::ffff:10.0.0.1"));
	assert_true(net_holds("::1/128", "::1"));
	assert_true(net_holds("[fd00::]/8", "fdff::1"));
	/* without a scope every link, with one that link */
	assert_true(net_holds("fe80::/10", "fe80::1%7"));
	assert_false(net_holds("fe80::%lo/10", "fe80::1%4000000000"));
}

static void test_net_mapped(void **state)
{
	(void)state;
	assert_true(net_holds("10.0.0.0/8", "::ffff:10.2.3.4"));
	assert_false(net_holds("10.0.0.0/8", "::ffff:11.2.3.4"));
	assert_true(net_holds("::ffff:10.0.0.0/104", "10.2.3.4"));
	assert_true(net_holds("::ffff:10.0.0.0/104", "::ffff:10.2.3.4"));
	assert_false(net_holds("::ffff:10.0.0.0/104", "11.2.3.4"));
	assert_true(net_holds("::ffff:0.0.0.0/96", "11.2.3.4"));
	assert_true(net_holds("::ffff:10.0.0.1", "10.0.0.1"));
	assert_false(net_holds("::ffff:10.0.0.1", "10.0.0.2"));
}

static void test_bad_net(void **state)
{
	static const char *const bad[] = {
		"",
		"/",
		"/8",
		"10.0.0.0/",
		"10.0.0.0/33",
		"10.0.0.0/-1",
		"10.0.0.0/+8",
		"10.0.0.0/ 8",
		"10.0.0.0/8 ",
		"10.0.0.0/8/8",
		"10/8",
		"10.0.0/8",
		"::/129",
		"::/999",
		"::/1000",
		"localhost",
		"10.0.0.0/x",
		"10.0.0.0/8x",
		"*",
		"fe80::%no0/10",
		"10.0.0.0,10.0.0.1",
		"10.0.0.0/99999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fault fault = { 0 };
		struct addr_net net;

		if (!addr_net_parse(bad[i], &net, &fault))
			fail_msg("\"%s\" was taken", bad[i]);
		assert_int_equal(strncmp(fault.text, "--allow: \"", 10), 0);
	}
	assert_int_equal(names.calls, 0);
}

static void test_net_messages(void **state)
{
	struct fault fault = { 0 };
	struct addr_net net;

	(void)state;
	assert_int_equal(addr_net_parse("here", &net, &fault), -1);
	assert_string_equal(fault.text,
			    "--allow: \"here\" is not an address or a network "
			    "like 10.0.0.0/8 or fd00::/8");
	memset(&fault, 0, sizeof(fault));
	assert_int_equal(addr_net_parse("::/129", &net, &fault), -1);
	assert_string_equal(fault.text,
			    "--allow: \"::/129\" wants a number from 0 to 128 "
			    "after the slash");
}

#define UNIT(test) cmocka_unit_test_setup(test, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_numeric),    UNIT(test_numeric_of_other_family),
		UNIT(test_scope),      UNIT(test_name),
		UNIT(test_name_twice), UNIT(test_name_link_local),
		UNIT(test_no_name),    UNIT(test_loopback),
		UNIT(test_passive),    UNIT(test_port),
		UNIT(test_text),       UNIT(test_same_host),
		UNIT(test_list),       UNIT(test_bad_list),
		UNIT(test_interface),  UNIT(test_net),
		UNIT(test_net_v6),     UNIT(test_net_mapped),
		UNIT(test_bad_net),    UNIT(test_net_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

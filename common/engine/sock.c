/* SPDX-License-Identifier: Apache-2.0 */
/* Data sockets: listening, connecting, adopting, asking. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "common/engine/sock.h"

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

int sock_listen(struct addr *addr, const struct sock_plan *p, int backlog,
		bool v6only, bool freebind, struct fault *fault)
{
	struct sock_plan scratch;
	char text[ADDR_TEXT];
	int one = 1, zero = v6only, family = addr->sa.sa_family;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fault_set(fault, errno, "cannot open a socket");
	if (p) {
		/* Accepted sockets report; a listener only passes on. */
		scratch = *p;
		scratch.n = 0;
		if (sock_apply(&scratch, fd, family, fault))
			goto err;
	}
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    (family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero))) ||
	    (freebind &&
	     setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof(one)))) {
		(void)fault_set(fault, errno, "cannot prepare a listener");
		goto err;
	}
	if (bind(fd, &addr->sa, addr->len) || listen(fd, backlog)) {
		(void)fault_set(fault, errno, "cannot listen on %s",
				addr_text(addr, true, text, sizeof(text)));
		goto err;
	}
	addr->len = sizeof(addr->ss);
	if (getsockname(fd, &addr->sa, &addr->len)) {
		(void)fault_set(fault, errno, "getsockname");
		goto err;
	}
	return fd;
err:
	(void)close(fd); /* nothing was sent */
	return -1;
}

static int bind_source(const struct sock_plan *p, int fd,
		       const struct addr *local, struct fault *fault)
{
	char text[ADDR_TEXT];
	int one = 1;

	/* Repeats with fixed ports must not wait for an old connection. */
	if ((addr_port(local) || p->options->reuseaddr) &&
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		return fault_set(fault, errno, "SO_REUSEADDR");
	if (!addr_port(local) &&
	    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
		       sizeof(one)))
		return fault_set(fault, errno, "IP_BIND_ADDRESS_NO_PORT");
	if (bind(fd, &local->sa, local->len))
		return fault_set(fault, errno, "cannot bind %s",
				 addr_text(local, true, text, sizeof(text)));
	return 0;
}

static int connect_fault(int err, const struct addr *peer, struct fault *fault)
{
	char text[ADDR_TEXT];

	(void)addr_text(peer, true, text, sizeof(text));
	if (err == EADDRNOTAVAIL)
		return fault_set(fault, err,
				 "no source port is left for %s: use "
				 "--num-ports, more addresses (-L) or a wider "
				 "net.ipv4.ip_local_port_range",
				 text);
	return fault_set(fault, err, "cannot connect to %s", text);
}

int sock_connect(struct sock_plan *p, const struct addr *local,
		 const struct addr *peer, struct fault *fault)
{
	int family = peer->sa.sa_family;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fault_set(fault, errno, "cannot open a socket");
	if (sock_apply(p, fd, family, fault) ||
	    (local && bind_source(p, fd, local, fault)))
		goto err;
	if (connect(fd, &peer->sa, peer->len) && errno != EINPROGRESS) {
		(void)connect_fault(errno, peer, fault);
		goto err;
	}
	return fd;
err:
	(void)close(fd); /* nothing was sent */
	return -1;
}

int sock_connect_result(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return errno;
	return err;
}

int sock_adopt(struct sock_plan *p, int fd, struct fault *fault)
{
	struct addr a = { .len = sizeof(a.ss) };

	if (getsockname(fd, &a.sa, &a.len))
		return fault_set(fault, errno, "getsockname");
	return sock_apply(p, fd, a.sa.sa_family, fault);
}

int sock_block(int fd, const struct timeval *limit)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, limit, sizeof(*limit)))
		return -1;
	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, limit, sizeof(*limit));
}

int sock_path(int fd, struct addr *local, struct addr *peer)
{
	local->len = peer->len = sizeof(local->ss);
	return getsockname(fd, &local->sa, &local->len) ||
			       getpeername(fd, &peer->sa, &peer->len) ?
		       -1 :
		       0;
}

int sock_retransmits(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return 0;
	return (int)info.tcpi_total_retrans;
}

int sock_incoming_cpu(int fd)
{
	int cpu = -1;
	socklen_t len = sizeof(cpu);

	return getsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &len) ? -1 :
									 cpu;
}

unsigned sock_incoming_napi(int fd)
{
	unsigned id = 0;
	socklen_t len = sizeof(id);

	return getsockopt(fd, SOL_SOCKET, SO_INCOMING_NAPI_ID, &id, &len) ? 0 :
									    id;
}

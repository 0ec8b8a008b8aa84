/* SPDX-License-Identifier: Apache-2.0 */
/* The options of data sockets: set, read back, compared with the wish. */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/engine/sock_options.h"
#include "common/plan/plan.h"

/* How a value comes back from getsockopt(2) when it took effect. */
enum readback {
	BACK_SAME, /* as set */
	BACK_DOUBLED, /* twice what was set (socket(7), SO_SNDBUF) */
	BACK_MOST, /* as set or less (TCP_MAXSEG before the connection) */
	BACK_NONE, /* cannot be read */
};

/* A numeric socket option and the member of struct options that feeds it. */
struct numeric {
	const char *name;
	int level, option;
	size_t offset;
	enum readback back;
	bool flag; /* the member is a bool */
	bool family; /* level and option are for IPv4; IPv6 has a twin */
};

#define INT_OPT(n, l, o, m, b)                                   \
	{                                                        \
		.name = n, .level = l, .option = o,              \
		.offset = offsetof(struct options, m), .back = b \
	}
#define BOOL_OPT(n, l, o, m, b)                                                \
	{                                                                      \
		.name = n, .level = l, .option = o,                            \
		.offset = offsetof(struct options, m), .back = b, .flag = true \
	}

static const struct numeric numerics[] = {
	INT_OPT("sndbuf", SOL_SOCKET, SO_SNDBUF, sndbuf, BACK_DOUBLED),
	INT_OPT("rcvbuf", SOL_SOCKET, SO_RCVBUF, rcvbuf, BACK_DOUBLED),
	INT_OPT("mss", IPPROTO_TCP, TCP_MAXSEG, mss, BACK_MOST),
	INT_OPT("notsent-lowat", IPPROTO_TCP, TCP_NOTSENT_LOWAT, notsent_lowat,
		BACK_SAME),
	INT_OPT("rcvlowat", SOL_SOCKET, SO_RCVLOWAT, rcvlowat, BACK_SAME),
	INT_OPT("busy-poll", SOL_SOCKET, SO_BUSY_POLL, busy_poll, BACK_SAME),
	INT_OPT("mark", SOL_SOCKET, SO_MARK, mark, BACK_SAME),
	INT_OPT("tcp-tx-delay", IPPROTO_TCP, 37 /* TCP_TX_DELAY */,
		tcp_tx_delay, BACK_SAME),
	BOOL_OPT("no-delay", IPPROTO_TCP, TCP_NODELAY, no_delay, BACK_SAME),
	BOOL_OPT("debug", SOL_SOCKET, SO_DEBUG, debug, BACK_SAME),
	BOOL_OPT("reuseaddr", SOL_SOCKET, SO_REUSEADDR, reuseaddr, BACK_SAME),
	BOOL_OPT("freebind", IPPROTO_IP, IP_FREEBIND, freebind, BACK_SAME),
	{ .name = "tos",
	  .level = IPPROTO_IP,
	  .option = IP_TOS,
	  .offset = offsetof(struct options, tos),
	  .back = BACK_SAME,
	  .family = true },
};

#define NUMERICS (int)(sizeof(numerics) / sizeof(numerics[0]))

static int64_t wanted(const struct sock_plan *p, const struct numeric *d)
{
	const char *at = (const char *)p->options + d->offset;

	if (d->flag) {
		bool on;

		memcpy(&on, at, sizeof(on));
		return on;
	}
	if (p->notsent_by_us && d->option == TCP_NOTSENT_LOWAT &&
	    d->level == IPPROTO_TCP)
		return SOCK_MANY_NOTSENT;
	int64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The option's place for a socket of @family. */
static void locate(const struct numeric *d, int family, int *level, int *option)
{
	*level = d->level;
	*option = d->option;
	if (d->family && family == AF_INET6) {
		*level = IPPROTO_IPV6;
		*option = IPV6_TCLASS;
	}
}

static int set_numeric(int fd, const struct numeric *d, int family,
		       int64_t value, int64_t *back)
{
	int level, option, v = (int)value;
	socklen_t len = sizeof(v);

	locate(d, family, &level, &option);
	if (setsockopt(fd, level, option, &v, sizeof(v)))
		return -1;
	/* v4-mapped packets of an IPv6 socket take the IPv4 byte. */
	if (d->family && family == AF_INET6)
		(void)setsockopt(fd, d->level, d->option, &v, sizeof(v));
	*back = -1;
	if (d->back != BACK_NONE && !getsockopt(fd, level, option, &v, &len)) {
		*back = d->option == SO_MARK && d->level == SOL_SOCKET ?
				(int64_t)(uint32_t)v :
				v;
		if (d->back == BACK_DOUBLED)
			*back /= 2;
	}
	return 0;
}

/* Remember, or compare with, the effective value of setting @name. */
static void note(struct sock_plan *p, const char *name, const char *effective)
{
	int i;

	for (i = 0; i < p->n; i++) {
		struct setting *s = &p->settings[i];

		if (strcmp(s->name, name))
			continue;
		if (!s->effective[0])
			(void)snprintf(s->effective, sizeof(s->effective), "%s",
				       effective);
		else if (strcmp(s->effective, effective))
			s->differing++;
		return;
	}
}

static void note_number(struct sock_plan *p, const char *name, int64_t value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%lld", (long long)value);
	note(p, name, text);
}

static int algorithms_fault(const char *name, int err, struct fault *fault)
{
	char list[160] = "";
	FILE *f = fopen("/proc/sys/net/ipv4/"
			"tcp_available_congestion_control",
			"re");

	if (f) {
		if (!fgets(list, sizeof(list), f))
			list[0] = 0;
		(void)fclose(f); /* only read from */
		list[strcspn(list, "\n")] = 0;
	}
	if (err == EPERM)
		return fault_set(fault, err,
				 "--congestion-control: \"%s\" is not allowed "
				 "here (tcp_allowed_congestion_control; "
				 "available: %s)",
				 name, list);
	return fault_set(fault, err,
			 "--congestion-control: no algorithm \"%s\" here "
			 "(available: %s)",
			 name, list);
}

static int set_congestion(struct sock_plan *p, int fd, struct fault *fault)
{
	const char *name = p->options->congestion_control;
	char back[32] = "";
	socklen_t len = sizeof(back) - 1;

	if (name && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
			       (socklen_t)strlen(name)))
		return algorithms_fault(name, errno, fault);
	if (!getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, back, &len))
		note(p, "congestion-control", back);
	return 0;
}

static int set_device(struct sock_plan *p, int fd, struct fault *fault)
{
	const char *name = p->options->bind_dev;

	if (!name)
		return 0;
	if (!if_nametoindex(name))
		return fault_set(fault, 0, "--bind-dev: no interface \"%s\"",
				 name);
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name,
		       (socklen_t)strlen(name) + 1))
		return fault_set(fault, errno, "--bind-dev: \"%s\"", name);
	note(p, "bind-dev", name);
	return 0;
}

static int set_pacing(struct sock_plan *p, int fd, struct fault *fault)
{
	uint64_t rate = (uint64_t)p->options->max_pacing_rate, back = 0;
	socklen_t len = sizeof(back);

	if (!rate || !p->sends)
		return 0;
	if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)))
		return fault_set(fault, errno, "--max-pacing-rate: %llu",
				 (unsigned long long)rate);
	if (!getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &back, &len))
		note_number(p, "max-pacing-rate", (int64_t)back);
	return 0;
}

/* What every data socket gets besides the user's options. */
static int set_basics(struct sock_plan *p, int fd, struct fault *fault)
{
	struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	int one = 1;

	/* Closing resets, so that no TIME_WAIT piles up (neper's default). */
	if (!p->options->time_wait &&
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)))
		return fault_set(fault, errno, "SO_LINGER");
	if (p->zerocopy && p->sends &&
	    setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		return fault_set(fault, errno, "--zerocopy: SO_ZEROCOPY");
	return 0;
}

int sock_apply(struct sock_plan *p, int fd, int family, struct fault *fault)
{
	int i;

	if (set_basics(p, fd, fault) || set_device(p, fd, fault) ||
	    set_congestion(p, fd, fault) || set_pacing(p, fd, fault))
		return -1;
	for (i = 0; i < NUMERICS; i++) {
		const struct numeric *d = &numerics[i];
		int64_t value = wanted(p, d), back;

		if (!value)
			continue;
		if (set_numeric(fd, d, family, value, &back))
			return fault_set(fault, errno, "--%s: %lld", d->name,
					 (long long)value);
		if (back >= 0)
			note_number(p, d->name, back);
	}
	return 0;
}

static void request(struct sock_plan *p, const char *name, const char *value,
		    const char *by)
{
	struct setting *s = &p->settings[p->n];

	if (p->n == RESULT_SETTINGS)
		return;
	p->n++;
	memset(s, 0, sizeof(*s));
	(void)snprintf(s->name, sizeof(s->name), "%s", name);
	(void)snprintf(s->requested, sizeof(s->requested), "%s", value);
	(void)snprintf(s->set_by, sizeof(s->set_by), "%s", by ? by : "");
}

static void list_requests(struct sock_plan *p,
			  const char *(*by)(void *, const char *), void *arg)
{
	const struct options *o = p->options;
	char text[32];
	int i;

	request(p, "congestion-control",
		o->congestion_control ? o->congestion_control : "",
		o->congestion_control ? by(arg, "congestion-control") :
					"system");
	if (o->bind_dev)
		request(p, "bind-dev", o->bind_dev, by(arg, "bind-dev"));
	if (o->max_pacing_rate && p->sends) {
		(void)snprintf(text, sizeof(text), "%lld",
			       (long long)o->max_pacing_rate);
		request(p, "max-pacing-rate", text, by(arg, "max-pacing-rate"));
	}
	for (i = 0; i < NUMERICS; i++) {
		int64_t value = wanted(p, &numerics[i]);
		bool ours = p->notsent_by_us &&
			    !strcmp(numerics[i].name, "notsent-lowat");

		if (!value)
			continue;
		(void)snprintf(text, sizeof(text), "%lld", (long long)value);
		request(p, numerics[i].name, text,
			ours ? "napier" : by(arg, numerics[i].name));
	}
}

/* A line for each value the kernel changed; a failure with --strict. */
static int judge(const struct sock_plan *p, struct warnings *warnings,
		 struct fault *fault)
{
	int i;

	for (i = 0; i < p->n; i++) {
		const struct setting *s = &p->settings[i];

		if (!s->requested[0] || !s->effective[0] ||
		    !strcmp(s->requested, s->effective))
			continue;
		/* The kernel answers with its default until connected. */
		if (!strcmp(s->name, "mss"))
			continue;
		if (p->options->strict)
			return fault_set(fault, 0,
					 "--%s: asked for %s, the kernel gave "
					 "%s (--strict)",
					 s->name, s->requested, s->effective);
		warnings_add(warnings, "--%s: asked for %s, the kernel gave %s",
			     s->name, s->requested, s->effective);
	}
	return 0;
}

/* Where the kernel has no zero-copy, sends are copied and that is said. */
static int probe_zerocopy(struct sock_plan *p, int fd,
			  struct warnings *warnings, struct fault *fault)
{
	int one = 1;

	if (!p->zerocopy || !p->sends ||
	    !setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		return 0;
	if (p->options->strict)
		return fault_set(fault, errno, "--zerocopy: SO_ZEROCOPY");
	warnings_add(warnings,
		     "--zerocopy: the kernel refuses SO_ZEROCOPY (%s): sends "
		     "are copied",
		     strerror(errno));
	p->zerocopy = false;
	return 0;
}

int sock_plan(struct sock_plan *p, const struct options *o, int family,
	      int flows, const char *(*by)(void *arg, const char *name),
	      void *arg, struct warnings *warnings, struct fault *fault)
{
	bool sized = o->sndbuf || o->rcvbuf || o->notsent_lowat;
	int fd, failed;

	p->options = o;
	p->n = 0;
	p->notsent_by_us = flows > SOCK_MANY_FLOWS && !sized && p->sends;
	list_requests(p, by, arg);
	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fault_set(fault, errno, "cannot open a socket");
	failed = probe_zerocopy(p, fd, warnings, fault) ||
		 sock_apply(p, fd, family, fault);
	(void)close(fd); /* never connected */
	if (failed)
		return -1;
	return judge(p, warnings, fault);
}

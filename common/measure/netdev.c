/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of interface, stack and softirqs, read at a window's edges. */
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/measure/netdev.h"
#include "common/measure/netstat.h"
#include "common/measure/proc.h"

static const struct {
	const char *name;
	size_t offset;
} counters[] = {
#define COUNTER(m)                                 \
	{                                          \
#m, offsetof(struct net_counts, m) \
	}
	COUNTER(wire_rx_bytes),
	COUNTER(wire_tx_bytes),
	COUNTER(wire_rx_packets),
	COUNTER(wire_tx_packets),
	COUNTER(wire_rx_errors),
	COUNTER(wire_tx_errors),
	COUNTER(wire_rx_dropped),
	COUNTER(wire_tx_dropped),
	COUNTER(stack_in_segs),
	COUNTER(stack_out_segs),
	COUNTER(stack_retrans_segs),
	COUNTER(stack_in_errors),
	COUNTER(stack_out_resets),
	COUNTER(stack_listen_overflows),
	COUNTER(stack_listen_drops),
	COUNTER(stack_timeouts),
	COUNTER(stack_syn_retrans),
	COUNTER(stack_lost_retransmits),
	COUNTER(stack_out_of_order),
	COUNTER(stack_out_of_order_drops),
	COUNTER(stack_receive_queue_drops),
	COUNTER(stack_backlog_drops),
	COUNTER(stack_pruned),
	COUNTER(stack_collapsed),
	COUNTER(stack_zero_windows),
	COUNTER(stack_memory_pressures),
	COUNTER(stack_ce_packets),
	COUNTER(softnet_processed),
	COUNTER(softnet_dropped),
	COUNTER(softnet_squeezed),
	COUNTER(softirqs_net_rx),
	COUNTER(softirqs_net_tx),
};

#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

_Static_assert(COUNTERS * sizeof(int64_t) == sizeof(struct net_counts),
	       "every counter has a name");

static int64_t *counter(struct net_counts *c, size_t i)
{
	return (int64_t *)(void *)((char *)c + counters[i].offset);
}

size_t netdev_counters(void)
{
	return COUNTERS;
}

const char *netdev_counter(size_t i, const struct net_counts *c, int64_t *value)
{
	memcpy(value, (const char *)c + counters[i].offset, sizeof(*value));
	return counters[i].name;
}

static void set_unknown(struct net_counts *c)
{
	size_t i;

	for (i = 0; i < COUNTERS; i++)
		*counter(c, i) = -1;
}

/* ---- texts ---- */

/* What follows "@name:" at the start of a line of @text, or NULL. */
static const char *find_line(const char *text, const char *name)
{
	size_t len = strlen(name);

	while (text && *text) {
		text += strspn(text, " ");
		if (!strncmp(text, name, len) && text[len] == ':')
			return text + len + 1;
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return NULL;
}

int netdev_parse(const char *text, const char *interface,
		 struct net_counts *out)
{
	const char *line = find_line(text, interface);
	int64_t v[8];

	/* fifo, frame, compressed and multicast are passed over */
	if (!line || !*interface ||
	    sscanf(line,
		   "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
		   " %*u %*u %*u %*u %" SCNd64 " %" SCNd64 " %" SCNd64
		   " %" SCNd64,
		   &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
		return -1;
	out->wire_rx_bytes = v[0];
	out->wire_rx_packets = v[1];
	out->wire_rx_errors = v[2];
	out->wire_rx_dropped = v[3];
	out->wire_tx_bytes = v[4];
	out->wire_tx_packets = v[5];
	out->wire_tx_errors = v[6];
	out->wire_tx_dropped = v[7];
	return 0;
}

int netdev_parse_softnet(const char *text, struct net_counts *out)
{
	uint32_t sum[3] = { 0 }, v[3];

	if (!*text)
		return -1;
	while (text && *text) {
		if (sscanf(text, "%8" SCNx32 " %8" SCNx32 " %8" SCNx32, &v[0],
			   &v[1], &v[2]) != 3)
			return -1;
		sum[0] += v[0];
		sum[1] += v[1];
		sum[2] += v[2];
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	out->softnet_processed = sum[0];
	out->softnet_dropped = sum[1];
	out->softnet_squeezed = sum[2];
	return 0;
}

/* Numbers of the CPUs in the head line, as many as *@n says at most. */
static int read_head(const char *line, struct softirq_cpu *cpus, int room)
{
	int n = 0, used;

	while (n < room &&
	       sscanf(line, " CPU%" SCNd64 "%n", &cpus[n].cpu, &used) == 1) {
		line += used;
		n++;
	}
	return n;
}

/* The @n values of line @name, each into the member at @offset. */
static int read_values(const char *text, const char *name, size_t offset,
		       struct softirq_cpu *cpus, int n)
{
	const char *line = find_line(text, name);
	int i;

	for (i = 0; line && i < n; i++) {
		uint32_t value;
		int64_t wide;
		int used;

		line += strspn(line, " ");
		if (*line == '\n' ||
		    sscanf(line, "%10" SCNu32 "%n", &value, &used) != 1)
			return -1;
		line += used;
		wide = value;
		memcpy((char *)&cpus[i] + offset, &wide, sizeof(wide));
	}
	return line ? 0 : -1;
}

struct softirq_cpu *netdev_parse_softirqs(const char *text, int *n)
{
	/* "CPU0" is the shortest word of the head, so this is room enough. */
	int room = (int)(strcspn(text, "\n") / 4);
	struct softirq_cpu *cpus = calloc((size_t)room + 1, sizeof(*cpus));

	if (!cpus)
		return NULL;
	*n = read_head(text, cpus, room);
	if (!*n ||
	    read_values(text, "NET_RX", offsetof(struct softirq_cpu, net_rx),
			cpus, *n) ||
	    read_values(text, "NET_TX", offsetof(struct softirq_cpu, net_tx),
			cpus, *n)) {
		free(cpus);
		return NULL;
	}
	return cpus;
}

/* ---- readings ---- */

static void read_file(const char *path, const char *interface,
		      struct netdev_reading *r)
{
	char *text = proc_text(path);

	if (!text)
		return;
	if (strstr(path, "softnet"))
		(void)netdev_parse_softnet(text, &r->counts); /* or unknown */
	else if (strstr(path, "softirqs"))
		r->cpus = netdev_parse_softirqs(text, &r->n_cpus);
	else if (strstr(path, "dev"))
		(void)netdev_parse(text, interface, &r->counts); /* likewise */
	else
		netstat_counts(text, &r->counts);
	free(text);
}

void netdev_read(const char *interface, struct netdev_reading *out)
{
	memset(out, 0, sizeof(*out));
	set_unknown(&out->counts);
	read_file("/proc/net/dev", interface, out);
	out->when = clock_now();
	read_file("/proc/net/snmp", interface, out);
	read_file("/proc/net/netstat", interface, out);
	read_file("/proc/net/softnet_stat", interface, out);
	read_file("/proc/softirqs", interface, out);
	if (*interface)
		ethtool_read(interface, &out->driver);
}

void netdev_free(struct netdev_reading *r)
{
	free(r->cpus);
	ethtool_free(&r->driver);
	memset(r, 0, sizeof(*r));
}

static void count_softirqs(const struct netdev_reading *a,
			   const struct netdev_reading *b,
			   struct net_result *out)
{
	int i;

	if (!a->cpus || !b->cpus || a->n_cpus != b->n_cpus)
		return;
	out->counts.softirqs_net_rx = out->counts.softirqs_net_tx = 0;
	for (i = 0; i < a->n_cpus; i++) {
		const struct softirq_cpu *x = &a->cpus[i], *y = &b->cpus[i];
		uint32_t rx = (uint32_t)(y->net_rx - x->net_rx);
		uint32_t tx = (uint32_t)(y->net_tx - x->net_tx);

		out->counts.softirqs_net_rx += rx;
		out->counts.softirqs_net_tx += tx;
		if ((rx || tx) && out->n_cpus < RESULT_SOFTIRQ_CPUS)
			out->cpus[out->n_cpus++] =
				(struct softirq_cpu){ y->cpu, rx, tx };
	}
}

/* A counter of 32 bits may have wrapped; its difference has not. */
static int64_t narrow(int64_t difference, int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? -1 : (int64_t)(uint32_t)difference;
}

void netdev_since(const struct netdev_reading *a,
		  const struct netdev_reading *b, struct net_result *out)
{
	const struct net_counts *x = &a->counts, *y = &b->counts;
	struct net_counts *d = &out->counts;
	size_t i;

	set_unknown(d);
	out->n_cpus = out->n_driver = out->driver_left_out = 0;
	out->seconds = -1;
	if (!a->when || !b->when)
		return;
	out->seconds = b->when - a->when;
	for (i = 0; i < COUNTERS; i++) {
		int64_t from, to;

		(void)netdev_counter(i, x, &from);
		(void)netdev_counter(i, y, &to);
		if (from >= 0 && to >= from)
			*counter(d, i) = to - from;
	}
	d->softnet_processed =
		narrow(y->softnet_processed - x->softnet_processed,
		       x->softnet_processed, y->softnet_processed);
	d->softnet_dropped = narrow(y->softnet_dropped - x->softnet_dropped,
				    x->softnet_dropped, y->softnet_dropped);
	d->softnet_squeezed = narrow(y->softnet_squeezed - x->softnet_squeezed,
				     x->softnet_squeezed, y->softnet_squeezed);
	count_softirqs(a, b, out);
	ethtool_since(&a->driver, &b->driver, out);
}

/* ---- interfaces ---- */

int netdev_between(const struct addr *local, const struct addr *peer,
		   char *name, size_t size)
{
	char other[IFNAMSIZ];

	/* What a host sends to itself goes over its loopback, whatever the
	 * interface that holds the address. */
	if (!addr_interface(peer, other, sizeof(other)))
		return snprintf(name, size, "lo") < (int)size ? 0 : -1;
	return addr_interface(local, name, size);
}

int64_t netdev_header(const struct addr *local, bool loopback)
{
	const struct sockaddr_in6 *six = (const void *)&local->ss;
	bool v6 = local->sa.sa_family == AF_INET6 &&
		  !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr);

	return 32 + (v6 ? 40 : 20) + (loopback ? 0 : 14);
}

bool netdev_is_loopback(const char *interface)
{
	struct ifreq rq = { .ifr_ifindex = 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool yes;

	if (fd < 0)
		return false;
	strncpy(rq.ifr_name, interface, sizeof(rq.ifr_name) - 1);
	yes = !ioctl(fd, SIOCGIFFLAGS, &rq) && (rq.ifr_flags & IFF_LOOPBACK);
	(void)close(fd); /* nothing was sent */
	return yes;
}

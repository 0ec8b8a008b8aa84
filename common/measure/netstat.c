/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's protocol counters in /proc/net/netstat and /proc/net/snmp. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/measure/netstat.h"
#include "common/measure/proc.h"

/* What follows "@prefix:" on the first such line of @text, or NULL. */
static const char *find_line(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	while (text && *text) {
		if (!strncmp(text, prefix, len) && text[len] == ':')
			return text + len + 1;
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return NULL;
}

/* The next word of a line at *@at, its length in *@len; NULL at the end. */
static const char *next_word(const char **at, size_t *len)
{
	const char *word = *at + strspn(*at, " ");

	*len = strcspn(word, " \n");
	*at = word + *len;
	return *len ? word : NULL;
}

static int read_value(const char *word, size_t len, uint64_t *out)
{
	unsigned long long value;
	char *end;

	/* strtoull() would take a sign */
	if (*word < '0' || *word > '9')
		return -1;
	errno = 0;
	value = strtoull(word, &end, 10);
	if (errno || end != word + len)
		return -1;
	*out = value;
	return 0;
}

int netstat_value(const char *text, const char *prefix, const char *name,
		  uint64_t *out)
{
	const char *names = find_line(text, prefix);
	const char *values, *title, *value;
	size_t title_len, value_len;

	if (!names)
		return -1;
	values = find_line(strchr(names, '\n'), prefix);
	if (!values)
		return -1;
	while ((title = next_word(&names, &title_len)) &&
	       (value = next_word(&values, &value_len)))
		if (title_len == strlen(name) &&
		    !memcmp(title, name, title_len))
			return read_value(value, value_len, out);
	return -1;
}

uint64_t netstat_listen_overflows(void)
{
	char *text = proc_text("/proc/net/netstat");
	uint64_t value = 0;

	if (!text || netstat_value(text, "TcpExt", "ListenOverflows", &value))
		value = 0;
	free(text);
	return value;
}

/* Where a counter is told. */
static const struct {
	const char *group, *name;
	size_t to; /* in struct net_counts */
} counters[] = {
#define COUNTER(group, name, to)                             \
	{                                                    \
		group, name, offsetof(struct net_counts, to) \
	}
	/* /proc/net/snmp */
	COUNTER("Tcp", "InSegs", stack_in_segs),
	COUNTER("Tcp", "OutSegs", stack_out_segs),
	COUNTER("Tcp", "RetransSegs", stack_retrans_segs),
	COUNTER("Tcp", "InErrs", stack_in_errors),
	COUNTER("Tcp", "OutRsts", stack_out_resets),
	/* /proc/net/netstat */
	COUNTER("TcpExt", "ListenOverflows", stack_listen_overflows),
	COUNTER("TcpExt", "ListenDrops", stack_listen_drops),
	COUNTER("TcpExt", "TCPTimeouts", stack_timeouts),
	COUNTER("TcpExt", "TCPSynRetrans", stack_syn_retrans),
	COUNTER("TcpExt", "TCPLostRetransmit", stack_lost_retransmits),
	COUNTER("TcpExt", "TCPOFOQueue", stack_out_of_order),
	COUNTER("TcpExt", "TCPOFODrop", stack_out_of_order_drops),
	COUNTER("TcpExt", "TCPRcvQDrop", stack_receive_queue_drops),
	COUNTER("TcpExt", "TCPBacklogDrop", stack_backlog_drops),
	COUNTER("TcpExt", "PruneCalled", stack_pruned),
	COUNTER("TcpExt", "TCPRcvCollapsed", stack_collapsed),
	COUNTER("TcpExt", "TCPToZeroWindowAdv", stack_zero_windows),
	COUNTER("TcpExt", "TCPMemoryPressures", stack_memory_pressures),
	COUNTER("IpExt", "InCEPkts", stack_ce_packets),
};

void netstat_counts(const char *text, struct net_counts *out)
{
	size_t i;

	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		int64_t *to = (int64_t *)(void *)((char *)out + counters[i].to);
		uint64_t value;

		if (!netstat_value(text, counters[i].group, counters[i].name,
				   &value) &&
		    value <= INT64_MAX)
			*to = (int64_t)value;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* TCP_INFO: readings, their differences, figures over all flows. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/measure/tcpinfo.h"

/* Larger than any kernel's struct tcp_info, so that none is cut. */
#define TCPINFO_ROOM 512

/* Where a figure comes from. */
struct field {
	size_t to; /* in struct tcp_figures */
	size_t from, size; /* in the kernel's struct; 1, 4 or 8 bytes */
	bool counter; /* only grows, so a difference means something */
};

#define FIELD(m, k, is_counter)                                                \
	{                                                                      \
		offsetof(struct tcp_figures, m), offsetof(struct tcp_info, k), \
			sizeof(((struct tcp_info *)0)->k), is_counter          \
	}

static const struct field fields[] = {
	FIELD(state, tcpi_state, false),
	FIELD(ca_state, tcpi_ca_state, false),
	FIELD(pmtu, tcpi_pmtu, false),
	FIELD(mss, tcpi_snd_mss, false),
	FIELD(rtt_us, tcpi_rtt, false),
	FIELD(rttvar_us, tcpi_rttvar, false),
	FIELD(min_rtt_us, tcpi_min_rtt, false),
	FIELD(cwnd, tcpi_snd_cwnd, false),
	FIELD(ssthresh, tcpi_snd_ssthresh, false),
	FIELD(snd_wnd, tcpi_snd_wnd, false),
	FIELD(notsent, tcpi_notsent_bytes, false),
	FIELD(delivery_rate, tcpi_delivery_rate, false),
	FIELD(retransmits, tcpi_total_retrans, true),
	FIELD(bytes_acked, tcpi_bytes_acked, true),
	FIELD(bytes_received, tcpi_bytes_received, true),
	FIELD(bytes_sent, tcpi_bytes_sent, true),
	FIELD(bytes_retrans, tcpi_bytes_retrans, true),
	FIELD(segs_out, tcpi_segs_out, true),
	FIELD(segs_in, tcpi_segs_in, true),
	FIELD(data_segs_out, tcpi_data_segs_out, true),
	FIELD(data_segs_in, tcpi_data_segs_in, true),
	FIELD(delivered_ce, tcpi_delivered_ce, true),
	FIELD(dsack_dups, tcpi_dsack_dups, true),
	FIELD(reorderings, tcpi_reord_seen, true),
	FIELD(busy_us, tcpi_busy_time, true),
	FIELD(rwnd_limited_us, tcpi_rwnd_limited, true),
	FIELD(sndbuf_limited_us, tcpi_sndbuf_limited, true),
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

_Static_assert(FIELDS * sizeof(int64_t) == sizeof(struct tcp_figures),
	       "every figure has a source");

static int64_t *figure(struct tcp_figures *t, const struct field *f)
{
	return (int64_t *)(void *)((char *)t + f->to);
}

static int64_t figure_of(const struct tcp_figures *t, const struct field *f)
{
	return *(const int64_t *)(const void *)((const char *)t + f->to);
}

/* ---- readings ---- */

void tcpinfo_unknown(struct tcp_figures *t)
{
	size_t i;

	for (i = 0; i < FIELDS; i++)
		*figure(t, &fields[i]) = -1;
}

static int64_t load(const void *info, const struct field *f)
{
	const char *at = (const char *)info + f->from;
	uint64_t wide;
	uint32_t word;

	switch (f->size) {
	case 1:
		return *(const uint8_t *)at;
	case 4:
		memcpy(&word, at, sizeof(word));
		return word;
	default:
		memcpy(&wide, at, sizeof(wide));
		return wide > INT64_MAX ? -1 : (int64_t)wide;
	}
}

void tcpinfo_parse(const void *info, size_t len, struct tcp_figures *out)
{
	size_t i;

	tcpinfo_unknown(out);
	for (i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];

		if (f->from + f->size <= len)
			*figure(out, f) = load(info, f);
	}
	/* What the kernel says before it has seen a round trip. */
	if (out->min_rtt_us == UINT32_MAX)
		out->min_rtt_us = -1;
}

void tcpinfo_read(int fd, struct tcp_figures *out)
{
	char info[TCPINFO_ROOM] = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len))
		len = 0;
	tcpinfo_parse(info, len, out);
}

bool tcpinfo_plain(int fd)
{
	int protocol = 0;
	socklen_t len = sizeof(protocol);

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) &&
	       protocol == IPPROTO_TCP;
}

void tcpinfo_since(const struct tcp_figures *a, const struct tcp_figures *b,
		   struct tcp_figures *out)
{
	size_t i;

	for (i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];
		int64_t from = figure_of(a, f), to = figure_of(b, f);

		if (f->counter && from >= 0 && to >= 0)
			/* 100 Gbit/s wrap a count of segments in 8 minutes */
			to = f->size == 4 ? (uint32_t)(to - from) : to - from;
		if ((f->counter && from < 0) || to < 0)
			to = -1;
		*figure(out, f) = to;
	}
}

int64_t tcpinfo_cwnd_bytes(const struct tcp_figures *t)
{
	int64_t bytes;

	/* both are 32 bits wide, their product may be 64 */
	if (t->cwnd < 0 || t->mss < 0 ||
	    __builtin_mul_overflow(t->cwnd, t->mss, &bytes))
		return -1;
	return bytes;
}

/* ---- over all flows ---- */

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Percentiles of the @n values at @v, which are put in order. */
static struct spread spread_of(int64_t *v, size_t n)
{
	if (!n)
		return (struct spread){ -1, -1, -1 };
	qsort(v, n, sizeof(*v), by_value);
	return (struct spread){ v[n / 2], v[n * 90 / 100], v[n - 1] };
}

static int64_t rtt_of(const struct tcp_figures *t)
{
	return t->rtt_us;
}

static int64_t cwnd_of(const struct tcp_figures *t)
{
	return t->cwnd;
}

static int64_t rate_of(const struct tcp_figures *t)
{
	return t->delivery_rate;
}

/* The window of a flow that sent nothing is the kernel's first guess. */
static bool has_sent(const struct tcp_figures *t)
{
	return t->data_segs_out != 0;
}

/* Spread of @value over the flows alive; @room holds n values. */
static struct spread spread_over(const struct flow_result *flows, int n,
				 int64_t (*value)(const struct tcp_figures *),
				 bool senders, int64_t *room)
{
	size_t known = 0;
	int i;

	for (i = 0; i < n; i++) {
		const struct tcp_figures *t = &flows[i].tcp;
		int64_t v = value(t);

		if (v >= 0 && !flows[i].err && (!senders || has_sent(t)))
			room[known++] = v;
	}
	return spread_of(room, known);
}

static void add(struct tcp_figures *sum, const struct tcp_figures *t)
{
	size_t i;

	for (i = 0; i < FIELDS; i++) {
		int64_t v = figure_of(t, &fields[i]);
		int64_t *to = figure(sum, &fields[i]);

		if (fields[i].counter && v >= 0)
			*to = *to < 0 ? v : *to + v;
	}
}

static int64_t other_busy(const struct tcp_figures *t)
{
	int64_t left = t->busy_us - t->rwnd_limited_us - t->sndbuf_limited_us;

	if (t->busy_us < 0 || t->rwnd_limited_us < 0 ||
	    t->sndbuf_limited_us < 0)
		return -1;
	/* The three are read one after the other, in steps of a jiffy. */
	return left < 0 ? 0 : left;
}

void tcpinfo_sum(const struct flow_result *flows, int n, struct tcp_result *out)
{
	int64_t *room = calloc((size_t)n + 1, sizeof(*room));
	int i;

	out->flows = 0;
	out->min_rtt_us = -1;
	tcpinfo_unknown(&out->sum);
	for (i = 0; i < n && room; i++) {
		const struct tcp_figures *t = &flows[i].tcp;

		out->flows += t->retransmits >= 0;
		add(&out->sum, t);
		if (t->min_rtt_us >= 0 &&
		    (out->min_rtt_us < 0 || t->min_rtt_us < out->min_rtt_us))
			out->min_rtt_us = t->min_rtt_us;
	}
	out->other_busy_us = other_busy(&out->sum);
	n = room ? n : 0;
	out->rtt_us = spread_over(flows, n, rtt_of, false, room);
	out->cwnd = spread_over(flows, n, cwnd_of, true, room);
	out->cwnd_bytes = spread_over(flows, n, tcpinfo_cwnd_bytes, true, room);
	out->delivery_rate = spread_over(flows, n, rate_of, true, room);
	free(room);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* key=value lines of TCP_INFO, the interface and the stack. */
#include <inttypes.h>
#include <stdio.h>

#include "common/measure/netdev.h"
#include "common/measure/wire.h"
#include "common/report/kv_network.h"

/* A number, or nothing when it is unknown. */
static void put_known(const char *end, const char *key, int64_t v)
{
	if (v >= 0)
		printf("%s_%s=%" PRId64 "\n", end, key, v);
	else
		printf("%s_%s=\n", end, key);
}

static void put_micros(const char *end, const char *key, int64_t us)
{
	if (us >= 0)
		printf("%s_%s=%" PRId64 ".%06" PRId64 "\n", end, key,
		       us / 1000000, us % 1000000);
	else
		printf("%s_%s=\n", end, key);
}

/* The kernel counts bytes a second, the output bits. */
static void put_rate(const char *end, const char *key, int64_t rate)
{
	if (rate >= 0)
		printf("%s_%s=%.0f\n", end, key, (double)rate * 8);
	else
		printf("%s_%s=\n", end, key);
}

static void put_spread(const char *end, const char *key, const char *unit,
		       const struct spread *s,
		       void (*put)(const char *, const char *, int64_t))
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s_p50%s", key, unit);
	put(end, name, s->p50);
	(void)snprintf(name, sizeof(name), "%s_p90%s", key, unit);
	put(end, name, s->p90);
	(void)snprintf(name, sizeof(name), "%s_max%s", key, unit);
	put(end, name, s->max);
}

static void put_tcp(const char *end, const struct tcp_result *t)
{
	const struct tcp_figures *s = &t->sum;

	put_known(end, "tcp_info_flows", t->flows);
	put_known(end, "retransmits", s->retransmits);
	put_known(end, "bytes_acked", s->bytes_acked);
	put_known(end, "bytes_received", s->bytes_received);
	put_known(end, "bytes_sent", s->bytes_sent);
	put_known(end, "bytes_retrans", s->bytes_retrans);
	put_known(end, "segs_out", s->segs_out);
	put_known(end, "segs_in", s->segs_in);
	put_known(end, "data_segs_out", s->data_segs_out);
	put_known(end, "data_segs_in", s->data_segs_in);
	put_known(end, "delivered_ce", s->delivered_ce);
	put_known(end, "dsack_dups", s->dsack_dups);
	put_known(end, "reorderings", s->reorderings);
	put_micros(end, "busy_seconds", s->busy_us);
	put_micros(end, "rwnd_limited_seconds", s->rwnd_limited_us);
	put_micros(end, "sndbuf_limited_seconds", s->sndbuf_limited_us);
	put_micros(end, "other_busy_seconds", t->other_busy_us);
	put_known(end, "min_rtt_us", t->min_rtt_us);
	put_spread(end, "rtt", "_us", &t->rtt_us, put_known);
	put_spread(end, "cwnd", "", &t->cwnd, put_known);
	put_spread(end, "cwnd_bytes", "", &t->cwnd_bytes, put_known);
	put_spread(end, "delivery_rate", "", &t->delivery_rate, put_rate);
}

/* Shares of what the interface counted in one direction. */
static void put_parts(const struct end_result *r, bool tx, const char *way)
{
	struct wire_parts p;

	if (!wire_split(r, tx, &p))
		return;
	printf("%s%s_payload:%.4f %s_resent:%.4f %s_headers:%.4f %s_other:%.4f",
	       tx ? "" : " ", way, p.payload / p.bytes, way, p.resent / p.bytes,
	       way, p.headers / p.bytes, way, p.other / p.bytes);
}

static void put_net(const char *end, const struct end_result *r)
{
	const struct net_result *n = &r->net;
	size_t i;

	printf("%s_interface=%s\n", end, n->interface);
	for (i = 0; i < netdev_counters(); i++) {
		int64_t value;
		const char *name = netdev_counter(i, &n->counts, &value);

		put_known(end, name, value);
	}
	printf("%s_wire_explains=", end);
	put_parts(r, true, "tx");
	put_parts(r, false, "rx");
	printf("\n");
	for (i = 0; i < (size_t)n->n_cpus; i++)
		printf("%s_softirqs_cpu_%" PRId64 "=net_rx:%" PRId64
		       " net_tx:%" PRId64 "\n",
		       end, n->cpus[i].cpu, n->cpus[i].net_rx,
		       n->cpus[i].net_tx);
	for (i = 0; i < (size_t)n->n_driver; i++)
		printf("%s_driver_%s=%" PRId64 "\n", end, n->driver[i].name,
		       n->driver[i].delta);
	if (n->driver_left_out > 0)
		printf("%s_driver_left_out=%" PRId64 "\n", end,
		       n->driver_left_out);
}

void kv_network(const char *end, const struct end_result *r)
{
	put_tcp(end, &r->tcp);
	put_net(end, r);
}

static void put_item(const char *key, int64_t v)
{
	printf(" %s:", key);
	if (v >= 0)
		printf("%" PRId64, v);
}

void kv_flow_tcp(const struct tcp_figures *t)
{
	put_item("retransmits", t->retransmits);
	put_item("bytes_acked", t->bytes_acked);
	put_item("rtt_us", t->rtt_us);
	put_item("cwnd", t->cwnd);
	printf(" delivery_rate:");
	if (t->delivery_rate >= 0)
		printf("%.0f", (double)t->delivery_rate * 8);
	put_item("busy_us", t->busy_us);
	put_item("rwnd_limited_us", t->rwnd_limited_us);
	put_item("sndbuf_limited_us", t->sndbuf_limited_us);
}

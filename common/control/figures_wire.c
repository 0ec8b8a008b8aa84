/* SPDX-License-Identifier: Apache-2.0 */
/* TCP_INFO and the counters of the network as JSON and back. */
#include <string.h>

#include "common/control/figures_wire.h"
#include "common/control/json.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Counters of TCP_INFO, summed over the flows. */
static const struct json_field tcp_sum_fields[] = {
	JSON_I64_FIELD(tcp_figures, retransmits),
	JSON_I64_FIELD(tcp_figures, bytes_acked),
	JSON_I64_FIELD(tcp_figures, bytes_received),
	JSON_I64_FIELD(tcp_figures, bytes_sent),
	JSON_I64_FIELD(tcp_figures, bytes_retrans),
	JSON_I64_FIELD(tcp_figures, segs_out),
	JSON_I64_FIELD(tcp_figures, segs_in),
	JSON_I64_FIELD(tcp_figures, data_segs_out),
	JSON_I64_FIELD(tcp_figures, data_segs_in),
	JSON_I64_FIELD(tcp_figures, delivered_ce),
	JSON_I64_FIELD(tcp_figures, dsack_dups),
	JSON_I64_FIELD(tcp_figures, reorderings),
	JSON_I64_FIELD(tcp_figures, busy_us),
	JSON_I64_FIELD(tcp_figures, rwnd_limited_us),
	JSON_I64_FIELD(tcp_figures, sndbuf_limited_us),
};

static const struct json_field tcp_fields[] = {
	JSON_I64_FIELD(tcp_result, flows),
	JSON_I64_FIELD(tcp_result, other_busy_us),
	JSON_I64_FIELD(tcp_result, min_rtt_us),
};

static const struct json_field spread_fields[] = {
	JSON_I64_FIELD(spread, p50),
	JSON_I64_FIELD(spread, p90),
	JSON_I64_FIELD(spread, max),
};

/* Where the spreads of a tcp_result stand. */
static const struct {
	const char *name;
	size_t offset;
} spreads[] = {
	{ "rtt_us", offsetof(struct tcp_result, rtt_us) },
	{ "cwnd", offsetof(struct tcp_result, cwnd) },
	{ "cwnd_bytes", offsetof(struct tcp_result, cwnd_bytes) },
	{ "delivery_rate", offsetof(struct tcp_result, delivery_rate) },
};

/* What the window added to counters of interface, stack and machine. */
static const struct json_field net_counts_fields[] = {
	JSON_I64_FIELD(net_counts, wire_rx_bytes),
	JSON_I64_FIELD(net_counts, wire_tx_bytes),
	JSON_I64_FIELD(net_counts, wire_rx_packets),
	JSON_I64_FIELD(net_counts, wire_tx_packets),
	JSON_I64_FIELD(net_counts, wire_rx_errors),
	JSON_I64_FIELD(net_counts, wire_tx_errors),
	JSON_I64_FIELD(net_counts, wire_rx_dropped),
	JSON_I64_FIELD(net_counts, wire_tx_dropped),
	JSON_I64_FIELD(net_counts, stack_in_segs),
	JSON_I64_FIELD(net_counts, stack_out_segs),
	JSON_I64_FIELD(net_counts, stack_retrans_segs),
	JSON_I64_FIELD(net_counts, stack_in_errors),
	JSON_I64_FIELD(net_counts, stack_out_resets),
	JSON_I64_FIELD(net_counts, stack_listen_overflows),
	JSON_I64_FIELD(net_counts, stack_listen_drops),
	JSON_I64_FIELD(net_counts, stack_timeouts),
	JSON_I64_FIELD(net_counts, stack_syn_retrans),
	JSON_I64_FIELD(net_counts, stack_lost_retransmits),
	JSON_I64_FIELD(net_counts, stack_out_of_order),
	JSON_I64_FIELD(net_counts, stack_out_of_order_drops),
	JSON_I64_FIELD(net_counts, stack_receive_queue_drops),
	JSON_I64_FIELD(net_counts, stack_backlog_drops),
	JSON_I64_FIELD(net_counts, stack_pruned),
	JSON_I64_FIELD(net_counts, stack_collapsed),
	JSON_I64_FIELD(net_counts, stack_zero_windows),
	JSON_I64_FIELD(net_counts, stack_memory_pressures),
	JSON_I64_FIELD(net_counts, stack_ce_packets),
	JSON_I64_FIELD(net_counts, softnet_processed),
	JSON_I64_FIELD(net_counts, softnet_dropped),
	JSON_I64_FIELD(net_counts, softnet_squeezed),
	JSON_I64_FIELD(net_counts, softirqs_net_rx),
	JSON_I64_FIELD(net_counts, softirqs_net_tx),
};

static const struct json_field net_fields[] = {
	JSON_I64_FIELD(net_result, header),
	JSON_I64_FIELD(net_result, seconds),
	JSON_I64_FIELD(net_result, driver_left_out),
};

static const struct json_field softirq_fields[] = {
	JSON_I64_FIELD(softirq_cpu, cpu),
	JSON_I64_FIELD(softirq_cpu, net_rx),
	JSON_I64_FIELD(softirq_cpu, net_tx),
};

/* ---- writing ---- */

static void put_object(cJSON *o, const char *name,
		       const struct json_field *fields, size_t n,
		       const void *at)
{
	json_put_fields(cJSON_AddObjectToObject(o, name), fields, n, at);
}

void figures_wire_put_tcp(cJSON *o, const struct tcp_result *t)
{
	cJSON *tcp = cJSON_AddObjectToObject(o, "tcp");
	size_t i;

	json_put_fields(tcp, tcp_fields, COUNT(tcp_fields), t);
	put_object(tcp, "sum", tcp_sum_fields, COUNT(tcp_sum_fields), &t->sum);
	for (i = 0; i < COUNT(spreads); i++)
		put_object(tcp, spreads[i].name, spread_fields,
			   COUNT(spread_fields),
			   (const char *)t + spreads[i].offset);
}

static void put_lists(cJSON *net, const struct net_result *n)
{
	cJSON *cpus = cJSON_AddArrayToObject(net, "softirqs");
	cJSON *driver = cJSON_AddObjectToObject(net, "driver");
	int i;

	for (i = 0; i < (int)n->n_cpus; i++) {
		cJSON *item = cJSON_CreateObject();

		if (!cJSON_AddItemToArray(cpus, item)) {
			cJSON_Delete(item);
			return;
		}
		json_put_fields(item, softirq_fields, COUNT(softirq_fields),
				&n->cpus[i]);
	}
	for (i = 0; i < (int)n->n_driver; i++)
		json_put_i64(driver, n->driver[i].name, n->driver[i].delta);
}

void figures_wire_put_net(cJSON *o, const struct net_result *n)
{
	cJSON *net = cJSON_AddObjectToObject(o, "net");

	cJSON_AddStringToObject(net, "interface", n->interface);
	cJSON_AddBoolToObject(net, "loopback", n->loopback);
	json_put_fields(net, net_fields, COUNT(net_fields), n);
	put_object(net, "counts", net_counts_fields, COUNT(net_counts_fields),
		   &n->counts);
	put_lists(net, n);
}

/* ---- reading ---- */

/*
 * Read figures that may be unknown: a member that is not there is -1, a
 * number below that is refused.
 */
static int get_known(const cJSON *o, const struct json_field *fields, size_t n,
		     void *at, struct fault *fault)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const char *name = fields[i].name;
		int64_t v = -1;

		if (cJSON_GetObjectItemCaseSensitive(o, name) &&
		    json_get_i64(o, name, -1, INT64_MAX, &v, fault))
			return -1;
		memcpy((char *)at + fields[i].offset, &v, sizeof(v));
	}
	return 0;
}

/* Member @name of @o, an object, or NULL when it is not there. */
static int get_member(const cJSON *o, const char *name, const cJSON **out,
		      struct fault *fault)
{
	*out = cJSON_GetObjectItemCaseSensitive(o, name);
	if (*out && !cJSON_IsObject(*out))
		return fault_set(fault, 0, "member \"%s\" is no object", name);
	return 0;
}

int figures_wire_get_tcp(const cJSON *o, struct tcp_result *t,
			 struct fault *fault)
{
	const cJSON *tcp, *item;
	size_t i;

	memset(t, 0xff, sizeof(*t)); /* -1 each: unknown */
	if (get_member(o, "tcp", &tcp, fault) ||
	    get_known(tcp, tcp_fields, COUNT(tcp_fields), t, fault) ||
	    get_member(tcp, "sum", &item, fault) ||
	    get_known(item, tcp_sum_fields, COUNT(tcp_sum_fields), &t->sum,
		      fault))
		return -1;
	for (i = 0; i < COUNT(spreads); i++) {
		if (get_member(tcp, spreads[i].name, &item, fault) ||
		    get_known(item, spread_fields, COUNT(spread_fields),
			      (char *)t + spreads[i].offset, fault))
			return -1;
	}
	return 0;
}

static int get_softirqs(const cJSON *net, struct net_result *n,
			struct fault *fault)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(net, "softirqs");
	const cJSON *item;

	if (!cJSON_IsArray(list) ||
	    cJSON_GetArraySize(list) > RESULT_SOFTIRQ_CPUS)
		return fault_set(fault, 0,
				 "member \"softirqs\" is missing or too long");
	cJSON_ArrayForEach(item, list)
	{
		if (get_known(item, softirq_fields, COUNT(softirq_fields),
			      &n->cpus[n->n_cpus++], fault))
			return -1;
	}
	return 0;
}

/* Names become part of keys, so only those that fit there are taken. */
static int get_driver(const cJSON *net, struct net_result *n,
		      struct fault *fault)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(net, "driver");
	const cJSON *item;

	if (!cJSON_IsObject(list) ||
	    cJSON_GetArraySize(list) > RESULT_DRIVER_COUNTERS)
		return fault_set(fault, 0,
				 "member \"driver\" is missing or too long");
	cJSON_ArrayForEach(item, list)
	{
		struct driver_counter *c = &n->driver[n->n_driver++];
		size_t len = strlen(item->string);

		if (!len || len >= sizeof(c->name) ||
		    strspn(item->string, RESULT_NAME_CHARACTERS) != len ||
		    json_to_i64(item, &c->delta))
			return fault_set(fault, 0,
					 "\"driver\" holds what is no counter");
		memcpy(c->name, item->string, len + 1);
	}
	return 0;
}

int figures_wire_get_net(const cJSON *o, struct net_result *n,
			 struct fault *fault)
{
	const cJSON *net, *counts;

	if (get_member(o, "net", &net, fault) ||
	    get_member(net, "counts", &counts, fault) ||
	    get_known(net, net_fields, COUNT(net_fields), n, fault) ||
	    get_known(counts, net_counts_fields, COUNT(net_counts_fields),
		      &n->counts, fault))
		return -1;
	if (!net)
		return 0;
	n->loopback = json_get_bool(net, "loopback");
	if (json_get_text(net, "interface", n->interface, sizeof(n->interface),
			  fault) ||
	    get_softirqs(net, n, fault))
		return -1;
	return get_driver(net, n, fault);
}

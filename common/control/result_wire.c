/* SPDX-License-Identifier: Apache-2.0 */
/* Results as JSON and back, one part at a time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/figures_wire.h"
#include "common/control/json.h"
#include "common/control/result_wire.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct json_field counts_fields[] = {
	JSON_U64_FIELD(io_counts, tx_bytes),
	JSON_U64_FIELD(io_counts, rx_bytes),
	JSON_U64_FIELD(io_counts, tx_transfers),
	JSON_U64_FIELD(io_counts, rx_transfers),
	JSON_U64_FIELD(io_counts, tx_short),
	JSON_U64_FIELD(io_counts, rx_short),
	JSON_U64_FIELD(io_counts, tx_again),
	JSON_U64_FIELD(io_counts, rx_again),
	JSON_U64_FIELD(io_counts, rx_truncated),
	JSON_U64_FIELD(io_counts, waits),
	JSON_U64_FIELD(io_counts, wakeups),
	JSON_U64_FIELD(io_counts, late),
};

static const struct json_field zc_fields[] = {
	JSON_U64_FIELD(zc_counts, sends),
	JSON_U64_FIELD(zc_counts, completions),
	JSON_U64_FIELD(zc_counts, copied),
	JSON_U64_FIELD(zc_counts, enobufs),
	JSON_U64_FIELD(zc_counts, fallbacks),
	JSON_U64_FIELD(zc_counts, peak_pinned),
	JSON_U64_FIELD(zc_counts, outstanding),
};

static const struct json_field usage_fields[] = {
	JSON_I64_FIELD(usage, when),   JSON_I64_FIELD(usage, user),
	JSON_I64_FIELD(usage, system), JSON_I64_FIELD(usage, maxrss),
	JSON_I64_FIELD(usage, minflt), JSON_I64_FIELD(usage, majflt),
	JSON_I64_FIELD(usage, nvcsw),  JSON_I64_FIELD(usage, nivcsw),
};

static const struct json_field worker_fields[] = {
	JSON_I64_FIELD(worker_result, cpu),
	JSON_I64_FIELD(worker_result, last_cpu),
	JSON_I64_FIELD(worker_result, node),
	JSON_I64_FIELD(worker_result, flows),
	JSON_I64_FIELD(worker_result, affinity),
	JSON_I64_FIELD(worker_result, window),
	JSON_I64_FIELD(worker_result, cpu_user),
	JSON_I64_FIELD(worker_result, cpu_system),
};

static const struct json_field result_fields[] = {
	JSON_I64_FIELD(end_result, window),
	JSON_I64_FIELD(end_result, wall_start),
	JSON_I64_FIELD(end_result, start),
	JSON_I64_FIELD(end_result, end),
	JSON_I64_FIELD(end_result, seconds),
	JSON_I64_FIELD(end_result, edge_spread),
	JSON_I64_FIELD(end_result, flows_failed),
	JSON_I64_FIELD(end_result, connect_p50),
	JSON_I64_FIELD(end_result, connect_p99),
	JSON_I64_FIELD(end_result, connect_max),
	JSON_I64_FIELD(end_result, connect_phase),
	JSON_I64_FIELD(end_result, syn_retransmits),
	JSON_I64_FIELD(end_result, listen_overflows),
};

static const struct json_field clock_fields[] = {
	JSON_I64_FIELD(clock_match, offset),
	JSON_I64_FIELD(clock_match, bound),
};

/* Members of a flow's row, in the order they stand in its array. */
static const struct json_field flow_fields[] = {
	JSON_I64_FIELD(flow_result, id),
	JSON_I64_FIELD(flow_result, worker),
	JSON_I64_FIELD(flow_result, local_port),
	JSON_I64_FIELD(flow_result, peer_port),
	JSON_U64_FIELD(flow_result, tx_bytes),
	JSON_U64_FIELD(flow_result, rx_bytes),
	JSON_I64_FIELD(flow_result, connect_time),
	JSON_I64_FIELD(flow_result, err),
	/* from here on -1 is unknown, and so is what is not there */
	JSON_I64_FIELD(flow_result, tcp.retransmits),
	JSON_I64_FIELD(flow_result, tcp.bytes_acked),
	JSON_I64_FIELD(flow_result, tcp.rtt_us),
	JSON_I64_FIELD(flow_result, tcp.cwnd),
	JSON_I64_FIELD(flow_result, tcp.delivery_rate),
	JSON_I64_FIELD(flow_result, tcp.busy_us),
	JSON_I64_FIELD(flow_result, tcp.rwnd_limited_us),
	JSON_I64_FIELD(flow_result, tcp.sndbuf_limited_us),
};

/* Members of that row that every version has. */
#define FLOW_FIELDS_OLD 8

static const struct json_field row_fields[] = {
	JSON_I64_FIELD(row, index),    JSON_I64_FIELD(row, start),
	JSON_I64_FIELD(row, end),      JSON_U64_FIELD(row, tx_bytes),
	JSON_U64_FIELD(row, rx_bytes), JSON_I64_FIELD(row, cpu),
};

/* ---- writing ---- */

static void put_object(cJSON *o, const char *name,
		       const struct json_field *fields, size_t n,
		       const void *at)
{
	json_put_fields(cJSON_AddObjectToObject(o, name), fields, n, at);
}

static void put_workers(cJSON *o, const struct end_result *r)
{
	cJSON *list = cJSON_AddArrayToObject(o, "workers");
	int i;

	for (i = 0; i < r->n_workers; i++) {
		const struct worker_result *w = &r->workers[i];
		cJSON *item = cJSON_CreateObject();

		if (!cJSON_AddItemToArray(list, item)) {
			cJSON_Delete(item);
			return;
		}
		json_put_fields(item, worker_fields, COUNT(worker_fields), w);
		put_object(item, "counts", counts_fields, COUNT(counts_fields),
			   &w->counts);
		put_object(item, "zerocopy", zc_fields, COUNT(zc_fields),
			   &w->zc);
	}
}

static void put_settings(cJSON *o, const struct end_result *r)
{
	cJSON *list = cJSON_AddArrayToObject(o, "settings");
	int i;

	for (i = 0; i < (int)r->n_settings; i++) {
		const struct setting *s = &r->settings[i];
		cJSON *item = cJSON_CreateObject();

		if (!cJSON_AddItemToArray(list, item)) {
			cJSON_Delete(item);
			return;
		}
		cJSON_AddStringToObject(item, "name", s->name);
		cJSON_AddStringToObject(item, "requested", s->requested);
		cJSON_AddStringToObject(item, "effective", s->effective);
		cJSON_AddStringToObject(item, "set_by", s->set_by);
		json_put_i64(item, "differing", s->differing);
	}
}

static void put_clock(cJSON *o, const char *name, const struct clock_match *m)
{
	if (m->known)
		put_object(o, name, clock_fields, COUNT(clock_fields), m);
}

static void put_head(cJSON *o, const struct end_result *r)
{
	cJSON *warnings;
	int i;

	cJSON_AddBoolToObject(o, "complete", r->complete);
	cJSON_AddStringToObject(o, "end_reason", r->end_reason);
	cJSON_AddStringToObject(o, "host", r->host);
	cJSON_AddStringToObject(o, "boot_id", r->boot_id);
	cJSON_AddStringToObject(o, "pin_policy", r->pin_policy);
	cJSON_AddStringToObject(o, "cpus", r->cpus);
	json_put_fields(o, result_fields, COUNT(result_fields), r);
	json_put_i64(o, "flows_all", r->n_flows);
	put_object(o, "counts", counts_fields, COUNT(counts_fields),
		   &r->counts);
	put_object(o, "life", counts_fields, COUNT(counts_fields), &r->life);
	put_object(o, "zerocopy", zc_fields, COUNT(zc_fields), &r->zc);
	put_object(o, "usage_start", usage_fields, COUNT(usage_fields),
		   &r->usage_start);
	put_object(o, "usage_end", usage_fields, COUNT(usage_fields),
		   &r->usage_end);
	put_clock(o, "clock_before", &r->clock_before);
	put_clock(o, "clock_after", &r->clock_after);
	figures_wire_put_tcp(o, &r->tcp);
	figures_wire_put_net(o, &r->net);
	put_workers(o, r);
	put_settings(o, r);
	warnings = cJSON_AddArrayToObject(o, "warnings");
	for (i = 0; i < r->warnings.n; i++)
		(void)cJSON_AddItemToArray(
			warnings, cJSON_CreateString(r->warnings.text[i]));
}

static void put_flows(cJSON *o, const struct end_result *r, int64_t part)
{
	cJSON *list = cJSON_AddArrayToObject(o, "flows");
	int64_t i = (part - 2) * RESULT_WIRE_PART;
	int64_t end = i + RESULT_WIRE_PART;
	size_t k;

	for (; i < end && i < r->n_flows; i++) {
		const char *at = (const char *)&r->flows[i];
		cJSON *item = cJSON_CreateArray();

		if (!cJSON_AddItemToArray(list, item)) {
			cJSON_Delete(item);
			return;
		}
		for (k = 0; k < COUNT(flow_fields); k++) {
			uint64_t v;

			memcpy(&v, at + flow_fields[k].offset, sizeof(v));
			(void)cJSON_AddItemToArray(
				item, flow_fields[k].kind == JSON_U64 ?
					      json_u64(v) :
					      json_i64((int64_t)v));
		}
	}
}

void result_wire_put(cJSON *o, const struct end_result *r, int64_t part,
		     int64_t parts)
{
	json_put_i64(o, "part", part);
	json_put_i64(o, "parts", parts);
	if (part == 1)
		put_head(o, r);
	else
		put_flows(o, r, part);
}

void row_wire_put(cJSON *o, const struct row *row)
{
	json_put_fields(o, row_fields, COUNT(row_fields), row);
	cJSON_AddBoolToObject(o, "warmup", row->warmup);
}

/* ---- reading ---- */

static int get_object(const cJSON *o, const char *name,
		      const struct json_field *fields, size_t n, void *at,
		      struct fault *fault)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

	if (!cJSON_IsObject(item))
		return fault_set(fault, 0, "member \"%s\" is missing", name);
	return json_get_fields(item, fields, n, at, fault);
}

/* Array member @name of @o with at most @max items; NULL with @fault. */
static const cJSON *get_array(const cJSON *o, const char *name, int max,
			      struct fault *fault)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, name);

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > max) {
		(void)fault_set(fault, 0,
				"member \"%s\" is missing or too long", name);
		return NULL;
	}
	return list;
}

static int get_workers(const cJSON *o, struct end_result *r,
		       struct fault *fault)
{
	const cJSON *list = get_array(o, "workers", RESULT_WIRE_WORKERS, fault);
	const cJSON *item;
	int n = list ? cJSON_GetArraySize(list) : 0;

	if (!list)
		return -1;
	r->workers = calloc((size_t)n + 1, sizeof(*r->workers));
	if (!r->workers)
		return fault_set(fault, ENOMEM, "result");
	cJSON_ArrayForEach(item, list)
	{
		struct worker_result *w = &r->workers[r->n_workers];

		if (json_get_fields(item, worker_fields, COUNT(worker_fields),
				    w, fault) ||
		    get_object(item, "counts", counts_fields,
			       COUNT(counts_fields), &w->counts, fault) ||
		    get_object(item, "zerocopy", zc_fields, COUNT(zc_fields),
			       &w->zc, fault))
			return -1;
		r->n_workers++;
	}
	return 0;
}

static int get_settings(const cJSON *o, struct end_result *r,
			struct fault *fault)
{
	const cJSON *list = get_array(o, "settings", RESULT_SETTINGS, fault);
	const cJSON *item;

	if (!list)
		return -1;
	cJSON_ArrayForEach(item, list)
	{
		struct setting *s = &r->settings[r->n_settings++];

		if (json_get_text(item, "name", s->name, sizeof(s->name),
				  fault) ||
		    json_get_text(item, "requested", s->requested,
				  sizeof(s->requested), fault) ||
		    json_get_text(item, "effective", s->effective,
				  sizeof(s->effective), fault) ||
		    json_get_text(item, "set_by", s->set_by, sizeof(s->set_by),
				  fault) ||
		    json_get_i64(item, "differing", 0, INT64_MAX, &s->differing,
				 fault))
			return -1;
	}
	return 0;
}

static int get_warnings(const cJSON *o, struct end_result *r,
			struct fault *fault)
{
	const cJSON *list = get_array(o, "warnings", RESULT_WARNINGS, fault);
	const cJSON *item;

	if (!list)
		return -1;
	cJSON_ArrayForEach(item, list)
	{
		struct warnings *w = &r->warnings;

		if (!cJSON_IsString(item) ||
		    strlen(item->valuestring) >= sizeof(w->text[0]) ||
		    !json_printable(item->valuestring))
			return fault_set(fault, 0, "a warning is not a text");
		memcpy(w->text[w->n++], item->valuestring,
		       strlen(item->valuestring) + 1);
	}
	return 0;
}

static int get_texts(const cJSON *o, struct end_result *r, struct fault *fault)
{
	return json_get_text(o, "end_reason", r->end_reason,
			     sizeof(r->end_reason), fault) ||
	       json_get_text(o, "host", r->host, sizeof(r->host), fault) ||
	       json_get_text(o, "boot_id", r->boot_id, sizeof(r->boot_id),
			     fault) ||
	       json_get_text(o, "pin_policy", r->pin_policy,
			     sizeof(r->pin_policy), fault) ||
	       json_get_text(o, "cpus", r->cpus, sizeof(r->cpus), fault);
}

static int get_clock(const cJSON *o, const char *name, struct clock_match *m,
		     struct fault *fault)
{
	m->known = cJSON_GetObjectItemCaseSensitive(o, name) != NULL;
	if (!m->known)
		return 0;
	return get_object(o, name, clock_fields, COUNT(clock_fields), m, fault);
}

static int get_head(const cJSON *o, struct end_result *r, struct fault *fault)
{
	int64_t flows;

	r->complete = json_get_bool(o, "complete");
	if (get_texts(o, r, fault) ||
	    json_get_fields(o, result_fields, COUNT(result_fields), r, fault) ||
	    json_get_i64(o, "flows_all", 0, RESULT_WIRE_FLOWS, &flows, fault) ||
	    get_object(o, "counts", counts_fields, COUNT(counts_fields),
		       &r->counts, fault) ||
	    get_object(o, "life", counts_fields, COUNT(counts_fields), &r->life,
		       fault) ||
	    get_object(o, "zerocopy", zc_fields, COUNT(zc_fields), &r->zc,
		       fault) ||
	    get_object(o, "usage_start", usage_fields, COUNT(usage_fields),
		       &r->usage_start, fault) ||
	    get_object(o, "usage_end", usage_fields, COUNT(usage_fields),
		       &r->usage_end, fault) ||
	    get_clock(o, "clock_before", &r->clock_before, fault) ||
	    get_clock(o, "clock_after", &r->clock_after, fault))
		return -1;
	r->n_flows = (int)flows;
	return figures_wire_get_tcp(o, &r->tcp, fault) ||
			       figures_wire_get_net(o, &r->net, fault) ||
			       get_workers(o, r, fault) ||
			       get_settings(o, r, fault) ||
			       get_warnings(o, r, fault) ?
		       -1 :
		       0;
}

static int get_flow(const cJSON *item, struct flow_result *f,
		    struct fault *fault)
{
	size_t k;

	memset(&f->tcp, 0xff, sizeof(f->tcp)); /* -1 each: unknown */
	for (k = 0; k < COUNT(flow_fields); k++) {
		const cJSON *v = cJSON_GetArrayItem(item, (int)k);
		int64_t n = 0;
		uint64_t u = 0;
		int bad = flow_fields[k].kind == JSON_U64 ? json_to_u64(v, &u) :
							    json_to_i64(v, &n);

		if (!v && k >= FLOW_FIELDS_OLD)
			break;
		if (bad || (k >= FLOW_FIELDS_OLD && n < -1))
			return fault_set(fault, 0,
					 "a flow's \"%s\" is "
					 "missing or no integer",
					 flow_fields[k].name);
		if (flow_fields[k].kind == JSON_I64)
			u = (uint64_t)n;
		memcpy((char *)f + flow_fields[k].offset, &u, sizeof(u));
	}
	return 0;
}

static int get_flows(const cJSON *o, struct end_result *r, struct fault *fault)
{
	const cJSON *list = get_array(o, "flows", RESULT_WIRE_PART, fault);
	const cJSON *item;

	if (!list)
		return -1;
	r->flows =
		calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*r->flows));
	if (!r->flows)
		return fault_set(fault, ENOMEM, "result");
	cJSON_ArrayForEach(item, list)
	{
		if (get_flow(item, &r->flows[r->n_flows], fault))
			return -1;
		r->n_flows++;
	}
	return 0;
}

int result_wire_get(const cJSON *o, int64_t part, struct end_result *r,
		    struct fault *fault)
{
	return part == 1 ? get_head(o, r, fault) : get_flows(o, r, fault);
}

int row_wire_get(const cJSON *o, struct row *row, struct fault *fault)
{
	row->warmup = json_get_bool(o, "warmup");
	return json_get_fields(o, row_fields, COUNT(row_fields), row, fault);
}

/* ---- parts ---- */

void end_result_free(struct end_result *r)
{
	free(r->workers);
	free(r->flows);
	memset(r, 0, sizeof(*r));
}

int64_t result_wire_parts(const struct end_result *r)
{
	return 1 + (r->n_flows + RESULT_WIRE_PART - 1) / RESULT_WIRE_PART;
}

int result_wire_add(struct end_result *whole, struct end_result *r,
		    int64_t part, int64_t parts)
{
	int64_t left = whole->n_flows - whole->flows_read;
	int i;

	if (part == 1) {
		if (whole->flows || parts != result_wire_parts(r))
			return -1;
		*whole = *r;
		memset(r, 0, sizeof(*r));
		whole->flows = calloc((size_t)whole->n_flows + 1,
				      sizeof(*whole->flows));
		return whole->flows ? parts == 1 : -1;
	}
	/* In order, each once and each full: so none is missing at the end. */
	if (!whole->flows || parts != result_wire_parts(whole) ||
	    (part - 2) * RESULT_WIRE_PART != whole->flows_read ||
	    r->n_flows != (left < RESULT_WIRE_PART ? left : RESULT_WIRE_PART))
		return -1;
	for (i = 0; i < r->n_flows; i++)
		whole->flows[whole->flows_read + i] = r->flows[i];
	whole->flows_read += r->n_flows;
	return part == parts;
}

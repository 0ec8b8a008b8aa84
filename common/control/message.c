/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the control protocol, version 1: JSON and back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/frame.h"
#include "common/control/json.h"
#include "common/control/message.h"
#include "common/control/result_wire.h"

static const char *const names[] = {
	"hello", "accept", "refuse", "flows",  "ping", "pong",	"start",
	"row",	 "done",   "stop",   "result", "bye",  "alive",
};

_Static_assert(sizeof(names) / sizeof(names[0]) == MESSAGE_TYPES,
	       "a name for every type");

const char *message_name(enum message_type type)
{
	return names[type];
}

/* ---- writing ---- */

static void put_options(cJSON *o, const struct message_option *options, int n)
{
	cJSON *list = cJSON_AddArrayToObject(o, "options");
	int i;

	for (i = 0; i < n; i++) {
		cJSON *item = cJSON_CreateObject();

		if (!cJSON_AddItemToArray(list, item)) {
			cJSON_Delete(item);
			return;
		}
		cJSON_AddStringToObject(item, "name", options[i].name);
		cJSON_AddStringToObject(item, "value", options[i].value);
		cJSON_AddBoolToObject(item, "given", options[i].given);
	}
}

static void put_hello(cJSON *o, const struct message_hello *h)
{
	cJSON *list;
	int i;

	json_put_i64(o, "version_min", h->version_min);
	json_put_i64(o, "version_max", h->version_max);
	cJSON_AddStringToObject(o, "program", h->program);
	cJSON_AddStringToObject(o, "test", h->uuid);
	cJSON_AddStringToObject(o, "boot_id", h->boot_id);
	cJSON_AddStringToObject(o, "host", h->host);
	cJSON_AddStringToObject(o, "transport", "tcp");
	cJSON_AddStringToObject(o, "engine", "epoll");
	cJSON_AddStringToObject(o, "controller", "client");
	cJSON_AddStringToObject(o, "connector", "client");
	cJSON_AddStringToObject(o, "preamble", "NPRD");
	(void)cJSON_AddArrayToObject(o, "features");
	(void)cJSON_AddArrayToObject(o, "must");
	json_put_i64(o, "flows", h->flows);
	put_options(o, h->options, h->n_options);
	list = cJSON_AddArrayToObject(o, "windows");
	for (i = 0; i < h->n_windows; i++) {
		cJSON *item = cJSON_CreateObject();

		if (!cJSON_AddItemToArray(list, item)) {
			cJSON_Delete(item);
			return;
		}
		cJSON_AddStringToObject(item, "kind",
					h->windows[i].warmup ? "warm-up" :
							       "measured");
		json_put_i64(item, "ns", h->windows[i].length);
	}
}

static void put_accept(cJSON *o, const struct message_accept *a)
{
	char cookie[2 * sizeof(a->cookie) + 1];
	cJSON *ports;
	size_t k;
	int i;

	for (k = 0; k < sizeof(a->cookie); k++)
		(void)snprintf(cookie + 2 * k, 3, "%02x", a->cookie[k]);
	json_put_i64(o, "version", a->version);
	cJSON_AddStringToObject(o, "boot_id", a->boot_id);
	cJSON_AddStringToObject(o, "host", a->host);
	cJSON_AddStringToObject(o, "engine", "epoll");
	json_put_i64(o, "participant", a->participant);
	json_put_i64(o, "participants", a->participants);
	cJSON_AddStringToObject(o, "cookie", cookie);
	json_put_i64(o, "backlog", a->backlog);
	ports = cJSON_AddArrayToObject(o, "data_ports");
	for (i = 0; i < a->n_ports; i++)
		(void)cJSON_AddItemToArray(ports, json_i64(a->ports[i]));
	put_options(o, a->options, a->n_options);
}

static void put_body(cJSON *o, const struct message *m)
{
	switch (m->type) {
	case MESSAGE_HELLO:
		put_hello(o, &m->hello);
		break;
	case MESSAGE_ACCEPT:
		put_accept(o, &m->accept);
		break;
	case MESSAGE_REFUSE:
		json_put_i64(o, "code", m->refuse.code);
		cJSON_AddStringToObject(o, "program", m->refuse.program);
		cJSON_AddStringToObject(o, "text", m->refuse.text);
		break;
	case MESSAGE_FLOWS:
		json_put_i64(o, "have", m->have);
		json_put_i64(o, "of", m->of);
		break;
	case MESSAGE_PONG:
		json_put_i64(o, "time", m->time);
		/* fallthrough */
	case MESSAGE_PING:
		json_put_i64(o, "seq", m->seq);
		break;
	case MESSAGE_START:
		json_put_i64(o, "at", m->time);
		json_put_i64(o, "offset", m->match.offset);
		json_put_i64(o, "bound", m->match.bound);
		break;
	case MESSAGE_ROW:
		row_wire_put(o, &m->row);
		break;
	case MESSAGE_STOP:
		cJSON_AddStringToObject(o, "reason", m->reason);
		break;
	case MESSAGE_RESULT:
		result_wire_put(o, m->result, m->part, m->parts);
		break;
	case MESSAGE_DONE:
	case MESSAGE_BYE:
	case MESSAGE_ALIVE:
	case MESSAGE_TYPES:
		break;
	}
}

char *message_encode(const struct message *m, size_t *len)
{
	cJSON *o = cJSON_CreateObject();
	char *text;

	if (!o) {
		errno = ENOMEM;
		return NULL;
	}
	cJSON_AddStringToObject(o, "type", names[m->type]);
	put_body(o, m);
	text = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	if (!text) {
		errno = ENOMEM;
		return NULL;
	}
	*len = strlen(text);
	if (*len > FRAME_MAX) {
		free(text);
		errno = EMSGSIZE;
		return NULL;
	}
	return text;
}

/* ---- reading ---- */

static int get_options(const cJSON *o, struct message_option *options, int *n,
		       struct fault *fault)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "options");
	const cJSON *item;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > MESSAGE_OPTIONS)
		return fault_set(fault, 0,
				 "member \"options\" is missing or too long");
	cJSON_ArrayForEach(item, list)
	{
		char name[64], value[512];
		struct message_option *opt = &options[*n];

		if (json_get_text(item, "name", name, sizeof(name), fault) ||
		    json_get_text(item, "value", value, sizeof(value), fault))
			return -1;
		opt->given = json_get_bool(item, "given");
		opt->name = strdup(name);
		opt->value = strdup(value);
		(*n)++; /* counted before the check: freed either way */
		if (!opt->name || !opt->value)
			return fault_set(fault, ENOMEM, "options");
	}
	return 0;
}

static int get_windows(const cJSON *o, struct message_hello *h,
		       struct fault *fault)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "windows");
	const cJSON *item;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > MESSAGE_WINDOWS)
		return fault_set(fault, 0,
				 "member \"windows\" is missing or too long");
	cJSON_ArrayForEach(item, list)
	{
		struct message_window *w = &h->windows[h->n_windows++];
		char kind[16];

		if (json_get_text(item, "kind", kind, sizeof(kind), fault) ||
		    /* All of them together must fit too. */
		    json_get_i64(item, "ns", 0, INT64_MAX / MESSAGE_WINDOWS / 4,
				 &w->length, fault))
			return -1;
		w->warmup = !strcmp(kind, "warm-up");
		if (!w->warmup && strcmp(kind, "measured"))
			return fault_set(fault, 0, "window of kind \"%s\"",
					 kind);
	}
	return 0;
}

/* No feature exists yet, so whatever is demanded is unknown. */
static void get_must(const cJSON *o, struct message_hello *h)
{
	const cJSON *must = cJSON_GetObjectItemCaseSensitive(o, "must");
	const cJSON *first = cJSON_GetArrayItem(must, 0);
	const char *text = "?";

	if (!must || (cJSON_IsArray(must) && !first))
		return;
	if (cJSON_IsString(first) && first->valuestring[0] &&
	    json_printable(first->valuestring))
		text = first->valuestring;
	(void)snprintf(h->unknown_must, sizeof(h->unknown_must), "%s", text);
}

static int get_hello(const cJSON *o, struct message_hello *h,
		     struct fault *fault)
{
	if (json_get_i64(o, "version_min", 0, INT32_MAX, &h->version_min,
			 fault) ||
	    json_get_i64(o, "version_max", 0, INT32_MAX, &h->version_max,
			 fault) ||
	    json_get_text(o, "program", h->program, sizeof(h->program), fault))
		return -1;
	get_must(o, h);
	/* The rest may look different in another version. */
	if (h->version_min > MESSAGE_VERSION ||
	    h->version_max < MESSAGE_VERSION)
		return 0;
	if (json_get_text(o, "test", h->uuid, sizeof(h->uuid), fault) ||
	    json_get_text(o, "boot_id", h->boot_id, sizeof(h->boot_id),
			  fault) ||
	    json_get_text(o, "host", h->host, sizeof(h->host), fault) ||
	    json_get_i64(o, "flows", 1, RESULT_WIRE_FLOWS, &h->flows, fault))
		return -1;
	return get_options(o, h->options, &h->n_options, fault) ||
			       get_windows(o, h, fault) ?
		       -1 :
		       0;
}

static int get_cookie(const cJSON *o, uint8_t *cookie, struct fault *fault)
{
	char text[33];
	int k;

	if (json_get_text(o, "cookie", text, sizeof(text), fault))
		return -1;
	if (strspn(text, "0123456789abcdef") != 32)
		return fault_set(fault, 0,
				 "member \"cookie\" is not 32 "
				 "hexadecimal digits");
	for (k = 0; k < 16; k++) {
		const char byte[3] = { text[2 * k], text[2 * k + 1], 0 };

		cookie[k] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return 0;
}

static int get_ports(const cJSON *o, struct message_accept *a,
		     struct fault *fault)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "data_ports");
	const cJSON *item;
	int64_t port;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > MESSAGE_PORTS)
		return fault_set(fault, 0,
				 "member \"data_ports\" is missing "
				 "or too long");
	cJSON_ArrayForEach(item, list)
	{
		if (json_to_i64(item, &port) || port < 1 || port > 65535)
			return fault_set(fault, 0, "bad data port");
		a->ports[a->n_ports++] = (uint16_t)port;
	}
	return a->n_ports ? 0 : fault_set(fault, 0, "no data port");
}

static int get_accept(const cJSON *o, struct message_accept *a,
		      struct fault *fault)
{
	if (json_get_i64(o, "version", 0, INT32_MAX, &a->version, fault))
		return -1;
	if (a->version != MESSAGE_VERSION)
		return fault_set(fault, 0,
				 "the server answers in protocol "
				 "version %lld, this client speaks "
				 "version %d",
				 (long long)a->version, MESSAGE_VERSION);
	if (json_get_text(o, "boot_id", a->boot_id, sizeof(a->boot_id),
			  fault) ||
	    json_get_text(o, "host", a->host, sizeof(a->host), fault) ||
	    json_get_i64(o, "participants", 1, 65536, &a->participants,
			 fault) ||
	    json_get_i64(o, "participant", 0, a->participants - 1,
			 &a->participant, fault) ||
	    json_get_i64(o, "backlog", 1, INT32_MAX, &a->backlog, fault) ||
	    get_cookie(o, a->cookie, fault) || get_ports(o, a, fault))
		return -1;
	return get_options(o, a->options, &a->n_options, fault);
}

static int get_result(const cJSON *o, struct message *m, struct fault *fault)
{
	if (json_get_i64(o, "parts", 1, RESULT_WIRE_FLOWS, &m->parts, fault) ||
	    json_get_i64(o, "part", 1, m->parts, &m->part, fault))
		return -1;
	m->result = calloc(1, sizeof(*m->result));
	if (!m->result)
		return fault_set(fault, ENOMEM, "result");
	return result_wire_get(o, m->part, m->result, fault);
}

static int get_body(const cJSON *o, struct message *m, struct fault *fault)
{
	/* Sums and differences of a few instants must not overflow. */
	const int64_t max = INT64_MAX / 8, min = -max;

	switch (m->type) {
	case MESSAGE_HELLO:
		return get_hello(o, &m->hello, fault);
	case MESSAGE_ACCEPT:
		return get_accept(o, &m->accept, fault);
	case MESSAGE_REFUSE:
		return json_get_i64(o, "code", 0, INT32_MAX, &m->refuse.code,
				    fault) ||
		       json_get_text(o, "program", m->refuse.program,
				     sizeof(m->refuse.program), fault) ||
		       json_get_text(o, "text", m->refuse.text,
				     sizeof(m->refuse.text), fault);
	case MESSAGE_FLOWS:
		return json_get_i64(o, "of", 0, INT32_MAX, &m->of, fault) ||
		       json_get_i64(o, "have", 0, m->of, &m->have, fault);
	case MESSAGE_PONG:
		return json_get_i64(o, "time", min, max, &m->time, fault) ||
		       json_get_i64(o, "seq", 0, INT64_MAX, &m->seq, fault);
	case MESSAGE_PING:
		return json_get_i64(o, "seq", 0, INT64_MAX, &m->seq, fault);
	case MESSAGE_START:
		m->match.known = true;
		return json_get_i64(o, "at", min, max, &m->time, fault) ||
		       json_get_i64(o, "offset", min, max, &m->match.offset,
				    fault) ||
		       json_get_i64(o, "bound", 0, max, &m->match.bound, fault);
	case MESSAGE_ROW:
		return row_wire_get(o, &m->row, fault);
	case MESSAGE_STOP:
		return json_get_text(o, "reason", m->reason, sizeof(m->reason),
				     fault);
	case MESSAGE_RESULT:
		return get_result(o, m, fault);
	case MESSAGE_DONE:
	case MESSAGE_BYE:
	case MESSAGE_ALIVE:
	case MESSAGE_TYPES:
		break;
	}
	return 0;
}

static int get_type(const cJSON *o, enum message_type *type,
		    struct fault *fault)
{
	char name[16];
	int i;

	if (!cJSON_IsObject(o))
		return fault_set(fault, 0, "not a JSON object");
	if (json_get_text(o, "type", name, sizeof(name), fault))
		return -1;
	for (i = 0; i < MESSAGE_TYPES; i++) {
		if (!strcmp(name, names[i])) {
			*type = (enum message_type)i;
			return 0;
		}
	}
	return fault_set(fault, 0, "unknown message \"%s\"", name);
}

struct message *message_decode(const char *json, size_t len,
			       struct fault *fault)
{
	struct message *m = calloc(1, sizeof(*m));
	cJSON *o;

	if (!m) {
		(void)fault_set(fault, ENOMEM, "message");
		return NULL;
	}
	o = cJSON_ParseWithLengthOpts(json, len + 1, NULL, 1);
	if (!o) {
		(void)fault_set(fault, 0, "not a JSON text");
	} else if (!get_type(o, &m->type, fault) && !get_body(o, m, fault)) {
		cJSON_Delete(o);
		return m;
	}
	cJSON_Delete(o);
	message_free(m);
	return NULL;
}

static void free_options(struct message_option *options, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		free(options[i].name);
		free(options[i].value);
	}
}

void message_free(struct message *m)
{
	if (!m)
		return;
	free_options(m->hello.options, m->hello.n_options);
	free_options(m->accept.options, m->accept.n_options);
	if (m->result) {
		end_result_free(m->result);
		free(m->result);
	}
	free(m);
}

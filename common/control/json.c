/* SPDX-License-Identifier: Apache-2.0 */
/* Exact, bounded access to cJSON objects: integers, texts, struct tables. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/num.h"
#include "common/control/json.h"

/* Largest integer that no other one turns into when it becomes a double. */
#define EXACT ((INT64_C(1) << 53) - 1)

cJSON *json_i64(int64_t v)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRId64, v);
	return v > EXACT || v < -EXACT ? cJSON_CreateString(text) :
					 cJSON_CreateRaw(text);
}

cJSON *json_u64(uint64_t v)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, v);
	return v > (uint64_t)EXACT ? cJSON_CreateString(text) :
				     cJSON_CreateRaw(text);
}

void json_put_i64(cJSON *o, const char *name, int64_t v)
{
	cJSON *item = json_i64(v);

	if (item && !cJSON_AddItemToObject(o, name, item))
		cJSON_Delete(item);
}

void json_put_u64(cJSON *o, const char *name, uint64_t v)
{
	cJSON *item = json_u64(v);

	if (item && !cJSON_AddItemToObject(o, name, item))
		cJSON_Delete(item);
}

int json_to_i64(const cJSON *item, int64_t *out)
{
	double d;

	if (cJSON_IsString(item))
		return num_parse_int(item->valuestring, out);
	if (!cJSON_IsNumber(item))
		return -1;
	d = item->valuedouble;
	if (!(d >= -(double)EXACT && d <= (double)EXACT) || floor(d) != d)
		return -1;
	*out = (int64_t)d;
	return 0;
}

int json_to_u64(const cJSON *item, uint64_t *out)
{
	int64_t v;

	if (cJSON_IsString(item) && strlen(item->valuestring) >= 19) {
		const char *text = item->valuestring;
		char *end;

		if (strspn(text, "0123456789") != strlen(text))
			return -1;
		errno = 0;
		*out = strtoull(text, &end, 10);
		return errno || *end ? -1 : 0;
	}
	if (json_to_i64(item, &v) || v < 0)
		return -1;
	*out = (uint64_t)v;
	return 0;
}

int json_get_i64(const cJSON *o, const char *name, int64_t min, int64_t max,
		 int64_t *out, struct fault *fault)
{
	int64_t v;

	if (json_to_i64(cJSON_GetObjectItemCaseSensitive(o, name), &v))
		return fault_set(fault, 0,
				 "member \"%s\" is missing or not "
				 "an integer",
				 name);
	if (v < min || v > max)
		return fault_set(fault, 0,
				 "member \"%s\": %" PRId64 " is not in "
				 "%" PRId64 " to %" PRId64,
				 name, v, min, max);
	*out = v;
	return 0;
}

bool json_printable(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	}
	return true;
}

int json_get_text(const cJSON *o, const char *name, char *buf, size_t size,
		  struct fault *fault)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

	if (!cJSON_IsString(item) || strlen(item->valuestring) >= size)
		return fault_set(fault, 0,
				 "member \"%s\" is missing, not a "
				 "text or too long",
				 name);
	if (!json_printable(item->valuestring))
		return fault_set(fault, 0,
				 "member \"%s\" holds control characters",
				 name);
	memcpy(buf, item->valuestring, strlen(item->valuestring) + 1);
	return 0;
}

bool json_get_bool(const cJSON *o, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, name));
}

void json_put_fields(cJSON *o, const struct json_field *fields, size_t n,
		     const void *at)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const char *from = (const char *)at + fields[i].offset;
		uint64_t v;

		memcpy(&v, from, sizeof(v));
		if (fields[i].kind == JSON_U64)
			json_put_u64(o, fields[i].name, v);
		else
			json_put_i64(o, fields[i].name, (int64_t)v);
	}
}

int json_get_fields(const cJSON *o, const struct json_field *fields, size_t n,
		    void *at, struct fault *fault)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const cJSON *item =
			cJSON_GetObjectItemCaseSensitive(o, fields[i].name);
		uint64_t u = 0;
		int64_t s = 0;
		int bad;

		bad = fields[i].kind == JSON_U64 ? json_to_u64(item, &u) :
						   json_to_i64(item, &s);
		if (bad)
			return fault_set(fault, 0,
					 "member \"%s\" is missing or not an "
					 "integer",
					 fields[i].name);
		if (fields[i].kind == JSON_I64)
			u = (uint64_t)s;
		memcpy((char *)at + fields[i].offset, &u, sizeof(u));
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Exact, bounded access to cJSON objects: integers, texts, struct tables. */
#ifndef NAPIER_CONTROL_JSON_H
#define NAPIER_CONTROL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "common/base/die.h"

/* Kind of a 64-bit member that json_put_fields() writes. */
enum json_kind {
	JSON_I64, /* int64_t or nsec_t */
	JSON_U64, /* uint64_t */
};

/* A member of a struct under its wire name. */
struct json_field {
	const char *name;
	size_t offset;
	enum json_kind kind;
};

#define JSON_I64_FIELD(s, m)                        \
	{                                           \
#m, offsetof(struct s, m), JSON_I64 \
	}
#define JSON_U64_FIELD(s, m)                        \
	{                                           \
#m, offsetof(struct s, m), JSON_U64 \
	}

/*
 * Add a number to object @o: raw digits, and a decimal string from 2^53 on
 * (docs/protocol.md, "Numbers").
 */
void json_put_i64(cJSON *o, const char *name, int64_t v);
/* The same for an unsigned number. */
void json_put_u64(cJSON *o, const char *name, uint64_t v);

/* The item for an array element of the same form. */
cJSON *json_i64(int64_t v);
/* The same for an unsigned number. */
cJSON *json_u64(uint64_t v);

/*
 * The value of @item, a number below 2^53 or a decimal string; 0, or -1: what
 * a double has rounded is refused.
 */
int json_to_i64(const cJSON *item, int64_t *out);
/* The same for an unsigned number, up to 2^64 - 1. */
int json_to_u64(const cJSON *item, uint64_t *out);

/*
 * Integer member @name of @o within @min to @max. 0, or -1 with @fault naming
 * the member when it is missing, of another type or out of bounds.
 */
int json_get_i64(const cJSON *o, const char *name, int64_t min, int64_t max,
		 int64_t *out, struct fault *fault);
/*
 * Is @text free of control characters? Whatever the other end says may end on
 * a terminal or in a key=value line.
 */
bool json_printable(const char *text);

/*
 * Text member @name of @o, at most @size - 1 bytes and no control characters,
 * into @buf. 0, or -1 with @fault.
 */
int json_get_text(const cJSON *o, const char *name, char *buf, size_t size,
		  struct fault *fault);

/* Member @name of @o as a boolean, false when it is missing. */
bool json_get_bool(const cJSON *o, const char *name);

/* Write the @n members that @fields lists of the struct @at. */
void json_put_fields(cJSON *o, const struct json_field *fields, size_t n,
		     const void *at);
/* Read them; all must be there. 0, or -1 with @fault. */
int json_get_fields(const cJSON *o, const struct json_field *fields, size_t n,
		    void *at, struct fault *fault);

#endif

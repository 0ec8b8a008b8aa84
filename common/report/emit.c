/* SPDX-License-Identifier: Apache-2.0 */
/* JSON written front to back: commas, quotes, exact numbers (RFC 8259). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/report/emit.h"

/* What stands before a value: a comma, the member's name. */
static void begin(struct emit *e, const char *key)
{
	if (e->depth && e->open[e->depth - 1].more)
		out_bytes(e->out, ",", 1);
	if (e->depth)
		e->open[e->depth - 1].more = true;
	if (!key)
		return;
	out_bytes(e->out, "\"", 1);
	out_text(e->out, key);
	out_bytes(e->out, "\":", 2);
}

static void open_level(struct emit *e, const char *key, const char *opening,
		       char closing)
{
	begin(e, key);
	if (e->depth == EMIT_DEPTH)
		abort(); /* a fault of the program */
	out_text(e->out, opening);
	e->open[e->depth].close = closing;
	e->open[e->depth++].more = false;
}

void emit_object(struct emit *e, const char *key)
{
	open_level(e, key, "{", '}');
}

void emit_array(struct emit *e, const char *key)
{
	open_level(e, key, "[", ']');
}

void emit_end(struct emit *e)
{
	if (!e->depth)
		abort(); /* a fault of the program */
	out_bytes(e->out, &e->open[--e->depth].close, 1);
}

void emit_i64(struct emit *e, const char *key, int64_t v)
{
	begin(e, key);
	out_i64(e->out, v);
}

void emit_u64(struct emit *e, const char *key, uint64_t v)
{
	begin(e, key);
	out_u64(e->out, v);
}

void emit_seconds(struct emit *e, const char *key, nsec_t ns)
{
	begin(e, key);
	out_seconds(e->out, ns, 9);
}

void emit_real(struct emit *e, const char *key, double v, int places)
{
	if (!isfinite(v)) {
		emit_null(e, key);
		return;
	}
	begin(e, key);
	out_real(e->out, v, places);
}

void emit_figure(struct emit *e, const char *key, double v, int places)
{
	if (v < 0)
		emit_null(e, key);
	else
		emit_real(e, key, v, places);
}

void emit_bool(struct emit *e, const char *key, bool v)
{
	begin(e, key);
	out_text(e->out, v ? "true" : "false");
}

void emit_null(struct emit *e, const char *key)
{
	begin(e, key);
	out_text(e->out, "null");
}

/*
 * Length of the UTF-8 character at @s (RFC 3629: no overlong forms, no
 * surrogates, nothing above U+10FFFF), or 0 when there is none.
 */
static size_t utf8_length(const unsigned char *s)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t n, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	/* A text's final 0 fits no range, so nothing behind it is read. */
	if (s[1] < low || s[1] > high)
		return 0;
	for (i = 2; i < n; i++) {
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	}
	return n;
}

static void put_character(struct out *o, const unsigned char *s, size_t n)
{
	char code[8];

	if (!n) {
		out_text(o, "\xef\xbf\xbd"); /* U+FFFD */
	} else if (*s == '"' || *s == '\\') {
		out_bytes(o, "\\", 1);
		out_bytes(o, (const char *)s, 1);
	} else if (*s < 0x20 || *s == 0x7f) {
		(void)snprintf(code, sizeof(code), "\\u%04x", *s);
		out_text(o, code);
	} else {
		out_bytes(o, (const char *)s, n);
	}
}

void emit_text(struct emit *e, const char *key, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	if (!text) {
		emit_null(e, key);
		return;
	}
	begin(e, key);
	out_bytes(e->out, "\"", 1);
	while (*s) {
		size_t n = utf8_length(s);

		put_character(e->out, s, n);
		s += n ? n : 1;
	}
	out_bytes(e->out, "\"", 1);
}

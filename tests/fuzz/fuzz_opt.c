/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz numbers and option values: what is taken is in range and reads back. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/num.h"
#include "tcp_stream/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct opt_list list;

static void fill_list(void)
{
	const struct opt *t;
	size_t n;

	t = stream_table(&n);
	opt_list_add(&list, t, n);
	t = options_table(&n);
	opt_list_add(&list, t, n);
}

static void numbers(const char *text)
{
	int64_t v = 4711, back;
	char buf[64];

	if (num_parse_size(text, &v))
		assert(v == 4711);
	else
		assert(v >= 0);
	v = 4711;
	if (num_parse_rate(text, &v))
		assert(v == 4711);
	else
		assert(v >= 0 && (v || strspn(text, "0.") > 0));
	v = 4711;
	if (num_parse_frequency(text, &v))
		assert(v == 4711);
	else
		assert(v > 0);
	if (!num_parse_int(text, &v)) {
		/* A plain number is the same to every parser. */
		if (v >= 0 && *text != '+' && *text != '-') {
			assert(!num_parse_size(text, &back) && back == v);
			assert(!num_parse_rate(text, &back) && back == v);
			assert(!num_parse_duration(text, 1, &back));
			assert(back == v);
		}
	}
	if (!num_parse_duration(text, 1000000000, &v)) {
		num_format_duration(v, buf, sizeof(buf));
		assert(!num_parse_duration(buf, 1, &back) && back == v);
	}
}

/* Do @v and @w hold the same values? */
static bool same(const struct stream_options *v, const struct stream_options *w)
{
	char a[700], b[700];

	for (size_t i = 0; i < list.n; i++) {
		opt_text(&list, i, v, a, sizeof(a));
		opt_text(&list, i, w, b, sizeof(b));
		if (strcmp(a, b) != 0)
			return false;
	}
	return true;
}

/* Set option @i from @text; what it became must read back unchanged. */
static void one_option(size_t i, const char *text)
{
	struct stream_options v, w;
	struct fault f = { 0 };
	char buf[700], again[700];
	enum opt_type type = list.opt[i]->type;

	stream_defaults(&v);
	if (opt_set(&list, i, text, &v, &f)) {
		assert(f.text[0] && !strchr(f.text, '\n'));
		stream_defaults(&w);
		assert(same(&v, &w));
		return;
	}
	assert(!f.text[0]);
	opt_text(&list, i, &v, buf, sizeof(buf));
	if (type == OPT_STRING || type == OPT_FILE)
		return;
	w = v;
	assert(!opt_set(&list, i, buf, &w, &f));
	assert(same(&v, &w));
	opt_dump_text(&list, i, &v, again, sizeof(again));
	(void)options_check(&v.common, &f);
	(void)stream_check(&v, &f);
}

/* The words of @text as a command line. */
static void command_line(char *text)
{
	struct stream_options v;
	struct opt_given given = { { 0 } };
	struct fault f = { 0 };
	char program[] = "p", *argv[40] = { program }, *word, *save = NULL;
	int argc = 1;

	for (word = strtok_r(text, " \n", &save); word && argc < 39;
	     word = strtok_r(NULL, " \n", &save))
		argv[argc++] = word;
	stream_defaults(&v);
	if (opt_parse(&list, argc, argv, &v, &given, &f))
		assert(f.text[0]);
	else
		assert(!f.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!list.n)
		fill_list();
	if (size < 1 || size > 600)
		return 0;
	text = malloc(size);
	assert(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	numbers(text);
	if (!list.opt[data[0] % list.n]->later)
		one_option(data[0] % list.n, text);
	command_line(text);
	free(text);
	return 0;
}

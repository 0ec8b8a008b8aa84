/* SPDX-License-Identifier: Apache-2.0 */
/* The usage text: sorted, wrapped, with defaults, choices, scopes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/cli/opt.h"
#include "tcp_stream/stream.h"

struct values {
	bool on;
	int64_t n, colour, unused;
	nsec_t length;
	const char *name, *file;
};

#define AT(m) offsetof(struct values, m)

static const char *const colours[] = { "red", "green", "blue", NULL };

static const struct opt table[] = {
	{ .name = "zebra",
	  .letter = 'z',
	  .type = OPT_FLAG,
	  .scope = OPT_PEER,
	  .offset = AT(on),
	  .help = "stripes" },
	{ .name = "number",
	  .letter = 'n',
	  .type = OPT_INT,
	  .scope = OPT_TEST,
	  .offset = AT(n),
	  .min = 1,
	  .max = 9,
	  .unit = "things",
	  .help = "a help text that is so long that it cannot but be "
		  "wrapped, for it goes on and on over more than a line and "
		  "then over one more line of the terminal" },
	{ .name = "colour",
	  .type = OPT_CHOICE,
	  .offset = AT(colour),
	  .choices = colours,
	  .help = "what it looks like" },
	{ .name = "length",
	  .type = OPT_SECONDS,
	  .offset = AT(length),
	  .unit = "seconds",
	  .help = "how long" },
	{ .name = "all",
	  .letter = 'A',
	  .type = OPT_FILE,
	  .offset = AT(file),
	  .help = "write all" },
	{ .name = "name",
	  .type = OPT_STRING,
	  .offset = AT(name),
	  .help = "a name" },
	{ .name = "planned",
	  .type = OPT_INT,
	  .offset = AT(unused),
	  .later = true,
	  .help = "in time" },
};

static const struct values defaults = {
	.n = 3,
	.colour = 1,
	.length = 10 * NSEC_PER_SEC,
};

static char *usage(void)
{
	struct opt_list list = { .n = 0 };
	char *text;

	opt_list_add(&list, table, sizeof(table) / sizeof(table[0]));
	text = opt_usage(&list, "prog", &defaults);
	assert_non_null(text);
	return text;
}

static void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

/* As expect(), wherever @text was wrapped. */
static void expect_words(const char *text, const char *part)
{
	char *flat = strdup(text), *to = flat;

	assert_non_null(flat);
	for (; *text; text++)
		if (*text != '\n' || text[1] == '\n')
			*to++ = *text;
		else
			text += strspn(text + 1, " "), *to++ = ' ';
	*to = 0;
	expect(flat, part);
	free(flat);
}

static void test_contents(void **state)
{
	char *text = usage();

	(void)state;
	expect(text, "Usage: prog");
	expect(text, "\n  -z, --zebra\n");
	expect(text, "\n  -n, --number=N\n");
	expect(text, "\n  -A, --all[=FILE]\n");
	expect(text, "\n  --colour=CHOICE\n");
	expect(text, "\n  --length=TIME\n");
	expect(text, "\n  --name=TEXT\n");
	expect_words(text, "(default 3 things)");
	expect_words(text, "(default 10 seconds)");
	expect_words(text, "red green blue");
	expect_words(text, "(default green)");
	expect(text, "(not available yet)");
	expect_words(text, "a server's own value wins there");
	expect_words(text, "the client's value holds on both ends");
	expect(text, "this end");
	/* A switch that is off and a name that is not set have no default. */
	assert_null(strstr(text, "(default 0"));
	assert_null(strstr(text, "(default )"));
	expect_words(text, "1 to 9 things");
	free(text);
}

/* Option lines in order of their names, no line over 80 columns. */
static void check_shape(char *text, size_t options)
{
	char last[64] = "", *line, *save = NULL;
	size_t seen = 0;

	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *name = strstr(line, "--");

		assert_true(strlen(line) <= 80);
		assert_int_not_equal(line[strlen(line) - 1], ' ');
		if (strncmp(line, "  ", 2) != 0 || line[2] != '-' || !name)
			continue;
		name[strcspn(name, "=[")] = 0;
		assert_true(strcmp(last, name) < 0);
		(void)snprintf(last, sizeof(last), "%s", name);
		seen++;
	}
	assert_int_equal(seen, options);
}

static void test_shape(void **state)
{
	char *text = usage();

	(void)state;
	check_shape(text, sizeof(table) / sizeof(table[0]));
	free(text);
}

/* The real thing, with every option of a program. */
static void test_program(void **state)
{
	struct opt_list list = { .n = 0 };
	struct stream_options o;
	const struct opt *t;
	size_t n;
	char *text;

	(void)state;
	stream_defaults(&o);
	t = stream_table(&n);
	opt_list_add(&list, t, n);
	t = options_table(&n);
	opt_list_add(&list, t, n);
	text = opt_usage(&list, "tcp_stream", &o);
	assert_non_null(text);
	expect(text, "\n  -B, --buffer-size=SIZE\n");
	expect_words(text, "(default 16384 bytes)");
	expect_words(text, "1 to 1073741824 bytes");
	check_shape(text, list.n);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

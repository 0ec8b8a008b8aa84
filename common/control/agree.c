/* SPDX-License-Identifier: Apache-2.0 */
/* What both ends agree: whose value of each option holds, by its scope. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/agree.h"

#define TEXT_SIZE 512

static int add_option(const struct opt_list *list, size_t i, const void *values,
		      bool given, struct message_option *options, int *n)
{
	struct message_option *o = &options[*n];
	char text[TEXT_SIZE];

	o->name = strdup(list->opt[i]->name);
	o->value = strdup(opt_text(list, i, values, text, sizeof(text)));
	o->given = given;
	(*n)++; /* counted before the check: freed either way */
	return o->name && o->value ? 0 : -1;
}

int agree_ask(const struct agree_line *line, struct message_hello *hello)
{
	size_t i;

	for (i = 0; i < line->list->n; i++) {
		const struct opt *opt = line->list->opt[i];
		bool given = opt_was_given(line->given, i);

		if (opt->later || opt->scope == OPT_LOCAL ||
		    (opt->scope == OPT_PEER && !given))
			continue;
		if (add_option(line->list, i, line->values, given,
			       hello->options, &hello->n_options))
			return -1;
	}
	return 0;
}

static int copy_line(struct agreement *a, const struct agree_line *line,
		     enum agree_by who, struct fault *fault)
{
	size_t i;

	memset(a, 0, sizeof(*a));
	a->list = line->list;
	a->values = malloc(line->size);
	if (!a->values)
		return fault_set(fault, ENOMEM, "options");
	memcpy(a->values, line->values, line->size);
	for (i = 0; i < line->list->n; i++) {
		if (opt_was_given(line->given, i))
			a->by[i] = (uint8_t)who;
	}
	return 0;
}

/* Set option @i from the wire; the text is kept as long as the agreement. */
static int take(struct agreement *a, size_t i, const char *value,
		enum agree_by who, struct fault *fault)
{
	char *text;

	if (a->n_kept == MESSAGE_OPTIONS)
		return fault_set(fault, 0, "too many options");
	text = strdup(value);
	if (!text)
		return fault_set(fault, ENOMEM, "options");
	a->kept[a->n_kept++] = text;
	if (opt_set(a->list, i, text, a->values, fault))
		return -1;
	a->by[i] = (uint8_t)who;
	return 0;
}

/* May the client's @value of option @opt replace what the server has? */
static bool yields(const struct opt *opt, bool server_given, const char *value)
{
	if (opt->scope == OPT_TEST)
		return true;
	if (!server_given)
		return true;
	return opt->type == OPT_FLAG && !strcmp(value, "1");
}

int agree_serve(struct agreement *a, const struct agree_line *line,
		const struct message_hello *hello, struct fault *fault)
{
	int k;

	if (copy_line(a, line, AGREE_SERVER, fault))
		return -1;
	for (k = 0; k < hello->n_options; k++) {
		const struct message_option *o = &hello->options[k];
		int i = opt_find(line->list, o->name);

		if (i < 0 || line->list->opt[i]->scope == OPT_LOCAL ||
		    line->list->opt[i]->later)
			return fault_set(fault, 0,
					 "this server has no option "
					 "--%s for a client to set",
					 o->name);
		if (!yields(line->list->opt[i],
			    opt_was_given(line->given, (size_t)i), o->value))
			continue;
		if (take(a, (size_t)i, o->value,
			 o->given ? AGREE_CLIENT : AGREE_DEFAULT, fault))
			return -1;
	}
	return 0;
}

int agree_answer(const struct agreement *a, const struct agree_line *line,
		 struct message_accept *accept)
{
	size_t i;

	for (i = 0; i < line->list->n; i++) {
		if (line->list->opt[i]->scope != OPT_PEER ||
		    !opt_was_given(line->given, i))
			continue;
		if (add_option(line->list, i, a->values, true, accept->options,
			       &accept->n_options))
			return -1;
	}
	return 0;
}

int agree_join(struct agreement *a, const struct agree_line *line,
	       const struct message_accept *accept, struct fault *fault)
{
	int k;

	if (copy_line(a, line, AGREE_CLIENT, fault))
		return -1;
	for (k = 0; accept && k < accept->n_options; k++) {
		const struct message_option *o = &accept->options[k];
		int i = opt_find(line->list, o->name);

		/* Values other than switches concern the server's end. */
		if (i < 0 || line->list->opt[i]->type != OPT_FLAG ||
		    line->list->opt[i]->scope != OPT_PEER ||
		    strcmp(o->value, "1") != 0 ||
		    opt_was_given(line->given, (size_t)i))
			continue;
		if (take(a, (size_t)i, o->value, AGREE_SERVER, fault))
			return -1;
	}
	return 0;
}

const char *agree_by_name(void *arg, const char *name)
{
	const struct agreement *a = arg;
	int i = opt_find(a->list, name);

	if (i < 0 || a->by[i] == AGREE_DEFAULT)
		return "napier";
	return a->by[i] == AGREE_CLIENT ? "client" : "server";
}

void agree_free(struct agreement *a)
{
	int k;

	for (k = 0; k < a->n_kept; k++)
		free(a->kept[k]);
	free(a->values);
	memset(a, 0, sizeof(*a));
}

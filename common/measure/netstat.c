/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's protocol counters in /proc/net/netstat and /proc/net/snmp. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/measure/netstat.h"

/* What follows "@prefix:" on the first such line of @text, or NULL. */
static const char *find_line(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	while (text && *text) {
		if (!strncmp(text, prefix, len) && text[len] == ':')
			return text + len + 1;
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return NULL;
}

/* The next word of a line at *@at, its length in *@len; NULL at the end. */
static const char *next_word(const char **at, size_t *len)
{
	const char *word = *at + strspn(*at, " ");

	*len = strcspn(word, " \n");
	*at = word + *len;
	return *len ? word : NULL;
}

static int read_value(const char *word, size_t len, uint64_t *out)
{
	unsigned long long value;
	char *end;

	/* strtoull() would take a sign */
	if (*word < '0' || *word > '9')
		return -1;
	errno = 0;
	value = strtoull(word, &end, 10);
	if (errno || end != word + len)
		return -1;
	*out = value;
	return 0;
}

int netstat_value(const char *text, const char *prefix, const char *name,
		  uint64_t *out)
{
	const char *names = find_line(text, prefix);
	const char *values, *title, *value;
	size_t title_len, value_len;

	if (!names)
		return -1;
	values = find_line(strchr(names, '\n'), prefix);
	if (!values)
		return -1;
	while ((title = next_word(&names, &title_len)) &&
	       (value = next_word(&values, &value_len)))
		if (title_len == strlen(name) &&
		    !memcmp(title, name, title_len))
			return read_value(value, value_len, out);
	return -1;
}

uint64_t netstat_listen_overflows(void)
{
	FILE *f = fopen("/proc/net/netstat", "re");
	uint64_t value = 0;
	char *text = NULL;
	size_t size = 0;

	if (!f)
		return 0;
	/* the file holds no zero byte, so this reads all of it */
	if (getdelim(&text, &size, '\0', f) > 0 &&
	    netstat_value(text, "TcpExt", "ListenOverflows", &value))
		value = 0;
	free(text);
	(void)fclose(f); /* only read from */
	return value;
}

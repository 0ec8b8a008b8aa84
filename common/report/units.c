/* SPDX-License-Identifier: Apache-2.0 */
/* The units that --throughput-opt names, as neper prints them. */
#include <stddef.h>
#include <string.h>

#include "common/report/units.h"

struct unit {
	const char *name, *text;
	double bytes; /* bytes per second in one unit */
};

#define KI 1024.0

static const struct unit table[] = {
	{ "b", "bits/s", 0.125 },
	{ "k", "10^3bits/s", 125 },
	{ "m", "10^6bits/s", 125e3 },
	{ "g", "10^9bits/s", 125e6 },
	{ "B", "B/s", 1 },
	{ "K", "KBytes/s", KI },
	{ "M", "MBytes/s", KI *KI },
	{ "G", "GBytes/s", KI *KI *KI },
	{ "Kb", "Kbit/s", 125 },
	{ "Mb", "Mbit/s", 125e3 },
	{ "Gb", "Gbit/s", 125e6 },
	{ "KB", "KB/s", 1e3 },
	{ "MB", "MB/s", 1e6 },
	{ "GB", "GB/s", 1e9 },
	{ "Kib", "Kibit/s", KI / 8 },
	{ "Mib", "Mibit/s", KI *KI / 8 },
	{ "Gib", "Gibit/s", KI *KI *KI / 8 },
	{ "KiB", "KiB/s", KI },
	{ "MiB", "MiB/s", KI *KI },
	{ "GiB", "GiB/s", KI *KI *KI },
};

struct family {
	const char *name;
	const char *steps[4]; /* smallest first, NULL-terminated */
};

static const struct family families[] = {
	{ "auto-b", { "Kb", "Mb", "Gb", NULL } },
	{ "auto-ib", { "Kib", "Mib", "Gib", NULL } },
	{ "auto-B", { "KB", "MB", "GB", NULL } },
	{ "auto-iB", { "KiB", "MiB", "GiB", NULL } },
};

static const struct unit *find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!strcmp(table[i].name, name))
			return &table[i];
	}
	return NULL;
}

/* The step of @f that suits @rate. */
static const struct unit *choose(const struct family *f, double rate)
{
	int i;

	for (i = 0; f->steps[i + 1]; i++) {
		if (rate / find(f->steps[i])->bytes < 1000)
			break;
	}
	return find(f->steps[i]);
}

const char *units_convert(const char *name, double rate, double *value)
{
	const struct unit *u = find(name);
	size_t i;

	for (i = 0; !u && i < sizeof(families) / sizeof(families[0]); i++) {
		if (!strcmp(families[i].name, name))
			u = choose(&families[i], rate);
	}
	if (!u)
		return NULL;
	*value = rate / u->bytes;
	return u->text;
}

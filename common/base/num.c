/* SPDX-License-Identifier: Apache-2.0 */
/* Text to numbers and back: whole string, range-checked, locale-free. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/num.h"

#define KI INT64_C(1024)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Digits after the point that a number may have; more would not fit. */
#define PLACES 9

/*
 * A decimal number as integer and fraction, exact: strtod(3) would ask the
 * locale what a point is.
 */
struct decimal {
	int64_t whole; /* before the point */
	int64_t part; /* after it, in units of 10^-places */
	int places;
	bool point; /* there was one */
};

/* A suffix and how many of the base unit it stands for. */
struct suffix {
	const char *text;
	int64_t times; /* numerator */
	int64_t per; /* denominator; 0 means 1 */
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Read digits at *@at into *@v; the number of them, or -1 on overflow. */
static int read_digits(const char **at, int64_t *v)
{
	int n = 0;

	for (*v = 0; digit(**at); (*at)++, n++) {
		if (__builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, **at - '0', v))
			return -1;
	}
	return n;
}

/* Read a decimal at @text; the rest of the text, or NULL. */
static const char *read_decimal(const char *text, struct decimal *d)
{
	*d = (struct decimal){ 0 };
	if (read_digits(&text, &d->whole) <= 0)
		return NULL;
	if (*text != '.')
		return text;
	text++;
	d->point = true;
	d->places = read_digits(&text, &d->part);
	return d->places > 0 && d->places <= PLACES ? text : NULL;
}

static int64_t power10(int n)
{
	int64_t v = 1;

	while (n--)
		v *= 10;
	return v;
}

/*
 * @d times @times over @per as a whole number; @exact: a remainder is an
 * error, otherwise it is cut.
 */
static int scale(const struct decimal *d, int64_t times, int64_t per,
		 bool exact, int64_t *out)
{
	__int128 base = power10(d->places), all;

	/* 19 digits, 9 places and a large unit do not fit in 128 bits. */
	if (__builtin_mul_overflow((__int128)d->whole * base + d->part, times,
				   &all))
		return -1;
	base *= per ? per : 1;
	if (exact && all % base)
		return -1;
	if (all / base > INT64_MAX)
		return -1;
	*out = (int64_t)(all / base);
	return 0;
}

static const struct suffix *find(const struct suffix *table, size_t n,
				 const char *text)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!strcmp(table[i].text, text))
			return &table[i];
	}
	return NULL;
}

int num_parse_int(const char *text, int64_t *out)
{
	bool minus = *text == '-';
	uint64_t v = 0, limit = (uint64_t)INT64_MAX + (minus ? 1 : 0);

	if (*text == '-' || *text == '+')
		text++;
	if (!digit(*text))
		return -1;
	for (; digit(*text); text++) {
		uint64_t d = (uint64_t)(*text - '0');

		if (v > (limit - d) / 10)
			return -1;
		v = v * 10 + d;
	}
	if (*text)
		return -1;
	*out = minus ? (int64_t)(0 - v) : (int64_t)v;
	return 0;
}

int num_parse_bits(const char *text, int64_t *out)
{
	static const char digits[] = "0123456789abcdef";
	int64_t v = 0;

	if (strncmp(text, "0x", 2) != 0)
		return *text == '-' || *text == '+' ? -1 :
						      num_parse_int(text, out);
	text += 2;
	if (!*text || strlen(text) > 15)
		return -1;
	for (; *text; text++) {
		char lower = *text >= 'A' && *text <= 'F' ?
				     (char)(*text - 'A' + 'a') :
				     *text;
		const char *at = strchr(digits, lower);

		if (!at)
			return -1;
		v = v * 16 + (at - digits);
	}
	*out = v;
	return 0;
}

int num_parse_size(const char *text, int64_t *out)
{
	static const struct suffix table[] = {
		{ "", 1, 1 },
		{ "B", 1, 1 },
		{ "K", KI, 1 },
		{ "M", KI * KI, 1 },
		{ "G", KI * KI * KI, 1 },
		{ "T", KI * KI * KI * KI, 1 },
		{ "KiB", KI, 1 },
		{ "MiB", KI * KI, 1 },
		{ "GiB", KI * KI * KI, 1 },
		{ "TiB", KI * KI * KI * KI, 1 },
	};
	struct decimal d;
	const char *rest = read_decimal(text, &d);
	const struct suffix *s = rest ? find(table, COUNT(table), rest) : NULL;

	return s ? scale(&d, s->times, 1, true, out) : -1;
}

static const struct suffix durations[] = {
	{ "ns", 1, 1 },
	{ "us", 1000, 1 },
	{ "ms", 1000000, 1 },
	{ "s", 1000000000, 1 },
	{ "m", INT64_C(60000000000), 1 },
	{ "h", INT64_C(3600000000000), 1 },
};

int num_parse_duration(const char *text, int64_t bare, int64_t *out)
{
	bool minus = *text == '-';
	struct decimal d;
	const char *rest = read_decimal(text + minus, &d);
	const struct suffix *s;
	int64_t times = bare, v;

	if (!rest)
		return -1;
	if (*rest) {
		s = find(durations, COUNT(durations), rest);
		if (!s)
			return -1;
		times = s->times;
	}
	if (scale(&d, times, 1, false, &v) || (!v && (d.whole || d.part)))
		return -1;
	*out = minus ? -v : v;
	return 0;
}

/* Cut to whole bytes, but not to 0: that would mean no limit. */
static int scale_rate(const struct decimal *d, const struct suffix *s,
		      int64_t *out)
{
	int64_t v;

	if (scale(d, s->times, s->per, false, &v) ||
	    (!v && (d->whole || d->part)))
		return -1;
	*out = v;
	return 0;
}

int num_parse_rate(const char *text, int64_t *out)
{
	static const struct suffix letters[] = {
		{ "", 1, 1 },
		{ "b", 1, 8 },
		{ "k", 125, 1 },
		{ "m", 125000, 1 },
		{ "g", 125000000, 1 },
		{ "B", 1, 1 },
		{ "K", KI, 1 },
		{ "M", KI * KI, 1 },
		{ "G", KI * KI * KI, 1 },
	};
	static const struct suffix bits[] = {
		{ "bit", 1, 8 },
		{ "Kbit", 125, 1 },
		{ "Mbit", 125000, 1 },
		{ "Gbit", 125000000, 1 },
		{ "Tbit", INT64_C(125000000000), 1 },
	};
	static const struct suffix bytes[] = {
		{ "B", 1, 1 },
		{ "KB", 1000, 1 },
		{ "MB", 1000000, 1 },
		{ "GB", 1000000000, 1 },
		{ "TB", INT64_C(1000000000000), 1 },
	};
	struct decimal d;
	const char *rest = read_decimal(text, &d);
	const struct suffix *s;
	char unit[8];
	size_t n;
	bool per_second;

	if (!rest)
		return -1;
	s = find(letters, COUNT(letters), rest);
	if (s)
		return scale_rate(&d, s, out);
	n = strlen(rest);
	per_second = n > 2 && !strcmp(rest + n - 2, "/s");
	n -= per_second ? 2 : 0;
	if (n >= sizeof(unit))
		return -1;
	memcpy(unit, rest, n);
	unit[n] = 0;
	s = find(bits, COUNT(bits), unit);
	/* neper takes "10KB" for 10240 and "10Mb" for 10 MiB. */
	if (!s && (d.point || per_second))
		s = find(bytes, COUNT(bytes), unit);
	return s ? scale_rate(&d, s, out) : -1;
}

int num_parse_frequency(const char *text, int64_t *out)
{
	static const struct suffix table[] = {
		{ "", 1000, 1 },
		{ "k", 1000000, 1 },
		{ "M", 1000000000, 1 },
		{ "G", INT64_C(1000000000000), 1 },
	};
	struct decimal d;
	const char *rest = read_decimal(text, &d);
	const struct suffix *s = rest ? find(table, COUNT(table), rest) : NULL;
	int64_t v;

	if (!s || scale(&d, s->times, 1, true, &v) || v <= 0)
		return -1;
	*out = v;
	return 0;
}

char *num_format_duration(int64_t ns, char *buf, size_t size)
{
	size_t i = 3; /* seconds; minutes and hours read badly */

	while (i && ns % durations[i].times)
		i--;
	(void)snprintf(buf, size, "%" PRId64 "%s", ns / durations[i].times,
		       durations[i].text);
	return buf;
}

char *num_format_si(double value, const char *unit, char *buf, size_t size)
{
	static const char prefixes[] = " kMGTPE";
	double v = fabs(value);
	int p = 0, places;

	while (v >= 999.5 && prefixes[p + 1]) {
		v /= 1000;
		p++;
	}
	places = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
	if (p)
		(void)snprintf(buf, size, "%s%.*f %c%s", value < 0 ? "-" : "",
			       places, v, prefixes[p], unit);
	else
		(void)snprintf(buf, size, "%s%.*f %s", value < 0 ? "-" : "",
			       places, v, unit);
	return buf;
}

char *num_format_bytes(uint64_t bytes, char *buf, size_t size)
{
	static const char *const units[] = { "B",   "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	double v = (double)bytes;
	size_t u = 0;

	while (v >= 1023.5 && u + 1 < COUNT(units)) {
		v /= 1024;
		u++;
	}
	(void)snprintf(buf, size, "%.*f %s", v < 99.95 && floor(v) != v, v,
		       units[u]);
	return buf;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor, port and backlog limits, checked before any flow exists. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/plan/limits.h"

#define LAST_PORT 65535

/* The kernel's default range (Linux since 3.2). */
#define DEFAULT_FIRST 32768
#define DEFAULT_LAST 60999

int limits_descriptors(int flows, int threads, struct fault *fault)
{
	/* a worker has an epoll set and an eventfd */
	long long others = LIMITS_SPARE_FDS + 2LL * threads;
	long long need = flows + others, hard, fit;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return fault_set(fault, errno, "RLIMIT_NOFILE");
	if (limit.rlim_cur >= (rlim_t)need)
		return 0;
	if (limit.rlim_max < (rlim_t)need) {
		hard = (long long)limit.rlim_max;
		fit = hard > others ? hard - others : 0;
		return fault_set(fault, 0,
				 "--num-flows: %d flows need %lld descriptors, "
				 "the hard limit of this process is %lld "
				 "(RLIMIT_NOFILE): at most %lld fit",
				 flows, need, hard, fit);
	}
	/* all of it: descriptors that we inherited count, too */
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return fault_set(fault, errno,
				 "--num-flows: %d flows need %lld descriptors, "
				 "RLIMIT_NOFILE cannot be raised",
				 flows, need);
	return 0;
}

/* Read a number from 0 to @most at *@text and step over it; -1 otherwise. */
static long read_number(const char **text, long most)
{
	const char *at = *text + strspn(*text, " \t");
	char *end;
	long value;

	if (*at < '0' || *at > '9')
		return -1;
	errno = 0;
	value = strtol(at, &end, 10);
	if (errno || value > most)
		return -1;
	*text = end;
	return value;
}

/* Nothing but white space is left. */
static int at_end(const char *text)
{
	return !text[strspn(text, " \t\n")];
}

int limits_parse_range(const char *text, struct port_range *range)
{
	long first = read_number(&text, LAST_PORT), last;

	if (first < 1 || (*text != ' ' && *text != '\t'))
		return -1;
	last = read_number(&text, LAST_PORT);
	if (last < first || !at_end(text))
		return -1;
	range->first = (int)first;
	range->last = (int)last;
	return 0;
}

int limits_ports(int flows, int sources, int ports,
		 const struct port_range *range, struct fault *fault)
{
	long long each = range->last - range->first + 1;
	/* without -L the kernel picks the one address of the route */
	long long pairs =
		(sources > 1 ? sources : 1LL) * (ports > 1 ? ports : 1);
	char of[96] = "";

	if (flows <= each * pairs)
		return 0;
	if (pairs > 1)
		snprintf(of, sizeof(of),
			 " with %d source address%s and %d data port%s",
			 sources > 1 ? sources : 1, sources > 1 ? "es" : "",
			 ports > 1 ? ports : 1, ports > 1 ? "s" : "");
	return fault_set(
		fault, 0,
		"--num-flows: %d flows need %d source ports, but "
		"net.ipv4.ip_local_port_range %d-%d gives %lld%s: use "
		"--num-ports, more addresses with -L, or a wider range",
		flows, flows, range->first, range->last, each * pairs, of);
}

/* First line of @path, or -1 when it cannot be read or is empty. */
static int read_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");
	int rc;

	if (!f)
		return -1;
	rc = fgets(line, size, f) ? 0 : -1;
	(void)fclose(f); /* only read from */
	return rc;
}

struct port_range limits_range(void)
{
	struct port_range range = { DEFAULT_FIRST, DEFAULT_LAST };
	char line[64];

	if (!read_line("/proc/sys/net/ipv4/ip_local_port_range", line,
		       sizeof(line)))
		/* leaves the default where the text has another form */
		(void)limits_parse_range(line, &range);
	return range;
}

int limits_backlog(int wanted)
{
	char line[64];
	const char *text = line;
	long most;

	if (read_line("/proc/sys/net/core/somaxconn", line, sizeof(line)))
		return wanted;
	most = read_number(&text, wanted);
	return most >= 0 && at_end(text) ? (int)most : wanted;
}

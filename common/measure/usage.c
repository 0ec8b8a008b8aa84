/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time and memory of this thread, process or machine. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/measure/usage.h"

static nsec_t from_timeval(struct timeval tv)
{
	return (nsec_t)tv.tv_sec * NSEC_PER_SEC +
	       (nsec_t)tv.tv_usec * NSEC_PER_USEC;
}

static struct usage read_usage(int who)
{
	struct usage u = { .when = clock_now() };
	struct rusage r;

	memset(&r, 0, sizeof(r));
	/* Fails only for a wrong @who; zeros would then show it. */
	(void)getrusage(who, &r);
	u.user = from_timeval(r.ru_utime);
	u.system = from_timeval(r.ru_stime);
	u.maxrss = r.ru_maxrss;
	u.minflt = r.ru_minflt;
	u.majflt = r.ru_majflt;
	u.nvcsw = r.ru_nvcsw;
	u.nivcsw = r.ru_nivcsw;
	return u;
}

struct usage usage_thread(void)
{
	return read_usage(RUSAGE_THREAD);
}

struct usage usage_process(void)
{
	return read_usage(RUSAGE_SELF);
}

nsec_t usage_parse_stat(const char *text, long hz)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq;

	/* sscanf() would take the 0 of "cpu0" for the first number. */
	if (hz <= 0 || strncmp(text, "cpu ", 4) != 0 ||
	    sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice,
		   &system, &idle, &iowait, &irq, &softirq) != 7)
		return -1;
	return (nsec_t)(system + irq + softirq) * (NSEC_PER_SEC / hz);
}

nsec_t usage_machine_system(void)
{
	char line[256];
	FILE *f = fopen("/proc/stat", "re");
	nsec_t t = -1;

	if (!f)
		return -1;
	if (fgets(line, sizeof(line), f))
		t = usage_parse_stat(line, sysconf(_SC_CLK_TCK));
	(void)fclose(f); /* only read from */
	return t;
}

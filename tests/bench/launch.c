/* SPDX-License-Identifier: Apache-2.0 */
/* Run one command and tell what it used, without adding to it. */

/*
 *	launch FD CPUS COMMAND [ARGUMENT...]
 *
 * Writes pid=N to the descriptor FD at once, and the command's CPU time, peak
 * memory and status (from wait4) when it has ended. CPUS is a list for
 * sched_setaffinity ("0,1"), or "-". ru_maxrss counts what the process was
 * before exec too, so it cannot be taken of a child of a large process such
 * as an interpreter: this small one stands between.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "launch: %s: %s\n", what, strerror(errno));
	_exit(127);
}

/* Nothing started here may outlive the one who asked for it. */
static void die_with_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		die("prctl");
	if (getppid() != parent)
		_exit(127);
}

static void place(const char *list)
{
	cpu_set_t cpus;
	char *end;

	if (strcmp(list, "-") == 0)
		return;
	CPU_ZERO(&cpus);
	for (const char *s = list; *s != '\0';
	     s = *end == ',' ? end + 1 : end) {
		unsigned long cpu = strtoul(s, &end, 10);

		if (end == s || cpu >= CPU_SETSIZE) {
			errno = EINVAL;
			die(list);
		}
		CPU_SET(cpu, &cpus);
	}
	if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0)
		die("sched_setaffinity");
}

static long long microseconds(struct timeval tv)
{
	return (long long)tv.tv_sec * 1000000 + tv.tv_usec;
}

int main(int argc, char **argv)
{
	struct rusage use;
	pid_t self = getpid();
	pid_t pid;
	int status, fd;

	if (argc < 4) {
		fputs("usage: launch FD CPUS COMMAND [ARGUMENT...]\n", stderr);
		return 2;
	}
	die_with_parent(getppid());
	fd = atoi(argv[1]);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
		die("descriptor");
	pid = fork();
	if (pid == -1)
		die("fork");
	if (pid == 0) {
		die_with_parent(self);
		place(argv[2]);
		execvp(argv[3], argv + 3);
		die(argv[3]);
	}
	dprintf(fd, "pid=%d\n", (int)pid);
	while (wait4(pid, &status, 0, &use) == -1)
		if (errno != EINTR)
			die("wait4");
	dprintf(fd, "cpu_us=%lld\nmaxrss_kib=%ld\nstatus=%d\n",
		microseconds(use.ru_utime) + microseconds(use.ru_stime),
		use.ru_maxrss,
		WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
	return 0;
}

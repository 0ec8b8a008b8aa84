/* SPDX-License-Identifier: Apache-2.0 */
/* The main thread's wait: signals, control, data connections, workers, time. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/phase.h"

int phase_open(struct phase *p, struct fault *fault)
{
	sigset_t set;

	*p = (struct phase){
		.signal_fd = -1, .hub_fd = -1, .data_fd = -1, .crew_fd = -1
	};
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
	    pthread_sigmask(SIG_BLOCK, &set, NULL))
		return fault_set(fault, errno, "cannot set up signals");
	p->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p->signal_fd < 0)
		return fault_set(fault, errno, "cannot set up signals");
	return 0;
}

void phase_close(struct phase *p)
{
	if (p->signal_fd >= 0)
		(void)close(p->signal_fd); /* a signalfd */
	p->signal_fd = -1;
}

static unsigned take_signals(struct phase *p)
{
	struct signalfd_siginfo info;
	unsigned seen = 0;

	while (read(p->signal_fd, &info, sizeof(info)) ==
	       (ssize_t)sizeof(info)) {
		if (p->signal) {
			if (p->abandon)
				p->abandon(p->arg);
			_exit(STATUS_INCOMPLETE);
		}
		p->signal = (int)info.ssi_signo;
		seen = PHASE_SIGNAL;
	}
	return seen;
}

unsigned phase_wait(struct phase *p, nsec_t deadline)
{
	/* poll(2) passes over negative descriptors. */
	struct pollfd fds[] = {
		{ .fd = p->signal_fd, .events = POLLIN },
		{ .fd = p->hub_fd, .events = POLLIN },
		{ .fd = p->data_fd, .events = POLLIN },
		{ .fd = p->crew_fd, .events = POLLIN },
	};
	nsec_t left = deadline == NSEC_NEVER ? NSEC_NEVER :
					       deadline - clock_now();
	struct timespec ts = clock_timespec(left);
	unsigned seen = 0;

	if (ppoll(fds, 4, deadline == NSEC_NEVER ? NULL : &ts, NULL) <= 0)
		return 0;
	if (fds[0].revents)
		seen |= take_signals(p);
	if (fds[1].revents)
		seen |= PHASE_HUB;
	if (fds[2].revents)
		seen |= PHASE_DATA;
	if (fds[3].revents)
		seen |= PHASE_CREW;
	return seen;
}

const char *phase_signal_name(const struct phase *p)
{
	return p->signal == SIGTERM ? "SIGTERM" : "SIGINT";
}

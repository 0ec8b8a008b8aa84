/* SPDX-License-Identifier: Apache-2.0 */
/* The least code that moves bytes over N flows: the limit to compare with. */

/*
 * Two processes, so that the CPU time of both ends can be taken from outside
 * as it is for any tool:
 *
 *	bare recv [options]	prints port=N and waits for its flows
 *	bare send --port N [options]
 *
 * Flows are dealt in turn to T pinned threads. Each thread has one level-
 * triggered epoll set, in which every flow is registered once, and one hot
 * buffer. A single flow is moved by a plain blocking loop instead, in the
 * first thread. The receiver's window opens when it has all flows and is
 * --seconds long; then it resets them, which also ends the sender. Nothing is
 * agreed, checked, sampled or reported on the way.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64
#define MAX_CPUS 64
#define BACKLOG 4096
#define ACCEPT_SECONDS 30

static struct {
	bool sends; /* this end's role */
	bool epoll; /* epoll for a single flow too */
	bool trunc; /* discard in the kernel instead of reading */
	int port;
	int flows, threads;
	int ops; /* most transfers an event */
	int maxevents;
	int notsent_lowat; /* 0: left alone */
	size_t size; /* bytes a transfer */
	double seconds;
	const char *congestion; /* NULL: the system's */
	int cpus[MAX_CPUS], num_cpus; /* worker i on CPU i, in turn */
} set = {
	.flows = 1,
	.threads = 1,
	.ops = 1,
	.maxevents = 64,
	.size = 65536,
	.seconds = 1,
};

static struct worker {
	_Alignas(64) _Atomic uint64_t bytes; /* written by its thread only */
	uint64_t lost; /* flows that ended before the end */
	int epfd;
	char *buf;
	pthread_t thread;
} workers[MAX_THREADS];

static atomic_bool stop;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void count(struct worker *w, ssize_t n)
{
	uint64_t v = atomic_load_explicit(&w->bytes, memory_order_relaxed);

	/* One writer: a plain load and store, no locked instruction. */
	atomic_store_explicit(&w->bytes, v + (uint64_t)n, memory_order_relaxed);
}

static uint64_t total(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < set.threads; i++)
		sum += atomic_load_explicit(&workers[i].bytes,
					    memory_order_relaxed);
	return sum;
}

/* In the thread that uses it, for a local first touch. */
static void make_buffer(struct worker *w)
{
	w->buf = malloc(set.size);
	if (w->buf == NULL)
		die("malloc");
	memset(w->buf, 0x5a, set.size);
}

static bool set_stop(void)
{
	return atomic_load_explicit(&stop, memory_order_relaxed);
}

/* A transfer returned @n <= 0: is the flow at its end? */
static bool at_end(ssize_t n)
{
	return n == 0 || (errno != EAGAIN && errno != EINTR);
}

static void end_flow(struct worker *w, int fd)
{
	if (set_stop())
		return;
	if (set.sends) {
		/* The receiver has seen enough; any other end is a fault. */
		if (errno != EPIPE && errno != ECONNRESET)
			die("send");
		atomic_store(&stop, true);
		return;
	}
	w->lost++;
	close(fd);
}

static void serve_receive(struct worker *w, int fd, int flags)
{
	for (int i = 0; i < set.ops; i++) {
		ssize_t n = recv(fd, w->buf, set.size, flags);

		if (n > 0)
			count(w, n);
		else if (at_end(n))
			end_flow(w, fd);
		if (n < (ssize_t)set.size)
			return;
	}
}

static void serve_send(struct worker *w, int fd)
{
	for (int i = 0; i < set.ops; i++) {
		ssize_t n = send(fd, w->buf, set.size, MSG_NOSIGNAL);

		if (n > 0)
			count(w, n);
		else if (at_end(n))
			end_flow(w, fd);
		if (n < (ssize_t)set.size)
			return;
	}
}

static void *work(void *arg)
{
	struct epoll_event *events;
	struct worker *w = arg;
	int flags = set.trunc ? MSG_TRUNC : 0;

	events = calloc((size_t)set.maxevents, sizeof(*events));
	if (events == NULL)
		die("calloc");
	make_buffer(w);
	while (!set_stop()) {
		/* The timeout only matters where no flow moves any more. */
		int n = epoll_wait(w->epfd, events, set.maxevents, 100);

		for (int i = 0; i < n; i++)
			if (set.sends)
				serve_send(w, events[i].data.fd);
			else
				serve_receive(w, events[i].data.fd, flags);
	}
	free(events);
	return NULL;
}

static void start_workers(void)
{
	pthread_attr_t attr;

	for (int i = 0; i < set.threads; i++) {
		cpu_set_t cpus;

		pthread_attr_init(&attr);
		if (set.num_cpus > 0) {
			CPU_ZERO(&cpus);
			CPU_SET(set.cpus[i % set.num_cpus], &cpus);
			pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
		}
		errno = pthread_create(&workers[i].thread, &attr, work,
				       &workers[i]);
		if (errno != 0)
			die("pthread_create");
		pthread_attr_destroy(&attr);
	}
}

static void join_workers(void)
{
	for (int i = 0; i < set.threads; i++)
		pthread_join(workers[i].thread, NULL);
}

static void on_alarm(int sig)
{
	(void)sig;
	atomic_store(&stop, true);
}

/* Set `stop` after --seconds, and break a call that blocks just then. */
static void start_alarm(void)
{
	/* Without SA_RESTART; repeated, in case the first hits no call. */
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval timer = { .it_interval.tv_usec = 100000 };

	timer.it_value.tv_sec = (time_t)set.seconds;
	timer.it_value.tv_usec =
		(suseconds_t)((set.seconds - (double)(time_t)set.seconds) *
			      1e6);
	if (sigaction(SIGALRM, &sa, NULL) != 0 ||
	    setitimer(ITIMER_REAL, &timer, NULL) != 0)
		die("setitimer");
}

static void pin_self(void)
{
	cpu_set_t cpus;

	if (set.num_cpus == 0)
		return;
	CPU_ZERO(&cpus);
	CPU_SET(set.cpus[0], &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0)
		die("sched_setaffinity");
}

/* One flow without epoll: nothing but the call that moves the bytes. */
static void block_receive(struct worker *w, int fd)
{
	int flags = set.trunc ? MSG_TRUNC : 0;

	start_alarm();
	while (!set_stop()) {
		ssize_t n = recv(fd, w->buf, set.size, flags);

		if (n > 0)
			count(w, n);
		else if (at_end(n) && !set_stop()) {
			w->lost++;
			break;
		}
	}
}

static void block_send(struct worker *w, int fd)
{
	ssize_t n;

	while ((n = send(fd, w->buf, set.size, MSG_NOSIGNAL)) > 0)
		count(w, n);
	if (errno != EPIPE && errno != ECONNRESET)
		die("send");
}

static void set_int(int fd, int level, int name, int value, const char *what)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)) != 0)
		die(what);
}

static void set_options(int fd)
{
	if (set.congestion != NULL &&
	    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, set.congestion,
		       (socklen_t)strlen(set.congestion)) != 0)
		die("TCP_CONGESTION");
	if (set.notsent_lowat > 0)
		set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, set.notsent_lowat,
			"TCP_NOTSENT_LOWAT");
}

/* Hand flow @i to its worker, or keep it for the blocking loop. */
static void deal(int i, int fd)
{
	struct epoll_event ev = {
		.events = set.sends ? EPOLLOUT : EPOLLIN,
		.data.fd = fd,
	};

	if (!set.epoll)
		return;
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) != 0)
		die("fcntl");
	if (epoll_ctl(workers[i % set.threads].epfd, EPOLL_CTL_ADD, fd, &ev))
		die("epoll_ctl");
}

static int listen_any(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)set.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	struct timeval patience = { .tv_sec = ACCEPT_SECONDS };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	/* Inherited by every flow: closed by a reset, no TIME_WAIT is left. */
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)))
		die("setsockopt");
	set_options(fd);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
	    listen(fd, BACKLOG) != 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
		die("listen");
	printf("port=%d\n", ntohs(addr.sin_port));
	fflush(stdout);
	return fd;
}

static void receive(void)
{
	uint64_t in_window, lost = 0;
	double start, seconds;
	int fd = -1;
	int l = listen_any();

	for (int i = 0; i < set.flows; i++) {
		fd = accept(l, NULL, NULL);
		if (fd < 0)
			die("accept");
		deal(i, fd);
	}
	start = now();
	if (set.epoll) {
		start_workers();
		usleep((useconds_t)(set.seconds * 1e6));
	} else {
		block_receive(&workers[0], fd);
	}
	in_window = total();
	seconds = now() - start;
	atomic_store(&stop, true);
	if (set.epoll)
		join_workers();
	for (int i = 0; i < set.threads; i++)
		lost += workers[i].lost;
	printf("throughput=%.0f\nseconds=%.6f\nrx_bytes=%" PRIu64
	       "\nrx_bytes_total=%" PRIu64 "\nflows_lost=%" PRIu64 "\n",
	       (double)in_window * 8 / seconds, seconds, in_window, total(),
	       lost);
	if (fflush(stdout) != 0 || lost > 0)
		exit(1);
}

static void transmit(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)set.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	double start = now();
	int fd = -1;

	for (int i = 0; i < set.flows; i++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			die("socket");
		set_options(fd);
		if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
			die("connect");
		deal(i, fd);
	}
	printf("connect_seconds=%.6f\n", now() - start);
	if (set.epoll) {
		start_workers();
		join_workers();
	} else {
		block_send(&workers[0], fd);
	}
	printf("tx_bytes_total=%" PRIu64 "\n", total());
}

static void prepare(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &lim); /* best effort */
	}
	if (set.flows > 1)
		set.epoll = true;
	if (!set.epoll) {
		set.threads = 1;
		pin_self();
		make_buffer(&workers[0]);
		return;
	}
	for (int i = 0; i < set.threads; i++) {
		workers[i].epfd = epoll_create1(EPOLL_CLOEXEC);
		if (workers[i].epfd < 0)
			die("epoll_create1");
	}
}

static _Noreturn void usage(void)
{
	fputs("usage: bare recv|send [--port N] [--flows N] [--threads T]\n"
	      "\t[--size BYTES] [--ops 1..4] [--trunc] [--epoll]\n"
	      "\t[--maxevents N] [--pin CPU,CPU...] [--seconds S]\n"
	      "\t[--congestion-control NAME] [--notsent-lowat BYTES]\n",
	      stderr);
	exit(2);
}

/* A whole number between @min and @max, or the usage and the end. */
static long number(const char *text, long min, long max)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || v < min || v > max)
		usage();
	return v;
}

static void parse_cpus(char *list)
{
	char *save;

	for (char *s = strtok_r(list, ",", &save); s != NULL;
	     s = strtok_r(NULL, ",", &save)) {
		if (set.num_cpus == MAX_CPUS)
			usage();
		set.cpus[set.num_cpus++] = (int)number(s, 0, CPU_SETSIZE - 1);
	}
}

static void parse_option(int c)
{
	switch (c) {
	case 'p':
		set.port = (int)number(optarg, 0, 65535);
		break;
	case 'f':
		set.flows = (int)number(optarg, 1, 1000000);
		break;
	case 't':
		set.threads = (int)number(optarg, 1, MAX_THREADS);
		break;
	case 's':
		set.size = (size_t)number(optarg, 1, 1L << 30);
		break;
	case 'o':
		set.ops = (int)number(optarg, 1, 4);
		break;
	case 'm':
		set.maxevents = (int)number(optarg, 1, 65536);
		break;
	case 'n':
		set.notsent_lowat = (int)number(optarg, 0, 1L << 30);
		break;
	case 'x':
		set.trunc = true;
		break;
	case 'e':
		set.epoll = true;
		break;
	case 'c':
		set.congestion = optarg;
		break;
	case 'u':
		parse_cpus(optarg);
		break;
	case 'l':
		set.seconds = strtod(optarg, NULL);
		break;
	default:
		usage();
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "port", required_argument, NULL, 'p' },
		{ "flows", required_argument, NULL, 'f' },
		{ "threads", required_argument, NULL, 't' },
		{ "size", required_argument, NULL, 's' },
		{ "ops", required_argument, NULL, 'o' },
		{ "maxevents", required_argument, NULL, 'm' },
		{ "notsent-lowat", required_argument, NULL, 'n' },
		{ "trunc", no_argument, NULL, 'x' },
		{ "epoll", no_argument, NULL, 'e' },
		{ "congestion-control", required_argument, NULL, 'c' },
		{ "pin", required_argument, NULL, 'u' },
		{ "seconds", required_argument, NULL, 'l' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	if (argc < 2 ||
	    (strcmp(argv[1], "recv") != 0 && strcmp(argv[1], "send") != 0))
		usage();
	set.sends = strcmp(argv[1], "send") == 0;
	optind = 2;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		parse_option(c);
	if (optind != argc || set.seconds <= 0 || (set.sends && set.port == 0))
		usage();
	prepare();
	if (set.sends)
		transmit();
	else
		receive();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a person at a terminal sees: a live line, a table at the end. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/die.h"
#include "common/base/num.h"
#include "common/report/human.h"

#define BOLD "\033[1m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"

void human_open(struct human *h, bool quiet, bool verbose)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	bool smart = term && strcmp(term, "dumb") != 0;

	memset(h, 0, sizeof(*h));
	h->on = !quiet && isatty(STDERR_FILENO);
	h->colour = h->on && smart && !(no_colour && *no_colour);
	h->verbose = verbose;
}

static const char *paint(const struct human *h, const char *code)
{
	return h->colour ? code : "";
}

static void end_live(struct human *h)
{
	if (h->live)
		(void)fputc('\n', stderr); /* people's output may fail */
	h->live = false;
}

void human_say(struct human *h, const char *fmt, ...)
{
	va_list ap;

	if (!h->on)
		return;
	end_live(h);
	(void)fprintf(stderr, "%s: ", die_program());
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
}

/* "12.3 Gbit/s", or "-" for an unknown rate in bytes per second. */
static char *rate_text(double rate, char *buf, size_t size)
{
	if (rate < 0) {
		(void)snprintf(buf, size, "-");
		return buf;
	}
	return num_format_si(rate * 8, "bit/s", buf, size);
}

void human_row(struct human *h, const struct row *row, nsec_t start,
	       double peer_rx)
{
	double seconds = (double)(row->end - row->start) / 1e9;
	char in[40], out[40];

	if (!h->on || seconds <= 0)
		return;
	(void)fprintf(stderr, "\r%7.1f s   in %-14s  other end in %-14s%s",
		      (double)(row->end - start) / 1e9,
		      rate_text((double)row->rx_bytes / seconds, in,
				sizeof(in)),
		      rate_text(peer_rx, out, sizeof(out)),
		      row->warmup ? " warm-up" : "        ");
	h->live = true;
}

/* ---- summary ---- */

static void put_line(const char *what, const char *local, const char *remote)
{
	(void)fprintf(stderr, "  %-22s %20s %20s\n", what, local, remote);
}

static char *number(double v, int places, char *buf, size_t size)
{
	(void)snprintf(buf, size, "-");
	if (v >= 0)
		(void)snprintf(buf, size, "%.*f", places, v);
	return buf;
}

static void put_rates(const struct report_figures *f)
{
	char a[40], b[40];

	put_line("received", rate_text(f->local_rate, a, sizeof(a)),
		 rate_text(f->remote_rate, b, sizeof(b)));
	put_line("CPU seconds", number(f->local_cpu, 3, a, sizeof(a)),
		 number(f->remote_cpu, 3, b, sizeof(b)));
	put_line("CPU s per gigabit", number(f->local_cost, 4, a, sizeof(a)),
		 number(f->remote_cost, 4, b, sizeof(b)));
}

static void put_bytes(const struct end_result *l, const struct end_result *p)
{
	char a[40], b[40];

	put_line("bytes received",
		 num_format_bytes(l->counts.rx_bytes, a, sizeof(a)),
		 p ? num_format_bytes(p->counts.rx_bytes, b, sizeof(b)) : "-");
	(void)snprintf(a, sizeof(a), "%d", l->n_workers);
	(void)snprintf(b, sizeof(b), "%d", p ? p->n_workers : 0);
	put_line("threads", a, p ? b : "-");
	(void)snprintf(a, sizeof(a), "%.20s", l->cpus);
	(void)snprintf(b, sizeof(b), "%.20s", p ? p->cpus : "-");
	put_line("on CPUs", a, b);
	(void)snprintf(a, sizeof(a), "%.20s", l->pin_policy);
	(void)snprintf(b, sizeof(b), "%.20s", p ? p->pin_policy : "-");
	put_line("pinning", a, b);
}

static char *retransmits(const struct end_result *r, char *buf, size_t size)
{
	(void)snprintf(buf, size, "-");
	if (r && r->tcp.sum.retransmits >= 0)
		(void)snprintf(buf, size, "%lld",
			       (long long)r->tcp.sum.retransmits);
	return buf;
}

static char *round_trips(const struct end_result *r, char *buf, size_t size)
{
	const struct spread *s = r ? &r->tcp.rtt_us : NULL;

	(void)snprintf(buf, size, "-");
	if (s && s->p50 >= 0)
		(void)snprintf(buf, size, "%.3g/%.3g/%.3g",
			       (double)s->p50 / 1e3, (double)s->p90 / 1e3,
			       (double)s->max / 1e3);
	return buf;
}

/* What the flows waited for while they had something to send. */
static char *limits(const struct end_result *r, char *buf, size_t size)
{
	const struct tcp_figures *s = r ? &r->tcp.sum : NULL;
	double busy = s ? (double)s->busy_us / 100 : 0;

	(void)snprintf(buf, size, "-");
	if (s && busy > 0 && s->rwnd_limited_us >= 0 &&
	    s->sndbuf_limited_us >= 0 && s->busy_us >= s->rwnd_limited_us &&
	    s->busy_us >= s->sndbuf_limited_us)
		(void)snprintf(buf, size, "%.0f/%.0f/%.0f %%",
			       (double)s->rwnd_limited_us / busy,
			       (double)s->sndbuf_limited_us / busy,
			       (double)r->tcp.other_busy_us / busy);
	return buf;
}

static void put_tcp(const struct end_result *l, const struct end_result *p)
{
	char a[64], b[64];

	put_line("retransmits", retransmits(l, a, sizeof(a)),
		 retransmits(p, b, sizeof(b)));
	put_line("rtt p50/p90/max, ms", round_trips(l, a, sizeof(a)),
		 round_trips(p, b, sizeof(b)));
	put_line("peer/buffer/net limits", limits(l, a, sizeof(a)),
		 limits(p, b, sizeof(b)));
}

static void put_zerocopy(const struct end_result *l, const struct end_result *p)
{
	char a[40], b[40] = "-";

	(void)snprintf(a, sizeof(a), "%llu/%llu",
		       (unsigned long long)l->zc.copied,
		       (unsigned long long)l->zc.completions);
	if (p)
		(void)snprintf(b, sizeof(b), "%llu/%llu",
			       (unsigned long long)p->zc.copied,
			       (unsigned long long)p->zc.completions);
	put_line("zero-copy, copied/all", a, b);
}

static void put_threads(const char *end, const struct end_result *r)
{
	char bytes[40];
	int i;

	for (i = 0; i < r->n_workers; i++) {
		const struct worker_result *w = &r->workers[i];
		uint64_t all = w->counts.rx_bytes + w->counts.tx_bytes;

		(void)fprintf(stderr,
			      "  %s thread %d: %lld flows, CPU %lld, %s, "
			      "%.3f CPU s\n",
			      end, i, (long long)w->flows, (long long)w->cpu,
			      num_format_bytes(all, bytes, sizeof(bytes)),
			      (double)(w->cpu_user + w->cpu_system) / 1e9);
	}
}

static void put_warnings(const struct human *h, const char *end,
			 const struct end_result *r)
{
	int i;

	for (i = 0; i < r->warnings.n; i++)
		(void)fprintf(stderr, "%swarning%s (%s): %s\n",
			      paint(h, YELLOW), paint(h, PLAIN), end,
			      r->warnings.text[i]);
}

void human_summary(struct human *h, const struct report *r)
{
	struct report_figures f = report_figures(r);
	const struct end_result *l = r->local;
	const struct end_result *p = r->n_peers == 1 ? r->peers[0] : NULL;
	const char *here = r->client ? "client" : "server";
	const char *there = r->client ? "server" : "client";
	char a[40], b[40];

	if (!h->on)
		return;
	end_live(h);
	(void)fprintf(stderr, "%s%.3f s, %d flows, ended by: %s%s\n",
		      paint(h, BOLD), (double)l->seconds / 1e9, l->n_flows,
		      l->end_reason, paint(h, PLAIN));
	(void)snprintf(a, sizeof(a), "%s (this end)", here);
	(void)snprintf(b, sizeof(b), "%s", there);
	put_line("", a, b);
	put_rates(&f);
	put_bytes(l, p);
	put_tcp(l, p);
	if (r->zerocopy)
		put_zerocopy(l, p);
	(void)fprintf(stderr,
		      "  both ends: %s CPU s per gigabit, "
		      "fairness of flows %s\n",
		      number(f.both_cost, 4, a, sizeof(a)),
		      number(f.fairness, 3, b, sizeof(b)));
	if (h->verbose) {
		put_threads(here, l);
		if (p)
			put_threads(there, p);
	}
	put_warnings(h, here, l);
	if (p)
		put_warnings(h, there, p);
}

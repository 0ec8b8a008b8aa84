/* SPDX-License-Identifier: Apache-2.0 */
/* key=value lines on standard output, as neper prints them, and more. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/report/kv.h"
#include "common/report/kv_network.h"
#include "common/report/units.h"
#include "common/version.h"

void kv_options(const struct opt_list *list, const void *values,
		int control_port, int port)
{
	char key[64], text[512];
	size_t i;

	printf("VERSION=%s\n", napier_version());
	for (i = 0; i < list->n; i++) {
		const struct opt *o = list->opt[i];

		if (o->shut || o->later || !strcmp(o->name, "help") ||
		    !strcmp(o->name, "version"))
			continue;
		(void)opt_dump_text(list, i, values, text, sizeof(text));
		if (!strcmp(o->name, "port") && port)
			(void)snprintf(text, sizeof(text), "%d", port);
		if (!strcmp(o->name, "control-port") && control_port)
			(void)snprintf(text, sizeof(text), "%d", control_port);
		printf("%s=%s\n", opt_key(o, key, sizeof(key)), text);
	}
	(void)opt_dump_text(list, (size_t)opt_find(list, "test-length"), values,
			    text, sizeof(text));
	printf("total_run_time=%s\n", text);
	(void)fflush(stdout); /* a failure shows with the results */
}

void kv_text(const char *lines)
{
	(void)fputs(lines, stdout);
	(void)fflush(stdout); /* a failure shows with the results */
}

void kv_warning(const char *fmt, ...)
{
	va_list ap;

	printf("warning=local: ");
	va_start(ap, fmt);
	(void)vprintf(fmt, ap); /* a failure shows with the results */
	va_end(ap);
	printf("\n");
	(void)fflush(stdout); /* likewise */
}

static double mbps(uint64_t bytes, nsec_t time)
{
	return time > 0 ? (double)bytes * 8e3 / (double)time : 0;
}

void kv_iostat(nsec_t elapsed, nsec_t time, const struct io_counts *m)
{
	/* As in neper an operation is a call, also one that moved nothing. */
	printf("t=%-10.3f TX: %6" PRIu64 " ops, %10" PRIu64
	       " bytes, %8.1f Mbps; RX: %6" PRIu64 " ops, %10" PRIu64
	       " bytes, %8.1f Mbps;\n",
	       (double)elapsed / 1e9, m->tx_transfers + m->tx_again,
	       m->tx_bytes, mbps(m->tx_bytes, time),
	       m->rx_transfers + m->rx_again, m->rx_bytes,
	       mbps(m->rx_bytes, time));
	(void)fflush(stdout); /* a failure shows with the results */
}

/* ---- results ---- */

static void put_seconds(const char *key, nsec_t ns)
{
	printf("%s=%" PRId64 ".%09" PRId64 "\n", key, ns / NSEC_PER_SEC,
	       ns % NSEC_PER_SEC);
}

static void put_cpu(const char *key, nsec_t ns)
{
	printf("%s=%" PRId64 ".%06" PRId64 "\n", key, ns / NSEC_PER_SEC,
	       ns % NSEC_PER_SEC / NSEC_PER_USEC);
}

static void put_pair(const char *key, int64_t start, int64_t end)
{
	printf("%s_start=%" PRId64 "\n%s_end=%" PRId64 "\n", key, start, key,
	       end);
}

/* A figure, or an empty value where nobody can vouch for one. */
static void put_figure(const char *key, double v, int places)
{
	if (v >= 0)
		printf("%s=%.*f\n", key, places, v);
	else
		printf("%s=\n", key);
}

static void put_usage(const struct report *r)
{
	const struct usage *a = &r->local->usage_start;
	const struct usage *b = &r->local->usage_end;
	bool machine = r->machine_start > 0 && r->machine_end > 0;

	put_cpu("utime_start", a->user);
	put_cpu("utime_end", b->user);
	put_cpu("stime_start", machine ? r->machine_start : a->system);
	put_cpu("stime_end", machine ? r->machine_end : b->system);
	put_pair("maxrss", a->maxrss, b->maxrss);
	put_pair("minflt", a->minflt, b->minflt);
	put_pair("majflt", a->majflt, b->majflt);
	put_pair("nvcsw", a->nvcsw, b->nvcsw);
	put_pair("nivcsw", a->nivcsw, b->nivcsw);
}

static void put_throughput(const struct report *r,
			   const struct report_figures *f)
{
	/* This end's figure, or the other's where nothing comes in here. */
	double value = 0, rate = f->local_rate;
	const char *text;

	if (!r->local->counts.rx_bytes)
		rate = f->remote_rate;
	text = units_convert(r->unit, rate < 0 ? 0 : rate, &value);
	if (rate < 0)
		value = -1;
	put_figure("throughput", value, 2);
	printf("throughput_units=%s\n", text ? text : "");
	put_figure("local_throughput",
		   f->local_rate < 0 ? -1 : f->local_rate * 8, 0);
	put_figure("remote_throughput",
		   f->remote_rate < 0 ? -1 : f->remote_rate * 8, 0);
}

static void put_zerocopy(const char *end, const struct zc_counts *z)
{
	printf("%s_zerocopy_sends=%" PRIu64 "\n", end, z->sends);
	printf("%s_zerocopy_completions=%" PRIu64 "\n", end, z->completions);
	printf("%s_zerocopy_copied=%" PRIu64 "\n", end, z->copied);
	printf("%s_zerocopy_enobufs=%" PRIu64 "\n", end, z->enobufs);
	printf("%s_zerocopy_fallbacks=%" PRIu64 "\n", end, z->fallbacks);
	printf("%s_zerocopy_peak_pinned=%" PRIu64 "\n", end, z->peak_pinned);
	printf("%s_zerocopy_outstanding=%" PRIu64 "\n", end, z->outstanding);
}

static void put_counts(const char *end, const struct io_counts *c)
{
	printf("%s_tx_bytes=%" PRIu64 "\n", end, c->tx_bytes);
	printf("%s_rx_bytes=%" PRIu64 "\n", end, c->rx_bytes);
	printf("%s_tx_transfers=%" PRIu64 "\n", end, c->tx_transfers);
	printf("%s_rx_transfers=%" PRIu64 "\n", end, c->rx_transfers);
	printf("%s_rx_truncated=%" PRIu64 "\n", end, c->rx_truncated);
	printf("%s_waits=%" PRIu64 "\n", end, c->waits);
	printf("%s_wakeups=%" PRIu64 "\n", end, c->wakeups);
	printf("%s_tx_again=%" PRIu64 "\n", end, c->tx_again);
	printf("%s_rx_again=%" PRIu64 "\n", end, c->rx_again);
	printf("%s_late_sends=%" PRIu64 "\n", end, c->late);
}

static void put_settings(const char *end, const struct end_result *r)
{
	int i;

	for (i = 0; i < (int)r->n_settings; i++) {
		const struct setting *s = &r->settings[i];

		printf("%s_setting_%s=requested:%s effective:%s set_by:%s "
		       "differing:%" PRId64 "\n",
		       end, s->name, s->requested, s->effective, s->set_by,
		       s->differing);
	}
}

static void put_threads(const char *end, const struct end_result *r)
{
	int i;

	for (i = 0; i < r->n_workers; i++) {
		const struct worker_result *w = &r->workers[i];

		printf("%s_thread_%d=flows:%" PRId64 " cpu:%" PRId64
		       " last_cpu:%" PRId64 " allowed_cpus:%" PRId64
		       " node:%" PRId64 " tx_bytes:%" PRIu64
		       " rx_bytes:%" PRIu64 " seconds:%.9f"
		       " cpu_seconds:%.6f\n",
		       end, i, w->flows, w->cpu, w->last_cpu, w->affinity,
		       w->node, w->counts.tx_bytes, w->counts.rx_bytes,
		       (double)w->window / 1e9,
		       (double)(w->cpu_user + w->cpu_system) / 1e9);
	}
}

static void put_flows(const char *end, const struct end_result *r)
{
	int i;

	for (i = 0; i < r->n_flows && r->flows; i++) {
		const struct flow_result *f = &r->flows[i];

		printf("%s_flow_%" PRId64 "=thread:%" PRId64
		       " local_port:%" PRId64 " peer_port:%" PRId64
		       " tx_bytes:%" PRIu64 " rx_bytes:%" PRIu64
		       " connect_ns:%" PRId64,
		       end, f->id, f->worker, f->local_port, f->peer_port,
		       f->tx_bytes, f->rx_bytes, f->connect_time);
		kv_flow_tcp(&f->tcp);
		printf(" error:%s\n", f->err ? strerror((int)f->err) : "");
	}
}

static void put_clock(const char *key, const struct clock_match *m)
{
	if (m->known)
		printf("%s=offset_ns:%" PRId64 " bound_ns:%" PRId64 "\n", key,
		       m->offset, m->bound);
}

/* All that one end says of itself; @end prefixes the keys. */
static void put_end(const struct report *r, const char *end,
		    const struct end_result *e)
{
	char key[64];
	int i;

	printf("%s_host=%s\n", end, e->host);
	printf("%s_complete=%d\n", end, e->complete);
	printf("%s_end_reason=%s\n", end, e->end_reason);
	printf("%s_window_start=%" PRId64 "\n", end, e->start);
	printf("%s_window_end=%" PRId64 "\n", end, e->end);
	printf("%s_seconds=%.9f\n", end, (double)e->seconds / 1e9);
	printf("%s_edge_spread=%.9f\n", end, (double)e->edge_spread / 1e9);
	put_counts(end, &e->counts);
	printf("%s_tx_bytes_total=%" PRIu64 "\n", end, e->life.tx_bytes);
	printf("%s_rx_bytes_total=%" PRIu64 "\n", end, e->life.rx_bytes);
	printf("%s_rx_truncated_total=%" PRIu64 "\n", end,
	       e->life.rx_truncated);
	(void)snprintf(key, sizeof(key), "%s_cpu_user", end);
	put_cpu(key, e->usage_end.user - e->usage_start.user);
	(void)snprintf(key, sizeof(key), "%s_cpu_system", end);
	put_cpu(key, e->usage_end.system - e->usage_start.system);
	printf("%s_pin_policy=%s\n", end, e->pin_policy);
	printf("%s_cpus=%s\n", end, e->cpus);
	printf("%s_flows_failed=%" PRId64 "\n", end, e->flows_failed);
	if (r->zerocopy)
		put_zerocopy(end, &e->zc);
	kv_network(end, e);
	put_settings(end, e);
	put_threads(end, e);
	if (r->verbose)
		put_flows(end, e);
	for (i = 0; i < e->warnings.n; i++)
		printf("warning=%s: %s\n", end, e->warnings.text[i]);
}

static void put_connects(const struct end_result *c, const struct end_result *s)
{
	if (c) {
		printf("connect_seconds=%.6f\n",
		       (double)c->connect_phase / 1e9);
		printf("connect_p50=%.6f\n", (double)c->connect_p50 / 1e9);
		printf("connect_p99=%.6f\n", (double)c->connect_p99 / 1e9);
		printf("connect_max=%.6f\n", (double)c->connect_max / 1e9);
		printf("syn_retransmits=%" PRId64 "\n", c->syn_retransmits);
	}
	if (s)
		printf("listen_overflows=%" PRId64 "\n", s->listen_overflows);
}

static void put_peers(const struct report *r)
{
	char name[32];
	int i;

	for (i = 0; i < r->n_peers; i++) {
		if (!r->peers[i])
			continue;
		(void)snprintf(name, sizeof(name), "remote");
		if (r->n_peers > 1)
			(void)snprintf(name, sizeof(name), "remote_%d", i);
		put_end(r, name, r->peers[i]);
	}
}

int kv_results(const struct report *r)
{
	struct report_figures f = report_figures(r);
	const struct end_result *l = r->local;
	const struct end_result *p = r->n_peers ? r->peers[0] : NULL;

	if (r->test)
		printf("test=%" PRId64 "\n", r->test);
	if (r->title)
		printf("title=%s\n", r->title);
	printf("invalid_secret_count=%" PRId64 "\n", r->strangers);
	put_seconds("time_start", l->start);
	put_usage(r);
	printf("num_samples=%" PRId64 "\n", r->samples);
	put_seconds("time_end", l->end);
	put_figure("correlation_coefficient", r->correlation, 2);
	put_throughput(r, &f);
	printf("complete=%d\n", f.complete);
	printf("end_reason=%s\n", l->end_reason);
	printf("start_epoch_ns=%" PRId64 "\n", l->wall_start);
	put_figure("fairness", f.fairness, 4);
	put_figure("local_cpu_per_gigabit", f.local_cost, 5);
	put_figure("remote_cpu_per_gigabit", f.remote_cost, 5);
	put_figure("cpu_per_gigabit", f.both_cost, 5);
	printf("cpu_source=process user and system time of each end\n");
	printf("one_host=%d\n", r->one_host);
	printf("payload_read=%s\n", r->discard ? "false" : "true");
	put_connects(r->client ? l : p, r->client ? p : l);
	put_clock("clock_before", &l->clock_before);
	put_clock("clock_after", &l->clock_after);
	put_end(r, "local", l);
	put_peers(r);
	return fflush(stdout) || ferror(stdout) ? -1 : 0;
}

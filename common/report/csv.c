/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of every flow as comma-separated values, neper's columns first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/report/csv.h"

static const char heading[] =
	"tid,flow_id,time,bytes_read,bytes_read/s,utime,stime,maxrss,minflt,"
	"majflt,nvcsw,nivcsw,run,warmup,start,end,bytes_read_interval,"
	"bytes_written,bytes_acked,retransmits,rtt_us,cwnd\n";

int csv_open(struct csv *c, const char *path, struct fault *fault)
{
	memset(c, 0, sizeof(*c));
	if (out_open(&c->out, path, fault))
		return -1;
	out_text(&c->out, heading);
	return 0;
}

void csv_begin(struct csv *c, int64_t n, int64_t first)
{
	if (!c->out.open)
		return;
	free(c->last_rx);
	c->last_rx = calloc((size_t)n + 1, sizeof(*c->last_rx));
	if (!c->last_rx && !c->out.err)
		c->out.err = ENOMEM;
	c->n = c->last_rx ? n : 0;
	c->first = first;
	c->run++;
}

/* "1234.56": @bytes in @time as bytes a second, without floating point. */
static void put_rate(struct out *o, uint64_t bytes, nsec_t time)
{
	unsigned __int128 v = 0;

	if (time > 0)
		v = (unsigned __int128)bytes * 100 * NSEC_PER_SEC /
		    (uint64_t)time;
	out_u64(o, (uint64_t)(v / 100));
	out_bytes(o, v % 100 < 10 ? ".0" : ".", v % 100 < 10 ? 2 : 1);
	out_u64(o, (uint64_t)(v % 100));
}

static void put_usage(struct out *o, const struct usage *u)
{
	const int64_t counts[] = { u->maxrss, u->minflt, u->majflt, u->nvcsw,
				   u->nivcsw };
	size_t i;

	out_bytes(o, ",", 1);
	out_seconds(o, u->user, 6);
	out_bytes(o, ",", 1);
	out_seconds(o, u->system, 6);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		out_bytes(o, ",", 1);
		out_i64(o, counts[i]);
	}
}

static void put_row(struct csv *c, int64_t i, const struct row *row,
		    const struct flow_count *f, const struct usage *usage,
		    nsec_t start)
{
	uint64_t grown = f->rx_bytes - c->last_rx[i];
	struct out *o = &c->out;

	c->last_rx[i] = f->rx_bytes;
	out_i64(o, f->worker);
	out_bytes(o, ",", 1);
	out_i64(o, c->first + i);
	out_bytes(o, ",", 1);
	out_seconds(o, row->end, 9);
	out_bytes(o, ",", 1);
	out_u64(o, f->rx_bytes);
	out_bytes(o, ",", 1);
	put_rate(o, grown, row->end - row->start);
	put_usage(o, usage);
	out_bytes(o, ",", 1);
	out_i64(o, c->run);
	out_text(o, row->warmup ? ",1," : ",0,");
	out_seconds(o, row->start - start, 9);
	out_bytes(o, ",", 1);
	out_seconds(o, row->end - start, 9);
	out_bytes(o, ",", 1);
	out_u64(o, grown);
	out_bytes(o, ",", 1);
	out_u64(o, f->tx_bytes);
	out_text(o, ",,,,\n"); /* bytes_acked to cwnd: not read in between */
}

void csv_rows(struct csv *c, const struct row *row,
	      const struct flow_count *counts, const struct usage *usage,
	      nsec_t start)
{
	int64_t i;

	for (i = 0; i < c->n; i++)
		put_row(c, i, row, &counts[i], usage, start);
	(void)out_flush(&c->out); /* a failure is told at the end */
}

int csv_close(struct csv *c)
{
	free(c->last_rx);
	c->last_rx = NULL;
	c->n = 0;
	return out_close(&c->out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a flow of tcp_stream does: send as fast as it may, read what comes. */
#include <stddef.h>
#include <string.h>

#include "common/engine/flow_io.h"
#include "common/engine/workload.h"
#include "tcp_stream/stream.h"
#include "tcp_stream/workload.h"

/*
 * Transfers per wake-up. Where a worker serves several flows, a few that move
 * little keep them fair: the kernel grows the window of some flows and not of
 * others, and a large share a visit turns that into several times the rate. A
 * flow that has a worker to itself harms nobody by many, and each spares a
 * wait.
 */
#define STREAM_OPS 4
#define STREAM_BYTES (128 * 1024)
#define STREAM_OPS_ALONE 64
#define STREAM_BYTES_ALONE (2 << 20)

/* Most receives after the end of a flow that was met by a send. */
#define STREAM_REST 1024

static int stream_flows(const void *options)
{
	const struct stream_options *o = options;

	return (int)(o->split_bidir ? 2 * o->common.num_flows :
				      o->common.num_flows);
}

static unsigned stream_roles(const void *options, bool client, int id)
{
	unsigned out = client ? FLOW_SENDS : FLOW_RECEIVES;
	unsigned back = client ? FLOW_RECEIVES : FLOW_SENDS;

	switch (stream_direction(options)) {
	case STREAM_FORWARD:
		return out;
	case STREAM_REVERSE:
		return back;
	case STREAM_BOTH:
		return out | back;
	case STREAM_SPLIT:
		return id % 2 ? back : out;
	}
	return 0;
}

/* Transfers of @size bytes per event where a worker has @flows flows. */
static int ops_for(size_t size, int64_t flows)
{
	size_t most = flows > 1 ? STREAM_OPS : STREAM_OPS_ALONE;
	size_t bytes = flows > 1 ? STREAM_BYTES : STREAM_BYTES_ALONE;

	if (size >= bytes)
		return 1;
	return (int)(bytes / size < most ? bytes / size : most);
}

static void stream_transfer(const void *options, struct transfer *t)
{
	const struct stream_options *o = options;
	int64_t read_size = o->read_size;
	int64_t threads = o->common.num_threads;
	int64_t flows = (stream_flows(options) + threads - 1) / threads;

	if (!read_size)
		read_size = o->buffer_size > 65536 ? o->buffer_size : 65536;
	if (!o->read_size && o->skip_rx_copy)
		read_size = 1 << 20;
	memset(t, 0, sizeof(*t));
	t->tx_size = (size_t)o->buffer_size;
	t->rx_size = (size_t)read_size;
	t->delay = o->common.delay;
	t->tx_ops = ops_for(t->tx_size, flows);
	t->rx_ops = ops_for(t->rx_size, flows);
	if (t->delay)
		t->tx_ops = 1; /* each send has a time of its own */
	t->more = !o->no_cork && !o->common.no_delay && !t->delay;
	t->zerocopy = o->zerocopy;
	t->discard = o->skip_rx_copy;
	t->limit = (uint64_t)o->bytes;
	t->edge = o->edge_trigger;
}

/*
 * The pattern that repeats every TRANSFER_PERIOD bytes: 8-byte words that all
 * differ, so that a shifted or repeated piece shows.
 */
static void stream_fill(const void *options, void *buffer, size_t size)
{
	uint8_t *at = buffer;
	size_t k;

	(void)options; /* the same for all of them */
	for (k = 0; k < size; k++) {
		uint64_t word = (k % TRANSFER_PERIOD) / 8 + 1;

		word *= UINT64_C(0x9e3779b97f4a7c15);
		at[k] = (uint8_t)(word >> (8 * (k % 8)));
	}
}

static int stream_read(struct lane *l, struct flow *f)
{
	size_t size = l->transfer->rx_size;
	int i;

	for (i = 0; i < l->transfer->rx_ops; i++) {
		ssize_t n = flow_recv(l, f, l->rx_buffer, size);

		if (n < 0)
			return -1;
		/* Less than asked means drained: no need to ask again. */
		if ((size_t)n < size)
			break;
	}
	return 0;
}

static void stream_write(struct lane *l, struct flow *f)
{
	size_t size = l->transfer->tx_size;
	int i;

	for (i = 0; i < l->transfer->tx_ops; i++) {
		ssize_t n = flow_send(l, f, flow_payload(l, f), size);

		if (n < 0 || (size_t)n < size)
			return;
	}
}

/*
 * A send has met the end of @f: what came in before it was received all the
 * same. No more comes in on a dead connection; the bound is for others.
 */
static void stream_read_rest(struct lane *l, struct flow *f)
{
	int err = f->err, i;

	for (i = 0; i < STREAM_REST; i++) {
		if (flow_recv(l, f, l->rx_buffer, l->transfer->rx_size) <= 0)
			break;
	}
	f->err = err;
}

static void stream_ready(struct lane *l, struct flow *f, unsigned ready)
{
	if ((ready & FLOW_READABLE) && stream_read(l, f))
		return;
	if (ready & FLOW_WRITABLE)
		stream_write(l, f);
	if (f->err && (f->roles & FLOW_RECEIVES))
		stream_read_rest(l, f);
}

const struct workload *stream_workload(void)
{
	static const struct workload w = {
		.name = "tcp_stream",
		.purpose = "bulk TCP transfer over many flows",
		.table = stream_table,
		.options_size = sizeof(struct stream_options),
		.defaults = stream_defaults,
		.check = stream_check,
		.reconcile = stream_reconcile,
		.flows = stream_flows,
		.roles = stream_roles,
		.transfer = stream_transfer,
		.fill = stream_fill,
		.ready = stream_ready,
		.unit = stream_unit,
	};

	return &w;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker does with its flows: take, watch, serve, close. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/engine/sock.h"
#include "common/engine/worker_flow.h"
#include "common/engine/zerocopy_tx.h"
#include "common/measure/tcpinfo.h"

void worker_report(struct worker *w)
{
	uint64_t one = 1;

	/* Cannot block or fail before 2^64 reports are unread. */
	(void)!write(w->shared->report_fd, &one, sizeof(one));
}

/* ---- flows ---- */

void worker_ask_tcp(const struct worker *w, const struct flow *f,
		    struct tcp_figures *out)
{
	if (w->silent)
		tcpinfo_unknown(out);
	else if (f->fd >= 0)
		tcpinfo_read(f->fd, out);
	else
		*out = w->last[f->slot];
}

/* Close @f; one that dies before its time is counted and named. */
void worker_close_flow(struct worker *w, struct flow *f)
{
	bool untimely = f->state < FLOW_DRAINING && f->err;

	if (f->fd >= 0) {
		/* Its windows are not over: the next edge needs to know. */
		if (f->state < FLOW_DRAINING)
			worker_ask_tcp(w, f, &w->last[f->slot]);
		poller_remove(&w->poller, f->fd);
		(void)close(f->fd); /* data in flight is given up on purpose */
		f->fd = -1;
	}
	w->lane.zc_pending -= zerocopy_tx_pending(f);
	f->zc_done = f->zc_next;
	flow_move(f, FLOW_CLOSED);
	if (!untimely) {
		f->err = 0;
		return;
	}
	w->lane.failed++;
	atomic_store_explicit(&w->dead, (unsigned)w->lane.failed,
			      memory_order_release);
	worker_report(w);
}

/* Make the poller watch what the state of @f wants. */
void worker_watch(struct worker *w, struct flow *f)
{
	uint32_t wanted = flow_wanted(f, worker_timed(w));

	if (w->lane.transfer->edge && wanted)
		wanted |= EPOLLET;
	if (wanted == f->watched || f->fd < 0)
		return;
	if (poller_change(&w->poller, f->fd, wanted, TAG_FLOW, f->slot)) {
		f->err = errno;
		worker_close_flow(w, f);
		return;
	}
	f->watched = wanted;
}

static void adopt(struct worker *w, const struct worker_mail *m)
{
	struct flow *f = &w->flows[w->n_flows];

	f->slot = w->n_flows++;
	f->fd = m->fd;
	f->id = m->id;
	f->roles = (uint8_t)m->roles;
	f->connect_time = m->connect_time;
	/* Asked once: the flows of a test are all of one kind. */
	if (!f->slot)
		w->silent = !tcpinfo_plain(f->fd);
	flow_move(f, FLOW_READY);
	f->watched = flow_wanted(f, worker_timed(w));
	if (poller_add(&w->poller, f->fd, f->watched, TAG_FLOW, f->slot)) {
		f->err = errno;
		worker_close_flow(w, f);
	}
}

void worker_open_mail(struct worker *w)
{
	uint32_t i;

	pthread_mutex_lock(&w->lock);
	for (i = 0; i < w->n_mail; i++)
		adopt(w, &w->mail[i]);
	w->n_mail = 0;
	pthread_mutex_unlock(&w->lock);
}

/*
 * An error or a hang-up was reported. Completions of zero-copy sends come
 * that way too and mean nothing bad. True when @f was closed.
 */
static bool trouble(struct worker *w, struct flow *f, uint32_t events)
{
	int drained = 0;

	if (w->lane.transfer->zerocopy) {
		drained = zerocopy_tx_drain(&w->lane, f);
		if (drained < 0)
			goto dead;
		if (f->state == FLOW_DRAINING)
			atomic_store_explicit(&w->pending, w->lane.zc_pending,
					      memory_order_release);
		if (f->state == FLOW_DRAINING && !w->lane.zc_pending)
			worker_report(w);
	}
	if (drained)
		return false;
	/* Whoever transfers now meets the error himself, after the data. */
	if (events & f->watched & (EPOLLIN | EPOLLOUT))
		return false;
	f->err = sock_connect_result(f->fd);
	if (!f->err && !(events & EPOLLHUP))
		return false;
	if (!f->err)
		f->err = ECONNRESET;
dead:
	worker_close_flow(w, f);
	return true;
}

/* A flow reached its limit of bytes one way or both. */
static void note_limit(struct worker *w, struct flow *f)
{
	if (f->got_all && !f->satisfied) {
		f->satisfied = true;
		atomic_fetch_add_explicit(&w->satisfied, 1,
					  memory_order_release);
		worker_report(w);
	}
	worker_watch(w, f);
}

/* A timed sender that waited for room has sent: the clock rules again. */
static void resume_timed(struct worker *w, struct flow *f)
{
	f->blocked = false;
	f->due += w->lane.transfer->delay;
	heap_push(&w->due, f->due, f->slot);
	worker_watch(w, f);
}

/* Let the workload move bytes on @f, and see what has become of it. */
static void move_bytes(struct worker *w, struct flow *f, unsigned ready)
{
	w->shared->workload->ready(&w->lane, f, ready);
	if (f->err) {
		worker_close_flow(w, f);
		return;
	}
	if (f->sent_all || f->got_all)
		note_limit(w, f);
	if (f->blocked && (ready & FLOW_WRITABLE) && !f->sent_all)
		resume_timed(w, f);
}

void worker_serve(struct worker *w, uint32_t slot, uint32_t events)
{
	struct flow *f = &w->flows[slot];
	unsigned ready = 0;

	if (f->state == FLOW_CLOSED || f->state == FLOW_NONE)
		return;
	if ((events & (EPOLLERR | EPOLLHUP)) && trouble(w, f, events))
		return;
	events &= f->watched;
	if (events & EPOLLIN)
		ready |= FLOW_READABLE;
	if (events & EPOLLOUT)
		ready |= FLOW_WRITABLE;
	if (!ready)
		return;
	if (!w->lane.transfer->edge) {
		move_bytes(w, f, ready);
		return;
	}
	f->ready |= (uint8_t)ready;
	if (!f->queued) {
		f->queued = true;
		w->ready[w->n_ready++] = slot;
	}
}

/* ---- edge-triggered events ---- */

/*
 * What an edge made possible is possible until a transfer falls short, and no
 * event will say so again: the list keeps such flows. Each is served as often
 * as with level-triggered events, then the others have their turn.
 */
void worker_serve_ready(struct worker *w)
{
	uint32_t n = w->n_ready, kept = 0, i;

	for (i = 0; i < n; i++) {
		struct flow *f = &w->flows[w->ready[i]];

		if (f->state == FLOW_RUNNING || f->state == FLOW_DRAINING) {
			unsigned wanted = flow_possible(f);

			if (wanted)
				move_bytes(w, f, wanted);
		}
		if (f->state != FLOW_CLOSED && flow_possible(f))
			w->ready[kept++] = f->slot;
		else
			f->queued = false;
	}
	w->n_ready = kept;
}

/* ---- timed sends ---- */

/* Send what is due on the flow at the top of the heap. */
static void serve_due(struct worker *w, nsec_t now)
{
	struct flow *f = &w->flows[heap_top(&w->due)->id];
	nsec_t period = w->lane.transfer->delay;
	uint64_t before = counter_get(&f->tx_bytes);

	if (f->state != FLOW_RUNNING) {
		heap_pop(&w->due);
		return;
	}
	if (now - f->due >= period)
		counter_add(&w->lane.counters.late, 1);
	w->shared->workload->ready(&w->lane, f, FLOW_WRITABLE);
	if (f->err) {
		heap_pop(&w->due);
		worker_close_flow(w, f);
		return;
	}
	if (f->sent_all) {
		heap_pop(&w->due);
		note_limit(w, f);
		return;
	}
	if (counter_get(&f->tx_bytes) == before) {
		/* No room: now the socket is waited for, then the clock. */
		heap_pop(&w->due);
		f->blocked = true;
		worker_watch(w, f);
		return;
	}
	f->due += period;
	heap_delay_top(&w->due, f->due);
}

/*
 * Serve due flows; a bounded number, so that a worker that cannot keep up
 * still sees its events. Returns how long the poller may wait.
 */
nsec_t worker_run_timed(struct worker *w)
{
	const struct heap_item *top = heap_top(&w->due);
	uint32_t budget = w->n_flows + 1;
	nsec_t now;

	if (!top)
		return -1;
	now = clock_now();
	while (top && top->due <= now && budget--) {
		serve_due(w, now);
		top = heap_top(&w->due);
	}
	if (!top)
		return -1;
	return top->due > now ? top->due - now : 0;
}

/* ---- a flow alone ---- */

/* Longest that a transfer blocks: an edge is seen that late at most. */
#define ALONE_PATIENCE (10 * NSEC_PER_MSEC)

static void block(struct worker *w, struct flow *f, bool on)
{
	struct timeval limit = { .tv_usec = ALONE_PATIENCE / NSEC_PER_USEC };

	w->alone = on;
	if (!on) {
		w->lane.tx_flags |= MSG_DONTWAIT;
		w->lane.rx_flags |= MSG_DONTWAIT;
		return;
	}
	if (sock_block(f->fd, &limit)) {
		w->alone = false; /* the poller serves it then */
		return;
	}
	w->lane.tx_flags &= ~MSG_DONTWAIT;
	w->lane.rx_flags &= ~MSG_DONTWAIT;
}

void worker_judge_alone(struct worker *w)
{
	struct flow *f = &w->flows[0];
	bool one_way = f->roles == FLOW_SENDS || f->roles == FLOW_RECEIVES;
	bool alone = w->n_flows == 1 && f->state == FLOW_RUNNING && one_way &&
		     !f->sent_all && !f->got_all && !worker_timed(w) &&
		     !w->lane.transfer->zerocopy && !w->lane.transfer->edge;

	if (alone != w->alone)
		block(w, f, alone);
}

void worker_serve_alone(struct worker *w)
{
	struct flow *f = &w->flows[0];

	w->shared->workload->ready(&w->lane, f,
				   f->roles == FLOW_SENDS ? FLOW_WRITABLE :
							    FLOW_READABLE);
	if (f->err)
		worker_close_flow(w, f);
	else if (f->sent_all || f->got_all)
		note_limit(w, f);
	else
		return;
	worker_judge_alone(w);
}

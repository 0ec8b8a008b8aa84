/* SPDX-License-Identifier: Apache-2.0 */
/* MSG_ZEROCOPY: completion ranges, the copied share, and ENOBUFS. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

#include <linux/errqueue.h> /* needs struct timespec */

#include "common/engine/flow.h"
#include "common/engine/zerocopy_tx.h"

uint64_t zerocopy_range_length(struct zerocopy_range r)
{
	return (uint64_t)(uint32_t)(r.last - r.first) + 1;
}

uint32_t zerocopy_tx_pending(const struct flow *f)
{
	return f->zc_next - f->zc_done;
}

int zerocopy_tx_complete(struct lane *l, struct flow *f,
			 struct zerocopy_range r)
{
	uint64_t n = zerocopy_range_length(r);

	if (n > zerocopy_tx_pending(f))
		return -1;
	f->zc_done += (uint32_t)n;
	l->zc_pending -= (uint32_t)n;
	counter_add(&l->counters.zc_completions, n);
	if (r.copied)
		counter_add(&l->counters.zc_copied, n);
	return 0;
}

/*
 * The extended error in @msg, or NULL. IPv4 and IPv6 sockets use different
 * levels, and a v4-mapped one the IPv4 one.
 */
static const struct sock_extended_err *extended_error(struct msghdr *msg)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if ((c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) ||
		    (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR))
			return (const struct sock_extended_err *)(const void *)
				CMSG_DATA(c);
	}
	return NULL;
}

int zerocopy_tx_drain(struct lane *l, struct flow *f)
{
	int notifications = 0;

	for (;;) {
		_Alignas(struct cmsghdr) char control[256];
		struct msghdr msg = { .msg_control = control,
				      .msg_controllen = sizeof(control) };
		const struct sock_extended_err *e;
		struct zerocopy_range r;

		if (recvmsg(f->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
			if (errno == EAGAIN)
				return notifications;
			if (errno == EINTR)
				continue;
			f->err = errno;
			return -1;
		}
		e = extended_error(&msg);
		if (!e)
			continue;
		if (e->ee_origin != SO_EE_ORIGIN_ZEROCOPY || e->ee_errno) {
			f->err = e->ee_errno ? (int)e->ee_errno : EPROTO;
			return -1;
		}
		r.first = e->ee_info;
		r.last = e->ee_data;
		r.copied = e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
		if (zerocopy_tx_complete(l, f, r)) {
			f->err = EPROTO;
			return -1;
		}
		notifications++;
	}
}

/* Count a send the kernel took, and how much may now be pinned. */
static void enter(struct lane *l, struct flow *f)
{
	uint64_t pinned;

	f->zc_next++;
	l->zc_pending++;
	counter_add(&l->counters.zc_sends, 1);
	pinned = (uint64_t)l->zc_pending * l->transfer->tx_size;
	if (pinned > counter_get(&l->counters.zc_peak))
		counter_set(&l->counters.zc_peak, pinned);
}

ssize_t zerocopy_tx_sent(struct lane *l, struct flow *f, const void *data,
			 size_t len, ssize_t n)
{
	if (n > 0)
		enter(l, f);
	if (n >= 0 || errno != ENOBUFS)
		return n;
	/*
	 * The budget of locked memory or of option memory is used up. What is
	 * complete gives some back; this send is copied, so that a process
	 * without the right to lock memory still moves its bytes.
	 */
	counter_add(&l->counters.zc_enobufs, 1);
	if (zerocopy_tx_drain(l, f) < 0) {
		errno = f->err;
		return -1;
	}
	n = send(f->fd, data, len, l->tx_flags & ~MSG_ZEROCOPY);
	if (n > 0)
		counter_add(&l->counters.zc_fallbacks, 1);
	return n;
}

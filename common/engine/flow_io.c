/* SPDX-License-Identifier: Apache-2.0 */
/* Moving bytes on a flow: one send or receive, counted. */
#include <errno.h>
#include <sys/socket.h>

#include "common/engine/flow_io.h"
#include "common/engine/zerocopy_tx.h"

ssize_t flow_send(struct lane *l, struct flow *f, const void *data, size_t len)
{
	size_t most = flow_allowance(l, f, len);
	int flags = l->tx_flags;
	ssize_t n;

	if (!most)
		return 0;
	/* Nothing follows the last send of a flow that would fill its segment. */
	if (l->transfer->limit &&
	    counter_get(&f->tx_bytes) + most == l->transfer->limit)
		flags &= ~MSG_MORE;
	len = most;
	n = send(f->fd, data, len, flags);
	if (l->transfer->zerocopy)
		n = zerocopy_tx_sent(l, f, data, len, n);
	if (n < 0) {
		if (errno == EAGAIN) {
			counter_add(&l->counters.tx_again, 1);
			f->ready &= (uint8_t)~FLOW_WRITABLE;
			return 0;
		}
		if (errno == EINTR)
			return 0;
		f->err = errno;
		return -1;
	}
	counter_add(&l->counters.tx_transfers, 1);
	counter_add(&l->counters.tx_bytes, (uint64_t)n);
	counter_add(&f->tx_bytes, (uint64_t)n);
	if ((size_t)n < len) {
		counter_add(&l->counters.tx_short, 1);
		f->ready &= (uint8_t)~FLOW_WRITABLE;
	}
	if (counter_get(&f->tx_bytes) == l->transfer->limit)
		f->sent_all = true;
	return n;
}

ssize_t flow_recv(struct lane *l, struct flow *f, void *data, size_t len)
{
	ssize_t n = recv(f->fd, data, len, l->rx_flags);

	if (n <= 0) {
		if (n < 0 && errno == EAGAIN) {
			counter_add(&l->counters.rx_again, 1);
			f->ready &= (uint8_t)~FLOW_READABLE;
			return 0;
		}
		if (n < 0 && errno == EINTR)
			return 0;
		f->err = n ? errno : ECONNRESET;
		return -1;
	}
	counter_add(&l->counters.rx_transfers, 1);
	counter_add(&l->counters.rx_bytes, (uint64_t)n);
	counter_add(&f->rx_bytes, (uint64_t)n);
	if (l->transfer->discard)
		counter_add(&l->counters.rx_truncated, 1);
	if ((size_t)n < len) {
		counter_add(&l->counters.rx_short, 1);
		f->ready &= (uint8_t)~FLOW_READABLE;
	}
	if (counter_get(&f->rx_bytes) == l->transfer->limit)
		f->got_all = true;
	return n;
}

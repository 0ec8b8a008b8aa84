/* SPDX-License-Identifier: Apache-2.0 */
/* How far the bytes that an interface counted are those of this test. */
#include "common/measure/wire.h"

#define WIRE_TOLERANCE 0.05

/* Payload of one direction: least and most of it that crossed the wire. */
static void payload(const struct end_result *r, bool tx, double *least,
		    double *most)
{
	const struct tcp_figures *t = &r->tcp.sum;

	/* Bytes written may still lie in the socket, those that TCP sent not;
	 * and of those that it sent a queue before the wire may drop some. */
	if (tx && t->bytes_acked >= 0 && t->bytes_sent >= t->bytes_acked) {
		*least = (double)t->bytes_acked;
		*most = (double)t->bytes_sent;
	} else if (tx) {
		*least = *most = (double)r->counts.tx_bytes;
	} else if (t->bytes_received >= 0) {
		*least = *most = (double)t->bytes_received;
	} else {
		*least = *most = (double)r->counts.rx_bytes;
	}
}

bool wire_split(const struct end_result *r, bool tx, struct wire_parts *out)
{
	const struct net_counts *c = &r->net.counts;
	int64_t bytes = tx ? c->wire_tx_bytes : c->wire_rx_bytes;
	int64_t packets = tx ? c->wire_tx_packets : c->wire_rx_packets;
	double least, most, rest;

	if (bytes <= 0 || packets < 0 || r->net.header <= 0)
		return false;
	payload(r, tx, &least, &most);
	if (r->net.loopback) {
		double other_least, other_most;

		payload(r, !tx, &other_least, &other_most);
		least += other_least;
		most += other_most;
	}
	out->bytes = (double)bytes;
	out->payload = least;
	out->headers = (double)packets * (double)r->net.header;
	rest = out->bytes - out->payload - out->headers;
	out->resent = rest < 0 ? 0 : rest < most - least ? rest : most - least;
	out->other = rest - out->resent;
	return true;
}

int wire_judge(const struct end_result *r, const struct wire_parts *p)
{
	double apart = (double)r->net.seconds - (double)r->seconds;
	double limit;

	if (p->payload < WIRE_LITTLE || r->seconds <= 0)
		return 0;
	apart = (apart < 0 ? -apart : apart) / (double)r->seconds;
	limit = (p->payload + p->headers) * (WIRE_TOLERANCE + apart);
	if (p->other < -limit)
		return -1;
	return p->other > limit && !r->net.loopback ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* How far the bytes that an interface counted are those of this test. */
#ifndef NAPIER_MEASURE_WIRE_H
#define NAPIER_MEASURE_WIRE_H

#include "common/result/result.h"

/* Bytes of one direction; together they are what the interface counted. */
struct wire_parts {
	double bytes; /* that it counted */
	double payload; /* of our flows, that arrived in order */
	double resent; /* of our flows, sent again or under way */
	double headers; /* of all packets, as they are with our flows */
	double other; /* the rest: others' traffic; negative: too few */
};

/* Payload below which nothing is judged, bytes. */
#define WIRE_LITTLE 1048576

/*
 * Split what the interface of @r sent (@tx) or received in the window. A
 * loopback counts both directions in each counter. False when something for
 * that is not known, or when the interface counted nothing.
 */
bool wire_split(const struct end_result *r, bool tx, struct wire_parts *out);

/*
 * Is @p off by more than 5 % and by more than the readings were apart? 0 when
 * all is well or nothing can be said, else -1 too few bytes on the wire, 1 too
 * many. On a loopback others are no rivals, so there it is never 1.
 */
int wire_judge(const struct end_result *r, const struct wire_parts *p);

#endif

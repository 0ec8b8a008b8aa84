/* SPDX-License-Identifier: Apache-2.0 */
/* Results as JSON and back, one part at a time. */
#ifndef NAPIER_CONTROL_RESULT_WIRE_H
#define NAPIER_CONTROL_RESULT_WIRE_H

#include <cjson/cJSON.h>

#include "common/base/die.h"
#include "common/result/result.h"

/* Most workers and flows one result may hold. */
#define RESULT_WIRE_WORKERS 65536
#define RESULT_WIRE_FLOWS 10000000
/* Flows in one part, so that each fits a frame. */
#define RESULT_WIRE_PART 2500

/*
 * Add part @part (from 1) of @parts of @r to object @o: part 1 holds all but
 * the flows, the others a block of flows each.
 */
void result_wire_put(cJSON *o, const struct end_result *r, int64_t part,
		     int64_t parts);

/*
 * Read a part out of @o into @r, zeroed before: in a part after the first
 * only flows and n_flows are set. 0, or -1 with @fault; the caller releases
 * @r's arrays in both cases.
 */
int result_wire_get(const cJSON *o, int64_t part, struct end_result *r,
		    struct fault *fault);

/* Number of parts that the result @r needs: 1 and one per block of flows. */
int64_t result_wire_parts(const struct end_result *r);

/*
 * Merge part @part of @parts, held by @r, into @whole, which is zero before
 * part 1. Takes over arrays of @r. Returns 1 when the last part is in, 0 when
 * more are needed, -1 when the part does not fit: parts come in order, each
 * once, all but the last with RESULT_WIRE_PART flows.
 */
int result_wire_add(struct end_result *whole, struct end_result *r,
		    int64_t part, int64_t parts);

/* Release the arrays of @r and zero it. */
void end_result_free(struct end_result *r);

/* Write a row as members of @o. */
void row_wire_put(cJSON *o, const struct row *row);

/* Read a row out of @o. 0, or -1 with @fault. */
int row_wire_get(const cJSON *o, struct row *row, struct fault *fault);

#endif

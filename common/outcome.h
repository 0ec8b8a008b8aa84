/* SPDX-License-Identifier: Apache-2.0 */
/* From a finished test to its reports and its exit status. */
#ifndef NAPIER_OUTCOME_H
#define NAPIER_OUTCOME_H

#include "common/base/die.h"
#include "common/context.h"
#include "common/test.h"

/*
 * Report both ends' figures of the finished test @t; @strangers connections
 * were dropped. Returns the test's exit status.
 */
enum status outcome_report(struct run *run, const struct test *t,
			   int strangers);

/* Report that test @t was measured in vain. Returns STATUS_FAILED. */
enum status outcome_lost(struct run *run, const struct test *t);

/*
 * What kind of error (docs/json.md) ended a test before it was measured:
 * @kind where somebody knows, else a signal or a plain failure.
 */
const char *outcome_kind(const struct run *run, const char *kind);

#endif

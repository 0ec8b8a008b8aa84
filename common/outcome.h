/* SPDX-License-Identifier: Apache-2.0 */
/* From a finished test to its reports and its exit status. */
#ifndef NAPIER_OUTCOME_H
#define NAPIER_OUTCOME_H

#include "common/base/die.h"
#include "common/context.h"
#include "common/test.h"

/*
 * Print both ends' figures of the finished test @t, number @index of several
 * (0: the only one); @strangers connections were dropped. Returns the test's
 * exit status.
 */
enum status outcome_report(struct run *run, const struct test *t, int index,
			   int strangers);

#endif

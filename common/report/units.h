/* SPDX-License-Identifier: Apache-2.0 */
/* The units that --throughput-opt names, as neper prints them. */
#ifndef NAPIER_REPORT_UNITS_H
#define NAPIER_REPORT_UNITS_H

/*
 * Convert @rate bytes per second to the unit called @name ("Mb", "auto-b").
 * *@value is set; returns the text for the throughput_units key ("Mbit/s").
 * The auto forms pick the first unit that gives a value between 1 and 1000,
 * the smallest or largest they know where none does. NULL for a name that
 * does not exist.
 */
const char *units_convert(const char *name, double rate, double *value);

#endif

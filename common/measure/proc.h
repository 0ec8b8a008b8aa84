/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small files of /proc. */
#ifndef NAPIER_MEASURE_PROC_H
#define NAPIER_MEASURE_PROC_H

/* The text of the file at @path, to be freed; NULL when it is unreadable. */
char *proc_text(const char *path);

#endif

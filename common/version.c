/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that is compiled anew when just the version has changed. */
#include "common/version.h"

/* The Makefile says; tools that read single files do not. */
#ifndef NAPIER_VERSION
#define NAPIER_VERSION "unknown"
#endif

const char *napier_version(void)
{
	return NAPIER_VERSION;
}

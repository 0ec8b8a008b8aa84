/* SPDX-License-Identifier: Apache-2.0 */
/* Which build of napier this is. */
#ifndef NAPIER_VERSION_H
#define NAPIER_VERSION_H

/* The version as text: what git describes, or a release number. Static. */
const char *napier_version(void);

#endif

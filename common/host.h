/* SPDX-License-Identifier: Apache-2.0 */
/* What names this host and this test uniquely. */
#ifndef NAPIER_HOST_H
#define NAPIER_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/die.h"

/* Name of this host, cut to @size; "unknown" where it has none. */
void host_name(char *buf, size_t size);

/*
 * Random id of this boot (random(4), boot_id): equal on two ends means one
 * host. "" where it cannot be read.
 */
void host_boot_id(char *buf, size_t size);

/* Fill @out with @n random bytes (getrandom(2)). 0, or -1 with @fault. */
int host_random(uint8_t *out, size_t n, struct fault *fault);

/* A random UUID (RFC 4122, version 4) as text; @buf has 37 bytes or more. */
int host_uuid(char *buf, size_t size, struct fault *fault);

#endif

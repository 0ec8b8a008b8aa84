/* SPDX-License-Identifier: Apache-2.0 */
/* What names this host and this test uniquely. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/host.h"

void host_name(char *buf, size_t size)
{
	if (gethostname(buf, size) || !buf[0])
		(void)snprintf(buf, size, "unknown");
	buf[size - 1] = 0; /* gethostname(2) may leave it out */
}

void host_boot_id(char *buf, size_t size)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	buf[0] = 0;
	if (!f)
		return;
	if (!fgets(buf, (int)size, f))
		buf[0] = 0;
	(void)fclose(f); /* only read from */
	buf[strcspn(buf, "\n")] = 0;
}

int host_random(uint8_t *out, size_t n, struct fault *fault)
{
	/* Up to 256 bytes come whole once the pool is ready. */
	if (getrandom(out, n, 0) != (ssize_t)n)
		return fault_set(fault, errno, "getrandom");
	return 0;
}

int host_uuid(char *buf, size_t size, struct fault *fault)
{
	uint8_t b[16];

	if (host_random(b, sizeof(b), fault))
		return -1;
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	(void)snprintf(buf, size,
		       "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		       "%02x%02x%02x%02x%02x%02x",
		       b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8],
		       b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
	return 0;
}

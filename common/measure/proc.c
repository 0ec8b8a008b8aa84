/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small files of /proc. */
#include <stdio.h>
#include <stdlib.h>

#include "common/measure/proc.h"

char *proc_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!f)
		return NULL;
	/* Such a file holds no zero byte, so this reads all of it. */
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	(void)fclose(f); /* only read from */
	return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Small members that several blocks of a document share. */
#include <stdio.h>
#include <time.h>

#include "common/report/document_text.h"

const char *document_side(bool client)
{
	return client ? "client" : "server";
}

void document_participant(struct emit *e, int64_t participant)
{
	if (participant < 0)
		emit_null(e, "participant");
	else
		emit_i64(e, "participant", participant);
}

void document_time(struct emit *e, const char *epoch, const char *text,
		   nsec_t wall)
{
	time_t seconds = (time_t)(wall / NSEC_PER_SEC);
	char buf[80], day[40];
	struct tm tm;

	if (wall <= 0 || !gmtime_r(&seconds, &tm) ||
	    !strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm)) {
		emit_null(e, epoch);
		emit_null(e, text);
		return;
	}
	emit_i64(e, epoch, wall);
	(void)snprintf(buf, sizeof(buf), "%s.%09lldZ", day,
		       (long long)(wall % NSEC_PER_SEC));
	emit_text(e, text, buf);
}

void document_place(struct emit *e, const char *key, int64_t n)
{
	if (n < 0)
		emit_null(e, key);
	else
		emit_i64(e, key, n);
}

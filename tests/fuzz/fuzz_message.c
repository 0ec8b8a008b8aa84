/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz the message decoder; what it takes must survive encoding unchanged. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/frame.h"
#include "common/control/message.h"
#include "common/control/result_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decode a copy of @text that ends where it ends. */
static struct message *decode(const char *text, size_t len)
{
	char *copy = malloc(len + 1);
	struct fault f = { 0 };
	struct message *m;

	assert(copy);
	memcpy(copy, text, len);
	copy[len] = 0;
	m = message_decode(copy, len, &f);
	/* A refusal says why, in one line. */
	assert(!m == !!f.text[0]);
	assert(!strchr(f.text, '\n'));
	free(copy);
	return m;
}

/* What the rest of the program counts on. */
static void check(const struct message *m)
{
	nsec_t sum = 0;
	int i;

	assert((unsigned)m->type < MESSAGE_TYPES);
	assert(m->hello.n_options <= MESSAGE_OPTIONS);
	assert(m->accept.n_options <= MESSAGE_OPTIONS);
	assert(m->accept.n_ports <= MESSAGE_PORTS);
	for (i = 0; i < m->hello.n_windows; i++)
		assert(!__builtin_add_overflow(sum, m->hello.windows[i].length,
					       &sum));
	for (i = 0; i < m->hello.n_options; i++)
		assert(m->hello.options[i].name && m->hello.options[i].value);
	if (m->type == MESSAGE_RESULT)
		assert(m->part >= 1 && m->part <= m->parts);
}

/* Merging a part is safe, whatever it claims. */
static void merge(struct message *m)
{
	struct end_result whole = { 0 };

	if (m->result->n_flows > 100000)
		return; /* room for so many is slow and teaches nothing */
	(void)result_wire_add(&whole, m->result, m->part, m->parts);
	(void)result_wire_add(&whole, m->result, m->part + 1, m->parts);
	end_result_free(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message *m, *again;
	char *text, *same;
	size_t len, n;

	if (size > 65536)
		return 0;
	m = decode((const char *)data, size);
	if (!m)
		return 0;
	check(m);
	/* A later part holds its own flows only: it cannot be sent on. */
	if (m->type == MESSAGE_RESULT) {
		merge(m);
		message_free(m);
		return 0;
	}
	text = message_encode(m, &len);
	assert(text && len <= FRAME_MAX);
	again = decode(text, len);
	/* A hello of another version may lack what ours needs. */
	if (again) {
		check(again);
		same = message_encode(again, &n);
		assert(same && n == len && !memcmp(text, same, n));
		free(same);
	} else {
		assert(m->type == MESSAGE_HELLO && !m->hello.flows);
	}
	message_free(again);
	free(text);
	message_free(m);
	return 0;
}

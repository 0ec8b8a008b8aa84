/* SPDX-License-Identifier: Apache-2.0 */
/* What both ends agree: whose value of each option holds, by its scope. */
#ifndef NAPIER_CONTROL_AGREE_H
#define NAPIER_CONTROL_AGREE_H

#include "common/cli/opt.h"
#include "common/control/message.h"

/* Who decided the value of an option. */
enum agree_by {
	AGREE_DEFAULT,
	AGREE_CLIENT,
	AGREE_SERVER,
};

/* One end's own command line. Borrowed for the life of an agreement. */
struct agree_line {
	const struct opt_list *list;
	const void *values; /* program's options struct */
	size_t size; /* of that struct, bytes */
	const struct opt_given *given;
};

/* The values that hold at this end, and who decided them. */
struct agreement {
	const struct opt_list *list;
	void *values; /* owned: the program's options struct */
	uint8_t by[OPT_MAX]; /* enum agree_by */
	char *kept[MESSAGE_OPTIONS]; /* owned: texts that values point to */
	int n_kept;
};

/*
 * Fill the options of @hello from the client's line: every test option, and
 * the peer options that were given. 0, or -1 with errno ENOMEM.
 */
int agree_ask(const struct agree_line *line, struct message_hello *hello);

/*
 * At the server: combine its own line with what @hello asks (cli.md's scopes:
 * test options take the client's value; of peer options a flag of the server
 * wins, switches are on when either end has them on). Returns 0, or -1 with
 * @fault naming the option and what is accepted.
 */
int agree_serve(struct agreement *a, const struct agree_line *line,
		const struct message_hello *hello, struct fault *fault);

/* Fill the options of @accept: the peer options that the server decided. */
int agree_answer(const struct agreement *a, const struct agree_line *line,
		 struct message_accept *accept);

/*
 * At the client: its own line and the switches that @accept says are on. 0,
 * or -1 with @fault. @accept may be NULL: only the own line counts.
 */
int agree_join(struct agreement *a, const struct agree_line *line,
	       const struct message_accept *accept, struct fault *fault);

/*
 * Name of who decided option @name of the agreement @arg: "client", "server"
 * or "napier" for a default. For sock_plan().
 */
const char *agree_by_name(void *arg, const char *name);

/* Release; harmless on a zeroed struct. */
void agree_free(struct agreement *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Who may start what on a server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/admit.h"

int admit_rules(struct admit_rules *rules, const char *program,
		const struct options *o, struct fault *fault)
{
	char *list, *item, *save = NULL;
	int failed = 0;

	memset(rules, 0, sizeof(*rules));
	rules->program = program;
	rules->max_flows = o->max_flows;
	rules->max_seconds = o->max_seconds;
	if (!o->allow)
		return 0;
	list = strdup(o->allow);
	if (!list)
		return fault_set(fault, 0, "out of memory");
	for (item = strtok_r(list, ",", &save); item && !failed;
	     item = strtok_r(NULL, ",", &save)) {
		struct fault why = { 0 };

		if (rules->n_nets == ADMIT_NETS)
			failed = fault_set(fault, 0,
					   "--allow: more than %d networks",
					   ADMIT_NETS);
		else if (addr_net_parse(item, &rules->nets[rules->n_nets],
					&why))
			failed = fault_set(fault, 0, "--allow: %s", why.text);
		else
			rules->n_nets++;
	}
	free(list);
	if (!failed && !rules->n_nets)
		return fault_set(fault, 0,
				 "--allow: \"%s\" names no network "
				 "(accepted: 10.0.0.0/8,fd00::/8)",
				 o->allow);
	return failed;
}

static bool served(const struct admit_rules *rules, const struct addr *from)
{
	int i;

	for (i = 0; i < rules->n_nets; i++) {
		if (addr_net_holds(&rules->nets[i], from))
			return true;
	}
	return !rules->n_nets;
}

/* Limits of the standing rules that @hello passes. */
static int check_limits(const struct admit_rules *rules,
			const struct message_hello *hello, struct fault *fault)
{
	nsec_t length = 0;
	bool endless = false;
	int i;

	for (i = 0; i < hello->n_windows; i++) {
		length += hello->windows[i].length;
		endless |= !hello->windows[i].length;
	}
	if (rules->max_flows && hello->flows > rules->max_flows)
		return fault_set(fault, 0,
				 "%lld flows asked, this server allows %lld "
				 "(--max-flows)",
				 (long long)hello->flows,
				 (long long)rules->max_flows);
	if (rules->max_seconds && endless)
		return fault_set(fault, 0,
				 "no limit of time asked, this server allows "
				 "%.3f s (--max-seconds)",
				 (double)rules->max_seconds / 1e9);
	if (rules->max_seconds && length > rules->max_seconds)
		return fault_set(fault, 0,
				 "%.3f s asked, this server allows %.3f s "
				 "(--max-seconds)",
				 (double)length / 1e9,
				 (double)rules->max_seconds / 1e9);
	return 0;
}

int admit(const struct admit_rules *rules, const struct message_hello *hello,
	  const struct addr *from, struct fault *fault)
{
	char text[ADDR_TEXT];

	if (!served(rules, from)) {
		(void)fault_set(fault, 0,
				"%s is not in a network that this server "
				"serves (--allow)",
				addr_text(from, false, text, sizeof(text)));
		return REFUSAL_ADDRESS;
	}
	if (strcmp(hello->program, rules->program) != 0) {
		(void)fault_set(fault, 0, "the client is %s, this server is %s",
				hello->program, rules->program);
		return REFUSAL_PROGRAM;
	}
	if (hello->version_min > MESSAGE_VERSION ||
	    hello->version_max < MESSAGE_VERSION) {
		(void)fault_set(fault, 0,
				"the client speaks protocol version %lld to "
				"%lld, this server version %d",
				(long long)hello->version_min,
				(long long)hello->version_max, MESSAGE_VERSION);
		return REFUSAL_VERSION;
	}
	if (hello->unknown_must[0]) {
		(void)fault_set(fault, 0,
				"the client demands \"%s\", which this "
				"server does not know",
				hello->unknown_must);
		return REFUSAL_FEATURE;
	}
	return check_limits(rules, hello, fault) ? REFUSAL_LIMIT : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Who may start what on a server. */
#ifndef NAPIER_CONTROL_ADMIT_H
#define NAPIER_CONTROL_ADMIT_H

#include "common/cli/options.h"
#include "common/control/message.h"
#include "common/plan/addr.h"

#define ADMIT_NETS 32

/* A server's standing rules, parsed once. */
struct admit_rules {
	const char *program; /* workload served */
	int64_t max_flows; /* 0: no limit */
	nsec_t max_seconds; /* 0: no limit */
	int n_nets; /* 0: everybody */
	struct addr_net nets[ADMIT_NETS];
};

/* Fill @rules from a server's options. 0, or -1 with @fault. */
int admit_rules(struct admit_rules *rules, const char *program,
		const struct options *o, struct fault *fault);

/*
 * May the client at @from run what @hello says? Returns 0, or the enum
 * refusal with @fault as its reason.
 */
int admit(const struct admit_rules *rules, const struct message_hello *hello,
	  const struct addr *from, struct fault *fault);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* From a finished test to its reports and its exit status. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/outcome.h"
#include "common/report/kv.h"

static void fill_report(const struct run *run, const struct test *t, int index,
			int strangers, struct report *r)
{
	*r = (struct report){
		.client = t->client,
		.title = run->options->title,
		.test = index,
		.unit = run->workload->unit(t->agreement.values),
		.local = &t->local,
		.n_peers = t->n_peers,
		.samples = (t->series.samples + 1) * t->plan->flows,
		.correlation = series_correlation(&t->series),
		.strangers = strangers,
		.machine_start = t->machine_start,
		.machine_end = t->machine_end,
		.verbose = run->options->verbose,
		.zerocopy = t->transfer.zerocopy,
		.discard = t->transfer.discard,
	};
}

enum status outcome_report(struct run *run, const struct test *t, int index,
			   int strangers)
{
	const struct end_result **peers;
	struct report r;
	bool complete;
	int i;

	fill_report(run, t, index, strangers, &r);
	peers = calloc((size_t)t->n_peers, sizeof(const struct end_result *));
	if (!peers) {
		complain("out of memory");
		return STATUS_FAILED;
	}
	for (i = 0; i < t->n_peers; i++) {
		if (!t->peers[i].have_result)
			continue;
		peers[i] = &t->peers[i].result;
		r.zerocopy |= peers[i]->zc.sends > 0;
		r.discard |= peers[i]->counts.rx_truncated > 0;
		r.one_host |= !strcmp(peers[i]->boot_id, t->local.boot_id);
	}
	r.peers = peers;
	human_summary(&run->human, &r);
	i = kv_results(&r);
	if (i)
		complain("cannot write the results: %s", strerror(errno));
	complete = report_figures(&r).complete;
	free(peers);
	if (t->early[0] && !run->human.on)
		complain("%s", t->early);
	if (i || t->failed)
		return STATUS_FAILED;
	return complete ? STATUS_OK : STATUS_INCOMPLETE;
}

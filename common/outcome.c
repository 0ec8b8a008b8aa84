/* SPDX-License-Identifier: Apache-2.0 */
/* From a finished test to its reports and its exit status. */
#include <stdlib.h>
#include <string.h>

#include "common/outcome.h"

static void fill_report(const struct run *run, const struct test *t,
			int strangers, struct report *r)
{
	*r = (struct report){
		.client = t->client,
		.title = run->options->title,
		.test = t->index,
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

/* Is a peer gone that has not said what it measured? */
static bool lost_peer(const struct test *t)
{
	int i;

	for (i = 0; i < t->n_peers; i++) {
		if (t->peers[i].link < 0 && !t->peers[i].have_result)
			return true;
	}
	return false;
}

static struct report_outcome judge(const struct run *run, const struct test *t,
				   const struct report *r)
{
	struct report_outcome o = {
		.complete = report_figures(r).complete && !t->failed,
		.reason = t->local.end_reason,
		.kind = "incomplete",
		.message = t->early[0] ? t->early : "not all was measured",
	};

	o.status = o.complete ? STATUS_OK : STATUS_INCOMPLETE;
	if (t->failed)
		o.status = STATUS_FAILED;
	if (t->failed)
		o.kind = "failed";
	else if (run->phase.signal)
		o.kind = "interrupted";
	else if (lost_peer(t))
		o.kind = "peer_lost";
	return o;
}

enum status outcome_report(struct run *run, const struct test *t, int strangers)
{
	const struct end_result **peers;
	struct report_outcome outcome;
	struct report r;
	enum status status;
	int i;

	fill_report(run, t, strangers, &r);
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
	outcome = judge(run, t, &r);
	status = sink_results(&run->sink, &r, &outcome);
	free(peers);
	if (t->early[0] && !run->sink.human.on)
		complain("%s", t->early);
	return status;
}

enum status outcome_lost(struct run *run, const struct test *t)
{
	struct fault fault = { 0 };

	(void)fault_set(&fault, 0, "%s",
			t->early[0] ? t->early : "out of memory");
	sink_fail(&run->sink, STATUS_FAILED, "failed", &fault);
	return STATUS_FAILED;
}

const char *outcome_kind(const struct run *run, const char *kind)
{
	if (kind)
		return kind;
	return run->phase.signal ? "interrupted" : "failed";
}

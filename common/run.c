/* SPDX-License-Identifier: Apache-2.0 */
/* Composition root: the calls that are a run, from argv to exit status. */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client.h"
#include "common/context.h"
#include "common/plan/limits.h"
#include "common/plan/plan.h"
#include "common/plan/topo.h"
#include "common/report/kv.h"
#include "common/run.h"
#include "common/server.h"
#include "common/version.h"

/* ---- start-up: may die ---- */

static void parse(struct run *run, int argc, char **argv)
{
	const struct workload *w = run->workload;
	struct fault fault = { 0 };
	const struct opt *table;
	size_t n;

	table = w->table(&n);
	opt_list_add(&run->list, table, n);
	table = options_table(&n);
	opt_list_add(&run->list, table, n);
	run->values = calloc(1, w->options_size);
	if (!run->values)
		die(STATUS_FAILED, "out of memory");
	w->defaults(run->values);
	run->options = run->values;
	if (opt_parse(&run->list, argc, argv, run->values, &run->given, &fault))
		die(STATUS_USAGE, "%s", fault.text);
}

static void check(const struct run *run)
{
	struct fault fault = { 0 };
	struct memory_choice memory;

	if (options_check(run->options, &fault) ||
	    run->workload->check(run->values, &fault))
		die(STATUS_USAGE, "%s", fault.text);
	if (run->options->mem &&
	    memory_parse(run->options->mem, &memory, &fault))
		die(STATUS_USAGE, "%s", fault.text);
}

/* --help and --version print and leave. True when one of them did. */
static bool answer(const struct run *run)
{
	char *text;

	if (run->options->version) {
		kv_text(napier_version());
		kv_text("\n");
		return true;
	}
	if (!run->options->help)
		return false;
	run->workload->defaults(run->values);
	text = opt_usage(&run->list, run->workload->name, run->values);
	if (!text)
		die(STATUS_FAILED, "out of memory");
	kv_text(text);
	free(text);
	return true;
}

/*
 * This end's plan from its own options: for --plan, --dry-run, and to find
 * bad policies before anything is started.
 */
static struct plan *own_plan(const struct run *run, struct fault *fault)
{
	const struct options *o = run->options;
	struct plan_request rq = {
		.flows = run->workload->flows(run->values),
		.threads = (int)o->num_threads,
		.pin = options_pin(o),
		.deal = (enum deal)o->deal,
		.same_host = true,
		.memory = { .policy = MEMORY_LOCAL },
		.huge_pages = o->huge_pages,
		.strict = o->strict,
	};
	struct topo *topo = topo_load(fault);
	struct plan *plan;

	if (!topo)
		return NULL;
	if (o->mem && memory_parse(o->mem, &rq.memory, fault)) {
		topo_free(topo);
		return NULL;
	}
	/* A server learns the flows from its client; then so many threads. */
	if (!o->client && rq.flows < rq.threads)
		rq.flows = rq.threads;
	plan = plan_make(&rq, topo, fault);
	topo_free(topo);
	return plan;
}

static void try_plan(const struct run *run)
{
	struct fault fault = { 0 };
	struct plan *plan = own_plan(run, &fault);

	if (!plan)
		die(STATUS_USAGE, "%s", fault.text);
	plan_free(plan);
}

/* An own --bind-dev is needed here, whatever the other end says. */
static void try_device(const struct options *o)
{
	if (o->bind_dev && !if_nametoindex(o->bind_dev))
		die(STATUS_USAGE, "--bind-dev: no interface \"%s\"",
		    o->bind_dev);
}

static enum status show_plan(const struct run *run)
{
	const struct options *o = run->options;
	struct fault fault = { 0 };
	struct plan *plan = own_plan(run, &fault);
	char *text;
	int i;

	if (!plan) {
		complain("%s", fault.text);
		return STATUS_USAGE;
	}
	text = plan_text(plan);
	if (text)
		kv_text(text);
	free(text);
	for (i = 0; i < plan->warnings.n; i++) {
		kv_text("warning=local: ");
		kv_text(plan->warnings.text[i]);
		kv_text("\n");
	}
	if (o->client &&
	    limits_descriptors(plan->flows, plan->n_workers, &fault))
		complain("%s", fault.text);
	plan_free(plan);
	return fault.text[0] ? STATUS_FAILED : STATUS_OK;
}

/* ---- the run ---- */

static enum status carry_out(struct run *run)
{
	const struct options *o = run->options;
	struct fault fault = { 0 };

	if (o->dry_run || o->plan) {
		if (!o->plan)
			kv_options(&run->list, run->values, 0, 0);
		return show_plan(run);
	}
	try_plan(run);
	try_device(o);
	if (phase_open(&run->phase, &fault))
		die(STATUS_FAILED, "%s", fault.text);
	human_open(&run->human, o->quiet, o->verbose);
	if (!o->client)
		return server_run(run);
	kv_options(&run->list, run->values, 0, 0);
	return client_run(run);
}

int run_main(const struct workload *w, int argc, char **argv)
{
	struct run run = { .workload = w };
	enum status status = STATUS_OK;

	die_init(argv[0]);
	parse(&run, argc, argv);
	if (!answer(&run)) {
		check(&run);
		status = carry_out(&run);
		phase_close(&run.phase);
	}
	free(run.values);
	return (int)status;
}

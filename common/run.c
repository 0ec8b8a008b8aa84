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

/* ---- start-up: may end the process ---- */

/* Say why nothing is started, in every form asked for, and leave. */
static _Noreturn void refuse(const struct run *run, enum status status,
			     const struct fault *fault)
{
	sink_refuse(run->workload->name, run->argc, run->argv, status, fault);
	die(status, "%s", fault->text);
}

static void parse(struct run *run)
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
	if (opt_parse(&run->list, run->argc, run->argv, run->values,
		      &run->given, &fault))
		refuse(run, STATUS_USAGE, &fault);
}

static void check(const struct run *run)
{
	struct fault fault = { 0 };
	struct memory_choice memory;

	if (options_check(run->options, &fault) ||
	    run->workload->check(run->values, &fault))
		refuse(run, STATUS_USAGE, &fault);
	if (run->options->mem &&
	    memory_parse(run->options->mem, &memory, &fault))
		refuse(run, STATUS_USAGE, &fault);
}

static struct document_tool describe(const struct run *run)
{
	return (struct document_tool){ .program = run->workload->name,
				       .role = run->options->client ? "client" :
								      "server",
				       .list = &run->list,
				       .values = run->values };
}

/* --help and --version print and leave. True when one of them did. */
static bool answer(const struct run *run)
{
	struct document_tool tool = describe(run);
	char *text;

	if (run->options->version) {
		sink_version(run->options, &tool);
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
		refuse(run, STATUS_USAGE, &fault);
	plan_free(plan);
}

/* An own --bind-dev is needed here, whatever the other end says. */
static void try_device(const struct run *run)
{
	const char *name = run->options->bind_dev;
	struct fault fault = { 0 };

	if (!name || if_nametoindex(name))
		return;
	(void)fault_set(&fault, 0, "--bind-dev: no interface \"%s\"", name);
	refuse(run, STATUS_USAGE, &fault);
}

/* ---- the run ---- */

static void abandon(void *arg)
{
	struct run *run = arg;

	sink_abandon(&run->sink);
}

static void open_outputs(struct run *run)
{
	struct document_tool tool = describe(run);
	struct fault fault = { 0 };

	if (phase_open(&run->phase, &fault))
		refuse(run, STATUS_FAILED, &fault);
	if (sink_open(&run->sink, run->options, &tool, &fault))
		refuse(run, STATUS_USAGE, &fault);
	run->phase.abandon = abandon;
	run->phase.arg = run;
}

static enum status show_plan(struct run *run)
{
	const struct options *o = run->options;
	enum status status = STATUS_OK;
	struct fault fault = { 0 };
	struct plan *plan = own_plan(run, &fault);

	if (!plan)
		refuse(run, STATUS_USAGE, &fault);
	open_outputs(run);
	if (!o->plan)
		sink_options(&run->sink, 0, 0);
	if (o->client &&
	    limits_descriptors(plan->flows, plan->n_workers, &fault)) {
		status = STATUS_FAILED;
		complain("%s", fault.text);
	}
	sink_plan(&run->sink, plan, status, &fault);
	plan_free(plan);
	return status;
}

static enum status carry_out(struct run *run)
{
	const struct options *o = run->options;

	if (o->dry_run || o->plan)
		return show_plan(run);
	try_plan(run);
	try_device(run);
	open_outputs(run);
	if (!o->client)
		return server_run(run);
	sink_options(&run->sink, 0, 0);
	return client_run(run);
}

int run_main(const struct workload *w, int argc, char **argv)
{
	struct run run = { .workload = w, .argc = argc, .argv = argv };
	enum status status = STATUS_OK;

	die_init(argv[0]);
	parse(&run);
	if (!answer(&run)) {
		check(&run);
		status = carry_out(&run);
		status = sink_close(&run.sink, status);
		phase_close(&run.phase);
	}
	free(run.values);
	return (int)status;
}

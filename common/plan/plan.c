/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the plan of one end: workers, their CPUs, memory and flows. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/plan/plan.h"
#include "common/plan/topo.h"

/* Workers that plan_text() lists one by one. */
#define LISTED_WORKERS 64

/* CPUs in the order in which the workers take them. */
struct order {
	int *cpus; /* owned; NULL: no pinning */
	int n;
};

void warnings_add(struct warnings *w, const char *fmt, ...)
{
	char text[sizeof(w->text[0])];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (int i = 0; i < w->n; i++)
		if (!strcmp(w->text[i], text))
			return;
	if (w->n < RESULT_WARNINGS)
		memcpy(w->text[w->n++], text, sizeof(text));
	else /* nothing is lost without a word */
		snprintf(w->text[w->n - 1], sizeof(w->text[0]),
			 "more than %d warnings: the rest is left out",
			 RESULT_WARNINGS - 1);
}

/* Set the policy's text as carried out; a long CPU list ends in dots. */
static void __attribute__((format(printf, 2, 3)))
set_policy(struct plan *p, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(p->policy, sizeof(p->policy), fmt, ap);
	va_end(ap);
	if (len >= (int)sizeof(p->policy))
		memcpy(p->policy + sizeof(p->policy) - 4, "...", 4);
}

static void reverse(struct order *o)
{
	for (int i = 0, j = o->n - 1; i < j; i++, j--) {
		int cpu = o->cpus[i];

		o->cpus[i] = o->cpus[j];
		o->cpus[j] = cpu;
	}
}

/*
 * Number of cores with an allowed CPU, or -1 with @fault. In logical order the
 * threads of a core are neighbours, whichever of them are allowed.
 */
static int count_cores(const struct topo *topo, struct fault *fault)
{
	int *cpus, n, cores = 1;

	if (topo_order_compact(topo, &cpus, &n, fault))
		return -1;
	for (int i = 1; i < n; i++)
		if (topo_distance(topo, cpus[i - 1], cpus[i]) > TOPO_SAME_CORE)
			cores++;
	free(cpus);
	return cores;
}

/*
 * "nic", near interface @ifname or, when that is NULL, the route's. Where the
 * place is unknown the order of cores is taken, with a warning.
 */
static int order_nic(const struct plan_request *rq, const struct topo *topo,
		     const char *ifname, struct plan *p, struct order *o,
		     struct fault *fault)
{
	const char *name = ifname ? ifname : rq->interface;
	struct fault why = { 0 };
	int local = 0;

	if (name && topo_order_nic(topo, name, &o->cpus, &o->n, &local, &why) &&
	    ifname)
		return fault_set(fault, 0, "--pin: %s", why.text);
	if (local > 0) {
		set_policy(p, "nic=%s", name);
		if (p->n_workers > local)
			warnings_add(&p->warnings,
				     "--pin: %d workers, but only %d CPUs near "
				     "%s: the others are farther away",
				     p->n_workers, local, name);
		return 0;
	}
	/* a first fault stays: the route's interface may have gone */
	if (name)
		(void)fault_set(&why, 0,
				"the place of interface %s is not known", name);
	else
		(void)fault_set(&why, 0,
				"the interface of the route is not known");
	if (rq->strict)
		return fault_set(fault, 0, "--pin: %s", why.text);
	warnings_add(&p->warnings, "--pin: %s: pinned as with \"cores\"",
		     why.text);
	if (ifname)
		set_policy(p, "nic=%s (cores)", name);
	else
		set_policy(p, "nic (cores)");
	/* topo_order_nic() gave that order already, unless it failed */
	return o->cpus ? 0 : topo_order_cores(topo, &o->cpus, &o->n, fault);
}

/*
 * "auto": near the route's interface where its place is known, else by cores;
 * no pinning with more threads than cores, where the scheduler does better.
 */
static int order_auto(const struct plan_request *rq, const struct topo *topo,
		      struct plan *p, struct order *o, struct fault *fault)
{
	int cores = count_cores(topo, fault), local = 0;
	struct fault ignored = { 0 };

	if (cores < 0)
		return -1;
	if (p->n_workers > cores) {
		set_policy(p, "auto (none)");
		warnings_add(&p->warnings,
			     "--pin: %d threads on %d cores are not pinned",
			     p->n_workers, cores);
		return 0;
	}
	if (rq->interface && !topo_order_nic(topo, rq->interface, &o->cpus,
					     &o->n, &local, &ignored)) {
		if (local > 0)
			set_policy(p, "auto (nic=%s)", rq->interface);
		else
			set_policy(p, "auto (cores)");
		return 0;
	}
	set_policy(p, "auto (cores)");
	return topo_order_cores(topo, &o->cpus, &o->n, fault);
}

/* "pair": the ends take the same order, so that a flow's two ends meet. */
static int order_pair(const struct plan_request *rq, const struct topo *topo,
		      struct order *o, struct fault *fault)
{
	if (!rq->same_host)
		return fault_set(fault, 0,
				 "--pin: \"pair\" needs both ends on one host");
	return topo_order_cores(topo, &o->cpus, &o->n, fault);
}

static int order_list(const char *list, const struct topo *topo,
		      struct order *o, struct fault *fault)
{
	struct fault why = { 0 };

	if (!topo_order_list(topo, list, &o->cpus, &o->n, &why))
		return 0;
	return fault_set(fault, 0, "--pin: %s", why.text);
}

/* Find the order of @rq->pin; *@turns when the other end takes it backwards. */
static int find_order(const struct plan_request *rq, const struct topo *topo,
		      struct plan *p, struct order *o, bool *turns,
		      struct fault *fault)
{
	const char *pin = rq->pin;

	*turns = true;
	set_policy(p, "%s", pin);
	if (!strcmp(pin, "none"))
		return 0;
	if (!strcmp(pin, "auto"))
		return order_auto(rq, topo, p, o, fault);
	if (!strcmp(pin, "cores"))
		return topo_order_cores(topo, &o->cpus, &o->n, fault);
	if (!strcmp(pin, "compact"))
		return topo_order_compact(topo, &o->cpus, &o->n, fault);
	if (!strcmp(pin, "nic"))
		return order_nic(rq, topo, NULL, p, o, fault);
	if (!strncmp(pin, "nic=", 4) && pin[4])
		return order_nic(rq, topo, pin + 4, p, o, fault);
	*turns = false;
	if (!strcmp(pin, "numa"))
		return topo_order_numa(topo, &o->cpus, &o->n, fault);
	if (!strcmp(pin, "pair"))
		return order_pair(rq, topo, o, fault);
	if (*pin >= '0' && *pin <= '9')
		return order_list(pin, topo, o, fault);
	return fault_set(fault, 0,
			 "--pin: \"%s\" is not auto, none, cores, compact, "
			 "numa, nic, nic=INTERFACE, pair or a CPU list like "
			 "0-3,8",
			 pin);
}

static void place_workers(struct plan *p, const struct topo *topo,
			  const struct order *o)
{
	for (int i = 0; i < p->n_workers; i++) {
		struct plan_worker *w = &p->workers[i];

		w->cpu = o->cpus ? o->cpus[i % o->n] : -1;
		w->node = w->cpu >= 0 ? topo_node_of(topo, w->cpu) : -1;
	}
	if (o->cpus && p->n_workers > o->n)
		warnings_add(&p->warnings, "--pin: %d threads share %d CPUs",
			     p->n_workers, o->n);
}

/* The CPUs' text for people and results, out of the placed workers. */
static int name_cpus(struct plan *p, struct fault *fault)
{
	int *cpus;

	if (p->workers[0].cpu < 0) {
		p->cpus = strdup("none");
	} else {
		cpus = calloc((size_t)p->n_workers, sizeof(*cpus));
		if (cpus) {
			for (int i = 0; i < p->n_workers; i++)
				cpus[i] = p->workers[i].cpu;
			p->cpus = topo_format_cpus(cpus, p->n_workers);
		}
		free(cpus);
	}
	if (!p->cpus)
		return fault_set(fault, ENOMEM, "plan of %d workers",
				 p->n_workers);
	return 0;
}

static int place_memory(const struct plan_request *rq, const struct topo *topo,
			struct plan *p, struct fault *fault)
{
	bool pinned = p->workers[0].cpu >= 0;

	p->memory = rq->memory;
	if (p->memory.policy == MEMORY_NODE &&
	    !topo_has_node(topo, p->memory.node)) {
		if (rq->strict)
			return fault_set(fault, 0,
					 "--mem: there is no NUMA node %d",
					 p->memory.node);
		warnings_add(&p->warnings,
			     "--mem: there is no NUMA node %d, buffers are not "
			     "bound",
			     p->memory.node);
		p->memory.policy = MEMORY_LOCAL;
	}
	/* a thread that may move says nothing about where its memory is */
	if (p->memory.policy == MEMORY_LOCAL && !pinned)
		p->memory.policy = MEMORY_NONE;
	return 0;
}

/* Take the numbers of flows and workers from @rq. */
static int deal_flows(const struct plan_request *rq, struct plan *p,
		      struct fault *fault)
{
	p->flows = rq->flows;
	p->n_workers = rq->threads;
	if (p->n_workers > p->flows) {
		p->n_workers = p->flows;
		warnings_add(&p->warnings,
			     "--num-threads: %d threads for %d flows: %d used",
			     rq->threads, rq->flows, p->n_workers);
	}
	if (p->n_workers < 1)
		return fault_set(fault, EINVAL, "plan of %d flows, %d threads",
				 rq->flows, rq->threads);
	p->flows_per_worker = (p->flows - 1) / p->n_workers + 1;
	p->deal = rq->deal;
	p->huge_pages = rq->huge_pages;
	p->workers = calloc((size_t)p->n_workers, sizeof(*p->workers));
	if (!p->workers)
		return fault_set(fault, ENOMEM, "plan of %d workers",
				 p->n_workers);
	return 0;
}

static int fill_plan(const struct plan_request *rq, const struct topo *topo,
		     struct plan *p, struct fault *fault)
{
	struct order order = { 0 };
	bool turns;

	if (deal_flows(rq, p, fault))
		return -1;
	if (find_order(rq, topo, p, &order, &turns, fault)) {
		free(order.cpus);
		return -1;
	}
	/* on one host worker i of either end then stays apart */
	if (rq->other_end && turns)
		reverse(&order);
	place_workers(p, topo, &order);
	free(order.cpus);
	if (name_cpus(p, fault))
		return -1;
	return place_memory(rq, topo, p, fault);
}

struct plan *plan_make(const struct plan_request *rq, const struct topo *topo,
		       struct fault *fault)
{
	struct plan *p = calloc(1, sizeof(*p));

	if (!p) {
		(void)fault_set(fault, ENOMEM, "plan");
		return NULL;
	}
	if (fill_plan(rq, topo, p, fault)) {
		plan_free(p);
		return NULL;
	}
	return p;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	free(p->cpus);
	free(p->workers);
	free(p);
}

int plan_worker_of(const struct plan *p, int flow)
{
	return flow % p->n_workers;
}

static const char *deal_name(enum deal deal)
{
	switch (deal) {
	case DEAL_INDEX:
		return "index";
	case DEAL_CPU:
		return "cpu";
	case DEAL_NAPI:
		return "napi";
	}
	return "?";
}

/* A number, or "any" for what is left to the kernel. */
static void put_place(FILE *f, const char *what, int value)
{
	if (value >= 0)
		fprintf(f, "%s %d ", what, value);
	else
		fprintf(f, "%s any ", what);
}

static void put_worker(FILE *f, const struct plan *p, int i)
{
	const struct plan_worker *w = &p->workers[i];

	fprintf(f, "plan_worker_%d=", i);
	put_place(f, "cpu", w->cpu);
	put_place(f, "node", w->node);
	/* other deals follow the packets, which nobody has seen yet */
	if (p->deal == DEAL_INDEX)
		fprintf(f, "flows %d\n",
			p->flows / p->n_workers +
				(i < p->flows % p->n_workers));
	else
		fprintf(f, "flows any\n");
}

char *plan_text(const struct plan *p)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int listed = p->n_workers;
	bool failed;

	if (!f)
		return NULL;
	if (listed > LISTED_WORKERS)
		listed = LISTED_WORKERS;
	fprintf(f, "plan_policy=%s\nplan_cpus=%s\n", p->policy, p->cpus);
	fprintf(f, "plan_workers=%d\nplan_flows=%d\n", p->n_workers, p->flows);
	fprintf(f, "plan_deal=%s\n", deal_name(p->deal));
	for (int i = 0; i < listed; i++)
		put_worker(f, p, i);
	if (listed < p->n_workers)
		fprintf(f, "plan_workers_more=%d\n", p->n_workers - listed);
	/* memory is all that a write to it can lack */
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(text);
		errno = ENOMEM;
		return NULL;
	}
	return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of every policy on synthetic machines, and what is said of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/plan/plan.h"
#include "common/plan/topo.h"

#define FOUR_CORES "pack:2 numa:1 core:2 pu:2" /* cores 0-1, 2-3, 4-5, 6-7 */
#define TWO_NODES "pack:2 numa:1 core:32 pu:2"
#define MANY_CPUS "numa:2 core:512 pu:2"

static struct topo *load(const char *description, const char *allowed)
{
	struct fault fault = { 0 };
	struct topo *t = topo_load_from(description, allowed, &fault);

	if (!t)
		fail_msg("%s", fault.text);
	return t;
}

/* Nodes 0 (CPUs 0-3) and 1 (4-7); ens5f0 on node 1, virtio0 nowhere. */
static struct topo *load_nic(const char *allowed)
{
	const char *dir = getenv("NAPIER_TEST_DATA");
	char path[PATH_MAX], full[PATH_MAX];

	snprintf(path, sizeof(path), "%s/nic-on-node1.xml",
		 dir ? dir : "tests/unit/data");
	if (!realpath(path, full))
		fail_msg("%s: %s", path, strerror(errno));
	return load(full, allowed);
}

static struct plan_request ask(const char *pin, int threads, int flows)
{
	return (struct plan_request){
		.flows = flows,
		.threads = threads,
		.pin = pin,
		.memory = { .policy = MEMORY_LOCAL },
	};
}

static struct plan *make(const struct plan_request *rq, const struct topo *t)
{
	struct fault fault = { 0 };
	struct plan *p = plan_make(rq, t, &fault);

	if (!p)
		fail_msg("%s", fault.text);
	assert_string_equal(fault.text, "");
	return p;
}

/*
 * Make the plan and compare policy, CPUs and the only warning (NULL: none
 * at all).
 */
static void expect(const struct topo *t, struct plan_request rq,
		   const char *policy, const char *cpus, const char *warning)
{
	struct plan *p = make(&rq, t);

	assert_string_equal(p->policy, policy);
	assert_string_equal(p->cpus, cpus);
	if (warning) {
		assert_int_equal(p->warnings.n, 1);
		assert_string_equal(p->warnings.text[0], warning);
	} else if (p->warnings.n) {
		fail_msg("warning: %s", p->warnings.text[0]);
	}
	plan_free(p);
}

static void expect_fault(const struct topo *t, struct plan_request rq,
			 const char *text)
{
	struct fault fault = { 0 };

	assert_null(plan_make(&rq, t, &fault));
	assert_string_equal(fault.text, text);
}

static void test_orders(void **state)
{
	struct topo *t = load(FOUR_CORES, NULL);

	(void)state;
	expect(t, ask("cores", 4, 8), "cores", "0,2,4,6", NULL);
	expect(t, ask("cores", 6, 8), "cores", "0,2,4,6,1,3", NULL);
	expect(t, ask("compact", 3, 8), "compact", "0-2", NULL);
	expect(t, ask("numa", 4, 8), "numa", "0,4,2,6", NULL);
	expect(t, ask("none", 4, 8), "none", "none", NULL);
	expect(t, ask("6,0-2", 4, 8), "6,0-2", "6,0-2", NULL);
	expect(t, ask("3-1", 2, 8), "3-1", "3,2", NULL);
	expect(t, ask("auto", 4, 8), "auto (cores)", "0,2,4,6", NULL);
	expect(t, ask("auto", 1, 1), "auto (cores)", "0", NULL);
	topo_free(t);
}

static void test_nodes(void **state)
{
	struct topo *t = load(FOUR_CORES, NULL);
	struct plan_request rq = ask("cores", 4, 8);
	struct plan *p = make(&rq, t);

	(void)state;
	assert_int_equal(p->n_workers, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(p->workers[i].cpu, 2 * i);
		assert_int_equal(p->workers[i].node, i / 2);
	}
	plan_free(p);
	rq.pin = "none";
	p = make(&rq, t);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(p->workers[i].cpu, -1);
		assert_int_equal(p->workers[i].node, -1);
	}
	plan_free(p);
	topo_free(t);
}

static void test_unknown_policy(void **state)
{
	static const char *const bad[] = {
		"",   "core", "coresx", "Auto",	 "nic=", "nix",
		"-1", ",0",   "numa ",	"pair=", " 0",
	};
	struct topo *t = load(FOUR_CORES, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct plan_request rq = ask(bad[i], 1, 1);
		struct fault fault = { 0 };

		if (plan_make(&rq, t, &fault))
			fail_msg("\"%s\" was taken", bad[i]);
		assert_non_null(strstr(fault.text, "--pin: "));
		assert_non_null(strstr(fault.text, bad[i]));
		assert_non_null(strstr(fault.text, "0-3,8"));
	}
	topo_free(t);
}

static void test_bad_lists(void **state)
{
	struct topo *t = load(FOUR_CORES, "0-3");

	(void)state;
	expect_fault(t, ask("0,4", 2, 2),
		     "--pin: CPU list \"0,4\": CPU 4 is not allowed; "
		     "allowed: 0-3");
	expect_fault(t, ask("0,1,0", 2, 2),
		     "--pin: CPU list \"0,1,0\": CPU 0 is named twice; "
		     "allowed: 0-3");
	expect_fault(t, ask("0,", 2, 2),
		     "--pin: CPU list \"0,\": want numbers and ranges as in "
		     "0-3,8; allowed: 0-3");
	topo_free(t);
}

static void test_pair(void **state)
{
	struct topo *t = load(FOUR_CORES, NULL);
	struct plan_request rq = ask("pair", 3, 8);

	(void)state;
	expect_fault(t, rq, "--pin: \"pair\" needs both ends on one host");
	rq.same_host = true;
	expect(t, rq, "pair", "0,2,4", NULL);
	rq.other_end = true;
	expect(t, rq, "pair", "0,2,4", NULL);
	topo_free(t);
}

static struct plan_request from_other_end(const char *pin, int threads)
{
	struct plan_request rq = ask(pin, threads, 64);

	rq.other_end = rq.same_host = true;
	return rq;
}

static void test_other_end(void **state)
{
	struct topo *t = load(FOUR_CORES, NULL);

	(void)state;
	expect(t, from_other_end("cores", 3), "cores", "7,5,3", NULL);
	expect(t, from_other_end("auto", 3), "auto (cores)", "7,5,3", NULL);
	expect(t, from_other_end("compact", 3), "compact", "7,6,5", NULL);
	expect(t, from_other_end("numa", 3), "numa", "0,4,2", NULL);
	expect(t, from_other_end("0-2", 3), "0-2", "0-2", NULL);
	expect(t, from_other_end("none", 3), "none", "none", NULL);
	topo_free(t);
	t = load_nic(NULL);
	expect(t, from_other_end("nic=ens5f0", 3), "nic=ens5f0", "3,1-2", NULL);
	topo_free(t);
}

/* For every number of threads, worker i of either end has its own core. */
static void test_ends_stay_apart(void **state)
{
	static const char *const pins[] = { "auto", "cores", "compact" };
	struct topo *t = load(FOUR_CORES, NULL);

	(void)state;
	for (int k = 0; k < 3; k++) {
		for (int n = 1; n <= 4; n++) {
			struct plan_request rq = ask(pins[k], n, 64);
			struct plan *client = make(&rq, t), *server;

			rq.other_end = true;
			server = make(&rq, t);
			for (int i = 0; i < n; i++)
				assert_true(
					topo_distance(t, client->workers[i].cpu,
						      server->workers[i].cpu) >
					TOPO_SAME_CORE);
			plan_free(client);
			plan_free(server);
		}
	}
	topo_free(t);
}

static void test_auto_without_room(void **state)
{
	struct topo *t = load(FOUR_CORES, NULL);

	(void)state;
	expect(t, ask("auto", 4, 64), "auto (cores)", "0,2,4,6", NULL);
	expect(t, ask("auto", 5, 64), "auto (none)", "none",
	       "--pin: 5 threads on 4 cores are not pinned");
	expect(t, from_other_end("auto", 5), "auto (none)", "none",
	       "--pin: 5 threads on 4 cores are not pinned");
	topo_free(t);
}

/* Cores are counted by the CPUs allowed, whichever of a core those are. */
static void test_auto_counts_cores(void **state)
{
	static const struct {
		const char *allowed;
		int cores;
		const char *cpus;
	} cases[] = {
		{ "1-7", 4, "1-2,4,6" }, { "0,2-7", 4, "0,2,4,6" },
		{ "0-6", 4, "0,2,4,6" }, { "0-4,6-7", 4, "0,2,4,6" },
		{ "0-1", 1, "0" },	 { "5", 1, "5" },
		{ "1,3", 2, "1,3" },	 { "3-4", 2, "3-4" },
		{ "0,7", 2, "0,7" },	 { "1-2,5,7", 4, "1-2,5,7" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct topo *t = load(FOUR_CORES, cases[i].allowed);
		int cores = cases[i].cores;
		struct plan_request rq = ask("auto", cores + 1, 64);
		struct plan *p = make(&rq, t);

		expect(t, ask("auto", cores, 64), "auto (cores)", cases[i].cpus,
		       NULL);
		assert_string_equal(p->policy, "auto (none)");
		assert_int_equal(p->warnings.n, 1);
		plan_free(p);
		topo_free(t);
	}
}

/* A machine whose cores hwloc does not know: each CPU is one. */
static void test_auto_without_cores(void **state)
{
	struct topo *t = load("numa:1 pu:4", NULL);

	(void)state;
	expect(t, ask("auto", 4, 64), "auto (cores)", "0-3", NULL);
	expect(t, ask("auto", 5, 64), "auto (none)", "none",
	       "--pin: 5 threads on 4 cores are not pinned");
	topo_free(t);
}

static void test_wrap(void **state)
{
	struct topo *t = load(FOUR_CORES, "0-1");
	struct plan_request rq = ask("0,1", 5, 10);
	struct plan *p = make(&rq, t);

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(p->workers[i].cpu, i % 2);
	assert_string_equal(p->cpus, "0-1,0-1,0");
	assert_int_equal(p->warnings.n, 1);
	assert_string_equal(p->warnings.text[0],
			    "--pin: 5 threads share 2 CPUs");
	plan_free(p);
	expect(t, ask("cores", 3, 10), "cores", "0-1,0",
	       "--pin: 3 threads share 2 CPUs");
	expect(t, ask("numa", 2, 10), "numa", "0-1", NULL);
	topo_free(t);
}

static void test_nic(void **state)
{
	struct topo *t = load_nic(NULL);
	struct plan_request rq = ask("nic", 2, 8);

	(void)state;
	expect(t, ask("nic=ens5f0", 2, 8), "nic=ens5f0", "4,6", NULL);
	expect(t, ask("nic=ens5f0", 6, 8), "nic=ens5f0", "4,6,5,7,0,2",
	       "--pin: 6 workers, but only 4 CPUs near ens5f0: the others are "
	       "farther away");
	rq.interface = "ens5f0";
	expect(t, rq, "nic=ens5f0", "4,6", NULL);
	rq.pin = "auto";
	expect(t, rq, "auto (nic=ens5f0)", "4,6", NULL);
	rq.threads = 5;
	expect(t, rq, "auto (none)", "none",
	       "--pin: 5 threads on 4 cores are not pinned");
	topo_free(t);
	t = load_nic("0-3"); /* none of the near CPUs is allowed */
	rq.threads = 2;
	expect(t, rq, "auto (cores)", "0,2", NULL);
	topo_free(t);
}

static void test_nic_without_place(void **state)
{
	struct topo *t = load_nic(NULL);
	struct plan_request rq = ask("nic", 2, 8);

	(void)state;
	expect(t, ask("nic=virtio0", 2, 8), "nic=virtio0 (cores)", "0,2",
	       "--pin: the place of interface virtio0 is not known: pinned as "
	       "with \"cores\"");
	expect(t, rq, "nic (cores)", "0,2",
	       "--pin: the interface of the route is not known: pinned as with "
	       "\"cores\"");
	rq.interface = "lo"; /* of this machine, not in the file */
	expect(t, rq, "nic (cores)", "0,2",
	       "--pin: the place of interface lo is not known: pinned as with "
	       "\"cores\"");
	rq.interface = "gone0";
	expect(t, rq, "nic (cores)", "0,2",
	       "--pin: no network interface \"gone0\": pinned as with "
	       "\"cores\"");
	rq.pin = "auto";
	expect(t, rq, "auto (cores)", "0,2", NULL);
	rq.interface = "virtio0";
	expect(t, rq, "auto (cores)", "0,2", NULL);
	rq.other_end = true;
	expect(t, rq, "auto (cores)", "7,5", NULL);
	topo_free(t);
}

static void test_nic_faults(void **state)
{
	struct topo *t = load_nic(NULL);
	struct plan_request rq = ask("nic=virtio0", 2, 8);

	(void)state;
	expect_fault(t, ask("nic=gone0", 2, 8),
		     "--pin: no network interface \"gone0\"");
	rq.strict = true;
	expect_fault(t, rq,
		     "--pin: the place of interface virtio0 is not known");
	rq.pin = "nic";
	expect_fault(t, rq, "--pin: the interface of the route is not known");
	rq.interface = "ens5f0";
	expect(t, rq, "nic=ens5f0", "4,6", NULL);
	/* auto takes what there is */
	rq.interface = "virtio0";
	rq.pin = "auto";
	expect(t, rq, "auto (cores)", "0,2", NULL);
	topo_free(t);
}

static void test_flows(void **state)
{
	static const int want[] = { 3, 2, 2 };
	struct topo *t = load(FOUR_CORES, NULL);
	struct plan_request rq = ask("cores", 3, 7);
	struct plan *p = make(&rq, t);
	int served[3] = { 0 };

	(void)state;
	assert_int_equal(p->flows, 7);
	assert_int_equal(p->n_workers, 3);
	assert_int_equal(p->flows_per_worker, 3);
	for (int i = 0; i < 7; i++)
		served[plan_worker_of(p, i)]++;
	assert_memory_equal(served, want, sizeof(want));
	plan_free(p);
	rq = ask("cores", 4, 8);
	p = make(&rq, t);
	assert_int_equal(p->flows_per_worker, 2);
	plan_free(p);
	rq = ask("none", 1, INT_MAX);
	p = make(&rq, t);
	assert_int_equal(p->flows_per_worker, INT_MAX);
	plan_free(p);
	topo_free(t);
}

static void test_more_workers_than_flows(void **state)
{
	struct topo *t = load(FOUR_CORES, NULL);
	struct plan_request rq = ask("cores", 8, 2);
	struct plan *p = make(&rq, t);

	(void)state;
	assert_int_equal(p->n_workers, 2);
	assert_int_equal(p->flows_per_worker, 1);
	assert_int_equal(p->warnings.n, 1);
	assert_string_equal(p->warnings.text[0],
			    "--num-threads: 8 threads for 2 flows: 2 used");
	plan_free(p);
	/* what is left over needs no room: auto still pins */
	expect(t, ask("auto", 100, 4), "auto (cores)", "0,2,4,6",
	       "--num-threads: 100 threads for 4 flows: 4 used");
	topo_free(t);
}

static void test_nothing_to_do(void **state)
{
	struct topo *t = load(FOUR_CORES, NULL);
	struct plan_request rq = ask("cores", 1, 0);
	struct fault fault = { 0 };

	(void)state;
	assert_null(plan_make(&rq, t, &fault));
	assert_int_equal(fault.err, EINVAL);
	rq = ask("cores", 0, 1);
	memset(&fault, 0, sizeof(fault));
	assert_null(plan_make(&rq, t, &fault));
	assert_int_equal(fault.err, EINVAL);
	plan_free(NULL);
	topo_free(t);
}

static void test_two_sockets(void **state)
{
	struct topo *t = load(TWO_NODES, NULL);
	struct plan_request rq = ask("numa", 64, 256);
	struct plan *p = make(&rq, t);

	(void)state;
	for (int i = 0; i < 64; i++) {
		assert_int_equal(p->workers[i].node, i % 2);
		assert_int_equal(p->workers[i].cpu % 2, 0);
	}
	plan_free(p);
	rq = ask("cores", 64, 256);
	p = make(&rq, t);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(p->workers[i].cpu, 2 * i);
		assert_int_equal(p->workers[i].node, i / 32);
	}
	plan_free(p);
	topo_free(t);
}

/* More CPUs than a cpu_set_t holds, and more threads than CPUs. */
static void test_many_cpus(void **state)
{
	struct topo *t = load(MANY_CPUS, NULL);
	struct plan_request rq = ask("cores", 3000, 6000);
	struct plan *p = make(&rq, t);
	char *text;

	(void)state;
	assert_int_equal(topo_cpus(t), 2048);
	assert_int_equal(p->n_workers, 3000);
	for (int i = 0; i < 3000; i++) {
		int k = i % 2048;

		assert_int_equal(p->workers[i].cpu,
				 k < 1024 ? 2 * k : 2 * (k - 1024) + 1);
		assert_int_equal(p->workers[i].node, k % 1024 / 512);
	}
	assert_int_equal(p->warnings.n, 1);
	assert_string_equal(p->warnings.text[0],
			    "--pin: 3000 threads share 2048 CPUs");
	text = plan_text(p);
	assert_non_null(text);
	assert_non_null(strstr(text, "\nplan_worker_63=cpu 126 node 0 flows 2\n"
				     "plan_workers_more=2936\n"));
	assert_null(strstr(text, "plan_worker_64="));
	free(text);
	plan_free(p);
	expect(t, ask("auto", 3000, 6000), "auto (none)", "none",
	       "--pin: 3000 threads on 1024 cores are not pinned");
	rq = ask("auto", 1024, 6000);
	p = make(&rq, t);
	assert_string_equal(p->policy, "auto (cores)");
	assert_int_equal(p->workers[1023].cpu, 2046);
	plan_free(p);
	topo_free(t);
}

static void expect_policy(const struct topo *t, struct plan_request rq,
			  enum memory_policy policy)
{
	struct plan *p = make(&rq, t);

	assert_int_equal(p->memory.policy, policy);
	plan_free(p);
}

static void test_memory(void **state)
{
	struct topo *t = load(FOUR_CORES, NULL);
	struct plan_request rq = ask("cores", 2, 2);
	struct plan *p;

	(void)state;
	rq.huge_pages = true;
	p = make(&rq, t);
	assert_true(p->huge_pages);
	plan_free(p);
	expect_policy(t, rq, MEMORY_LOCAL);
	rq.pin = "none"; /* an unpinned thread has no place to be near to */
	expect_policy(t, rq, MEMORY_NONE);
	rq.memory.policy = MEMORY_NONE;
	rq.pin = "cores";
	expect_policy(t, rq, MEMORY_NONE);
	rq.memory = (struct memory_choice){ MEMORY_NODE, 1 };
	rq.strict = true;
	p = make(&rq, t);
	assert_int_equal(p->memory.policy, MEMORY_NODE);
	assert_int_equal(p->memory.node, 1);
	plan_free(p);
	rq.pin = "none"; /* a bound buffer needs no pinned thread */
	expect_policy(t, rq, MEMORY_NODE);
	topo_free(t);
}

static void test_absent_node(void **state)
{
	struct topo *t = load(FOUR_CORES, NULL);
	struct plan_request rq = ask("cores", 2, 2);

	(void)state;
	rq.memory = (struct memory_choice){ MEMORY_NODE, 7 };
	expect(t, rq, "cores", "0,2",
	       "--mem: there is no NUMA node 7, buffers are not bound");
	expect_policy(t, rq, MEMORY_LOCAL);
	rq.pin = "none";
	expect_policy(t, rq, MEMORY_NONE);
	rq.strict = true;
	expect_fault(t, rq, "--mem: there is no NUMA node 7");
	topo_free(t);
}

static void expect_plan_text(const struct topo *t, struct plan_request rq,
			     const char *want)
{
	struct plan *p = make(&rq, t);
	char *text = plan_text(p);

	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
	plan_free(p);
}

static void test_text(void **state)
{
	struct topo *t = load(FOUR_CORES, NULL);
	struct plan_request rq = ask("auto", 3, 7);

	(void)state;
	expect_plan_text(t, rq,
			 "plan_policy=auto (cores)\n"
			 "plan_cpus=0,2,4\n"
			 "plan_workers=3\n"
			 "plan_flows=7\n"
			 "plan_deal=index\n"
			 "plan_worker_0=cpu 0 node 0 flows 3\n"
			 "plan_worker_1=cpu 2 node 0 flows 2\n"
			 "plan_worker_2=cpu 4 node 1 flows 2\n");
	rq = ask("none", 1, 7);
	rq.deal = DEAL_NAPI;
	expect_plan_text(t, rq,
			 "plan_policy=none\n"
			 "plan_cpus=none\n"
			 "plan_workers=1\n"
			 "plan_flows=7\n"
			 "plan_deal=napi\n"
			 "plan_worker_0=cpu any node any flows any\n");
	rq.deal = DEAL_CPU;
	expect_plan_text(t, rq,
			 "plan_policy=none\n"
			 "plan_cpus=none\n"
			 "plan_workers=1\n"
			 "plan_flows=7\n"
			 "plan_deal=cpu\n"
			 "plan_worker_0=cpu any node any flows any\n");
	topo_free(t);
}

/* All 64 are listed; nothing is said of more when there are none. */
static void test_text_of_64(void **state)
{
	struct topo *t = load(TWO_NODES, NULL);
	struct plan_request rq = ask("cores", 64, 64);
	struct plan *p = make(&rq, t);
	char *text = plan_text(p);

	(void)state;
	assert_non_null(text);
	assert_non_null(strstr(text, "plan_worker_63=cpu 126 node 1 flows 1"));
	assert_null(strstr(text, "plan_workers_more"));
	free(text);
	plan_free(p);
	topo_free(t);
}

static void test_long_list(void **state)
{
	static const char list[] = "126,124,122,120,118,116,114,112,110,108,"
				   "106,104,102,100,98,96,94,92,90,88,86";
	struct topo *t = load(TWO_NODES, NULL);
	struct plan_request rq = ask(list, 21, 21);
	struct plan *p = make(&rq, t);
	size_t kept = sizeof(p->policy) - 4;

	(void)state;
	assert_string_equal(p->cpus, list);
	assert_int_equal(strlen(p->policy), kept + 3);
	assert_memory_equal(p->policy, list, kept);
	assert_string_equal(p->policy + kept, "...");
	plan_free(p);
	topo_free(t);
}

static void test_warnings(void **state)
{
	struct warnings w = { 0 };
	char longer[400];

	(void)state;
	warnings_add(&w, "%s %d", "one", 1);
	warnings_add(&w, "two");
	warnings_add(&w, "one %s", "1");
	assert_int_equal(w.n, 2);
	assert_string_equal(w.text[0], "one 1");
	assert_string_equal(w.text[1], "two");
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	warnings_add(&w, "%s", longer);
	warnings_add(&w, "%s", longer); /* cut, and still the same */
	assert_int_equal(w.n, 3);
	assert_int_equal(strlen(w.text[2]), sizeof(w.text[2]) - 1);
}

static void test_too_many_warnings(void **state)
{
	struct warnings w = { 0 };

	(void)state;
	for (int i = 0; i < RESULT_WARNINGS; i++)
		warnings_add(&w, "warning %d", i);
	assert_int_equal(w.n, RESULT_WARNINGS);
	assert_string_equal(w.text[RESULT_WARNINGS - 1], "warning 23");
	warnings_add(&w, "warning 23"); /* there already: nothing is lost */
	assert_string_equal(w.text[RESULT_WARNINGS - 1], "warning 23");
	for (int i = 24; i < 30; i++) {
		warnings_add(&w, "warning %d", i);
		assert_int_equal(w.n, RESULT_WARNINGS);
		assert_string_equal(w.text[RESULT_WARNINGS - 1],
				    "more than 23 warnings: the rest is left "
				    "out");
	}
	assert_string_equal(w.text[RESULT_WARNINGS - 2], "warning 22");
}

static void test_this_machine(void **state)
{
	struct fault fault = { 0 };
	struct topo *t = topo_load(&fault);
	struct plan_request rq = ask("auto", 1, 4);
	struct plan *p;

	(void)state;
	assert_non_null(t);
	rq.interface = "lo";
	p = make(&rq, t);
	assert_string_equal(p->policy, "auto (cores)");
	assert_true(p->workers[0].cpu >= 0);
	plan_free(p);
	topo_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_unknown_policy),
		cmocka_unit_test(test_bad_lists),
		cmocka_unit_test(test_pair),
		cmocka_unit_test(test_other_end),
		cmocka_unit_test(test_ends_stay_apart),
		cmocka_unit_test(test_auto_without_room),
		cmocka_unit_test(test_auto_counts_cores),
		cmocka_unit_test(test_auto_without_cores),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_nic),
		cmocka_unit_test(test_nic_without_place),
		cmocka_unit_test(test_nic_faults),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_more_workers_than_flows),
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_two_sockets),
		cmocka_unit_test(test_many_cpus),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_absent_node),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_of_64),
		cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_too_many_warnings),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

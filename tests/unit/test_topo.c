/* SPDX-License-Identifier: Apache-2.0 */
/* Pinning orders, on synthetic machines, an XML one and this one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/plan/topo.h"

#define TWO_NODES "pack:2 numa:1 core:32 pu:2"
#define MANY_CPUS "numa:2 core:1024 pu:2"

typedef int order_fn(const struct topo *t, int **cpus, int *n,
		     struct fault *fault);

static struct topo *load(const char *description, const char *allowed)
{
	struct fault fault = { 0 };
	struct topo *t = topo_load_from(description, allowed, &fault);

	if (!t)
		fail_msg("%s", fault.text);
	return t;
}

/* The tests run in the repository's root; NAPIER_TEST_DATA for elsewhere. */
static char *data_path(char full[PATH_MAX])
{
	const char *dir = getenv("NAPIER_TEST_DATA");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/nic-on-node1.xml",
		 dir ? dir : "tests/unit/data");
	if (!realpath(path, full))
		fail_msg("%s: %s", path, strerror(errno));
	return full;
}

static struct topo *load_nic(const char *allowed)
{
	char path[PATH_MAX];

	return load(data_path(path), allowed);
}

static void expect_text(int *cpus, int n, const char *want)
{
	char *text = topo_format_cpus(cpus, n);

	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
	free(cpus);
}

static void expect_order(const struct topo *t, order_fn *order,
			 const char *want)
{
	struct fault fault = { 0 };
	int *cpus = NULL, n = 0;

	assert_int_equal(order(t, &cpus, &n, &fault), 0);
	expect_text(cpus, n, want);
}

/* Every allowed CPU once and no other. */
static void expect_each_once(const struct topo *t, const int *cpus, int n)
{
	int *sorted = calloc((size_t)n, sizeof(*sorted));
	char *seen = calloc(1, INT16_MAX), *text, *allowed;
	int k = 0;

	assert_non_null(sorted);
	assert_non_null(seen);
	assert_int_equal(n, topo_cpus(t));
	for (int i = 0; i < n; i++) {
		assert_in_range(cpus[i], 0, INT16_MAX - 1);
		assert_int_equal(seen[cpus[i]]++, 0);
	}
	for (int cpu = 0; cpu < INT16_MAX; cpu++)
		if (seen[cpu])
			sorted[k++] = cpu;
	text = topo_format_cpus(sorted, n);
	allowed = topo_allowed_list(t);
	assert_string_equal(text, allowed);
	free(text);
	free(allowed);
	free(seen);
	free(sorted);
}

static void expect_properties(struct topo *t)
{
	struct fault fault = { 0 };
	int *cores, *numa, *compact, n;

	assert_int_equal(topo_order_cores(t, &cores, &n, &fault), 0);
	expect_each_once(t, cores, n);
	/* each core has two threads: its twin comes half the order later */
	for (int i = 0; i < n / 2; i++)
		assert_int_equal(topo_distance(t, cores[i], cores[i + n / 2]),
				 TOPO_SAME_CORE);
	for (int i = 1; i < n / 2; i++)
		assert_true(topo_distance(t, cores[i - 1], cores[i]) >
			    TOPO_SAME_CORE);

	assert_int_equal(topo_order_numa(t, &numa, &n, &fault), 0);
	expect_each_once(t, numa, n);
	for (int i = 0; i < n; i++)
		assert_int_equal(topo_node_of(t, numa[i]), i % topo_nodes(t));

	assert_int_equal(topo_order_compact(t, &compact, &n, &fault), 0);
	expect_each_once(t, compact, n);
	for (int i = 0; i < n; i += 2)
		assert_int_equal(topo_distance(t, compact[i], compact[i + 1]),
				 TOPO_SAME_CORE);
	free(cores);
	free(numa);
	free(compact);
	topo_free(t);
}

static void orders_of_two_packages(void **state)
{
	(void)state;
	expect_properties(load(TWO_NODES, NULL));
}

static void orders_of_4096_cpus(void **state)
{
	(void)state;
	expect_properties(load(MANY_CPUS, NULL));
}

static void workers_wrap(void **state)
{
	struct topo *t = load(MANY_CPUS, "0-999,2048-3047");
	struct fault fault = { 0 };
	int *cpus, n;

	(void)state;
	assert_int_equal(topo_order_numa(t, &cpus, &n, &fault), 0);
	assert_int_equal(n, 2000);
	for (int worker = 0; worker < 3000; worker++)
		assert_int_equal(topo_node_of(t, cpus[worker % n]), worker % 2);
	assert_int_equal(cpus[0], cpus[2000 % n]);
	free(cpus);
	topo_free(t);
}

static void orders_written_out(void **state)
{
	struct topo *t = load("pack:2 numa:1 core:2 pu:2", NULL);

	(void)state;
	assert_int_equal(topo_cpus(t), 8);
	assert_int_equal(topo_nodes(t), 2);
	expect_order(t, topo_order_cores, "0,2,4,6,1,3,5,7");
	expect_order(t, topo_order_compact, "0-7");
	expect_order(t, topo_order_numa, "0,4,2,6,1,5,3,7");
	topo_free(t);
}

/* Linux often numbers the second threads after all first ones. */
static void os_indexes_of_their_own(void **state)
{
	struct topo *t = load("pack:2 numa:1 core:2 pu:2"
			      "(indexes=0,4,1,5,2,6,3,7)",
			      NULL);

	(void)state;
	expect_order(t, topo_order_cores, "0-7");
	expect_order(t, topo_order_compact, "0,4,1,5,2,6,3,7");
	expect_order(t, topo_order_numa, "0,2,1,3-4,6,5,7");
	assert_int_equal(topo_node_of(t, 6), 1);
	assert_int_equal(topo_distance(t, 0, 4), TOPO_SAME_CORE);
	topo_free(t);
}

/* CPU 2's core only has its second thread left: that is its first one now. */
static void one_thread_disallowed(void **state)
{
	struct topo *t = load("pack:2 numa:1 core:2 pu:2", "0-1,3-7");

	(void)state;
	expect_order(t, topo_order_cores, "0,3-4,6,1,5,7");
	expect_order(t, topo_order_compact, "0-1,3-7");
	/* unequal nodes: the larger one goes on alone */
	expect_order(t, topo_order_numa, "0,4,3,6,1,5,7");
	topo_free(t);
}

static void one_node_allowed(void **state)
{
	struct topo *t = load("pack:2 numa:1 core:2 pu:2", "4-7,200");
	char *list = topo_allowed_list(t);

	(void)state;
	assert_string_equal(list, "4-7");
	free(list);
	assert_int_equal(topo_cpus(t), 4);
	assert_int_equal(topo_nodes(t), 1);
	assert_true(topo_has_node(t, 0)); /* of the machine, not of ours */
	assert_true(topo_has_node(t, 1));
	assert_false(topo_has_node(t, 2));
	assert_false(topo_has_node(t, -1));
	assert_int_equal(topo_node_of(t, 0), 0);
	assert_int_equal(topo_node_of(t, 8), -1);
	assert_int_equal(topo_node_of(t, -1), -1);
	expect_order(t, topo_order_numa, "4,6,5,7");
	topo_free(t);
}

static void distances(void **state)
{
	struct topo *t = load("pack:2 numa:1 l3:2 core:2 pu:2", NULL);

	(void)state;
	assert_int_equal(topo_distance(t, 3, 3), TOPO_SAME_CPU);
	assert_int_equal(topo_distance(t, 2, 3), TOPO_SAME_CORE);
	assert_int_equal(topo_distance(t, 0, 3), TOPO_SAME_L3);
	assert_int_equal(topo_distance(t, 0, 4), TOPO_SAME_NODE);
	assert_int_equal(topo_distance(t, 0, 8), TOPO_REMOTE);
	topo_free(t);
}

static void expect_nic(const struct topo *t, const char *ifname, int want_local,
		       const char *want)
{
	struct fault fault = { 0 };
	int *cpus = NULL, n = 0, local = -1;

	if (topo_order_nic(t, ifname, &cpus, &n, &local, &fault))
		fail_msg("%s", fault.text);
	assert_int_equal(local, want_local);
	expect_text(cpus, n, want);
}

static void near_the_nic(void **state)
{
	struct topo *t = load_nic(NULL);

	(void)state;
	expect_nic(t, "ens5f0", 4, "4,6,5,7,0,2,1,3");
	topo_free(t);
	t = load_nic("0-5");
	expect_nic(t, "ens5f0", 2, "4-5,0,2,1,3");
	topo_free(t);
	t = load_nic("4-7"); /* all that is left is near */
	expect_nic(t, "ens5f0", 4, "4,6,5,7");
	topo_free(t);
	t = load_nic("0-3"); /* nothing that is left is near */
	expect_nic(t, "ens5f0", 0, "0,2,1,3");
	topo_free(t);
}

/* The machine as a whole is no place; lo is on no machine's I/O tree. */
static void nic_without_place(void **state)
{
	struct topo *t = load_nic(NULL);

	(void)state;
	expect_nic(t, "virtio0", 0, "0,2,4,6,1,3,5,7");
	expect_nic(t, "lo", 0, "0,2,4,6,1,3,5,7");
	topo_free(t);
}

static void nic_unknown(void **state)
{
	struct topo *t = load_nic(NULL);
	struct fault fault = { 0 };
	int *cpus, n, local;

	(void)state;
	assert_int_equal(
		topo_order_nic(t, "nosuch9", &cpus, &n, &local, &fault), -1);
	assert_non_null(strstr(fault.text, "nosuch9"));
	topo_free(t);
}

static void lists(void **state)
{
	static const struct {
		const char *list, *want;
	} good[] = {
		{ "0", "0" },	      { "0-3,8", "0-3,8" },
		{ "3-0", "3,2,1,0" }, { "8,0-1,5-4", "8,0-1,5,4" },
		{ "127", "127" },     { "0-127", "0-127" },
		{ "5-5", "5" },
	};
	struct topo *t = load(TWO_NODES, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct fault fault = { 0 };
		int *cpus, n;

		if (topo_order_list(t, good[i].list, &cpus, &n, &fault))
			fail_msg("%s", fault.text);
		expect_text(cpus, n, good[i].want);
	}
	topo_free(t);
}

static void bad_lists(void **state)
{
	static const struct {
		const char *list, *names;
	} bad[] = {
		{ "", "ranges" },
		{ "0-", "ranges" },
		{ "abc", "ranges" },
		{ "-1", "ranges" },
		{ "0,", "ranges" },
		{ ",0", "ranges" },
		{ "0,,1", "ranges" },
		{ "0--1", "ranges" },
		{ "0-1-2", "ranges" },
		{ "0 ", "ranges" },
		{ "0x1", "ranges" },
		{ "+1", "ranges" },
		{ "3,3", "CPU 3 " },
		{ "0-3,2", "CPU 2 " },
		{ "6", "CPU 6 " },
		{ "0-9", "CPU 6 " },
		{ "9-0", "CPU 9 " },
		{ "0-2147483000", "CPU 6 " },
		{ "2147483648", "ranges" },
		{ "99999999999999", "ranges" },
		{ "0-4294967296", "ranges" },
	};
	struct topo *t = load(TWO_NODES, "0-5,64");

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fault fault = { 0 };
		int *cpus = NULL, n;

		assert_int_equal(
			topo_order_list(t, bad[i].list, &cpus, &n, &fault), -1);
		assert_null(cpus);
		if (!strstr(fault.text, bad[i].names) ||
		    !strstr(fault.text, "0-5,64"))
			fail_msg("\"%s\": %s", bad[i].list, fault.text);
	}
	topo_free(t);
}

static void formats(void **state)
{
	static const int mixed[] = { 0, 1, 2, 3, 8, 1, 0, INT_MAX };
	char *text = topo_format_cpus(mixed, 8);

	(void)state;
	assert_string_equal(text, "0-3,8,1,0,2147483647");
	free(text);
	text = topo_format_cpus(mixed, 0);
	assert_string_equal(text, "");
	free(text);
}

static void bad_descriptions(void **state)
{
	static const char *const bad[][2] = {
		{ "garbage", NULL },	  { "/nonexistent.xml", NULL },
		{ "<topology", NULL },	  { TWO_NODES, "500-600" },
		{ TWO_NODES, "nothing" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fault fault = { 0 };

		assert_null(topo_load_from(bad[i][0], bad[i][1], &fault));
		assert_true(fault.text[0]);
	}
}

/* A machine of which hwloc knows no cores: every CPU is one. */
static void no_cores(void **state)
{
	struct topo *t = load("numa:2 pu:2", NULL);

	(void)state;
	expect_order(t, topo_order_cores, "0-3");
	expect_order(t, topo_order_numa, "0,2,1,3");
	assert_int_equal(topo_distance(t, 0, 1), TOPO_SAME_NODE);
	topo_free(t);
}

static void xml_text(void **state)
{
	char text[8192] = "", path[PATH_MAX];
	FILE *file = fopen(data_path(path), "r");
	struct topo *t;

	(void)state;
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	t = load(text, NULL);
	expect_nic(t, "ens5f0", 4, "4,6,5,7,0,2,1,3");
	topo_free(t);
}

static int in_child(int (*check)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid)
		_exit(check());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Last CPU of this process's mask; 1024 CPUs are enough for a test's host. */
static int bind_to_last(void)
{
	cpu_set_t set;
	int cpu = CPU_SETSIZE - 1;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;
	while (cpu > 0 && !CPU_ISSET(cpu, &set))
		cpu--;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -1 : cpu;
}

static int mask_is_obeyed(void)
{
	struct fault fault = { 0 };
	int cpu = bind_to_last(), *cpus, n;
	struct topo *t = topo_load(&fault);
	int bad;

	if (cpu < 0 || !t)
		return 2;
	bad = topo_cpus(t) != 1 || topo_order_cores(t, &cpus, &n, &fault);
	if (!bad) {
		bad = n != 1 || cpus[0] != cpu ||
		      topo_distance(t, cpu, cpu) != TOPO_SAME_CPU ||
		      topo_node_of(t, cpu) < 0;
		free(cpus);
	}
	topo_free(t);
	return bad;
}

static int environment_is_not_cut(void)
{
	struct fault fault = { 0 };
	struct topo *t;
	int bad;

	if (bind_to_last() < 0 || setenv("HWLOC_SYNTHETIC", TWO_NODES, 1))
		return 2;
	t = topo_load(&fault);
	bad = !t || topo_cpus(t) != 128 || topo_nodes(t) != 2;
	topo_free(t);
	return bad;
}

static int bad_environment_is_named(void)
{
	struct fault fault = { 0 };

	if (setenv("HWLOC_XMLFILE", "/nonexistent.xml", 1))
		return 2;
	return topo_load(&fault) || !strstr(fault.text, "/nonexistent.xml");
}

static void affinity_mask(void **state)
{
	(void)state;
	assert_int_equal(in_child(mask_is_obeyed), 0);
	assert_int_equal(in_child(environment_is_not_cut), 0);
	assert_int_equal(in_child(bad_environment_is_named), 0);
}

static void this_machine(void **state)
{
	struct fault fault = { 0 };
	struct topo *t = topo_load(&fault);
	int *cpus, n, local;

	(void)state;
	if (!t)
		fail_msg("%s", fault.text);
	assert_int_equal(topo_order_nic(t, "lo", &cpus, &n, &local, &fault), 0);
	assert_int_equal(local, 0);
	expect_each_once(t, cpus, n);
	free(cpus);
	topo_free(t);
	topo_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_of_two_packages),
		cmocka_unit_test(orders_of_4096_cpus),
		cmocka_unit_test(workers_wrap),
		cmocka_unit_test(orders_written_out),
		cmocka_unit_test(os_indexes_of_their_own),
		cmocka_unit_test(one_thread_disallowed),
		cmocka_unit_test(one_node_allowed),
		cmocka_unit_test(distances),
		cmocka_unit_test(near_the_nic),
		cmocka_unit_test(nic_without_place),
		cmocka_unit_test(nic_unknown),
		cmocka_unit_test(lists),
		cmocka_unit_test(bad_lists),
		cmocka_unit_test(formats),
		cmocka_unit_test(bad_descriptions),
		cmocka_unit_test(no_cores),
		cmocka_unit_test(xml_text),
		cmocka_unit_test(affinity_mask),
		cmocka_unit_test(this_machine),
	};

	/* a study's environment must not turn the tests of this machine */
	unsetenv("HWLOC_SYNTHETIC");
	unsetenv("HWLOC_XMLFILE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}

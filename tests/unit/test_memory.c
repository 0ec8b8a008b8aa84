/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: policies, refusals by the kernel, and what is read back. */
/* wrap: mbind get_mempolicy madvise mmap */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <numaif.h>
#include <sys/mman.h>

#include "common/plan/memory.h"

#define ABSENT_NODE 7
#define HUGE_PAGE ((size_t)2 << 20)

long __real_mbind(void *addr, unsigned long len, int mode,
		  const unsigned long *mask, unsigned long maxnode,
		  unsigned flags);
long __real_get_mempolicy(int *mode, unsigned long *mask, unsigned long maxnode,
			  void *addr, unsigned flags);
int __real_madvise(void *addr, size_t size, int advice);
void *__real_mmap(void *addr, size_t size, int prot, int flags, int fd,
		  off_t offset);

long __wrap_mbind(void *addr, unsigned long len, int mode,
		  const unsigned long *mask, unsigned long maxnode,
		  unsigned flags);
long __wrap_get_mempolicy(int *mode, unsigned long *mask, unsigned long maxnode,
			  void *addr, unsigned flags);
int __wrap_madvise(void *addr, size_t size, int advice);
void *__wrap_mmap(void *addr, size_t size, int prot, int flags, int fd,
		  off_t offset);

/* What the kernel does in a test: an errno, or 0 for the true answer. */
static struct {
	int mbind_error, place_error, advice_error, mmap_error;
	int node; /* what get_mempolicy tells, -1 the truth */
	int mbind_calls, mbind_node;
	int advice;
} kernel;

static int refuse(int error)
{
	errno = error;
	return -1;
}

long __wrap_mbind(void *addr, unsigned long len, int mode,
		  const unsigned long *mask, unsigned long maxnode,
		  unsigned flags)
{
	kernel.mbind_calls++;
	assert_int_equal(mode, MPOL_BIND);
	for (int i = 0; i < 1024; i++)
		if (mask[i / 64] >> (i % 64) & 1)
			kernel.mbind_node = i;
	if (kernel.mbind_error > 0)
		return refuse(kernel.mbind_error);
	if (kernel.mbind_error < 0)
		return 0; /* says yes and does nothing */
	return __real_mbind(addr, len, mode, mask, maxnode, flags);
}

long __wrap_get_mempolicy(int *mode, unsigned long *mask, unsigned long maxnode,
			  void *addr, unsigned flags)
{
	assert_int_equal(flags, MPOL_F_NODE | MPOL_F_ADDR);
	if (kernel.place_error)
		return refuse(kernel.place_error);
	if (kernel.node >= 0) {
		*mode = kernel.node;
		return 0;
	}
	return __real_get_mempolicy(mode, mask, maxnode, addr, flags);
}

int __wrap_madvise(void *addr, size_t size, int advice)
{
	kernel.advice = advice;
	if (kernel.advice_error)
		return refuse(kernel.advice_error);
	return __real_madvise(addr, size, advice);
}

void *__wrap_mmap(void *addr, size_t size, int prot, int flags, int fd,
		  off_t offset)
{
	if (kernel.mmap_error) {
		errno = kernel.mmap_error;
		return MAP_FAILED;
	}
	return __real_mmap(addr, size, prot, flags, fd, offset);
}

static int reset(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.node = -1;
	kernel.mbind_node = -1;
	kernel.advice = -1;
	return 0;
}

/* The test's host may itself have no NUMA or deny the question. */
static bool host_tells_nodes(void)
{
	int node;

	return !__real_get_mempolicy(&node, NULL, 0, &kernel,
				     MPOL_F_NODE | MPOL_F_ADDR);
}

static struct memory get(size_t size, enum memory_policy policy, int node,
			 bool huge, struct fault *warning)
{
	struct memory_choice choice = { .policy = policy, .node = node };
	struct fault fault = { 0 };
	struct memory m;

	if (memory_get(&m, size, choice, huge, warning, &fault))
		fail_msg("%s", fault.text);
	assert_non_null(m.base);
	assert_true(m.size >= size);
	assert_int_equal((uintptr_t)m.base % (size_t)sysconf(_SC_PAGESIZE), 0);
	assert_int_equal(m.size % (size_t)sysconf(_SC_PAGESIZE), 0);
	memset(m.base, 0xa5, m.size); /* all of it is usable */
	return m;
}

static void parse(void **state)
{
	static const struct {
		const char *text;
		struct memory_choice want;
	} good[] = {
		{ "none", { MEMORY_NONE, -1 } },
		{ "local", { MEMORY_LOCAL, -1 } },
		{ "node=0", { MEMORY_NODE, 0 } },
		{ "node=1023", { MEMORY_NODE, 1023 } },
	};
	static const char *const bad[] = {
		"",
		"loc",
		"localx",
		"NONE",
		"node",
		"node=",
		"node=-1",
		"node=+1",
		"node=1x",
		"node= 1",
		"node=1024",
		"node=0-1",
		"node=99999999999999999999",
	};
	struct memory_choice choice = { .policy = MEMORY_LOCAL, .node = 99 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fault fault = { 0 };

		assert_int_equal(memory_parse(bad[i], &choice, &fault), -1);
		assert_int_equal(choice.node, 99);
		assert_non_null(strstr(fault.text, "--mem"));
		assert_non_null(strstr(fault.text, bad[i]));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct fault fault = { 0 };

		assert_int_equal(memory_parse(good[i].text, &choice, &fault),
				 0);
		assert_int_equal(choice.policy, good[i].want.policy);
		assert_int_equal(choice.node, good[i].want.node);
		assert_int_equal(fault.text[0], 0);
	}
}

static void local_and_none(void **state)
{
	static const enum memory_policy policies[] = { MEMORY_LOCAL,
						       MEMORY_NONE };
	struct fault warning = { .text = "left from before" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct memory m = get(100001, policies[i], -1, false, &warning);

		assert_int_equal(warning.text[0], 0);
		assert_int_equal(kernel.mbind_calls, 0);
		assert_int_equal(kernel.advice, -1);
		assert_false(m.huge);
		if (host_tells_nodes())
			assert_true(m.node >= 0);
		memory_put(&m);
		assert_null(m.base);
		memory_put(&m); /* harmless */
	}
}

static void node_0(void **state)
{
	struct fault warning;
	struct memory m = get(1 << 20, MEMORY_NODE, 0, false, &warning);

	(void)state;
	assert_int_equal(kernel.mbind_calls, 1);
	assert_int_equal(kernel.mbind_node, 0);
	if (host_tells_nodes()) {
		assert_string_equal(warning.text, "");
		assert_int_equal(m.node, 0);
	}
	memory_put(&m);
}

/* Memory all the same, one warning, and nothing on standard error. */
static void node_absent(void **state)
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	struct fault warning;
	struct memory m;

	(void)state;
	assert_non_null(file);
	assert_true(saved >= 0);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	m = get(1 << 20, MEMORY_NODE, ABSENT_NODE, false, &warning);
	fflush(stderr);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);

	assert_int_equal(kernel.mbind_node, ABSENT_NODE);
	assert_int_equal(lseek(fileno(file), 0, SEEK_END), 0);
	fclose(file);
	if (m.node != ABSENT_NODE) /* a host with eight nodes */
		assert_non_null(strstr(warning.text, "node=7"));
	assert_null(strchr(warning.text, '\n'));
	memory_put(&m);
}

static void mbind_refused(void **state)
{
	static const int errors[] = { EPERM, EINVAL, ENOSYS };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fault warning;
		struct memory m;

		kernel.mbind_error = errors[i];
		m = get(1 << 20, MEMORY_NODE, 0, false, &warning);
		assert_int_equal(warning.err, errors[i]);
		assert_non_null(strstr(warning.text, "--mem=node=0"));
		if (host_tells_nodes())
			assert_true(m.node >= 0);
		memory_put(&m);
	}
	assert_int_equal(kernel.mbind_calls, 3);
}

/* A choice that never went through memory_parse() does not reach mbind. */
static void node_out_of_range(void **state)
{
	static const int nodes[] = { -1, 1024, INT32_MAX };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fault warning;
		struct memory m =
			get(1, MEMORY_NODE, nodes[i], false, &warning);

		assert_int_equal(warning.err, EINVAL);
		memory_put(&m);
	}
	assert_int_equal(kernel.mbind_calls, 0);
}

static void elsewhere_than_bound(void **state)
{
	struct fault warning;
	struct memory m;

	(void)state;
	kernel.mbind_error = -1;
	kernel.node = 3;
	m = get(1, MEMORY_NODE, 1, false, &warning);
	assert_int_equal(m.node, 3);
	assert_non_null(strstr(warning.text, "on node 3"));
	memory_put(&m);
	kernel.node = 1;
	m = get(1, MEMORY_NODE, 1, false, &warning);
	assert_int_equal(warning.text[0], 0);
	memory_put(&m);
}

static void no_numa_support(void **state)
{
	static const int errors[] = { ENOSYS, EPERM };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fault warning;
		struct memory m;

		kernel.place_error = errors[i];
		m = get(1 << 20, MEMORY_LOCAL, -1, false, &warning);
		assert_int_equal(m.node, -1);
		assert_int_equal(warning.text[0], 0);
		memory_put(&m);
	}
}

static void huge_pages(void **state)
{
	struct fault warning;
	struct memory m =
		get(3 * HUGE_PAGE - 1, MEMORY_LOCAL, -1, true, &warning);

	(void)state;
	assert_int_equal(m.size, 3 * HUGE_PAGE);
	assert_int_equal((uintptr_t)m.base % HUGE_PAGE, 0);
	assert_int_equal(kernel.advice, MADV_HUGEPAGE);
	assert_int_equal(m.huge, !warning.text[0]);
	memory_put(&m);

	kernel.advice_error = EINVAL; /* a kernel without them */
	m = get(1, MEMORY_LOCAL, -1, true, &warning);
	assert_false(m.huge);
	assert_int_equal(m.size, HUGE_PAGE);
	assert_non_null(strstr(warning.text, "--huge-pages"));
	memory_put(&m);
}

static void no_memory(void **state)
{
	struct memory_choice choice = { .policy = MEMORY_LOCAL };
	struct fault warning;
	struct memory m;

	(void)state;
	for (int huge = 0; huge < 2; huge++) {
		static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - HUGE_PAGE,
						SIZE_MAX / 2 };

		for (int i = 0; i < 3; i++) {
			struct fault fault = { 0 };

			assert_int_equal(memory_get(&m, sizes[i], choice, huge,
						    &warning, &fault),
					 -1);
			assert_int_equal(fault.err, ENOMEM);
			assert_null(m.base);
			memory_put(&m);
		}
	}
	kernel.mmap_error = EAGAIN; /* RLIMIT and the like */
	for (int huge = 0; huge < 2; huge++) {
		struct fault fault = { 0 };

		assert_int_equal(
			memory_get(&m, 1, choice, huge, &warning, &fault), -1);
		assert_int_equal(fault.err, EAGAIN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse),
		cmocka_unit_test_setup(local_and_none, reset),
		cmocka_unit_test_setup(node_0, reset),
		cmocka_unit_test_setup(node_absent, reset),
		cmocka_unit_test_setup(mbind_refused, reset),
		cmocka_unit_test_setup(node_out_of_range, reset),
		cmocka_unit_test_setup(elsewhere_than_bound, reset),
		cmocka_unit_test_setup(no_numa_support, reset),
		cmocka_unit_test_setup(huge_pages, reset),
		cmocka_unit_test_setup(no_memory, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

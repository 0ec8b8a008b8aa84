/* SPDX-License-Identifier: Apache-2.0 */
/* A flow's states, what it waits for, and where its next payload starts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/engine/flow.h"

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(flow_state_name(FLOW_NONE), "none");
	assert_string_equal(flow_state_name(FLOW_READY), "ready");
	assert_string_equal(flow_state_name(FLOW_RUNNING), "running");
	assert_string_equal(flow_state_name(FLOW_DRAINING), "draining");
	assert_string_equal(flow_state_name(FLOW_CLOSED), "closed");
}

/* Does moving from @from to @to end the process by an assertion? */
static bool move_aborts(enum flow_state from, enum flow_state to)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct flow f = { .state = (uint8_t)from };

		close(STDERR_FILENO);
		flow_move(&f, to);
		_exit(f.state == to ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		assert_int_equal(WEXITSTATUS(status), 0);
	else
		assert_int_equal(WTERMSIG(status), SIGABRT);
	return WIFSIGNALED(status);
}

/* Only forward; closing is possible from everywhere, and final. */
static void test_moves(void **state)
{
	(void)state;
	for (int from = FLOW_NONE; from <= FLOW_CLOSED; from++)
		for (int to = FLOW_NONE; to <= FLOW_CLOSED; to++)
			assert_int_equal(move_aborts(from, to), to <= from);
}

static uint32_t wanted(enum flow_state state, unsigned roles, bool timed,
		       bool blocked)
{
	struct flow f = { .state = (uint8_t)state,
			  .roles = (uint8_t)roles,
			  .blocked = blocked };

	return flow_wanted(&f, timed);
}

static void test_wanted(void **state)
{
	const unsigned both = FLOW_SENDS | FLOW_RECEIVES;
	static const enum flow_state quiet[] = { FLOW_NONE, FLOW_READY,
						 FLOW_CLOSED };

	(void)state;
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		for (int k = 0; k < 4; k++)
			assert_int_equal(wanted(quiet[i], both, k & 1, k & 2),
					 0);
	assert_int_equal(wanted(FLOW_RUNNING, FLOW_SENDS, false, false),
			 EPOLLOUT);
	assert_int_equal(wanted(FLOW_RUNNING, FLOW_RECEIVES, false, false),
			 EPOLLIN);
	assert_int_equal(wanted(FLOW_RUNNING, both, false, false),
			 EPOLLIN | EPOLLOUT);
	/* A timed sender waits for its time; for room only when it lacks. */
	assert_int_equal(wanted(FLOW_RUNNING, FLOW_SENDS, true, false), 0);
	assert_int_equal(wanted(FLOW_RUNNING, FLOW_SENDS, true, true),
			 EPOLLOUT);
	assert_int_equal(wanted(FLOW_RUNNING, both, true, false), EPOLLIN);
	assert_int_equal(wanted(FLOW_RUNNING, FLOW_RECEIVES, true, true),
			 EPOLLIN);
	/* While draining nothing is sent. */
	assert_int_equal(wanted(FLOW_DRAINING, both, false, false), EPOLLIN);
	assert_int_equal(wanted(FLOW_DRAINING, both, true, true), EPOLLIN);
	assert_int_equal(wanted(FLOW_DRAINING, FLOW_SENDS, false, false), 0);
}

/* Byte k of flow i is byte k + 8 i of the pattern, modulo its period. */
static void test_payload(void **state)
{
	static uint8_t buffer[TRANSFER_PERIOD + 100];
	struct lane l = { .tx_buffer = buffer };
	struct flow f = { .id = 0 };

	(void)state;
	assert_ptr_equal(flow_payload(&l, &f), buffer);
	f.id = 3;
	assert_ptr_equal(flow_payload(&l, &f), buffer + 24);
	counter_set(&f.tx_bytes, 1000);
	assert_ptr_equal(flow_payload(&l, &f), buffer + 1024);
	counter_set(&f.tx_bytes, TRANSFER_PERIOD - 25);
	assert_ptr_equal(flow_payload(&l, &f), buffer + TRANSFER_PERIOD - 1);
	counter_add(&f.tx_bytes, 1);
	assert_ptr_equal(flow_payload(&l, &f), buffer);
	f.id = UINT32_MAX;
	counter_set(&f.tx_bytes, UINT64_MAX);
	assert_ptr_equal(flow_payload(&l, &f), buffer + TRANSFER_PERIOD - 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_wanted),
		cmocka_unit_test(test_payload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

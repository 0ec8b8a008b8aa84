/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on standard error, exit statuses, and faults on their way up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/die.h"

/* Run @job in a child; its standard error goes to @out. Exit status. */
static int watch(void (*job)(void), char *out, size_t size)
{
	int ends[2], status;
	size_t n = 0;
	ssize_t k;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		job();
		_exit(99);
	}
	close(ends[1]);
	while ((k = read(ends[0], out + n, size - 1 - n)) > 0)
		n += (size_t)k;
	out[n] = 0;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_program(void **state)
{
	(void)state;
	assert_string_equal(die_program(), "napier");
	die_init("/usr/bin/tcp_stream");
	assert_string_equal(die_program(), "tcp_stream");
	die_init("./a/b");
	assert_string_equal(die_program(), "b");
	die_init("plain");
	assert_string_equal(die_program(), "plain");
}

static void job_complain(void)
{
	die_init("/x/prog");
	complain("%d of %s", 3, "them");
}

static void job_die(void)
{
	die_init("prog");
	die(STATUS_USAGE, "no %s", "good");
}

static void job_incomplete(void)
{
	die(STATUS_INCOMPLETE, "%s", "");
}

static void job_long(void)
{
	char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	die_init("prog");
	complain("%s", text);
}

static void job_long_name(void)
{
	static char name[3000];

	memset(name, 'n', sizeof(name) - 1);
	die_init(name);
	complain("here");
}

static void test_complain(void **state)
{
	char out[8192];

	(void)state;
	assert_int_equal(watch(job_complain, out, sizeof(out)), 99);
	assert_string_equal(out, "prog: 3 of them\n");
}

static void test_die_status(void **state)
{
	char out[256];

	(void)state;
	assert_int_equal(STATUS_OK, 0);
	assert_int_equal(STATUS_FAILED, 1);
	assert_int_equal(STATUS_USAGE, 2);
	assert_int_equal(STATUS_INCOMPLETE, 3);
	assert_int_equal(watch(job_die, out, sizeof(out)), 2);
	assert_string_equal(out, "prog: no good\n");
	assert_int_equal(watch(job_incomplete, out, sizeof(out)), 3);
}

/* Whatever the length, one line comes out, and it ends. */
static void test_long_messages(void **state)
{
	char out[8192];
	size_t n;

	(void)state;
	assert_int_equal(watch(job_long, out, sizeof(out)), 99);
	n = strlen(out);
	assert_true(n > 500 && n <= 1024);
	assert_int_equal(out[n - 1], '\n');
	assert_true(strchr(out, '\n') == out + n - 1);
	assert_memory_equal(out, "prog: xxx", 9);
	assert_int_equal(watch(job_long_name, out, sizeof(out)), 99);
	assert_non_null(strstr(out, "nnn: here\n"));
}

static void test_fault(void **state)
{
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(fault_set(&f, 0, "port %d", 7), -1);
	assert_string_equal(f.text, "port 7");
	assert_int_equal(f.err, 0);
	/* The first one is kept: it is nearest to the cause. */
	assert_int_equal(fault_set(&f, ENOENT, "later"), -1);
	assert_string_equal(f.text, "port 7");
	assert_int_equal(f.err, 0);
	f = (struct fault){ 0 };
	assert_int_equal(fault_set(&f, ENOENT, "open %s", "x"), -1);
	assert_string_equal(f.text, "open x: No such file or directory");
	assert_int_equal(f.err, ENOENT);
}

/* A text is one line and ends within its room, whatever went in. */
static void test_fault_is_one_line(void **state)
{
	struct fault f = { 0 };
	char text[1000];

	(void)state;
	fault_set(&f, 0, "a\nb\r\nc");
	assert_string_equal(f.text, "a b  c");
	/* Nor can a name from the other end command a terminal. */
	f = (struct fault){ 0 };
	fault_set(&f, 0, "%s", "a\x1b[2Jb\tc\v\f\x7f\xc3\xa4");
	assert_string_equal(f.text, "a [2Jb c   \xc3\xa4");
	for (size_t n = sizeof(f.text) - 30; n < sizeof(f.text) + 2; n++) {
		memset(text, 'y', n);
		text[n] = 0;
		f = (struct fault){ 0 };
		fault_set(&f, EPERM, "%s", text);
		assert_true(memchr(f.text, 0, sizeof(f.text)) != NULL);
		assert_memory_equal(f.text, text, sizeof(f.text) - 31);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_complain),
		cmocka_unit_test(test_die_status),
		cmocka_unit_test(test_long_messages),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_fault_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

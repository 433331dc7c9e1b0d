/* SPDX-License-Identifier: MIT */
#include "test.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/err.h"
#include "base/str.h"

static void fail_fills_and_returns_the_code(void **state)
{
	struct bread_err err;

	memset(&err, 'x', sizeof(err));
	assert_int_equal(brd_fail(&err, BREAD_E_CONFLICT, "net", "port %d is taken", 8080),
		BREAD_E_CONFLICT);
	assert_int_equal(err.code, BREAD_E_CONFLICT);
	assert_string_equal(err.name, "");
	assert_string_equal(err.where, "net");
	assert_string_equal(err.text, "port 8080 is taken");
}

static void fail_as_gives_the_word_of_the_wire(void **state)
{
	struct bread_err err;

	assert_int_equal(
		brd_fail_as(&err, BREAD_E_NOT_FOUND, "AGENT_NOT_FOUND", NULL, "no agent %s", "a"),
		BREAD_E_NOT_FOUND);
	assert_string_equal(err.name, "AGENT_NOT_FOUND");
	assert_string_equal(err.where, "");
}

static void fail_needs_no_error_to_fill(void **state)
{
	assert_int_equal(brd_fail(NULL, BREAD_E_BUSY, "x", "y"), BREAD_E_BUSY);
}

static void an_error_can_be_put_into_itself(void **state)
{
	struct bread_err err;

	brd_fail(&err, BREAD_E_INVALID, "low", "a colon was expected");
	brd_fail(&err, err.code, err.where, "agent.yaml: %s", err.text);
	assert_string_equal(err.where, "low");
	assert_string_equal(err.text, "agent.yaml: a colon was expected");
}

static void a_long_text_is_cut_between_characters(void **state)
{
	struct bread_err err;
	char text[1200];

	for (size_t i = 0; i < 1198; i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	text[1198] = 0;
	brd_fail(&err, BREAD_E_INVALID, text, "%s", text);
	assert_int_equal(strlen(err.text), 510);
	assert_int_equal(strlen(err.where), 126);
	assert_true(brd_utf8_ok(brd_str(err.text)));
}

static void system_errors_read_on_behind_a_colon(void **state)
{
	assert_string_equal(brd_errno(ENOENT), "no such file or directory");
	assert_string_equal(brd_errno(EIO), "input/output error");
	assert_non_null(strstr(brd_errno(99999), "99999"));
}

static void codes_have_names(void **state)
{
	assert_string_equal(bread_code_name(BREAD_OK), "ok");
	assert_string_equal(bread_code_name(BREAD_E_NOT_FOUND), "not found");
	assert_string_equal(bread_code_name(BREAD_E_BUSY), "busy");
	assert_string_equal(bread_code_name((enum bread_code) - 77), "unknown");
}

static void the_version_has_three_numbers(void **state)
{
	int a, b, c, n = 0;

	assert_int_equal(sscanf(bread_version(), "%d.%d.%d%n", &a, &b, &c, &n), 3);
	assert_int_equal((size_t)n, strlen(bread_version()));
}

static void fail_an_assertion(int out)
{
	dup2(out, STDERR_FILENO);
	brd_assert_context("run r1, node agent.0");
	brd_assert(1 + 1 == 3);
	_exit(0);
}

static void a_failed_assertion_says_what_was_at_work(void **state)
{
	int fds[2], status;
	char text[1024];
	ssize_t n;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0)
		fail_an_assertion(fds[1]);
	close(fds[1]);
	n = read(fds[0], text, sizeof(text) - 1);
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_true(n > 0);
	text[n] = 0;
	assert_non_null(strstr(text, "1 + 1 == 3"));
	assert_non_null(strstr(text, "run r1, node agent.0"));
}

static void broken_characters_become_question_marks(void **state)
{
	struct bread_err err;

	brd_fail(&err, BREAD_E_INVALID, "wh\xff", "a key \"%.2s\" and \xed\xa0\x80.",
		"\xe3\x9a\x84");
	assert_string_equal(err.text, "a key \"??\" and ???.");
	assert_string_equal(err.where, "wh?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fail_fills_and_returns_the_code),
		cmocka_unit_test(fail_as_gives_the_word_of_the_wire),
		cmocka_unit_test(fail_needs_no_error_to_fill),
		cmocka_unit_test(an_error_can_be_put_into_itself),
		cmocka_unit_test(a_long_text_is_cut_between_characters),
		cmocka_unit_test(system_errors_read_on_behind_a_colon),
		cmocka_unit_test(codes_have_names),
		cmocka_unit_test(the_version_has_three_numbers),
		cmocka_unit_test(a_failed_assertion_says_what_was_at_work),
		cmocka_unit_test(broken_characters_become_question_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

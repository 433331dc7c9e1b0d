/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "loop/proc.h"

static struct loop *loop;
static struct bread_op op;
static struct buf out;
static bool keep_reading;

static int open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int setup(void **state)
{
	keep_reading = true;
	brd_buf_init(&out, 16 << 20);
	return brd_loop_new(&loop, NULL);
}

/* No child may be left behind by any test, not even a dead one. */
static int teardown(void **state)
{
	brd_buf_fini(&out);
	brd_loop_free(loop);
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

static bool on_out(void *arg, struct bread_str bytes)
{
	brd_buf_add(&out, bytes);
	return keep_reading;
}

static struct proc *start(const char *const *argv, struct bread_str input)
{
	struct proc_spec s = { .argv = argv, .input = input, .on_out = on_out, .grace_ms = 100 };

	bread_op_init(&op, loop, NULL, NULL);
	return brd_proc_start(loop, &s, &op);
}

static struct proc *shell(const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	return start(argv, BRD_STR(""));
}

static void wait_end(void)
{
	while (bread_op_running(&op))
		brd_loop_turn(loop, -1);
}

static void wait_output(const char *z)
{
	while (brd_str_find(brd_buf_str(&out), brd_str(z)) < 0)
		brd_loop_turn(loop, -1);
}

static void gives_what_was_written(void **state)
{
	const char *argv[] = { "cat", NULL };
	struct proc *p = start(argv, BRD_STR("hello"));

	assert_int_equal(out.len, 0);
	wait_end();
	assert_int_equal(op.code, BREAD_OK);
	assert_int_equal(brd_proc_status(p), 0);
	assert_string_equal(out.data, "hello");
	brd_proc_free(p);
}

static void large_input_and_output(void **state)
{
	const char *argv[] = { "cat", NULL };
	size_t n = 3 << 20;
	char *big = malloc(n);
	struct proc *p;

	memset(big, 'x', n);
	p = start(argv, (struct bread_str){ big, n });
	memset(big, 'y', n); /* it was copied */
	wait_end();
	assert_int_equal(out.len, n);
	assert_int_equal(out.data[0], 'x');
	assert_int_equal(out.data[n - 1], 'x');
	free(big);
	brd_proc_free(p);
}

static void exit_status_and_stderr(void **state)
{
	struct proc *p = shell("echo oops >&2; exit 3");

	wait_end();
	assert_int_equal(op.code, BREAD_OK);
	assert_int_equal(brd_proc_status(p), 3);
	assert_str(brd_proc_stderr(p), "oops\n");
	brd_proc_free(p);
}

static void stderr_keeps_its_end(void **state)
{
	struct proc *p = shell("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done");

	wait_end();
	assert_int_equal(brd_proc_stderr(p).n, 8192);
	assert_true(brd_str_ends(brd_proc_stderr(p), BRD_STR("line 2999\n")));
	brd_proc_free(p);
}

static void a_signal_is_128_and_more(void **state)
{
	struct proc *p = shell("kill -9 $$");

	wait_end();
	assert_int_equal(brd_proc_status(p), 128 + 9);
	brd_proc_free(p);
}

static void missing_program_is_named_with_the_remedy(void **state)
{
	const char *argv[] = { "no-such-program-here", NULL };
	struct proc *p = start(argv, BRD_STR("input"));

	assert_true(bread_op_running(&op));
	wait_end();
	assert_int_equal(op.code, BREAD_E_INVALID);
	assert_non_null(strstr(op.err.text, "no-such-program-here"));
	assert_non_null(strstr(op.err.text, "install it"));
	brd_proc_free(p);
}

static void missing_folder_is_named(void **state)
{
	const char *argv[] = { "true", NULL };
	struct proc_spec s = { .argv = argv, .cwd = "/no/such/folder" };
	struct proc *p;

	bread_op_init(&op, loop, NULL, NULL);
	p = brd_proc_start(loop, &s, &op);
	wait_end();
	assert_int_equal(op.code, BREAD_E_INVALID);
	assert_non_null(strstr(op.err.text, "/no/such/folder"));
	brd_proc_free(p);
}

static void environment_and_folder(void **state)
{
	const char *argv[] = { "sh", "-c", "echo $WORD $PWD", NULL };
	const char *env[] = { "WORD=bread", "PATH=/bin:/usr/bin", NULL };
	struct proc_spec s = { .argv = argv, .env = env, .cwd = "/", .on_out = on_out };
	struct proc *p;

	bread_op_init(&op, loop, NULL, NULL);
	p = brd_proc_start(loop, &s, &op);
	wait_end();
	assert_string_equal(out.data, "bread /\n");
	brd_proc_free(p);
}

static void streams_can_be_opened_anew(void **state)
{
	struct proc *p = shell("echo again > /dev/stdout");

	wait_end();
	assert_string_equal(out.data, "again\n");
	brd_proc_free(p);
}

static void a_child_that_reads_nothing_is_no_error(void **state)
{
	const char *argv[] = { "true", NULL };
	size_t n = 1 << 20;
	char *big = calloc(1, n);
	struct proc *p = start(argv, (struct bread_str){ big, n });

	wait_end();
	assert_int_equal(op.code, BREAD_OK);
	free(big);
	brd_proc_free(p);
}

static void cancel_sends_term_and_hears_the_last_words(void **state)
{
	struct proc *p =
		shell("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done");

	wait_output("up\n");
	bread_op_cancel(&op);
	wait_end();
	assert_int_equal(op.code, BREAD_E_CANCELED);
	assert_non_null(strstr(out.data, "bye"));
	brd_proc_free(p);
}

static void cancel_kills_what_ignores_term(void **state)
{
	struct proc *p = shell("trap '' TERM; echo up; while :; do sleep 10; done");
	int64_t t0;

	wait_output("up\n");
	t0 = brd_clock_mono();
	bread_op_cancel(&op);
	wait_end();
	assert_int_equal(op.code, BREAD_E_CANCELED);
	assert_int_equal(brd_proc_status(p), 128 + 9);
	assert_true(brd_clock_mono() - t0 < 5000);
	brd_proc_free(p);
}

static void cancel_kills_grandchildren(void **state)
{
	struct proc *p = shell("(trap '' TERM; sleep 1000) & echo $!; wait");
	long pid;

	wait_output("\n");
	pid = strtol(out.data, NULL, 10);
	assert_true(pid > 1);
	bread_op_cancel(&op);
	wait_end();
	for (int i = 0; i < 200 && kill((pid_t)pid, 0) == 0; i++) {
		char path[64], line[256] = "";
		FILE *f;

		/* it may stay a zombie of init's for a while, which is not ours */
		snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
		f = fopen(path, "r");
		if (f && fgets(line, sizeof(line), f) && strstr(line, ") Z"))
			i = 200;
		if (f)
			fclose(f);
		assert_int_not_equal(i, 199);
		usleep(10000);
	}
	brd_proc_free(p);
}

static void grandchild_with_stdout_does_not_keep_it_open(void **state)
{
	struct proc *p = shell("sleep 3 & echo done");
	int64_t t0 = brd_clock_mono();

	wait_end();
	assert_int_equal(op.code, BREAD_OK);
	assert_string_equal(out.data, "done\n");
	assert_true(brd_clock_mono() - t0 < 2500);
	brd_proc_free(p);
}

static void stdout_that_closes_early_is_not_the_end(void **state)
{
	struct proc *p = shell("exec >&-; exec 2>&-; sleep 0.1; exit 4");

	wait_end();
	assert_int_equal(brd_proc_status(p), 4);
	brd_proc_free(p);
}

static void no_more_output_wanted_kills_it(void **state)
{
	struct proc *p = shell("while :; do echo yes; done");

	keep_reading = false;
	wait_end();
	assert_int_equal(op.code, BREAD_OK);
	assert_true(brd_proc_status(p) > 128);
	brd_proc_free(p);
}

static void deadline_is_a_timeout(void **state)
{
	struct proc *p = shell("sleep 100");

	bread_op_deadline(&op, 30);
	wait_end();
	assert_int_equal(op.code, BREAD_E_TIMEOUT);
	brd_proc_free(p);
}

static void no_file_stays_open(void **state)
{
	const char *missing[] = { "no-such-program-here", NULL };
	int before = -1;

	for (int i = 0; i < 5; i++) {
		struct proc *p = i % 2 ? shell("echo x") : start(missing, BRD_STR(""));

		wait_end();
		brd_proc_free(p);
		if (before < 0)
			before = open_files();
	}
	assert_int_equal(open_files(), before);
}

static int files_for_children(void)
{
	int n = 0;

	for (int fd = 3; fd < 256; fd++) {
		int flags = fcntl(fd, F_GETFD);

		n += flags >= 0 && !(flags & FD_CLOEXEC);
	}
	return n;
}

static void children_inherit_no_file(void **state)
{
	int before = files_for_children();
	struct proc *p = shell("sleep 100");

	assert_int_equal(files_for_children(), before);
	bread_op_cancel(&op);
	wait_end();
	brd_proc_free(p);
}

/* libuv closes by a bare system call, which the thread sanitizer does not see: it
 * takes a number that is used again for the same file in two threads. */
const char *__tsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void)
{
	return "race:uv_pipe\n";
}

static void on_one_more(struct bread_op *o)
{
	++*(int *)o->arg;
}

/* A loop of its own, whose children come and go beside those of others. */
static void *run_children(void *arg)
{
	const char *argv[] = { "sh", "-c", "cat; exit 5", NULL };
	struct proc_spec s = { .argv = argv, .input = BRD_STR("x") };
	struct proc *p[8];
	struct bread_op ops[8];
	struct loop *l;
	int ended = 0, good = 0;

	if (brd_loop_new(&l, NULL))
		return NULL;
	for (int i = 0; i < 8; i++) {
		bread_op_init(&ops[i], l, on_one_more, &ended);
		p[i] = brd_proc_start(l, &s, &ops[i]);
	}
	while (ended < 8)
		brd_loop_turn(l, -1);
	for (int i = 0; i < 8; i++) {
		good += ops[i].code == BREAD_OK && brd_proc_status(p[i]) == 5;
		brd_proc_free(p[i]);
	}
	brd_loop_free(l);
	*(int *)arg = good;
	return NULL;
}

static void several_loops_have_children(void **state)
{
	pthread_t t[4];
	int good[4] = { 0 };

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, run_children, &good[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(good[i], 8);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(gives_what_was_written),
		T(large_input_and_output),
		T(exit_status_and_stderr),
		T(stderr_keeps_its_end),
		T(a_signal_is_128_and_more),
		T(missing_program_is_named_with_the_remedy),
		T(missing_folder_is_named),
		T(environment_and_folder),
		T(streams_can_be_opened_anew),
		T(a_child_that_reads_nothing_is_no_error),
		T(cancel_sends_term_and_hears_the_last_words),
		T(cancel_kills_what_ignores_term),
		T(cancel_kills_grandchildren),
		T(grandchild_with_stdout_does_not_keep_it_open),
		T(stdout_that_closes_early_is_not_the_end),
		T(no_more_output_wanted_kills_it),
		T(deadline_is_a_timeout),
		T(no_file_stays_open),
		T(children_inherit_no_file),
		T(several_loops_have_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

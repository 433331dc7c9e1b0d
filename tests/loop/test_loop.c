/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <uv.h>
#include "test.h"
#include "base/clock.h"
#include "loop/loop.h"
#include "loop/work.h"

#define SENDERS 4
#define POSTS 5000

static struct loop *loop;
static char trace[64];

static int setup(void **state)
{
	trace[0] = '\0';
	return brd_loop_new(&loop, NULL);
}

static int teardown(void **state)
{
	brd_loop_free(loop);
	return 0;
}

static void mark(char c)
{
	size_t n = strlen(trace);

	assert_true(n + 1 < sizeof(trace));
	trace[n] = c;
	trace[n + 1] = '\0';
}

static void turns(void)
{
	while (brd_loop_turn(loop, 0))
		;
}

/* ---- posts ---- */

struct number {
	struct post post;
	int sender, n;
};

static int seen[SENDERS], total;

static void count(struct post *p)
{
	struct number *x = brd_list_of(p, struct number, post);

	assert_true(brd_loop_here(loop));
	assert_int_equal(x->n, seen[x->sender]++);
	free(x);
	if (++total == SENDERS * POSTS)
		brd_loop_stop(loop);
}

static void *send_all(void *arg)
{
	for (int i = 0; i < POSTS; i++) {
		struct number *x = calloc(1, sizeof(*x));

		x->post.run = count;
		x->sender = (int)(intptr_t)arg;
		x->n = i;
		brd_loop_post(loop, &x->post);
	}
	return NULL;
}

static void posts_keep_their_order(void **state)
{
	pthread_t t[SENDERS];

	memset(seen, 0, sizeof(seen));
	total = 0;
	for (intptr_t i = 0; i < SENDERS; i++)
		pthread_create(&t[i], NULL, send_all, (void *)i);
	brd_loop_run(loop);
	assert_int_equal(total, SENDERS * POSTS);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(t[i], NULL);
}

static void *run_loop(void *arg)
{
	brd_loop_run(arg);
	return NULL;
}

/* Stopped while others still post: what came late is run by the next turn or by free. */
static void posts_against_stop(void **state)
{
	for (int round = 0; round < 20; round++) {
		pthread_t runner, sender;

		memset(seen, 0, sizeof(seen));
		total = 0;
		pthread_create(&runner, NULL, run_loop, loop);
		pthread_create(&sender, NULL, send_all, NULL);
		brd_loop_stop(loop);
		pthread_join(runner, NULL);
		pthread_join(sender, NULL);
		turns();
		assert_int_equal(total, POSTS);
	}
}

static void stop_before_run_is_kept(void **state)
{
	brd_loop_stop(loop);
	brd_loop_run(loop);
}

static bool again;

static void end_again(struct bread_op *op)
{
	if (!again)
		return;
	bread_op_init(op, loop, end_again, NULL);
	bread_op_end(op, BREAD_OK, NULL);
}

static void ends_without_end_leave_io_its_share(void **state)
{
	struct bread_op op;

	again = true;
	bread_op_init(&op, loop, end_again, NULL);
	bread_op_end(&op, BREAD_OK, NULL);
	assert_true(brd_loop_turn(loop, 0));
	assert_true(brd_loop_turn(loop, -1)); /* and does not wait */
	again = false;
	turns();
	assert_int_equal(brd_loop_ops(loop), 0);
}

static void free_runs_what_was_posted(void **state)
{
	struct loop *kept = loop;

	assert_int_equal(brd_loop_new(&loop, NULL), 0);
	memset(seen, 0, sizeof(seen));
	total = 0;
	send_all(NULL);
	brd_loop_free(loop);
	loop = kept;
	assert_int_equal(total, POSTS);
}

/* ---- the order of a turn ---- */

static struct loop_hook hook_a, hook_b;

static void on_hook_a(struct loop_hook *h)
{
	mark('a');
}

static void on_hook_b(struct loop_hook *h)
{
	mark('b');
	brd_loop_unhook(&hook_a);
	brd_loop_unhook(h);
}

static void on_post(struct post *p)
{
	mark('p');
	brd_loop_mark(loop);
}

static void on_op_end(struct bread_op *op)
{
	mark('e');
}

static void on_timer(struct timer *t)
{
	mark('t');
	brd_loop_mark(loop);
}

static void a_turn_has_its_order(void **state)
{
	struct post p = { .run = on_post };
	struct timer t = { 0 };
	struct bread_op op;

	hook_a.run = on_hook_a;
	brd_loop_hook(loop, &hook_a);
	bread_op_init(&op, loop, on_op_end, NULL);
	bread_op_begin(&op, NULL, NULL);
	bread_op_end(&op, BREAD_OK, NULL);
	brd_timer_start(&t, loop, 0, on_timer);
	brd_loop_post(loop, &p);
	assert_true(brd_loop_turn(loop, 0));
	assert_string_equal(trace, "peta");
	brd_loop_unhook(&hook_a);
}

static void hooks_run_once_a_marked_turn(void **state)
{
	hook_a.run = on_hook_a;
	brd_loop_hook(loop, &hook_a);
	turns();
	assert_string_equal(trace, "");
	brd_loop_mark(loop);
	brd_loop_mark(loop);
	turns();
	assert_string_equal(trace, "a");
	brd_loop_unhook(&hook_a);
}

static void hooks_may_unhook_themselves_and_others(void **state)
{
	hook_a.run = on_hook_a;
	hook_b.run = on_hook_b;
	brd_loop_hook(loop, &hook_b);
	brd_loop_hook(loop, &hook_a);
	brd_loop_mark(loop);
	turns();
	assert_string_equal(trace, "b");
}

/* ---- embedding ---- */

static void *post_one(void *arg)
{
	brd_loop_post(loop, arg);
	return NULL;
}

static void fd_is_readable_when_there_is_something(void **state)
{
	struct pollfd fd = { .fd = brd_loop_fd(loop), .events = POLLIN };
	struct post p = { .run = on_post };
	pthread_t t;

	turns();
	assert_int_equal(poll(&fd, 1, 0), 0);
	pthread_create(&t, NULL, post_one, &p);
	assert_int_equal(poll(&fd, 1, 5000), 1);
	pthread_join(t, NULL);
	assert_true(brd_loop_turn(loop, 0));
	assert_string_equal(trace, "p");
}

static void turn_without_work_says_so(void **state)
{
	turns();
	assert_false(brd_loop_turn(loop, 0));
	assert_false(brd_loop_turn(loop, 5));
}

static void embedder_is_sent_round_after_a_start(void **state)
{
	struct bread_op op;

	turns();
	assert_int_equal(brd_loop_next_timer(loop), -1);
	bread_op_init(&op, loop, on_op_end, NULL);
	bread_op_begin(&op, NULL, NULL);
	bread_op_end(&op, BREAD_OK, NULL);
	assert_int_equal(brd_loop_next_timer(loop), 0);
	turns();
	assert_int_equal(brd_loop_next_timer(loop), -1);
	assert_string_equal(trace, "e");
}

/* ---- what happens inside libuv before it waits ---- */

static struct bread_op ended_by_uv;

static void on_uv_timer(uv_timer_t *t)
{
	bread_op_end(&ended_by_uv, BREAD_OK, NULL);
}

static void ends_of_uv_timers_are_not_waited_past(void **state)
{
	struct timer far = { 0 };
	uv_timer_t t;
	int64_t t0 = brd_clock_mono();

	bread_op_init(&ended_by_uv, loop, on_op_end, NULL);
	bread_op_begin(&ended_by_uv, NULL, NULL);
	brd_timer_start(&far, loop, 20000, on_timer);
	uv_timer_init(brd_loop_uv(loop), &t);
	uv_timer_start(&t, on_uv_timer, 0, 0);
	assert_true(brd_loop_turn(loop, -1));
	assert_string_equal(trace, "e");
	assert_true(brd_clock_mono() - t0 < 10000);
	brd_timer_stop(&far);
	uv_close((uv_handle_t *)&t, NULL);
	turns();
}

/* ---- work ---- */

static enum bread_code worked(struct work *w, struct bread_err *err)
{
	assert_false(brd_loop_here(loop));
	*(int *)w->arg += 1;
	strcpy(err->text, "as it said");
	return BREAD_E_UPSTREAM;
}

static void work_ends_with_what_it_returned(void **state)
{
	struct bread_op op;
	int n = 0;
	struct work w = { .run = worked, .arg = &n };

	bread_op_init(&op, loop, on_op_end, NULL);
	brd_work_start(&w, &op);
	while (bread_op_running(&op))
		brd_loop_turn(loop, -1);
	assert_int_equal(n, 1);
	assert_int_equal(op.code, BREAD_E_UPSTREAM);
	assert_string_equal(op.err.text, "as it said");
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static enum bread_code wait_at_gate(struct work *w, struct bread_err *err)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return BREAD_OK;
}

/* More than the pool has threads: those that wait for one end at once. */
static void cancelled_work_that_was_not_started_does_not_run(void **state)
{
	struct work w[64];
	struct bread_op op[64];
	int canceled = 0;

	memset(w, 0, sizeof(w));
	pthread_mutex_lock(&gate);
	for (int i = 0; i < 64; i++) {
		w[i].run = wait_at_gate;
		bread_op_init(&op[i], loop, NULL, NULL);
		brd_work_start(&w[i], &op[i]);
	}
	bread_op_cancel(&op[63]);
	while (bread_op_running(&op[63]))
		brd_loop_turn(loop, -1);
	assert_int_equal(op[63].code, BREAD_E_CANCELED);
	for (int i = 0; i < 63; i++)
		bread_op_cancel(&op[i]);
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < 63; i++) {
		while (bread_op_running(&op[i]))
			brd_loop_turn(loop, -1);
		canceled += op[i].code == BREAD_E_CANCELED;
	}
	assert_true(canceled > 0 && canceled < 63);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(posts_keep_their_order),
		T(posts_against_stop),
		T(stop_before_run_is_kept),
		T(ends_without_end_leave_io_its_share),
		T(free_runs_what_was_posted),
		T(a_turn_has_its_order),
		T(hooks_run_once_a_marked_turn),
		T(hooks_may_unhook_themselves_and_others),
		T(fd_is_readable_when_there_is_something),
		T(turn_without_work_says_so),
		T(embedder_is_sent_round_after_a_start),
		T(ends_of_uv_timers_are_not_waited_past),
		T(work_ends_with_what_it_returned),
		T(cancelled_work_that_was_not_started_does_not_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

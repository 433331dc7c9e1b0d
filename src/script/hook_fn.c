/* SPDX-License-Identifier: MIT */
/* Hooks that are functions of the embedder (include/bread/hook.h). The answer may come at once,
 * later, and from any thread. The function sees a copy of the call, which lives until it has
 * answered: two seconds after a cancel the real one ends without it. */
#include <stdatomic.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "script/hook.h"

#define PATIENCE_MS 2000

struct hook_fn {
	struct bread_hook hook;
	enum bread_hook_scope scope;
	enum bread_hook_point point;
	bread_hook_fn *fn;
	void *arg;
};

struct asked {
	struct bread_hook_call seen;
	struct bread_hook_call *real; /* NULL: it has given up */
	struct arena arena;           /* of what seen is told */
	struct timer patience;
	struct post post;
	atomic_int canceled;
	enum bread_code code;
	struct bread_err err;
};

static struct asked *asked_of(const struct bread_hook_call *call)
{
	return brd_list_of(call, struct asked, seen);
}

static int fn_open(
	struct bread_hook *h, struct bread_str options, const char *dir, struct bread_err *err)
{
	return 0;
}

static void fn_close(struct bread_hook *h)
{
}

static int fn_hears(struct bread_hook *h, enum bread_hook_scope scope, enum bread_hook_point point)
{
	const struct hook_fn *f = (const struct hook_fn *)h;

	return f->scope == scope && f->point == point;
}

/* ---- the run's side ---- */

static void give_up(struct timer *t)
{
	struct asked *a = brd_list_of(t, struct asked, patience);
	struct bread_hook_call *real = a->real;

	a->real = NULL;
	bread_op_end(&real->op, BREAD_E_CANCELED, NULL);
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct asked *a = by;

	atomic_store(&a->canceled, 1);
	brd_timer_start(&a->patience, op->loop, PATIENCE_MS, give_up);
}

static void copy_info(struct asked *a, const struct bread_hook_info *i)
{
	struct bread_hook_info *to = &a->seen.info;

	*to = *i;
	to->context = brd_arena_copy(&a->arena, i->context);
	to->input = brd_arena_copy(&a->arena, i->input);
	to->output = brd_arena_copy(&a->arena, i->output);
	to->error_code = brd_arena_copy(&a->arena, i->error_code);
	to->error_message = brd_arena_copy(&a->arena, i->error_message);
	to->error_context = brd_arena_copy(&a->arena, i->error_context);
}

static void fn_start(struct bread_hook *h, struct bread_hook_call *call)
{
	struct hook_fn *f = (struct hook_fn *)h;
	struct asked *a = brd_alloc(sizeof(*a));

	a->real = call;
	a->seen.loop = call->loop;
	copy_info(a, &call->info);
	bread_op_begin(&call->op, on_cancel, a);
	f->fn(&a->seen, &a->seen.info, f->arg);
}

/* On the loop: hands the answer over, unless nobody waits any more. */
static void deliver(struct post *post)
{
	struct asked *a = brd_list_of(post, struct asked, post);
	struct bread_hook_call *real = a->real, *seen = &a->seen;

	brd_timer_stop(&a->patience);
	if (real) {
		real->answer = seen->answer;
		real->value = seen->value;
		real->value_len = seen->value_len;
		real->error_code_out = seen->error_code_out;
		real->error_text_out = seen->error_text_out;
		bread_op_end(&real->op, a->code, &a->err);
	} else {
		brd_hook_call_fini(seen);
	}
	brd_arena_fini(&a->arena);
	free(a);
}

/* ---- the answers ---- */

static void answer(struct bread_hook_call *call, enum bread_hook_answer answer)
{
	struct asked *a = asked_of(call);

	call->answer = answer;
	a->post.run = deliver;
	brd_loop_post(call->loop, &a->post);
}

static void answer_value(
	struct bread_hook_call *call, enum bread_hook_answer kind, struct bread_str json)
{
	call->value = brd_strndup(json);
	call->value_len = json.n;
	answer(call, kind);
}

int bread_hook_canceled(const struct bread_hook_call *call)
{
	return atomic_load(&asked_of(call)->canceled);
}

void bread_hook_pass(struct bread_hook_call *call)
{
	answer(call, BREAD_HOOK_NOTHING);
}

void bread_hook_input(struct bread_hook_call *call, struct bread_str json)
{
	answer_value(call, BREAD_HOOK_INPUT, json);
}

void bread_hook_output(struct bread_hook_call *call, struct bread_str json)
{
	answer_value(call, BREAD_HOOK_OUTPUT, json);
}

void bread_hook_retry(struct bread_hook_call *call)
{
	answer(call, BREAD_HOOK_RETRY);
}

void bread_hook_fail(struct bread_hook_call *call, const char *code, const char *message)
{
	call->error_code_out = code ? brd_strdup(code) : NULL;
	call->error_text_out = message ? brd_strdup(message) : NULL;
	answer(call, BREAD_HOOK_FAIL);
}

void bread_hook_error(struct bread_hook_call *call, const char *code, const char *message)
{
	struct asked *a = asked_of(call);

	a->code = brd_fail_as(&a->err, BREAD_E_UPSTREAM, code ? code : "", "hook", "%s",
		message ? message : "the hook failed");
	answer(call, BREAD_HOOK_NOTHING);
}

struct bread_hook *brd_hook_fn_new(
	enum bread_hook_scope scope, enum bread_hook_point point, bread_hook_fn *fn, void *arg)
{
	static const struct bread_hook_ops ops = {
		.name = "callback",
		.size = sizeof(struct hook_fn),
		.open = fn_open,
		.close = fn_close,
		.hears = fn_hears,
		.start = fn_start,
	};
	struct hook_fn *f = brd_alloc(sizeof(*f));

	f->hook.ops = &ops;
	f->hook.home = scope;
	f->scope = scope;
	f->point = point;
	f->fn = fn;
	f->arg = arg;
	return &f->hook;
}

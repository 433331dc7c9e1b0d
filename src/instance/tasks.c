/* SPDX-License-Identifier: MIT */
/* Tasks by themselves: one structured call of a model, with its record.
 *
 * Every attempt has a record of its own: it is written, then the model is asked, then the record is
 * ended, then the caller is told. So what the caller was told is on record. A call belongs to the
 * loop that asked for it and holds a place under the cap. When the instance goes down a call is
 * cancelled, and so recorded. */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/err_context.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "instance/internal.h"
#include "run/task.h"
#include "run/task_call.h"

struct task_run {
	struct list link; /* in the instance's */
	struct bread *b;
	struct loop *loop;
	struct arena arena;
	struct task_def def;
	struct task_call call;
	struct bread_task_run_row row;
	struct bread_rec rec;
	struct bread_tx tx;
	struct timer again;
	struct post leave;
	struct hook_run *hook; /* that is asked; NULL: none */
	bool asked;            /* to leave; the instance's lock */
	bool leaving, over;
	int64_t attempt, began_mono;
	char id[UUID_LEN + 1], run_id[UUID_LEN + 1];
	struct bread_err err;
	void (*on_end)(const struct bread_task_outcome *o, void *arg);
	void *arg;
};

static void free_run(struct task_run *t)
{
	brd_hook_run_free(t->hook);
	brd_task_call_fini(&t->call);
	brd_task_fini(&t->def);
	brd_arena_fini(&t->arena);
	free(t);
}

static void end(struct task_run *t)
{
	struct bread_task_outcome o = { .task_run_id = brd_str(t->id), .err = &t->err };
	bool asked;

	if (t->err.code == BREAD_OK) {
		o.err = NULL;
		o.output = t->row.output;
		o.usage = t->row.usage;
	}
	pthread_mutex_lock(&t->b->lock);
	brd_list_remove(&t->link);
	asked = t->asked;
	pthread_mutex_unlock(&t->b->lock);
	t->on_end(&o, t->arg);
	brd_active_place(t->b, -1);
	t->over = true;
	if (!asked || t->leaving)
		free_run(t); /* else the post that is on its way does it */
}

static void end_badly(struct task_run *t, const struct bread_op *op)
{
	brd_fail_as(&t->err, BREAD_E_UPSTREAM, "STORE_FAILED", "store",
		"the record of task \"%s\" was not written: %s", t->def.name, op->err.text);
	end(t);
}

static void commit(struct task_run *t, void (*on_end)(struct bread_op *op))
{
	t->rec = (struct bread_rec){ .kind = BREAD_REC_TASK_RUN, .task_run = t->row };
	memset(&t->tx, 0, sizeof(t->tx));
	t->tx.recs = &t->rec;
	t->tx.count = 1;
	bread_op_init(&t->tx.op, t->loop, on_end, t);
	brd_store_commit(t->b->store, &t->tx);
}

/* ---- how an attempt ended ---- */

static struct bread_str usage_of(struct task_run *t)
{
	struct buf b;
	struct bread_str s;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_task_put_usage(&t->call.usage, &b);
	s = brd_arena_copy(&t->arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return s;
}

static void count(struct task_run *t)
{
	const struct bread_usage *u = &t->call.usage;
	struct run_counts *c = &t->b->counts;

	atomic_fetch_add_explicit(&c->model_calls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(
		&c->model_errors, t->call.op.code != BREAD_OK, memory_order_relaxed);
	atomic_fetch_add_explicit(
		&c->input_tokens, u->input + u->cache_read + u->cache_write, memory_order_relaxed);
	atomic_fetch_add_explicit(&c->output_tokens, u->output, memory_order_relaxed);
}

/* A failure keeps its code word; one that has none is the task's. */
static void fail(struct task_run *t)
{
	const struct task_call *c = &t->call;
	enum bread_code code = t->leaving ? BREAD_E_CANCELED : c->op.code;
	char name[sizeof(t->err.name)];

	snprintf(name, sizeof(name), "%.*s", BRD_ARG(c->code));
	brd_fail_as(&t->err, code,
		code == BREAD_E_CANCELED ? "RUN_CANCELLED"
		: name[0]                ? name
					 : "TASK_ERROR",
		"task", "%.*s", BRD_ARG(c->message));
	if (code != BREAD_E_CANCELED && c->context.n && c->context.n < sizeof(t->err.context))
		snprintf(t->err.context, sizeof(t->err.context), "%.*s", BRD_ARG(c->context));
	else if (!name[0])
		snprintf(t->err.context, sizeof(t->err.context), "{\"taskName\":\"%s\"}",
			t->def.name);
}

/* ---- hooks of the task (docs/hooks.md) ---- */

/* false: nobody has anything to say. */
static bool ask(
	struct task_run *t, enum bread_hook_point point, void (*on_end)(struct bread_op *op))
{
	struct hook_chain c = { .own = t->def.hook_set, .table = t->b->env.hooks };
	struct hook_run *h;

	if (t->leaving || !brd_hooks_hear(&c, BREAD_HOOK_TASK, point))
		return false;
	brd_hook_run_free(t->hook);
	h = t->hook = brd_hook_run_new(&c, BREAD_HOOK_TASK, point);
	h->about.run_id = h->about.session_id = brd_str(t->run_id);
	h->about.name = brd_str(t->def.name);
	h->input = t->row.input;
	h->output = t->row.output;
	h->duration_ms = t->row.duration_ms;
	h->error_code = brd_str(t->err.name);
	h->error_message = brd_str(t->err.text);
	h->error_context = brd_str(t->err.context);
	bread_op_init(&h->op, t->loop, on_end, t);
	brd_hooks_start(h);
	return true;
}

/* The hook itself has failed: so has the task. */
static bool hook_broke(struct task_run *t)
{
	const struct bread_err *e = &t->hook->op.err;

	if (t->hook->op.code == BREAD_OK)
		return false;
	brd_fail_as(&t->err, t->hook->op.code, e->name[0] ? e->name : "TASK_ERROR", "task", "%s",
		e->text);
	end(t);
	return true;
}

static struct bread_str value_of(struct task_run *t)
{
	return brd_arena_copy(&t->arena, t->hook->value);
}

static void on_after(struct bread_op *op)
{
	struct task_run *t = op->arg;

	if (hook_broke(t))
		return;
	if (t->hook->answer == BREAD_HOOK_OUTPUT)
		t->row.output = value_of(t);
	end(t);
}

static void end_well(struct task_run *t)
{
	t->err = (struct bread_err){ 0 };
	if (!ask(t, BREAD_HOOK_AFTER_RUN, on_after))
		end(t);
}

static void begin(struct task_run *t);

static void on_before(struct bread_op *op)
{
	struct task_run *t = op->arg;

	if (hook_broke(t))
		return;
	if (t->hook->answer == BREAD_HOOK_OUTPUT) { /* no model is asked, and there is no record */
		t->row.output = value_of(t);
		end_well(t);
		return;
	}
	if (t->hook->answer == BREAD_HOOK_INPUT)
		t->row.input = value_of(t);
	begin(t);
}

/* ---- after an attempt ---- */

static void on_again(struct timer *timer)
{
	begin(brd_list_of(timer, struct task_run, again));
}

static void settle(struct task_run *t, enum bread_hook_answer answer)
{
	const struct retry_def *retry = &t->def.retry;
	bool again = retry->attempts ? t->attempt < retry->attempts
				     : answer == BREAD_HOOK_RETRY && t->attempt == 1;

	if (!again || t->leaving || answer == BREAD_HOOK_FAIL)
		end(t);
	else
		brd_timer_start(&t->again, t->loop,
			retry->attempts ? brd_retry_ms(retry, t->attempt) : 0, on_again);
}

static void replace_error(struct task_run *t)
{
	const struct hook_run *h = t->hook;
	struct bread_err was = t->err;

	brd_fail_as(&t->err, was.code, h->error_code_out ? h->error_code_out : was.name, "task",
		"%s", h->error_text_out ? h->error_text_out : was.text);
}

static void on_error_asked(struct bread_op *op)
{
	struct task_run *t = op->arg;
	struct hook_run *h = t->hook;

	if (hook_broke(t))
		return;
	if (h->answer == BREAD_HOOK_OUTPUT) {
		t->row.output = value_of(t);
		end_well(t);
		return;
	}
	if (h->answer == BREAD_HOOK_FAIL)
		replace_error(t);
	settle(t, h->answer);
}

static void on_recorded(struct bread_op *op)
{
	struct task_run *t = op->arg;

	if (op->code != BREAD_OK)
		end_badly(t, op);
	else if (t->err.code == BREAD_OK)
		end_well(t);
	else if (!ask(t, BREAD_HOOK_ON_ERROR, on_error_asked))
		settle(t, BREAD_HOOK_NOTHING);
}

static void on_answer(struct bread_op *op)
{
	struct task_run *t = op->arg;
	bool ok = op->code == BREAD_OK;

	count(t);
	t->attempt++;
	t->err = (struct bread_err){ 0 };
	if (!ok)
		fail(t);
	t->row.status = ok ? BRD_STR("completed") : BRD_STR("failed");
	t->row.duration_ms = brd_clock_mono() - t->began_mono;
	t->row.completed_at = brd_clock_wall();
	t->row.usage = ok ? usage_of(t) : (struct bread_str){ 0 };
	t->row.output = ok ? brd_buf_str(&t->call.output) : (struct bread_str){ 0 };
	t->row.error = ok ? (struct bread_str){ 0 } : brd_str(t->err.text);
	commit(t, on_recorded);
}

/* ---- an attempt ---- */

static void on_begun(struct bread_op *op)
{
	struct task_run *t = op->arg;

	if (op->code != BREAD_OK) {
		end_badly(t, op);
		return;
	}
	t->began_mono = brd_clock_mono();
	t->call.def = &t->def;
	t->call.input = t->row.input;
	t->call.env = &t->b->env;
	t->call.loop = t->loop;
	bread_op_init(&t->call.op, t->loop, on_answer, t);
	brd_task_call_start(&t->call);
	if (t->leaving)
		bread_op_cancel(&t->call.op);
}

static void begin(struct task_run *t)
{
	struct buf model;

	brd_task_call_fini(&t->call);
	brd_uuid7(t->id);
	brd_buf_init(&model, BUF_NO_LIMIT);
	brd_task_put_model(&t->def, &model);
	t->row = (struct bread_task_run_row){
		.id = brd_str(t->id),
		.task_id = brd_str(t->def.name),
		.agent_id = BRD_STR("standalone"),
		.session_id = brd_str(t->run_id),
		.run_id = brd_str(t->run_id),
		.model = brd_arena_copy(&t->arena, brd_buf_str(&model)),
		.input = t->row.input,
		.status = BRD_STR("running"),
		.duration_ms = -1,
		.created_at = brd_clock_wall(),
	};
	brd_buf_fini(&model);
	commit(t, on_begun);
}

/* ---- going down ---- */

static void on_leave(struct post *p)
{
	struct task_run *t = brd_list_of(p, struct task_run, leave);

	t->leaving = true;
	if (t->over) {
		free_run(t);
	} else if (brd_timer_active(&t->again)) {
		brd_timer_stop(&t->again);
		end(t);
	} else if (t->hook && bread_op_running(&t->hook->op)) {
		bread_op_cancel(&t->hook->op);
	} else if (bread_op_running(&t->call.op)) {
		bread_op_cancel(&t->call.op);
	}
}

void brd_tasks_leave(struct bread *b)
{
	pthread_mutex_lock(&b->lock);
	brd_list_each(l, &b->task_runs) {
		struct task_run *t = brd_list_of(l, struct task_run, link);

		if (t->asked)
			continue;
		t->asked = true;
		t->leave.run = on_leave;
		brd_loop_post(t->loop, &t->leave);
	}
	pthread_mutex_unlock(&b->lock);
}

/* ---- from outside ---- */

static int unknown(struct bread_str name, struct bread_str known, struct bread_err *err)
{
	struct err_context ctx;
	struct jsonw *w;

	brd_fail_as(err, BREAD_E_NOT_FOUND, "TASK_NOT_FOUND", "task",
		"Task not found: \"%.*s\"; there are: %.*s", BRD_ARG(name), BRD_ARG(known));
	w = brd_err_context(&ctx);
	brd_jw_kstr(w, "taskId", name);
	brd_jw_kraw(w, "available", known);
	brd_err_context_end(&ctx, err);
	return BREAD_E_NOT_FOUND;
}

static int find(struct task_run *t, struct bread_str name, struct bread_err *err)
{
	struct bread_str json = { 0 }, known = { 0 };
	struct jval root;

	if (!brd_registry_task(t->b, name, &t->arena, &json, &known))
		return unknown(name, known, err);
	if (brd_json_parse(&t->arena, json, 0, &root, NULL))
		return brd_fail(err, BREAD_E_INVALID, "task", "its definition is no JSON");
	return brd_task_read(&t->def, root, &t->arena, err);
}

static int take_input(struct task_run *t, struct bread_str input, struct bread_err *err)
{
	struct schema_fault f;
	struct json_where where;
	struct buf compact;
	struct jval v;

	if (!input.n)
		input = BRD_STR("{}");
	if (brd_json_parse(&t->arena, input, 0, &v, &where))
		return brd_fail_as(err, BREAD_E_INVALID, "INPUT_INVALID", "input",
			"the input is not JSON: %s at byte %zu", where.what, where.at);
	if (t->def.input && !brd_schema_check(t->def.input, v, &t->arena, &f))
		return brd_fail_as(err, BREAD_E_INVALID, "INPUT_INVALID", "input",
			"The input does not fit the schema of task \"%s\"%s%.*s: %.*s", t->def.name,
			f.at.n ? " at " : "", BRD_ARG(f.at), BRD_ARG(f.text));
	brd_buf_init(&compact, BUF_NO_LIMIT);
	brd_json_compact(v, &compact);
	t->row.input = brd_arena_copy(&t->arena, brd_buf_str(&compact));
	brd_buf_fini(&compact);
	return 0;
}

static int may_run(struct bread *b, struct bread_err *err)
{
	if (!b->started || b->env.draining)
		return brd_fail_as(err, BREAD_E_BUSY, "DRAINING", "bread",
			"the server is going down; try again in a moment");
	return brd_active_room(b, err);
}

int bread_task_run(struct bread *b, struct bread_str name, struct bread_str input,
	void (*on_end)(const struct bread_task_outcome *o, void *arg), void *arg,
	struct bread_err *err)
{
	struct task_run *t = brd_alloc(sizeof(*t));
	int r = may_run(b, err);

	t->b = b;
	t->on_end = on_end;
	t->arg = arg;
	brd_uuid7(t->run_id);
	if (!r)
		r = find(t, name, err);
	if (!r)
		r = take_input(t, input, err);
	if (r) {
		free_run(t);
		return r;
	}
	t->loop = bread_here(b);
	brd_active_place(b, 1);
	pthread_mutex_lock(&b->lock);
	brd_list_push(&b->task_runs, &t->link);
	pthread_mutex_unlock(&b->lock);
	if (!ask(t, BREAD_HOOK_BEFORE_RUN, on_before))
		begin(t);
	return 0;
}

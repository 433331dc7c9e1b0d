/* SPDX-License-Identifier: MIT */
/* A task as a tool: one structured call of a model, with a record of its own. A failed attempt that
 * may be repeated gets a new record. After a crash the call is simply made again, under the record
 * that was begun. */
#include <stdio.h>
#include "base/clock.h"
#include "run/asking.h"
#include "run/call.h"
#include "run/choke.h"
#include "run/task_call.h"
#include "run/tree.h"
#include "run/tx.h"

struct task_node {
	struct tool_node tool;
	struct task_call call;
	struct bread_task_run_row row;
	char id[UUID_LEN + 1]; /* of the record */
	bool open;             /* the record says that it is running */
	int64_t began_mono;
	struct bread_str input, output; /* JSON, as hooks left them */
	struct run_error error;         /* of the last attempt */
};

static struct run *run_of(struct task_node *n)
{
	return n->tool.node.run;
}

static struct bread_str text_in(
	struct task_node *n, void (*put)(const struct task_def *d, struct buf *out))
{
	struct buf b;
	struct bread_str s;

	brd_buf_init(&b, BUF_NO_LIMIT);
	put(n->tool.tool->task, &b);
	s = brd_arena_copy(&n->tool.arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return s;
}

/* ---- the record ---- */

static void write_record(struct task_node *n)
{
	brd_tx_add(run_of(n), BREAD_REC_TASK_RUN)->task_run = n->row;
}

static void fill_record(struct task_node *n)
{
	struct run *r = run_of(n);

	n->row = (struct bread_task_run_row){
		.id = brd_arena_copy(&n->tool.arena, brd_str(n->id)),
		.task_id = brd_str(n->tool.tool->task->name),
		.agent_id = r->base.agent_id,
		.session_id = r->base.session_id,
		.run_id = r->base.run_id,
		.model = text_in(n, brd_task_put_model),
		.input = n->input.n ? n->input : n->tool.args,
		.status = BRD_STR("running"),
		.duration_ms = -1,
		.created_at = brd_clock_wall(),
	};
}

static void begin_record(struct task_node *n)
{
	if (!n->id[0])
		brd_uuid7(n->id);
	fill_record(n);
	n->open = true;
	write_record(n);
}

static void end_record(struct task_node *n, bool ok)
{
	struct arena *a = &n->tool.arena;
	struct buf usage;

	brd_buf_init(&usage, BUF_NO_LIMIT);
	n->row.status = ok ? BRD_STR("completed") : BRD_STR("failed");
	n->row.duration_ms = brd_clock_mono() - n->began_mono;
	n->row.completed_at = brd_clock_wall();
	if (ok) {
		brd_task_put_usage(&n->call.usage, &usage);
		n->row.usage = brd_arena_copy(a, brd_buf_str(&usage));
		n->row.output = brd_arena_copy(a, brd_buf_str(&n->call.output));
	} else {
		n->row.error = brd_arena_copy(a, n->call.message);
	}
	brd_buf_fini(&usage);
	n->open = false;
	write_record(n);
}

/* Its run was cancelled: nobody waits for it, and its record does not stay open. */
static enum flow stopped(struct task_node *n)
{
	if (n->open && !run_of(n)->tree->lost) {
		if (!n->row.id.n)
			fill_record(n); /* it was begun by an owner that died */
		n->row.status = BRD_STR("failed");
		n->row.error = BRD_STR("the run was cancelled");
		n->row.completed_at = brd_clock_wall();
		if (n->began_mono)
			n->row.duration_ms = brd_clock_mono() - n->began_mono;
		n->open = false;
		write_record(n);
	}
	return brd_node_end(&n->tool.node, END_CANCELED);
}

/* ---- crumbs ---- */

static void begin_crumb(struct task_node *n, struct crumb_draft *d, enum crumb_type t)
{
	brd_choke_begin(run_of(n), d, t);
	brd_jw_kstr(&d->w, "taskRunId", n->row.id);
	brd_jw_kstr(&d->w, "taskId", n->row.task_id);
}

static void start_crumb(struct task_node *n)
{
	struct crumb_draft d;

	begin_crumb(n, &d, CRUMB_TASK_START);
	brd_jw_kraw(&d.w, "model", n->row.model);
	brd_choke_emit(run_of(n), &d);
}

static void end_crumb(struct task_node *n)
{
	struct crumb_draft d;

	begin_crumb(n, &d, CRUMB_TASK_END);
	brd_jw_kstr(&d.w, "status", n->row.status);
	brd_jw_kint(&d.w, "durationMs", n->row.duration_ms);
	brd_jw_kraw(&d.w, "usage", n->row.usage);
	if (n->row.error.n)
		brd_jw_kstr(&d.w, "error", n->row.error);
	brd_choke_emit(run_of(n), &d);
}

/* ---- an attempt ---- */

static void on_call_end(struct bread_op *op)
{
	struct task_node *n = op->arg;
	struct tree *t = run_of(n)->tree;

	n->tool.node.busy = false;
	n->tool.attempt++;
	brd_node_wake(&n->tool.node);
	brd_tree_dirty(t);
	brd_tree_release(t);
}

static void put_id(struct jsonw *w, const void *arg)
{
	brd_jw_kstr(w, "taskRunId", brd_str(arg));
}

static void call(struct task_node *n)
{
	struct run *r = run_of(n);

	begin_record(n);
	start_crumb(n);
	brd_tool_began(&n->tool, put_id, n->id);
	n->began_mono = brd_clock_mono();
	n->call.def = n->tool.tool->task;
	n->call.input = n->input;
	n->call.env = r->env;
	n->call.loop = r->loop;
	n->tool.node.busy = true;
	r->steps++;
	r->tree->steps++;
	brd_tree_hold(r->tree);
	atomic_fetch_add_explicit(&r->env->counts->model_calls, 1, memory_order_relaxed);
	bread_op_init(&n->call.op, r->loop, on_call_end, n);
	brd_task_call_start(&n->call);
}

static void count_usage(struct task_node *n)
{
	const struct bread_usage *u = &n->call.usage;
	struct run *r = run_of(n);

	r->usage.input += u->input + u->cache_read + u->cache_write;
	r->usage.output += u->output;
	r->tree->tokens += u->input + u->cache_read + u->cache_write + u->output;
}

/* ---- hooks of the task ---- */

static struct hook_chain chain_of(struct task_node *n)
{
	struct run *r = run_of(n);

	return (struct hook_chain){ .own = n->tool.tool->task->hook_set,
		.of_agent = r->def->hook_set,
		.table = r->env->hooks,
		.agent_id = r->base.agent_id };
}

/* NULL: nobody has anything to say. */
static struct hook_run *ask(struct task_node *n, enum bread_hook_point point)
{
	struct hook_chain c = chain_of(n);
	struct hook_run *h;

	if (!brd_hooks_hear(&c, BREAD_HOOK_TASK, point))
		return NULL;
	h = brd_node_ask(&n->tool.node, &c, BREAD_HOOK_TASK, point);
	h->about.name = brd_str(n->tool.tool->task->name);
	h->input = n->input;
	return h;
}

static enum flow succeed(struct task_node *n, struct bread_str output)
{
	struct hook_run *h = ask(n, BREAD_HOOK_AFTER_RUN);

	n->output = output;
	if (!h)
		return brd_tool_succeed(&n->tool, output);
	h->output = output;
	h->duration_ms = n->row.duration_ms > 0 ? n->row.duration_ms : 0;
	brd_hooks_start(h);
	return FLOW_WAIT;
}

/* ---- what became of an attempt ---- */

static enum flow settle(struct task_node *n, enum bread_hook_answer answer)
{
	struct tool_node *t = &n->tool;
	const struct retry_def *retry = &t->tool->task->retry;
	bool again = retry->attempts ? t->attempt < retry->attempts
				     : answer == BREAD_HOOK_RETRY && t->attempt == 1;

	if (!again || answer == BREAD_HOOK_FAIL) {
		t->attempt = 0; /* those were the task's */
		return brd_tool_failed(t, &n->error);
	}
	n->id[0] = 0;
	brd_tool_back_off(t, retry->attempts ? brd_retry_ms(retry, t->attempt) : 0);
	return FLOW_WAIT;
}

static enum flow fail(struct task_node *n)
{
	struct hook_run *h = ask(n, BREAD_HOOK_ON_ERROR);

	if (!h)
		return settle(n, BREAD_HOOK_NOTHING);
	h->error_code = n->error.code;
	h->error_message = n->error.message;
	h->error_context = n->error.context;
	brd_hooks_start(h);
	return FLOW_WAIT;
}

static void keep_error(struct task_node *n)
{
	struct arena *a = &n->tool.arena;

	n->error = (struct run_error){ brd_arena_copy(a, n->call.code),
		brd_arena_copy(a, n->call.message), brd_arena_copy(a, n->call.context) };
	if (n->error.code.n)
		return;
	n->error.code = BRD_STR("TASK_ERROR");
	n->error.context = brd_arena_printf(a, "{\"taskName\":\"%s\"}", n->tool.tool->task->name);
}

static enum flow take(struct task_node *n)
{
	bool ok = n->call.op.code == BREAD_OK;

	count_usage(n);
	if (n->tool.node.run->cancelled)
		return stopped(n);
	end_record(n, ok);
	end_crumb(n);
	if (!ok)
		keep_error(n);
	brd_task_call_fini(&n->call);
	return ok ? succeed(n, n->row.output) : fail(n);
}

static enum flow hook_broke(struct task_node *n)
{
	struct run_error e = brd_hook_error(run_of(n), n->tool.node.hook);

	brd_node_asked(&n->tool.node);
	e.code = BRD_STR("TOOL_ERROR");
	e.context =
		brd_arena_printf(&n->tool.arena, "{\"toolName\":\"%.*s\"}", BRD_ARG(n->tool.name));
	return brd_tool_failed(&n->tool, &e);
}

static void replace_error(struct task_node *n, const struct hook_run *h)
{
	struct arena *a = &n->tool.arena;

	if (h->error_code_out)
		n->error.code = brd_arena_copy(a, brd_str(h->error_code_out));
	if (h->error_text_out)
		n->error.message = brd_arena_copy(a, brd_str(h->error_text_out));
	n->error.context = (struct bread_str){ 0 };
}

/* FLOW_AGAIN: the task is to be called. */
static enum flow take_hook(struct task_node *n)
{
	struct hook_run *h = n->tool.node.hook;
	struct bread_str value = brd_arena_copy(&n->tool.arena, h->value);
	enum bread_hook_answer answer = h->answer;
	enum bread_hook_point point = h->point;

	if (h->op.code != BREAD_OK)
		return hook_broke(n);
	if (answer == BREAD_HOOK_FAIL)
		replace_error(n, h);
	brd_node_asked(&n->tool.node);
	if (point == BREAD_HOOK_AFTER_RUN)
		return brd_tool_succeed(&n->tool, answer == BREAD_HOOK_OUTPUT ? value : n->output);
	if (answer == BREAD_HOOK_OUTPUT)
		return succeed(n, value);
	if (point == BREAD_HOOK_ON_ERROR)
		return settle(n, answer);
	if (answer == BREAD_HOOK_INPUT)
		n->input = value;
	return FLOW_AGAIN;
}

/* ---- life ---- */

static enum flow begin(struct task_node *n)
{
	struct tool_node *t = &n->tool;
	struct hook_run *h;

	if (!t->interrupted && !brd_tool_may_begin(t))
		return FLOW_WAIT;
	t->node.begun = true;
	n->input = t->args;
	h = ask(n, BREAD_HOOK_BEFORE_RUN);
	if (h)
		brd_hooks_start(h);
	else
		call(n);
	return FLOW_WAIT;
}

static enum flow task_advance(struct node *node)
{
	struct task_node *n = (struct task_node *)node;
	struct tool_node *t = &n->tool;

	if (node->busy)
		return FLOW_WAIT;
	if (n->call.asking)
		return take(n);
	if (node->hook && node->hook->scope == BREAD_HOOK_TASK && !node->run->cancelled) {
		if (take_hook(n) == FLOW_AGAIN)
			call(n);
		return FLOW_WAIT;
	}
	if (brd_tool_asked(t) == FLOW_WAIT)
		return FLOW_WAIT;
	if (node->run->cancelled)
		return stopped(n);
	if (t->again) {
		t->again = false;
		call(n);
		return FLOW_WAIT;
	}
	return node->begun || brd_tree_held_back(node->run->tree) ? FLOW_WAIT : begin(n);
}

static void task_cancel(struct node *node)
{
	struct task_node *n = (struct task_node *)node;

	brd_timer_stop(&n->tool.backoff);
	if (node->busy)
		bread_op_cancel(&n->call.op);
}

static void task_load(struct node *node, enum bread_node_state state, struct jval data)
{
	struct task_node *n = (struct task_node *)node;

	brd_tool_load(node, state, data);
	snprintf(n->id, sizeof(n->id), "%.*s",
		BRD_ARG(brd_json_str(brd_json_get(data, "taskRunId"), &n->tool.arena)));
	n->open = state == BREAD_NODE_STARTED && n->id[0];
}

static void task_fini(struct node *node)
{
	struct task_node *n = (struct task_node *)node;

	brd_task_call_fini(&n->call);
	brd_tool_fini(node);
}

const struct node_ops brd_task_node = {
	.kind = "task",
	.size = sizeof(struct task_node),
	.advance = task_advance,
	.cancel = task_cancel,
	.load = task_load,
	.fini = task_fini,
};

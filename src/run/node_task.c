/* SPDX-License-Identifier: MIT */
/* A task as a tool: one structured call of a model, with a record of its own. A failed attempt that
 * may be repeated gets a new record. After a crash the call is simply made again, under the record
 * that was begun. */
#include <stdio.h>
#include "base/clock.h"
#include "run/internal.h"
#include "run/task_call.h"

struct task_node {
	struct tool_node tool;
	struct task_call call;
	struct bread_task_run_row row;
	char id[UUID_LEN + 1]; /* of the record */
	int64_t began_mono;
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

static void begin_record(struct task_node *n)
{
	struct run *r = run_of(n);

	if (!n->id[0])
		brd_uuid7(n->id);
	n->row = (struct bread_task_run_row){
		.id = brd_arena_copy(&n->tool.arena, brd_str(n->id)),
		.task_id = brd_str(n->tool.tool->task->name),
		.agent_id = r->base.agent_id,
		.session_id = r->base.session_id,
		.run_id = r->base.run_id,
		.model = text_in(n, brd_task_put_model),
		.input = n->tool.args,
		.status = BRD_STR("running"),
		.duration_ms = -1,
		.created_at = brd_clock_wall(),
	};
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
	write_record(n);
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

static void call(struct task_node *n)
{
	struct run *r = run_of(n);

	begin_record(n);
	start_crumb(n);
	brd_tool_journal_task(&n->tool, n->id);
	n->began_mono = brd_clock_mono();
	n->call.def = n->tool.tool->task;
	n->call.input = n->tool.args;
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

static void on_backoff(struct timer *timer)
{
	struct tool_node *t = brd_list_of(timer, struct tool_node, backoff);

	t->again = true;
	brd_node_wake(&t->node);
}

static void count_usage(struct task_node *n)
{
	const struct bread_usage *u = &n->call.usage;
	struct run *r = run_of(n);

	r->usage.input += u->input + u->cache_read + u->cache_write;
	r->usage.output += u->output;
	r->tree->tokens += u->input + u->cache_read + u->cache_write + u->output;
}

static enum flow fail(struct task_node *n)
{
	struct tool_node *t = &n->tool;
	struct run_error e = { n->call.code, n->call.message, n->call.context };
	const struct retry_def *retry = &t->tool->task->retry;

	if (t->attempt < retry->attempts) {
		brd_task_call_fini(&n->call);
		n->id[0] = 0;
		brd_timer_start(
			&t->backoff, run_of(n)->loop, brd_retry_ms(retry, t->attempt), on_backoff);
		return FLOW_WAIT;
	}
	if (!e.code.n) {
		e.code = BRD_STR("TASK_ERROR");
		e.context =
			brd_arena_printf(&t->arena, "{\"taskName\":\"%s\"}", t->tool->task->name);
	}
	return brd_tool_fail(t, &e, false);
}

static enum flow take(struct task_node *n)
{
	bool ok = n->call.op.code == BREAD_OK;

	count_usage(n);
	if (n->tool.node.run->cancelled)
		return brd_node_end(&n->tool.node, END_CANCELED);
	end_record(n, ok);
	end_crumb(n);
	return ok ? brd_tool_succeed(&n->tool, n->row.output, false) : fail(n);
}

static enum flow task_advance(struct node *node)
{
	struct task_node *n = (struct task_node *)node;
	struct tool_node *t = &n->tool;

	if (node->busy || brd_timer_active(&t->backoff))
		return FLOW_WAIT;
	if (n->call.asking)
		return take(n);
	if (node->run->cancelled)
		return brd_node_end(node, END_CANCELED);
	if (!node->begun && brd_tree_held_back(node->run->tree))
		return FLOW_WAIT;
	if (!node->begun && !t->interrupted) {
		node->begun = true;
		if (brd_tool_refused(t))
			return brd_tool_ended(t);
		brd_tool_announce(t);
	}
	node->begun = true;
	t->again = false;
	call(n);
	return FLOW_WAIT;
}

static void task_cancel(struct node *node)
{
	struct task_node *n = (struct task_node *)node;

	brd_timer_stop(&n->tool.backoff);
	if (node->busy)
		bread_op_cancel(&n->call.op);
}

static void task_load(struct node *node, int state, struct jval data)
{
	struct task_node *n = (struct task_node *)node;

	brd_tool_node.load(node, state, data);
	snprintf(n->id, sizeof(n->id), "%.*s",
		BRD_ARG(brd_json_str(brd_json_get(data, "taskRunId"), &n->tool.arena)));
}

static void task_fini(struct node *node)
{
	struct task_node *n = (struct task_node *)node;

	brd_task_call_fini(&n->call);
	brd_tool_node.fini(node);
}

const struct node_ops brd_task_node = {
	.kind = "task",
	.size = sizeof(struct task_node),
	.advance = task_advance,
	.cancel = task_cancel,
	.load = task_load,
	.fini = task_fini,
};

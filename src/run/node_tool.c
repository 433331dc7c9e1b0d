/* SPDX-License-Identifier: MIT */
/* A tool call: checked, announced, run, answered.
 *
 * Its start is in the journal before it runs. After a crash "started, no result"
 * is a fact that the tool's definition decides: again if it is idempotent, else
 * an error that the model can react to (contract C11). What goes wrong with a
 * call never fails the run: the model is told. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "run/core_tool.h"
#include "run/internal.h"

void brd_tool_init(struct tool_node *t, const struct model_node *m, size_t at)
{
	const struct model_part *call = brd_model_call_at(m, at);

	t->turn = m->turn;
	t->call_id = call->part.id;
	t->name = call->part.name;
	t->args = call->part.json;
	t->bad_json = call->bad;
	t->over = at >= TURN_CALLS_MAX;
	t->tool = brd_agent_def_tool(t->node.run->def, t->name);
}

void brd_tool_init_as(struct tool_node *t, const struct tool_node *of)
{
	t->turn = of->turn;
	t->call_id = of->call_id;
	t->name = of->name;
	t->args = of->args;
	t->tool = of->tool;
}

void brd_tool_answer(struct tool_node *t, struct bread_str text, struct bread_str json, bool failed)
{
	t->result = (struct bread_part){
		.kind = BREAD_PART_RESULT,
		.id = t->call_id,
		.name = t->name,
		.text = brd_arena_copy(&t->arena, text),
		.json = brd_arena_copy(&t->arena, json),
		.failed = failed,
	};
}

bool brd_tool_late(const struct tool_node *t)
{
	return t->turn < t->node.run->stored_turns;
}

/* {"callId","name","args"} when it starts; "json" or "text", and "failed" when it has ended. */
void brd_tool_journal(struct tool_node *t, int state, const struct child *c)
{
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "callId", t->call_id);
	brd_jw_kstr(&w, "name", t->name);
	if (state == 2) {
		brd_jw_kraw(&w, "json", t->result.json);
		if (!t->result.json.n)
			brd_jw_kstr(&w, "text", t->result.text);
		brd_jw_kbool(&w, "failed", t->result.failed);
		if (brd_tool_late(t))
			brd_jw_kbool(&w, "late", true);
	} else {
		brd_jw_kraw(&w, "args", t->args);
	}
	if (c && c->id[0])
		brd_child_journal(c, &w);
	brd_jw_end_obj(&w);
	brd_node_journal(&t->node, state, brd_buf_str(&b));
	brd_buf_fini(&b);
}

void brd_tool_journal_task(struct tool_node *t, const char *task_run_id)
{
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "callId", t->call_id);
	brd_jw_kstr(&w, "name", t->name);
	brd_jw_kraw(&w, "args", t->args);
	brd_jw_kstr(&w, "taskRunId", brd_str(task_run_id));
	brd_jw_end_obj(&w);
	brd_node_journal(&t->node, 1, brd_buf_str(&b));
	brd_buf_fini(&b);
}

enum flow brd_tool_ended(struct tool_node *t)
{
	brd_tool_journal(t, 2, NULL);
	return brd_node_end(&t->node, END_OK);
}

/* Arguments that do not fit, and names that nobody has: no crumb, the model is told
 * (docs/tools.md). */
bool brd_tool_refused(struct tool_node *t)
{
	struct schema_fault f;
	struct json_where where;
	struct jval v;
	struct bread_str why = { 0 };

	if (!t->tool) {
		why = brd_arena_printf(
			&t->arena, "NoSuchTool: there is no tool named '%.*s'.", BRD_ARG(t->name));
	} else if (t->over) {
		why = brd_arena_printf(&t->arena,
			"TooManyCalls: at most %d tools are run in one turn; call %.*s again "
			"in the next.",
			TURN_CALLS_MAX, BRD_ARG(t->name));
	} else if (t->bad_json) {
		why = brd_arena_printf(&t->arena,
			"InvalidToolInput: the arguments of %.*s are not a complete JSON object.",
			BRD_ARG(t->name));
	} else if (brd_json_parse(&t->arena, t->args, 0, &v, &where)) {
		why = brd_arena_printf(&t->arena, "InvalidToolInput: %s", where.what);
	} else if (t->tool->schema && !brd_schema_check(t->tool->schema, v, &t->arena, &f)) {
		why = brd_arena_printf(&t->arena,
			"InvalidToolInput: the arguments of %.*s do not fit its schema: %.*s%s%.*s",
			BRD_ARG(t->name), BRD_ARG(f.at), f.at.n ? ": " : "", BRD_ARG(f.text));
	} else if (t->tool->schema) {
		t->args = brd_json_raw(brd_schema_defaults(t->tool->schema, v, &t->arena));
	}
	if (why.p)
		brd_tool_answer(t, why, (struct bread_str){ 0 }, true);
	return why.p;
}

void brd_tool_announce(struct tool_node *t)
{
	struct crumb_draft d;

	atomic_fetch_add_explicit(&t->node.run->env->counts->tool_calls, 1, memory_order_relaxed);
	brd_choke_begin(t->node.run, &d, CRUMB_TOOL_CALL);
	brd_jw_kstr(&d.w, "toolCallId", t->call_id);
	brd_jw_kstr(&d.w, "toolName", t->name);
	brd_jw_kraw(&d.w, "args", t->args);
	brd_choke_emit(t->node.run, &d);
}

static void begin_crumb(struct tool_node *t, struct crumb_draft *d, enum crumb_type type)
{
	brd_choke_begin(t->node.run, d, type);
	brd_jw_kstr(&d->w, "toolCallId", t->call_id);
	brd_jw_kstr(&d->w, "toolName", t->name);
}

static void end_crumb(struct tool_node *t, struct crumb_draft *d)
{
	brd_jw_kint(&d->w, "durationMs", t->began_mono ? brd_clock_mono() - t->began_mono : 0);
	brd_choke_emit(t->node.run, d);
}

static void fail_crumb(struct tool_node *t, const struct run_error *e)
{
	struct crumb_draft d;

	atomic_fetch_add_explicit(&t->node.run->env->counts->tool_errors, 1, memory_order_relaxed);
	begin_crumb(t, &d, CRUMB_TOOL_ERROR);
	brd_crumb_error(&d, e->code, e->message, e->context);
	end_crumb(t, &d);
}

static void on_partial(struct bread_tool_call *call, struct bread_str json)
{
	struct tool_node *t = call->arg;
	struct crumb_draft d;

	if (t->node.run->cancelled || t->node.run->tree->lost)
		return;
	begin_crumb(t, &d, CRUMB_TOOL_RESULT_PARTIAL);
	brd_jw_kraw(&d.w, "result", json);
	brd_choke_emit(t->node.run, &d);
}

static struct run_error tool_error(struct tool_node *t)
{
	const struct bread_tool_call *c = &t->call;
	struct run_error e = {
		.code = brd_str(c->error_code ? c->error_code : "TOOL_ERROR"),
		.message = brd_str(c->error_text ? c->error_text : c->op.err.text),
		.context = brd_str(c->error_context),
	};

	if (!c->error_code && !e.context.n)
		e.context =
			brd_arena_printf(&t->arena, "{\"toolName\":\"%.*s\"}", BRD_ARG(t->name));
	return e;
}

static void result_crumb(struct tool_node *t, struct bread_str json)
{
	struct crumb_draft d;

	begin_crumb(t, &d, CRUMB_TOOL_RESULT);
	brd_jw_kraw(&d.w, "result", json);
	end_crumb(t, &d);
}

/* Texts are told as texts, everything else as JSON; nothing is null. */
static void answer_with(struct tool_node *t, struct bread_str json)
{
	struct arena a = { 0 };
	struct jval v;

	if (!json.n)
		brd_tool_answer(t, json, BRD_STR("null"), false);
	else if (!brd_json_parse(&a, json, 0, &v, NULL) && brd_json_type(v) == JSON_STRING)
		brd_tool_answer(t, brd_json_str(v, &a), (struct bread_str){ 0 }, false);
	else
		brd_tool_answer(t, (struct bread_str){ 0 }, json, false);
	brd_arena_fini(&a);
}

enum flow brd_tool_succeed(struct tool_node *t, struct bread_str json, bool late)
{
	/* as the original has it: a delegation that was put aside is answered without a crumb */
	if (!late || t->tool->kind != TOOL_DELEGATE)
		result_crumb(t, json);
	if (late) {
		brd_tool_answer(t, (struct bread_str){ 0 }, json, false);
		brd_history_late(t->node.run, t);
	} else {
		answer_with(t, json);
	}
	return brd_tool_ended(t);
}

enum flow brd_tool_fail(struct tool_node *t, const struct run_error *e, bool late)
{
	fail_crumb(t, e);
	brd_tool_answer(t, brd_arena_printf(&t->arena, "BreadError: %.*s", BRD_ARG(e->message)),
		(struct bread_str){ 0 }, true);
	if (late)
		brd_history_late(t->node.run, t);
	return brd_tool_ended(t);
}

static void succeed(struct tool_node *t)
{
	brd_tool_succeed(t, (struct bread_str){ t->call.result, t->call.result_len }, false);
}

/* A cancelled run hears what the tool itself had to say, and nothing of what came too late. */
static void stopped(struct tool_node *t)
{
	if (t->call.op.code != BREAD_OK && t->call.error_text && !t->node.run->tree->lost) {
		struct run_error e = tool_error(t);

		fail_crumb(t, &e);
	}
	brd_node_end(&t->node, END_CANCELED);
	brd_tree_dirty(t->node.run->tree);
}

static void on_backoff(struct timer *timer)
{
	struct tool_node *t = brd_list_of(timer, struct tool_node, backoff);

	t->again = true;
	brd_node_wake(&t->node);
}

static void try_again(struct tool_node *t)
{
	brd_timer_start(&t->backoff, t->node.run->loop, brd_retry_ms(&t->tool->retry, t->attempt),
		on_backoff);
}

static void on_end(struct bread_op *op)
{
	struct tool_node *t = op->arg;
	struct run *r = t->node.run;

	t->node.busy = false;
	t->attempt++;
	if (r->cancelled || r->tree->lost) {
		stopped(t);
	} else if (op->code == BREAD_OK) {
		succeed(t);
	} else if (t->attempt < t->tool->retry.attempts && !t->tool->streams) {
		try_again(t);
	} else {
		struct run_error e = tool_error(t);

		brd_tool_fail(t, &e, false);
	}
	brd_tool_call_fini(&t->call);
	brd_tree_release(r->tree);
}

static void tool_launch(struct node *n)
{
	struct tool_node *t = (struct tool_node *)n;
	struct run *r = n->run;
	struct bread_tool_call *c = &t->call;

	memset(c, 0, sizeof(*c));
	c->agent_id = r->base.agent_id;
	c->run_id = r->base.run_id;
	c->session_id = r->base.session_id;
	c->tool_name = t->name;
	c->call_id = t->call_id;
	c->args = t->args;
	c->loop = r->loop;
	c->credentials = r->env->core.credentials;
	c->on_partial = t->tool->streams ? on_partial : NULL;
	c->arg = t;
	if (!t->began_mono)
		t->began_mono = brd_clock_mono();
	n->busy = true;
	brd_tree_hold(r->tree);
	bread_op_init(&c->op, r->loop, on_end, t);
	if (t->tool->core)
		t->tool->core->start(r->env, r->def, c);
	else
		brd_tool_start(t->tool->tool, c);
	bread_op_deadline(&c->op, t->tool->timeout_ms ? t->tool->timeout_ms : r->env->tool_ms);
}

enum flow brd_tool_interrupted(struct tool_node *t)
{
	struct run_error e = {
		BRD_STR("TOOL_INTERRUPTED"),
		BRD_STR("the server stopped while this tool was running; it is not known what it "
			"did"),
		brd_arena_printf(&t->arena, "{\"toolName\":\"%.*s\"}", BRD_ARG(t->name)),
	};

	return brd_tool_fail(t, &e, false);
}

static enum flow tool_advance(struct node *n)
{
	struct tool_node *t = (struct tool_node *)n;

	if (n->busy || brd_timer_active(&t->backoff))
		return FLOW_WAIT;
	if (n->run->cancelled)
		return brd_node_end(n, END_CANCELED);
	if (t->again) {
		t->again = false;
		tool_launch(n);
		return FLOW_WAIT;
	}
	if (n->begun)
		return FLOW_WAIT;
	n->begun = true;
	if (t->interrupted && t->tool && t->tool->idempotent) {
		brd_node_launch(n);
	} else if (t->interrupted) {
		brd_tool_interrupted(t);
	} else if (brd_tool_refused(t)) {
		return brd_tool_ended(t);
	} else {
		brd_tool_announce(t);
		brd_tool_journal(t, 1, NULL);
		brd_node_launch(n);
	}
	return FLOW_WAIT;
}

static void tool_cancel(struct node *n)
{
	struct tool_node *t = (struct tool_node *)n;

	brd_timer_stop(&t->backoff);
	if (n->busy)
		bread_op_cancel(&t->call.op);
}

static void tool_load(struct node *n, int state, struct jval data)
{
	struct tool_node *t = (struct tool_node *)n;

	t->call_id =
		brd_arena_copy(&t->arena, brd_json_str(brd_json_get(data, "callId"), &t->arena));
	t->name = brd_arena_copy(&t->arena, brd_json_str(brd_json_get(data, "name"), &t->arena));
	t->tool = brd_agent_def_tool(n->run->def, t->name);
	if (state == 1) {
		t->args = brd_arena_copy(&t->arena, brd_json_raw(brd_json_get(data, "args")));
		t->interrupted = true;
		return;
	}
	brd_tool_answer(t, brd_json_str(brd_json_get(data, "text"), &t->arena),
		brd_json_raw(brd_json_get(data, "json")),
		brd_json_bool(brd_json_get(data, "failed"), false));
	/* what was said before somebody else answered is no part of the output */
	if (brd_json_bool(brd_json_get(data, "late"), false))
		brd_buf_clear(&n->run->text);
	n->end = END_OK;
}

static void tool_fini(struct node *n)
{
	struct tool_node *t = (struct tool_node *)n;

	brd_timer_stop(&t->backoff);
	brd_arena_fini(&t->arena);
}

const struct node_ops brd_tool_node = {
	.kind = "tool",
	.size = sizeof(struct tool_node),
	.advance = tool_advance,
	.launch = tool_launch,
	.cancel = tool_cancel,
	.load = tool_load,
	.fini = tool_fini,
};

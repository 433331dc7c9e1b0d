/* SPDX-License-Identifier: MIT */
/* A call of the model's message, whoever answers it: checked, announced, answered, with the hooks
 * of its tool around it (docs/hooks.md).
 *
 * What goes wrong with a call never fails the run: the model is told. A call whose turn was put
 * aside before it had its answer is answered late: by a message of its own. */
#include <stdio.h>
#include "base/clock.h"
#include "base/err.h"
#include "run/asking.h"
#include "run/call.h"
#include "run/choke.h"
#include "run/history.h"

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
	t->inner = true;
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
	return !t->inner && t->turn < t->node.run->stored_turns;
}

/* ---- the journal ---- */

/* {"callId","name", …} */
static void journal(struct tool_node *t, enum bread_node_state state,
	void (*fill)(struct jsonw *w, const void *arg), const void *arg)
{
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "callId", t->call_id);
	brd_jw_kstr(&w, "name", t->name);
	if (state == BREAD_NODE_STARTED)
		brd_jw_kraw(&w, "args", t->args);
	if (fill)
		fill(&w, arg);
	brd_jw_end_obj(&w);
	brd_node_journal(&t->node, state, brd_buf_str(&b));
	brd_buf_fini(&b);
}

void brd_tool_began(
	struct tool_node *t, void (*more)(struct jsonw *w, const void *arg), const void *arg)
{
	journal(t, BREAD_NODE_STARTED, more, arg);
}

static void put_child(struct jsonw *w, const void *arg)
{
	brd_child_journal(arg, w);
}

void brd_tool_began_run(struct tool_node *t, const struct child *c)
{
	journal(t, BREAD_NODE_STARTED, put_child, c);
}

static void put_result(struct jsonw *w, const void *arg)
{
	const struct tool_node *t = arg;

	brd_jw_kraw(w, "json", t->result.json);
	if (!t->result.json.n)
		brd_jw_kstr(w, "text", t->result.text);
	brd_jw_kbool(w, "failed", t->result.failed);
	if (brd_tool_late(t))
		brd_jw_kbool(w, "late", true);
}

enum flow brd_tool_ended(struct tool_node *t)
{
	journal(t, BREAD_NODE_ENDED, put_result, t);
	return brd_node_end(&t->node, END_OK);
}

void brd_tool_load(struct node *n, enum bread_node_state state, struct jval data)
{
	struct tool_node *t = (struct tool_node *)n;

	sscanf(n->name, "tool.%u.", &t->turn);
	t->call_id =
		brd_arena_copy(&t->arena, brd_json_str(brd_json_get(data, "callId"), &t->arena));
	t->name = brd_arena_copy(&t->arena, brd_json_str(brd_json_get(data, "name"), &t->arena));
	t->tool = brd_agent_def_tool(n->run->def, t->name);
	if (state == BREAD_NODE_STARTED) {
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

void brd_tool_fini(struct node *n)
{
	struct tool_node *t = (struct tool_node *)n;

	brd_timer_stop(&t->backoff);
	brd_arena_fini(&t->arena);
}

/* ---- its beginning ---- */

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

void brd_tool_crumb(struct tool_node *t, struct crumb_draft *d, enum crumb_type type)
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

void brd_tool_fail_crumb(struct tool_node *t, const struct run_error *e)
{
	struct crumb_draft d;

	atomic_fetch_add_explicit(&t->node.run->env->counts->tool_errors, 1, memory_order_relaxed);
	brd_tool_crumb(t, &d, CRUMB_TOOL_ERROR);
	brd_crumb_error(&d, e->code, e->message, e->context);
	end_crumb(t, &d);
}

static void result_crumb(struct tool_node *t, struct bread_str json)
{
	struct crumb_draft d;

	brd_tool_crumb(t, &d, CRUMB_TOOL_RESULT);
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

/* ---- the end ---- */

static enum flow answered(struct tool_node *t)
{
	if (brd_tool_late(t))
		brd_history_late(t->node.run, t);
	return brd_tool_ended(t);
}

static enum flow answer_value(struct tool_node *t, struct bread_str json)
{
	if (brd_tool_late(t))
		brd_tool_answer(t, (struct bread_str){ 0 }, json, false);
	else
		answer_with(t, json);
	return answered(t);
}

enum flow brd_tool_fail(struct tool_node *t, const struct run_error *e)
{
	brd_tool_fail_crumb(t, e);
	brd_tool_answer(t, brd_arena_printf(&t->arena, "BreadError: %.*s", BRD_ARG(e->message)),
		(struct bread_str){ 0 }, true);
	return answered(t);
}

/* ---- hooks ---- */

static struct hook_chain chain_of(const struct tool_node *t)
{
	const struct run *r = t->node.run;

	return (struct hook_chain){ .own = t->tool->hook_set,
		.of_agent = r->def->hook_set,
		.table = r->env->hooks,
		.agent_id = r->base.agent_id };
}

static bool hears(const struct tool_node *t, enum bread_hook_point point)
{
	struct hook_chain c = chain_of(t);

	return brd_hooks_hear(&c, BREAD_HOOK_TOOL, point);
}

static struct hook_run *ask(struct tool_node *t, enum bread_hook_point point)
{
	struct hook_chain c = chain_of(t);
	struct hook_run *h = brd_node_ask(&t->node, &c, BREAD_HOOK_TOOL, point);

	h->about.name = t->name;
	h->input = t->args;
	return h;
}

/* The hook itself has failed: the model is told, and nobody else. */
static enum flow hook_broke(struct tool_node *t)
{
	brd_tool_answer(t, brd_arena_printf(&t->arena, "Error: %s", t->node.hook->op.err.text),
		(struct bread_str){ 0 }, true);
	brd_node_asked(&t->node);
	return answered(t);
}

static void ask_after(struct tool_node *t, struct bread_str json)
{
	struct hook_run *h = ask(t, BREAD_HOOK_AFTER_RUN);

	t->value = brd_arena_copy(&t->arena, json);
	h->output = t->value;
	h->duration_ms = t->began_mono ? brd_clock_mono() - t->began_mono : 0;
	brd_hooks_start(h);
}

enum flow brd_tool_succeed(struct tool_node *t, struct bread_str json)
{
	/* as the original has it: a delegation that was put aside is answered without a crumb */
	if (!t->cut_short && !(brd_tool_late(t) && t->tool->kind == TOOL_DELEGATE))
		result_crumb(t, json);
	if (hears(t, BREAD_HOOK_AFTER_RUN)) {
		ask_after(t, json);
		return FLOW_WAIT;
	}
	if (t->cut_short)
		result_crumb(t, json);
	return answer_value(t, json);
}

static enum flow take_after(struct tool_node *t)
{
	struct hook_run *h = t->node.hook;
	struct bread_str json = t->value;

	if (h->op.code != BREAD_OK)
		return hook_broke(t);
	if (h->answer == BREAD_HOOK_OUTPUT)
		json = brd_arena_copy(&t->arena, h->value);
	brd_node_asked(&t->node);
	if (t->cut_short)
		result_crumb(t, json);
	return answer_value(t, json);
}

/* Goes on with what the hook said of the arguments. FLOW_AGAIN: the call may begin. */
static enum flow take_before(struct tool_node *t)
{
	struct hook_run *h = t->node.hook;
	struct bread_str value = brd_arena_copy(&t->arena, h->value);
	enum bread_hook_answer answer = h->answer;

	if (h->op.code != BREAD_OK)
		return hook_broke(t);
	brd_node_asked(&t->node);
	if (answer == BREAD_HOOK_INPUT)
		t->args = value;
	t->may_begin = true;
	brd_tool_announce(t);
	if (answer != BREAD_HOOK_OUTPUT)
		return FLOW_AGAIN;
	t->node.begun = true;
	t->cut_short = true;
	return brd_tool_succeed(t, value);
}

bool brd_tool_may_begin(struct tool_node *t)
{
	if (t->may_begin)
		return true;
	if (brd_tool_refused(t)) {
		brd_tool_ended(t);
		return false;
	}
	if (hears(t, BREAD_HOOK_BEFORE_RUN)) {
		brd_hooks_start(ask(t, BREAD_HOOK_BEFORE_RUN));
		return false;
	}
	t->may_begin = true;
	brd_tool_announce(t);
	return true;
}

/* ---- errors ---- */

static void on_backoff(struct timer *timer)
{
	struct tool_node *t = brd_list_of(timer, struct tool_node, backoff);

	t->again = true;
	brd_node_wake(&t->node);
}

/* After this many attempts: once more, if the tool's definition or the hook says so. */
static bool tries_again(struct tool_node *t, enum bread_hook_answer answer)
{
	const struct retry_def *retry = &t->tool->retry;

	if (t->tool->streams)
		return false;
	if (retry->attempts)
		return t->attempt < retry->attempts;
	return answer == BREAD_HOOK_RETRY && t->attempt == 1;
}

void brd_tool_back_off(struct tool_node *t, int64_t ms)
{
	brd_timer_start(&t->backoff, t->node.run->loop, ms, on_backoff);
}

static enum flow settle(struct tool_node *t, enum bread_hook_answer answer)
{
	const struct retry_def *retry = &t->tool->retry;

	if (!tries_again(t, answer))
		return brd_tool_fail(t, &t->error);
	brd_tool_back_off(t, retry->attempts ? brd_retry_ms(retry, t->attempt) : 0);
	return FLOW_WAIT;
}

enum flow brd_tool_failed(struct tool_node *t, const struct run_error *e)
{
	struct hook_run *h;

	t->attempt++;
	t->error = (struct run_error){ brd_arena_copy(&t->arena, e->code),
		brd_arena_copy(&t->arena, e->message), brd_arena_copy(&t->arena, e->context) };
	if (t->tool->streams || !hears(t, BREAD_HOOK_ON_ERROR))
		return settle(t, BREAD_HOOK_NOTHING);
	h = ask(t, BREAD_HOOK_ON_ERROR);
	h->error_code = t->error.code;
	h->error_message = t->error.message;
	h->error_context = t->error.context;
	brd_hooks_start(h);
	return FLOW_WAIT;
}

static struct bread_str or_else(struct tool_node *t, const char *text, struct bread_str dflt)
{
	return text ? brd_arena_copy(&t->arena, brd_str(text)) : dflt;
}

static enum flow take_error(struct tool_node *t)
{
	struct hook_run *h = t->node.hook;
	enum bread_hook_answer answer = h->answer;
	struct bread_str value = brd_arena_copy(&t->arena, h->value);

	if (h->op.code != BREAD_OK)
		return hook_broke(t);
	if (answer == BREAD_HOOK_FAIL) {
		t->error.code = or_else(t, h->error_code_out, t->error.code);
		t->error.message = or_else(t, h->error_text_out, t->error.message);
		t->error.context = (struct bread_str){ 0 };
	}
	brd_node_asked(&t->node);
	if (answer == BREAD_HOOK_OUTPUT)
		return brd_tool_succeed(t, value);
	return answer == BREAD_HOOK_FAIL ? brd_tool_fail(t, &t->error) : settle(t, answer);
}

enum flow brd_tool_asked(struct tool_node *t)
{
	struct node *n = &t->node;

	if (n->busy || brd_timer_active(&t->backoff))
		return FLOW_WAIT;
	if (!n->hook)
		return FLOW_AGAIN;
	if (n->run->cancelled) {
		brd_node_asked(n);
		return brd_node_end(n, END_CANCELED);
	}
	switch (n->hook->point) {
	case BREAD_HOOK_BEFORE_RUN:
		return take_before(t);
	case BREAD_HOOK_AFTER_RUN:
		return take_after(t);
	default:
		return take_error(t);
	}
}

enum flow brd_tool_interrupted(struct tool_node *t)
{
	struct run_error e = {
		BRD_STR("TOOL_INTERRUPTED"),
		BRD_STR("the server stopped while this tool was running; it is not known what it "
			"did"),
		brd_arena_printf(&t->arena, "{\"toolName\":\"%.*s\"}", BRD_ARG(t->name)),
	};

	return brd_tool_fail(t, &e);
}

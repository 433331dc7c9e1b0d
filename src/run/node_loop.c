/* SPDX-License-Identifier: MIT */
/* Loops: an agent runs a line of others in rounds, at most so often, and judges what comes out.
 *
 * Three tools share one state, which belongs to the run and is a line of its journal: a run that is
 * put aside or taken up goes on with its loop. Each round is a run of a pipeline, whose steps are
 * numbered under the loop's id. A human inside a round parks the call; the round goes on with the
 * answer. */
#include <stdio.h>
#include "base/clock.h"
#include "base/err.h"
#include "run/asking.h"
#include "run/call.h"
#include "run/choke.h"
#include "run/loop_state.h"
#include "run/tree.h"
#include "run/tx.h"

struct loop_node {
	struct tool_node tool;
	struct child child;
	struct bread_str input;  /* of the round */
	struct bread_str result; /* of a loop that is closed, while hooks are told */
};

static struct loop_state *state_of(struct loop_node *n)
{
	return n->tool.node.run->loop_state;
}

static bool is_open(const struct run *r)
{
	return r->loop_state && r->loop_state->open;
}

static struct bread_str agent_context(struct loop_node *n)
{
	return n->tool.node.run->agent_context;
}

static enum flow refuse(
	struct loop_node *n, const char *code, struct bread_str text, struct bread_str context)
{
	struct run_error e = { brd_str(code), text, context };

	return brd_tool_failed(&n->tool, &e);
}

/* ---- hooks of the loop ---- */

/* NULL: nobody has anything to say. */
static struct hook_run *ask(struct loop_node *n, enum bread_hook_point point)
{
	struct run *r = n->tool.node.run;
	struct hook_chain c = { .own = r->def->loop_hook_set,
		.of_agent = r->def->hook_set,
		.table = r->env->hooks,
		.agent_id = r->base.agent_id };
	struct hook_run *h;

	if (!brd_hooks_hear(&c, BREAD_HOOK_LOOP, point))
		return NULL;
	h = brd_node_ask(&n->tool.node, &c, BREAD_HOOK_LOOP, point);
	h->about.loop_id = brd_str(state_of(n)->id);
	h->about.iteration = state_of(n)->rounds + (point == BREAD_HOOK_LOOP_ROUND_START);
	h->input = n->input;
	return h;
}

/* ---- a round ---- */

static void round_crumb(struct loop_node *n, enum crumb_type t, struct bread_str output)
{
	struct run *r = n->tool.node.run;
	struct loop_state *l = state_of(n);
	struct crumb_draft d;

	brd_choke_begin(r, &d, t);
	brd_jw_kstr(&d.w, "loopId", brd_str(l->id));
	brd_jw_kint(&d.w, "iteration", l->rounds + (t == CRUMB_LOOP_ROUND_START));
	if (t == CRUMB_LOOP_ROUND_END)
		brd_jw_kraw(&d.w, "output", output);
	brd_choke_emit(r, &d);
}

static void start_run(struct loop_node *n)
{
	struct tool_node *t = &n->tool;
	struct loop_state *l = state_of(n);
	struct child_spec spec = { .pipeline = l->pipeline, .input = n->input };

	spec.path = brd_arena_printf(
		&t->arena, "\"%s\",\"%lld\"", t->node.name, (long long)l->rounds + 1);
	n->child.run = brd_run_child(&t->node, &spec);
	snprintf(n->child.id, sizeof(n->child.id), "%s", n->child.run->id);
	brd_tool_began_run(t, &n->child);
}

static enum flow start_round(struct loop_node *n, struct bread_str input)
{
	struct loop_state *l = state_of(n);
	struct hook_run *h;

	n->input = input;
	l->round_began = brd_clock_wall();
	l->input = brd_arena_copy(&l->arena, input);
	l->running = true;
	brd_loop_state_journal(n->tool.node.run);
	round_crumb(n, CRUMB_LOOP_ROUND_START, input);
	h = ask(n, BREAD_HOOK_LOOP_ROUND_START);
	if (h)
		brd_hooks_start(h);
	else
		start_run(n);
	return FLOW_WAIT;
}

static void record_round(struct loop_node *n, struct bread_str output)
{
	struct run *r = n->tool.node.run;
	struct loop_state *l = state_of(n);
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_LOOP_ROUND);
	char id[UUID_LEN + 1];

	brd_uuid7(id);
	rec->round = (struct bread_loop_round_row){
		.id = brd_tx_copy(r, brd_str(id)),
		.loop_id = brd_tx_copy(r, brd_str(l->id)),
		.index = l->rounds,
		.input = brd_tx_copy(r, l->input),
		.output = brd_tx_copy(r, output),
		.started_at = l->round_began,
		.completed_at = brd_clock_wall(),
	};
}

static struct bread_str round_result(struct loop_node *n, struct bread_str output)
{
	struct loop_state *l = state_of(n);
	int64_t max = n->tool.node.run->def->rounds_max;
	struct buf b;
	struct jsonw w;

	w = brd_jw_begin(&b);
	brd_jw_kstr(&w, "loopId", brd_str(l->id));
	brd_jw_kint(&w, "iteration", l->rounds);
	brd_jw_kint(&w, "maxIterations", max);
	brd_jw_kbool(&w, "canIterate", l->rounds < max);
	brd_jw_kraw(&w, "output", output);
	return brd_jw_finish(&w, &n->tool.arena);
}

static enum flow end_round(struct loop_node *n)
{
	struct run *r = n->tool.node.run;
	struct loop_state *l = state_of(n);
	struct bread_str output = brd_arena_copy(&l->arena, n->child.run->output);
	struct hook_run *h;

	n->child.run = NULL;
	l->running = false;
	l->rounds++;
	l->last = output;
	record_round(n, output);
	brd_loop_state_record(r, "running");
	brd_loop_state_journal(r);
	round_crumb(n, CRUMB_LOOP_ROUND_END, output);
	h = ask(n, BREAD_HOOK_LOOP_ROUND_END);
	if (!h)
		return brd_tool_succeed(&n->tool, round_result(n, output));
	h->output = l->last;
	brd_hooks_start(h);
	return FLOW_WAIT;
}

/* The loop stays open, and the number of the round is not used up. */
static enum flow fail_round(struct loop_node *n)
{
	struct tool_node *t = &n->tool;
	const struct retry_def *retry = &t->node.run->def->loop_retry;
	struct run *c = n->child.run;

	n->child.run = NULL;
	if (++t->attempt < retry->attempts && !t->node.run->cancelled) {
		brd_tool_back_off(t, brd_retry_ms(retry, t->attempt));
		return FLOW_WAIT;
	}
	state_of(n)->running = false;
	brd_loop_state_journal(t->node.run);
	return brd_tool_failed(t, &c->error);
}

/* ---- the tools ---- */

static void put_names(struct jsonw *w, const char *key, char *const *names)
{
	brd_jw_key(w, key);
	brd_jw_arr(w);
	for (; *names; names++)
		brd_jw_strz(w, *names);
	brd_jw_end_arr(w);
}

static void join(struct buf *b, char *const *names)
{
	for (size_t i = 0; names[i]; i++)
		brd_buf_addf(b, "%s%s", i ? ", " : "", names[i]);
}

static bool in_pool(const struct agent_def *d, const char *name)
{
	for (char **p = d->pool; *p; p++)
		if (!strcmp(*p, name))
			return true;
	return false;
}

static bool registered(const struct run *r, const char *name)
{
	struct agent_def *d =
		r->env->definition(r->env->arg, brd_str(name), (struct bread_str){ 0 });

	brd_agent_def_unref(d);
	return d;
}

static enum flow refuse_names(struct loop_node *n, char **bad, bool unknown)
{
	struct tool_node *t = &n->tool;
	const struct agent_def *d = t->node.run->def;
	struct buf text, ctx;
	struct jsonw w;
	struct run_error e = { .code = unknown ? BRD_STR("AGENT_NOT_FOUND")
					       : BRD_STR("LOOP_AGENT_NOT_IN_POOL") };

	brd_buf_init(&text, BUF_NO_LIMIT);
	w = brd_jw_begin(&ctx);
	brd_jw_kstr(&w, "agentId", brd_str(d->id));
	put_names(&w, unknown ? "missing" : "notInPool", bad);
	brd_buf_addz(&text, unknown ? "Pipeline agents are not registered: "
				    : "Pipeline agents not in the configured pool: ");
	join(&text, bad);
	if (!unknown) {
		put_names(&w, "pool", d->pool);
		brd_buf_addz(&text, ". Allowed pool: ");
		join(&text, d->pool);
	}
	brd_buf_addc(&text, '.');
	e.message = brd_arena_copy(&t->arena, brd_buf_str(&text));
	e.context = brd_jw_finish(&w, &t->arena);
	brd_buf_fini(&text);
	return brd_tool_failed(t, &e);
}

/* The names that do not hold, in their order; NULL: all do. */
static char **those_not(struct loop_node *n, char **names, size_t count, bool unknown)
{
	struct run *r = n->tool.node.run;
	char **bad = brd_arena_array(&n->tool.arena, count + 1, sizeof(char *));
	size_t k = 0;

	for (size_t i = 0; i < count; i++)
		if (unknown ? !registered(r, names[i]) : !in_pool(r->def, names[i]))
			bad[k++] = names[i];
	return k ? bad : NULL;
}

static enum flow start_loop(struct loop_node *n, struct jval args)
{
	struct tool_node *t = &n->tool;
	struct run *r = t->node.run;
	struct jval list = brd_json_get(args, "pipeline");
	size_t count = brd_json_count(list), i = 0;
	char **names = brd_arena_array(&t->arena, count + 1, sizeof(char *)), **bad;
	struct hook_run *h;
	struct run_error e;

	if (is_open(r))
		return refuse(n, "LOOP_ALREADY_ACTIVE",
			BRD_STR("A loop is already running; call core_finish_loop before starting "
				"another."),
			brd_arena_printf(&t->arena, "{\"agentId\":\"%s\",\"loopId\":\"%s\"}",
				r->def->id, r->loop_state->id));
	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);)
		names[i++] = brd_json_strz(it.value, &t->arena);
	bad = those_not(n, names, count, false);
	if (bad)
		return refuse_names(n, bad, false);
	bad = those_not(n, names, count, true);
	if (bad)
		return refuse_names(n, bad, true);
	if (!brd_run_may_start(r, BRD_STR(""), &t->arena, &e))
		return brd_tool_failed(t, &e);
	brd_loop_state_open(r, names, count, brd_json_raw(list));
	n->input = brd_json_raw(brd_json_get(args, "input"));
	h = ask(n, BREAD_HOOK_LOOP_INIT);
	if (!h)
		return start_round(n, n->input);
	brd_tool_began(t, NULL, NULL);
	brd_hooks_start(h);
	return FLOW_WAIT;
}

static struct bread_str next_input(struct loop_node *n, struct jval args)
{
	struct loop_state *l = state_of(n);
	struct bread_str feedback = brd_json_raw(brd_json_get(args, "feedback"));
	struct buf b;
	struct jsonw w;

	if (!feedback.n)
		return l->last;
	w = brd_jw_begin(&b);
	brd_jw_kraw(&w, "previousOutput", l->last);
	brd_jw_kraw(&w, "feedback", feedback);
	return brd_jw_finish(&w, &n->tool.arena);
}

/* The loop is closed; result is what the model is told. */
static enum flow closed(struct loop_node *n, struct bread_str result)
{
	struct hook_run *h = ask(n, BREAD_HOOK_LOOP_FINISH);

	if (!h)
		return brd_tool_succeed(&n->tool, result);
	n->result = brd_arena_copy(&n->tool.arena, result);
	h->output = state_of(n)->last;
	brd_hooks_start(h);
	return FLOW_WAIT;
}

static enum flow exhaust(struct loop_node *n)
{
	struct run *r = n->tool.node.run;
	struct loop_state *l = state_of(n);
	struct buf b;
	struct jsonw w;
	enum flow flow;

	brd_loop_state_close(r, "exhausted", l->last);
	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kbool(&w, "exhausted", true);
	brd_jw_kint(&w, "iteration", l->rounds);
	brd_jw_kint(&w, "maxIterations", r->def->rounds_max);
	brd_jw_kraw(&w, "lastOutput", l->last);
	brd_jw_kstr(&w, "message",
		BRD_STR("maxIterations reached \xe2\x80\x94 the loop is closed. Use the last "
			"output "
			"as your result."));
	brd_jw_end_obj(&w);
	flow = closed(n, brd_buf_str(&b));
	brd_buf_fini(&b);
	return flow;
}

static enum flow iterate(struct loop_node *n, struct jval args)
{
	struct tool_node *t = &n->tool;
	struct run *r = t->node.run;

	if (!is_open(r))
		return refuse(n, "NO_ACTIVE_LOOP",
			BRD_STR("No active loop. Call core_start_loop first."), agent_context(n));
	if (r->loop_state->running)
		return refuse(n, "LOOP_ALREADY_ACTIVE",
			BRD_STR("A round of this loop is running; wait for its result."),
			agent_context(n));
	if (r->loop_state->rounds >= r->def->rounds_max)
		return exhaust(n);
	return start_round(n, next_input(n, args));
}

static enum flow finish(struct loop_node *n, struct jval args)
{
	struct run *r = n->tool.node.run;
	struct bread_str given = brd_json_raw(brd_json_get(args, "result"));
	struct loop_state *l;
	struct buf b;
	struct jsonw w;
	enum flow flow;

	if (!is_open(r))
		return refuse(n, "NO_ACTIVE_LOOP",
			BRD_STR("No active loop to finish. Call core_start_loop first."),
			agent_context(n));
	l = r->loop_state;
	brd_loop_state_close(r, "completed", given.n ? given : l->last);
	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "loopId", brd_str(l->id));
	brd_jw_kint(&w, "iterations", l->rounds);
	brd_jw_kraw(&w, "result", given.n ? given : l->last);
	brd_jw_end_obj(&w);
	flow = closed(n, brd_buf_str(&b));
	brd_buf_fini(&b);
	return flow;
}

static enum flow hook_broke(struct loop_node *n)
{
	struct run_error e = brd_hook_error(n->tool.node.run, n->tool.node.hook);

	brd_node_asked(&n->tool.node);
	state_of(n)->running = false;
	e.code = BRD_STR("LOOP_ERROR");
	e.context = brd_arena_printf(&n->tool.arena, "{\"loopId\":\"%s\"}", state_of(n)->id);
	return brd_tool_failed(&n->tool, &e);
}

static enum flow take_hook(struct loop_node *n)
{
	struct hook_run *h = n->tool.node.hook;
	enum bread_hook_point point = h->point;
	struct bread_str value = { 0 };

	if (h->op.code != BREAD_OK)
		return hook_broke(n);
	if (h->answer == BREAD_HOOK_OUTPUT)
		value = brd_arena_copy(&n->tool.arena, h->value);
	brd_node_asked(&n->tool.node);
	switch (point) {
	case BREAD_HOOK_LOOP_INIT:
		return start_round(n, n->input);
	case BREAD_HOOK_LOOP_ROUND_START:
		start_run(n);
		return FLOW_WAIT;
	case BREAD_HOOK_LOOP_ROUND_END: /* what it says goes to the model alone */
		return brd_tool_succeed(
			&n->tool, round_result(n, value.n ? value : state_of(n)->last));
	default:
		return brd_tool_succeed(&n->tool, n->result);
	}
}

/* ---- life ---- */

static enum flow begin(struct loop_node *n)
{
	struct tool_node *t = &n->tool;
	struct jval args;

	if (!brd_tool_may_begin(t))
		return FLOW_WAIT;
	t->node.begun = true;
	brd_json_parse(&t->arena, t->args, 0, &args, NULL);
	switch (t->tool->kind) {
	case TOOL_LOOP_START:
		return start_loop(n, args);
	case TOOL_LOOP_ITERATE:
		return iterate(n, args);
	default:
		return finish(n, args);
	}
}

static enum flow loop_advance(struct node *node)
{
	struct loop_node *n = (struct loop_node *)node;
	struct tool_node *t = &n->tool;

	if (node->busy)
		return FLOW_WAIT;
	if (node->hook && node->hook->scope == BREAD_HOOK_LOOP && !node->run->cancelled)
		return take_hook(n);
	if (brd_tool_asked(t) == FLOW_WAIT)
		return FLOW_WAIT;
	switch (brd_child_state(&n->child)) {
	case CHILD_NONE:
		break;
	case CHILD_RUNS:
		return FLOW_WAIT;
	case CHILD_PARKED:
		return node->run->cancelled ? FLOW_WAIT : brd_node_park(node);
	case CHILD_OK:
		return end_round(n);
	case CHILD_FAILED:
		return fail_round(n);
	case CHILD_CANCELED:
		if (!node->run->cancelled)
			return fail_round(n);
		n->child.run = NULL;
		return brd_node_end(node, END_CANCELED);
	}
	if (node->run->cancelled)
		return brd_node_end(node, END_CANCELED);
	if (t->again) {
		t->again = false;
		if (!n->child.id[0] || !is_open(node->run))
			return begin(n); /* the call itself once more */
		state_of(n)->running = true;
		start_run(n);
		return FLOW_WAIT;
	}
	if (node->begun)
		return brd_tool_interrupted(t);
	return brd_tree_held_back(node->run->tree) ? FLOW_WAIT : begin(n);
}

static void loop_cancel(struct node *node)
{
	brd_timer_stop(&((struct tool_node *)node)->backoff);
}

static void loop_load(struct node *node, enum bread_node_state state, struct jval data)
{
	struct loop_node *n = (struct loop_node *)node;

	brd_tool_load(node, state, data);
	if (state == BREAD_NODE_ENDED)
		return;
	node->begun = true;
	n->tool.interrupted = false;
	if (node->run->loop_state)
		n->input = node->run->loop_state->input;
	brd_child_found(node, &n->child, data, SHOW_ALL);
	if (!n->child.run && node->run->loop_state)
		node->run->loop_state->running = false; /* it was cut short before its run began */
}

const struct node_ops brd_loop_node = {
	.kind = "loop",
	.size = sizeof(struct loop_node),
	.advance = loop_advance,
	.cancel = loop_cancel,
	.load = loop_load,
	.fini = brd_tool_fini,
};

/* SPDX-License-Identifier: MIT */
/* A model call: one assistant message, in one or more attempts.
 *
 * A call has no effect but its events, so it may be made again: after a failure,
 * when the agent says so, or after a restart, when the journal has no end of it.
 * What an earlier attempt had shown is voided by a crumb first (contract C21).
 * A run whose transactions lag behind stops reading its model until they do not. */
#include <stdio.h>
#include "base/clock.h"
#include "base/err.h"
#include "run/asking.h"
#include "run/choke.h"
#include "run/history.h"
#include "run/life.h"
#include "run/node_model.h"
#include "run/tree.h"

static void on_event(struct bread_model_call *call, const struct bread_event *ev)
{
	struct model_node *m = call->arg;
	struct run *r = m->node.run;

	if (r->tree->lost)
		return;
	if (m->put_running)
		brd_model_hold(m, ev);
	else
		brd_model_event(m, ev);
	if (!m->paused && brd_node_stall(&m->node)) {
		m->paused = true;
		brd_model_pause(m->model, call, true);
	}
}

static void on_call_end(struct bread_op *op)
{
	struct model_node *m = op->arg;

	m->call_running = false;
	if (!m->put_running)
		brd_model_settle(m);
	brd_tree_release(m->node.run->tree);
}

static bool find_provider(struct model_node *m)
{
	struct run *r = m->node.run;
	struct buf known, text, ctx;

	brd_buf_init(&known, 4096);
	m->model = r->env->provider(r->env->arg, r->def->provider, &known);
	if (m->model) {
		brd_buf_fini(&known);
		return true;
	}
	brd_buf_init(&text, 8192);
	brd_buf_init(&ctx, 8192);
	brd_buf_addf(&text, "Unknown model provider: \"%s\". ", r->def->provider);
	if (known.len)
		brd_buf_addf(&text, "Registered: %s. ", known.data);
	else
		brd_buf_addz(&text, "None is registered. ");
	brd_buf_addz(
		&text, "Set `providers` in bread.yaml, or correct the agent's `model.provider`.");
	brd_buf_addz(&ctx, "{\"provider\":");
	brd_json_quote(&ctx, brd_str(r->def->provider));
	brd_buf_addc(&ctx, '}');
	m->fault = (struct run_error){ BRD_STR("UNKNOWN_PROVIDER"),
		brd_arena_copy(&m->arena, brd_buf_str(&text)),
		brd_arena_copy(&m->arena, brd_buf_str(&ctx)) };
	brd_buf_fini(&known);
	brd_buf_fini(&text);
	brd_buf_fini(&ctx);
	return false;
}

static bool wants_structure(const struct run *r)
{
	return r->def->format == FORMAT_JSON && r->def->output_schema;
}

static void call_model(struct model_node *m)
{
	struct run *r = m->node.run;

	m->structured = wants_structure(r);
	m->fault = (struct run_error){ { 0 }, { 0 }, { 0 } };
	m->emitted = false;
	m->usage = (struct bread_usage){ 0 };
	memset(&m->req, 0, sizeof(m->req));
	brd_history_request(r, m, &m->req, &m->arena);
	m->call.req = &m->req;
	m->call.on_event = on_event;
	m->call.arg = m;
	m->call.loop = r->loop;
	m->call_running = true;
	m->node.busy = true;
	m->beyond = brd_tree_spent(r->tree);
	r->steps++;
	r->tree->steps++;
	bread_op_init(&m->call.op, r->loop, on_call_end, m);
	brd_tree_hold(r->tree);
	atomic_fetch_add_explicit(&r->env->counts->model_calls, 1, memory_order_relaxed);
	brd_model_start(m->model, &m->call);
}

static bool collides(struct model_node *m)
{
	struct run *r = m->node.run;
	const char *leaf = brd_agent_def_collision(r->def);

	if (!leaf)
		return false;
	m->fault = (struct run_error){ BRD_STR("TOOL_NAME_COLLISION"),
		brd_arena_printf(&m->arena,
			"Multiple tools resolve to the same name \"%s\" — rename one of them.",
			leaf),
		brd_arena_printf(&m->arena, "{\"leaf\":\"%s\"}", leaf) };
	return true;
}

static enum flow take_hook(struct model_node *m);

static enum flow model_advance(struct node *n)
{
	struct model_node *m = (struct model_node *)n;
	struct run *r = n->run;

	if (m->paused && m->call_running && !brd_node_stall(n)) {
		m->paused = false;
		brd_model_pause(m->model, &m->call, false);
	}
	if (n->busy || brd_timer_active(&m->backoff))
		return FLOW_WAIT;
	if (n->hook && !r->cancelled)
		return take_hook(m);
	if (r->cancelled)
		return brd_node_end(n, END_CANCELED);
	if (m->called)
		return FLOW_WAIT;
	if (!brd_history_ready(n) || !brd_knowledge_ready(n))
		return FLOW_WAIT;
	m->called = true;
	if (r->history_fault.code.n)
		return brd_node_fail(n, &r->history_fault);
	if (!find_provider(m) || collides(m))
		return brd_node_fail(n, &m->fault);
	call_model(m);
	return FLOW_WAIT;
}

static void model_cancel(struct node *n)
{
	struct model_node *m = (struct model_node *)n;

	brd_timer_stop(&m->backoff);
	if (m->call_running)
		bread_op_cancel(&m->call.op);
	if (m->put_running)
		bread_op_cancel(&m->put.op);
}

void brd_model_fault(struct model_node *m, struct run_error e)
{
	if (m->fault.code.p)
		return;
	m->fault.code = brd_arena_copy(&m->arena, e.code);
	m->fault.message = brd_arena_copy(&m->arena, e.message);
	m->fault.context = brd_arena_copy(&m->arena, e.context);
	if (m->call_running)
		bread_op_cancel(&m->call.op);
}

/* The message is whole: its calls are known by their number from here on. */
static void number_calls(struct model_node *m)
{
	m->calls = brd_arena_array(&m->arena, m->count + 1, sizeof(*m->calls));
	for (unsigned i = 0; i < m->count; i++)
		if (m->parts[i].part.kind == BREAD_PART_CALL && m->parts[i].ended)
			m->calls[m->call_count++].part = i;
}

/* {"parts":[…],"reason":"stop","usage":[…]}: all that a later owner needs. */
static void journal_end(struct model_node *m)
{
	struct run *r = m->node.run;
	struct bread_message msg = { .role = BREAD_ROLE_ASSISTANT };
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	msg.parts = brd_arena_array(&m->arena, m->count + 1, sizeof(*msg.parts));
	for (unsigned i = 0; i < m->count; i++)
		if (m->parts[i].ended)
			msg.parts[msg.count++] = m->parts[i].part;
	brd_buf_addz(&b, "{\"parts\":");
	brd_message_to_stored(&b, &msg);
	brd_buf_addf(&b, ",\"reason\":%d,\"usage\":[%lld,%lld,%lld,%lld],\"bad\":[", m->reason,
		(long long)m->usage.input, (long long)m->usage.output,
		(long long)m->usage.cache_read, (long long)m->usage.cache_write);
	for (size_t i = 0; i < brd_model_calls(m); i++)
		brd_buf_addf(&b, "%s%d", i ? "," : "", brd_model_call_at(m, i)->bad);
	brd_buf_addz(&b, "],\"text\":");
	brd_json_quote(&b, brd_buf_str(&r->text));
	brd_buf_addz(&b, ",\"files\":[");
	brd_buf_add(&b, brd_buf_str(&r->files_json));
	brd_buf_addz(&b, "]}");
	brd_node_journal(&m->node, BREAD_NODE_ENDED, brd_buf_str(&b));
	brd_buf_fini(&b);
}

static void count_usage(struct model_node *m)
{
	struct run *r = m->node.run;

	r->usage.input += m->usage.input + m->usage.cache_read + m->usage.cache_write;
	r->usage.output += m->usage.output;
	r->tree->tokens +=
		m->usage.input + m->usage.cache_read + m->usage.cache_write + m->usage.output;
}

/* A structured answer: the text must be JSON that fits the schema. */
static bool take_structured(struct model_node *m)
{
	struct run *r = m->node.run;
	struct arena a = { 0 };
	struct buf text, out;
	struct jval v;
	const char *why = NULL;

	brd_buf_init(&text, BUF_NO_LIMIT);
	brd_buf_init(&out, BUF_NO_LIMIT);
	for (unsigned i = 0; i < m->count; i++)
		if (m->parts[i].part.kind == BREAD_PART_TEXT)
			brd_buf_add(&text, m->parts[i].part.text);
	if (brd_json_parse(&a, brd_buf_str(&text), 0, &v, NULL))
		why = "No object generated: could not parse the response.";
	else if (!brd_schema_check(r->def->output_schema, v, &a, NULL))
		why = "No object generated: response did not match schema.";
	else
		brd_json_compact(v, &out);
	if (why) {
		m->fault = brd_run_error(r, "AGENT_ERROR", brd_str(why));
	} else {
		brd_buf_clear(&r->text);
		brd_buf_add(&r->text, brd_buf_str(&out));
	}
	brd_buf_fini(&text);
	brd_buf_fini(&out);
	brd_arena_fini(&a);
	return !why;
}

static void on_backoff(struct timer *t)
{
	struct model_node *m = brd_list_of(t, struct model_node, backoff);
	struct run *r = m->node.run;

	if (!r->cancelled && !r->tree->lost)
		m->called = false;
	brd_node_wake(&m->node);
}

void brd_model_void(struct run *r, unsigned attempt, struct bread_str reason)
{
	struct crumb_draft d;

	brd_choke_begin(r, &d, CRUMB_ATTEMPT_VOID);
	brd_jw_kint(&d.w, "attempt", attempt);
	brd_jw_kstr(&d.w, "reason", reason);
	brd_choke_emit(r, &d);
}

static void try_again(struct model_node *m)
{
	struct run *r = m->node.run;

	if (m->emitted)
		brd_model_void(r, m->attempt, m->fault.code);
	brd_model_parts_clear(m);
	brd_timer_start(&m->backoff, r->loop,
		r->def->retry.attempts ? brd_retry_ms(&r->def->retry, m->attempt) : 0, on_backoff);
}

/* ---- after a failed attempt (docs/hooks.md) ---- */

static void settle_error(struct model_node *m, enum bread_hook_answer answer)
{
	int64_t attempts = m->node.run->def->retry.attempts;
	bool again =
		attempts ? m->attempt < attempts : answer == BREAD_HOOK_RETRY && m->attempt == 1;

	if (again && answer != BREAD_HOOK_FAIL)
		try_again(m);
	else
		brd_node_fail(&m->node, &m->fault);
}

static bool ask_about_error(struct model_node *m)
{
	struct run *r = m->node.run;
	struct hook_chain c = brd_agent_chain(r);
	struct hook_run *h;

	if (!brd_hooks_hear(&c, BREAD_HOOK_AGENT, BREAD_HOOK_ON_ERROR))
		return false;
	h = brd_node_ask(&m->node, &c, BREAD_HOOK_AGENT, BREAD_HOOK_ON_ERROR);
	h->input = r->input;
	h->error_code = m->fault.code;
	h->error_message = m->fault.message;
	h->error_context = m->fault.context;
	brd_hooks_start(h);
	return true;
}

static void replace_fault(struct model_node *m, const struct hook_run *h)
{
	if (h->error_code_out)
		m->fault.code = brd_arena_copy(&m->arena, brd_str(h->error_code_out));
	if (h->error_text_out)
		m->fault.message = brd_arena_copy(&m->arena, brd_str(h->error_text_out));
	m->fault.context = (struct bread_str){ 0 };
}

static enum flow take_hook(struct model_node *m)
{
	struct run *r = m->node.run;
	struct hook_run *h = m->node.hook;
	enum bread_hook_answer answer = h->answer;

	if (h->op.code != BREAD_OK) {
		m->fault = brd_hook_error(r, h);
		answer = BREAD_HOOK_FAIL;
	} else if (answer == BREAD_HOOK_FAIL) {
		replace_fault(m, h);
	} else if (answer == BREAD_HOOK_OUTPUT) {
		m->recovered = brd_arena_copy(&m->arena, h->value);
	}
	brd_node_asked(&m->node);
	if (answer == BREAD_HOOK_OUTPUT)
		return brd_node_end(&m->node, END_OK);
	settle_error(m, answer);
	return FLOW_WAIT;
}

/* Something is to be asked between the last message and the end of the run. */
static bool ends_slowly(const struct run *r)
{
	return r->def->format == FORMAT_CUSTOM || brd_agent_hears(r, BREAD_HOOK_AFTER_RUN);
}

void brd_model_settle(struct model_node *m)
{
	struct run *r = m->node.run;

	m->node.busy = false;
	brd_model_held_clear(m);
	count_usage(m);
	if (r->tree->lost || r->cancelled) {
		brd_node_end(&m->node, END_CANCELED);
		brd_tree_dirty(r->tree);
		return;
	}
	m->attempt++;
	if (m->call.op.code != BREAD_OK && !m->fault.code.p)
		m->fault = brd_run_error(
			r, "AGENT_ERROR", brd_arena_copy(&r->arena, brd_str(m->call.op.err.text)));
	if (!m->fault.code.p && (!m->structured || take_structured(m))) {
		number_calls(m);
		if (m->call_count || ends_slowly(r))
			journal_end(m);
		brd_node_end(&m->node, END_OK);
		return;
	}
	atomic_fetch_add_explicit(&r->env->counts->model_errors, 1, memory_order_relaxed);
	if (!ask_about_error(m))
		settle_error(m, BREAD_HOOK_NOTHING);
}

static int64_t usage_at(struct jval data, size_t i)
{
	return brd_json_int_or(brd_json_at(brd_json_get(data, "usage"), i), 0);
}

static void model_load(struct node *n, enum bread_node_state state, struct jval data)
{
	struct model_node *m = (struct model_node *)n;
	struct run *r = n->run;
	struct bread_message msg;
	size_t calls = 0;

	sscanf(n->name, "model.%u", &m->turn);
	if (state != BREAD_NODE_ENDED || brd_message_from_stored(&msg, BRD_STR("assistant"),
						 brd_json_get(data, "parts"), &m->arena, NULL))
		return;
	m->parts = brd_arena_array(&m->arena, msg.count + 1, sizeof(*m->parts));
	m->room = m->count = (unsigned)msg.count;
	for (unsigned i = 0; i < m->count; i++) {
		m->parts[i] = (struct model_part){ .part = msg.parts[i], .ended = true };
		if (msg.parts[i].kind == BREAD_PART_CALL)
			m->parts[i].bad =
				brd_json_int_or(brd_json_at(brd_json_get(data, "bad"), calls++), 0);
	}
	number_calls(m);
	m->structured = wants_structure(r);
	m->usage = (struct bread_usage){ usage_at(data, 0), usage_at(data, 1), usage_at(data, 2),
		usage_at(data, 3) };
	count_usage(m);
	brd_buf_clear(&r->text);
	brd_json_str_add(brd_json_get(data, "text"), &r->text);
	brd_buf_clear(&r->files_json);
	for (struct json_iter it = brd_json_each(brd_json_get(data, "files"));
		brd_json_next(&it);) {
		if (r->files_json.len)
			brd_buf_addc(&r->files_json, ',');
		brd_buf_add(&r->files_json, brd_json_raw(it.value));
	}
	n->end = END_OK;
}

static void model_fini(struct node *n)
{
	struct model_node *m = (struct model_node *)n;

	brd_timer_stop(&m->backoff);
	brd_model_parts_clear(m);
	brd_model_held_clear(m);
	brd_buf_fini(&m->put_bytes);
	brd_arena_fini(&m->arena);
}

size_t brd_model_calls(const struct model_node *m)
{
	return m->call_count;
}

const struct model_part *brd_model_call_at(const struct model_node *m, size_t i)
{
	return &m->parts[m->calls[i].part];
}

const struct node_ops brd_model_node = {
	.kind = "model",
	.size = sizeof(struct model_node),
	.advance = model_advance,
	.cancel = model_cancel,
	.load = model_load,
	.fini = model_fini,
};

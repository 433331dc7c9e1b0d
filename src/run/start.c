/* SPDX-License-Identifier: MIT */
/* How a run begins: the session's state is read when the session may be an old
 * one, then one transaction makes the session, the run, its user message and its
 * first crumb true, and the tree is driven. */
#include <stdlib.h>
#include <stdio.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "run/internal.h"

struct starting { /* what is needed until the first transaction */
	struct run *run;
	struct bread_str session_tags;
	struct bread_read read;
};

struct run *brd_run_make(struct run_env *env, struct loop *l, struct agent_def *def,
	struct bread_str id, struct bread_str session_id)
{
	struct run *r = brd_alloc(sizeof(*r));

	r->env = env;
	r->loop = l;
	r->def = brd_agent_def_ref(def);
	r->calls = 1; /* its own, until it has ended */
	snprintf(r->id, sizeof(r->id), "%.*s", BRD_ARG(id));
	r->session_id = brd_arena_copy(&r->arena, session_id);
	brd_crumb_base_init(&r->base, brd_str(def->id), brd_str(r->id), r->session_id, &r->arena);
	r->agent_context = brd_arena_printf(&r->arena, "{\"agentId\":\"%s\"}", def->id);
	r->ids_context = brd_arena_printf(
		&r->arena, "{\"agentId\":\"%s\",\"runId\":\"%s\"}", def->id, r->id);
	brd_list_init(&r->queue);
	brd_list_init(&r->out);
	brd_buf_init(&r->text, BUF_NO_LIMIT);
	brd_buf_init(&r->files_json, BUF_NO_LIMIT);
	brd_seq_init(&r->seq, 0);
	r->topic = brd_topic_get(env->hub, r->base.run_id);
	r->started_wall = brd_clock_wall();
	r->started_mono = brd_clock_mono();
	return r;
}

static void on_deadline(struct timer *t)
{
	struct run *r = brd_list_of(t, struct run, deadline);

	if (r->phase >= RUN_ENDING)
		return;
	r->timed_out = true;
	brd_run_cancel(r);
}

void brd_run_go(struct run *r, int64_t spent_ms)
{
	int64_t longest = r->def->max_ms ? r->def->max_ms : r->env->run_ms;

	r->phase = RUN_GOING;
	if (longest)
		brd_timer_start(&r->deadline, r->loop, longest > spent_ms ? longest - spent_ms : 1,
			on_deadline);
	if (!r->root)
		brd_node_root(r, &brd_agent_node, "agent");
	brd_node_wake(r->root);
	if (r->cancelled) {
		r->cancelled = false;
		brd_run_cancel(r);
	}
}

void brd_run_refuse(struct run *r, const char *code, const char *message)
{
	r->error.code = brd_arena_copy(&r->arena, brd_str(code));
	r->error.message = brd_arena_copy(&r->arena, brd_str(message));
	r->status = BREAD_RUN_FAILED;
	r->phase = RUN_ENDING;
	brd_run_dirty(r);
}

static void add_rows(struct run *r, struct bread_str session_tags)
{
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_SESSION);
	struct buf b;
	char id[UUID_LEN + 1];
	int64_t now = brd_clock_wall();

	rec->session = (struct bread_session_row){ .id = r->session_id,
		.created_at = now,
		.updated_at = now,
		.tags = session_tags.n ? brd_tx_copy(r, session_tags) : BRD_STR("{}") };
	rec = brd_tx_add(r, BREAD_REC_DEFINITION);
	rec->key = brd_str(r->def->hash);
	rec->value = r->def->json;
	rec = brd_tx_add(r, BREAD_REC_RUN);
	rec->run = (struct bread_run_row){
		.id = r->base.run_id,
		.root_id = r->base.run_id,
		.agent_id = r->base.agent_id,
		.session_id = r->session_id,
		.status = BREAD_RUN_RUNNING,
		.owner = r->env->owner,
		.epoch = r->epoch,
		.definition = brd_str(r->def->hash),
		.input = r->input,
		.options = r->options,
		.tags = r->tags,
		.created_at = r->started_wall,
		.started_at = r->started_wall,
	};
	brd_uuid7(id);
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_history_input(&b, r->input);
	rec = brd_tx_add(r, BREAD_REC_MESSAGE);
	rec->message = (struct bread_message_row){ .id = brd_tx_copy(r, brd_str(id)),
		.session_id = r->session_id,
		.role = BRD_STR("user"),
		.content = brd_tx_copy(r, brd_buf_str(&b)),
		.timestamp = now };
	brd_buf_fini(&b);
}

static void announce(struct run *r)
{
	struct crumb_draft d;

	brd_choke_begin(r, &d, CRUMB_RUN_START);
	brd_jw_kraw(&d.w, "input", r->input);
	brd_choke_emit(r, &d);
}

static void begin(struct starting *s)
{
	struct run *r = s->run;

	brd_history_own_input(r);
	add_rows(r, s->session_tags);
	announce(r);
	brd_run_go(r, 0);
}

static void done(struct starting *s)
{
	struct run *r = s->run;

	bread_read_fini(&s->read);
	free(s);
	brd_run_release(r);
}

static void on_messages(struct bread_op *op)
{
	struct starting *s = op->arg;
	struct bread_err err;

	if (op->code != BREAD_OK)
		brd_run_refuse(s->run, "STORE_FAILED", op->err.text);
	else if (brd_history_load(s->run, &s->read, &err))
		brd_run_refuse(s->run, "INTERNAL_ERROR", err.text);
	else
		begin(s);
	done(s);
}

static void on_active(struct bread_op *op)
{
	struct starting *s = op->arg;
	char text[300];

	if (op->code == BREAD_OK && s->read.count == 0) {
		bread_read_fini(&s->read);
		s->read.kind = BREAD_READ_MESSAGES;
		s->read.limit = SIZE_MAX / 2;
		bread_op_init(&s->read.op, s->run->loop, on_messages, s);
		brd_store_read(s->run->env->store, &s->read);
		return;
	}
	if (op->code != BREAD_OK) {
		brd_run_refuse(s->run, "STORE_FAILED", op->err.text);
	} else {
		snprintf(text, sizeof(text),
			"Session \"%.*s\" is busy with run %.*s; wait for it, or cancel it",
			BRD_ARG(s->run->session_id), BRD_ARG(s->read.runs[0].id));
		brd_run_refuse(s->run, "SESSION_BUSY", text);
	}
	done(s);
}

static void ask_session(struct starting *s)
{
	struct run *r = s->run;

	s->read.kind = BREAD_READ_ACTIVE;
	s->read.key = r->session_id;
	bread_op_init(&s->read.op, r->loop, on_active, s);
	brd_store_read(r->env->store, &s->read);
}

/* An object from outside as one line; empty when it is none. */
static struct bread_str compact(struct arena *a, struct bread_str json)
{
	struct bread_str text = { 0 };
	struct jval v;
	struct buf b;

	if (!json.n || brd_json_parse(a, json, 0, &v, NULL) || brd_json_type(v) != JSON_OBJECT)
		return text;
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_compact(v, &b);
	text = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return text;
}

struct run *brd_run_new(
	struct run_env *env, struct loop *l, struct agent_def *def, const struct run_start *in)
{
	struct run *r = brd_run_make(env, l, def, in->run_id, in->session_id);
	struct starting *s = brd_alloc(sizeof(*s));

	r->fresh = true;
	r->epoch = 1;
	r->input = brd_arena_copy(&r->arena, in->input);
	r->options = brd_arena_copy(&r->arena, in->options);
	r->tags = compact(&r->arena, in->tags);
	r->on_end = in->on_end;
	r->arg = in->arg;
	brd_topic_begin(r->topic, 0);
	atomic_fetch_add_explicit(&env->counts->started, 1, memory_order_relaxed);
	s->run = r;
	s->session_tags = compact(&r->arena, in->session_tags);
	brd_run_hold(r);
	if (in->new_session) {
		begin(s);
		done(s);
	} else {
		ask_session(s);
	}
	return r;
}

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
	struct bread_read read, checkpoints;
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

void brd_run_refuse(struct run *r, const char *code, const char *message, const char *context)
{
	r->error.code = brd_arena_copy(&r->arena, brd_str(code));
	r->error.message = brd_arena_copy(&r->arena, brd_str(message));
	r->error.context = brd_arena_copy(&r->arena, brd_str(context));
	r->status = BREAD_RUN_FAILED;
	r->phase = RUN_ENDING;
	brd_run_dirty(r);
}

void brd_run_opened(struct run *r)
{
	r->opening = false;
	brd_run_dirty(r);
}

void brd_run_stored(struct run *r)
{
	void (*tell)(void *arg) = r->on_stored;

	r->on_stored = NULL;
	if (tell)
		tell(r->arg);
}

void brd_run_rows(const struct run *r, struct bread_str session_tags, enum bread_run_status status,
	struct bread_rec recs[RUN_ROWS])
{
	int64_t now = brd_clock_wall();

	memset(recs, 0, RUN_ROWS * sizeof(*recs));
	recs[0].kind = BREAD_REC_SESSION;
	recs[0].session = (struct bread_session_row){ .id = r->session_id,
		.created_at = now,
		.updated_at = now,
		.tags = session_tags.n ? session_tags : BRD_STR("{}") };
	recs[1].kind = BREAD_REC_DEFINITION;
	recs[1].key = brd_str(r->def->hash);
	recs[1].value = r->def->json;
	recs[2].kind = BREAD_REC_RUN;
	recs[2].run = (struct bread_run_row){
		.id = r->base.run_id,
		.root_id = r->base.run_id,
		.agent_id = r->base.agent_id,
		.session_id = r->session_id,
		.status = status,
		.owner = r->env->owner,
		.epoch = r->epoch,
		.definition = brd_str(r->def->hash),
		.input = r->input,
		.options = r->options,
		.tags = r->tags,
		.created_at = r->started_wall,
		.started_at = status == BREAD_RUN_QUEUED ? 0 : r->started_wall,
	};
}

static void add_user_message(struct run *r)
{
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_MESSAGE);
	struct buf b;
	char id[UUID_LEN + 1];

	brd_uuid7(id);
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_history_input(&b, r->input);
	rec->message = (struct bread_message_row){ .id = brd_tx_copy(r, brd_str(id)),
		.session_id = r->session_id,
		.role = BRD_STR("user"),
		.content = brd_tx_copy(r, brd_buf_str(&b)),
		.timestamp = brd_clock_wall() };
	brd_buf_fini(&b);
}

static void announce(struct run *r)
{
	struct crumb_draft d;

	brd_choke_begin(r, &d, CRUMB_RUN_START);
	brd_jw_kraw(&d.w, "input", r->input);
	brd_choke_emit(r, &d);
}

void brd_run_begin(struct run *r)
{
	brd_history_own_input(r);
	add_user_message(r);
	announce(r);
	brd_run_go(r, 0);
}

static void begin(struct starting *s)
{
	struct run *r = s->run;
	struct bread_rec recs[RUN_ROWS];

	brd_run_rows(r, s->session_tags, BREAD_RUN_RUNNING, recs);
	for (size_t i = 0; i < RUN_ROWS; i++)
		*brd_tx_add(r, recs[i].kind) = recs[i];
	brd_run_begin(r);
}

static void done(struct starting *s)
{
	struct run *r = s->run;

	bread_read_fini(&s->read);
	bread_read_fini(&s->checkpoints);
	free(s);
	brd_run_opened(r);
}

static void ask(struct starting *s, struct bread_read *read, enum bread_read_kind kind,
	struct bread_str key, void (*on_end)(struct bread_op *op))
{
	struct run *r = s->run;

	brd_read_again(read, kind, key);
	bread_op_init(&read->op, r->loop, on_end, s);
	brd_store_read(r->env->store, read);
}

/* true: the run does not begin, because it was left meanwhile or the store gave no answer. */
static bool stopped(struct starting *s, const struct bread_op *op)
{
	if (!s->run->lost && op->code == BREAD_OK)
		return false;
	if (!s->run->lost)
		brd_run_refuse(s->run, "STORE_FAILED", op->err.text, "");
	done(s);
	return true;
}

static void on_messages(struct bread_op *op)
{
	struct starting *s = op->arg;
	struct bread_err err;

	if (stopped(s, op))
		return;
	if (brd_history_load(s->run, &s->read, &err))
		brd_run_refuse(s->run, "INTERNAL_ERROR", err.text, "");
	else
		begin(s);
	done(s);
}

/* With whom the session is busy; a run that waits for a human is named with its question. */
static void refuse_busy(struct starting *s)
{
	struct run *r = s->run;
	const struct bread_run_row *with = s->read.runs;
	char text[600], context[600];
	int n;

	n = snprintf(context, sizeof(context), "{\"runId\":\"%.*s\"", BRD_ARG(with->id));
	if (s->checkpoints.count) {
		struct bread_str id = s->checkpoints.checkpoints->id;

		snprintf(text, sizeof(text),
			"Session \"%.*s\" is busy with run %.*s, which waits for an answer to "
			"checkpoint %.*s; answer it, or cancel the run",
			BRD_ARG(r->session_id), BRD_ARG(with->id), BRD_ARG(id));
		snprintf(context + n, sizeof(context) - (size_t)n, ",\"checkpointId\":\"%.*s\"}",
			BRD_ARG(id));
	} else {
		snprintf(text, sizeof(text),
			"Session \"%.*s\" is busy with run %.*s; wait for it, or cancel it",
			BRD_ARG(r->session_id), BRD_ARG(with->id));
		snprintf(context + n, sizeof(context) - (size_t)n, "}");
	}
	brd_run_refuse(r, "SESSION_BUSY", text, context);
}

static void on_checkpoints(struct bread_op *op)
{
	struct starting *s = op->arg;

	if (stopped(s, op))
		return;
	refuse_busy(s);
	done(s);
}

static void on_active(struct bread_op *op)
{
	struct starting *s = op->arg;

	if (stopped(s, op))
		return;
	if (s->read.count == 0) {
		ask(s, &s->read, BREAD_READ_MESSAGES, s->run->session_id, on_messages);
	} else if (s->read.runs->status == BREAD_RUN_SUSPENDED) {
		ask(s, &s->checkpoints, BREAD_READ_CHECKPOINTS, s->read.runs->id, on_checkpoints);
	} else {
		refuse_busy(s);
		done(s);
	}
}

struct bread_str brd_run_compact(struct arena *a, struct bread_str json)
{
	struct bread_str text = { 0 };
	struct jval v;
	struct buf b;

	if (!json.n || brd_json_parse(a, json, 0, &v, NULL))
		return text;
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_compact(v, &b);
	text = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return text;
}

static struct bread_str compact_object(struct arena *a, struct bread_str json)
{
	struct bread_str text = brd_run_compact(a, json);

	return text.n && text.p[0] == '{' ? text : (struct bread_str){ 0 };
}

struct run *brd_run_new(
	struct run_env *env, struct loop *l, struct agent_def *def, const struct run_start *in)
{
	struct run *r = brd_run_make(env, l, def, in->run_id, in->session_id);
	struct starting *s;

	r->fresh = true;
	r->epoch = 1;
	r->input = brd_arena_copy(&r->arena, in->input);
	r->options = brd_arena_copy(&r->arena, in->options);
	r->tags = compact_object(&r->arena, in->tags);
	r->on_stored = in->on_stored;
	r->on_end = in->on_end;
	r->arg = in->arg;
	r->opening = true;
	brd_topic_begin(r->topic, 0);
	atomic_fetch_add_explicit(&env->counts->started, 1, memory_order_relaxed);
	if (!in->new_session && in->if_busy != BREAD_BUSY_REJECT) {
		brd_run_queue(r, compact_object(&r->arena, in->session_tags),
			in->if_busy == BREAD_BUSY_INTERRUPT);
		return r;
	}
	s = brd_alloc(sizeof(*s));
	s->run = r;
	s->session_tags = compact_object(&r->arena, in->session_tags);
	if (in->new_session) {
		begin(s);
		done(s);
	} else {
		ask(s, &s->read, BREAD_READ_ACTIVE, r->session_id, on_active);
	}
	return r;
}

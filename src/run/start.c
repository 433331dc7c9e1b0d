/* SPDX-License-Identifier: MIT */
/* How a run begins: the session's state is read when the session may be an old
 * one, then one transaction makes the session, the run, its user message and its
 * first crumb true, and the tree is driven. */
#include <stdlib.h>
#include <stdio.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "run/asking.h"
#include "run/choke.h"
#include "run/history.h"
#include "run/life.h"
#include "run/loop_state.h"
#include "run/tree.h"
#include "run/tx.h"

struct starting { /* what is needed until the first transaction */
	struct tree *tree;
	struct bread_str session_tags;
	struct bread_read read, checkpoints;
};

static void describe(struct run *r)
{
	struct bread_str id = r->base.agent_id;

	r->agent_context = brd_arena_printf(&r->arena, "{\"agentId\":\"%.*s\"}", BRD_ARG(id));
	r->ids_context = brd_arena_printf(
		&r->arena, "{\"agentId\":\"%.*s\",\"runId\":\"%s\"}", BRD_ARG(id), r->id);
}

struct run *brd_run_make(struct tree *t, struct run *parent, struct agent_def *def,
	struct pipeline_def *pipeline, struct bread_str id, struct bread_str session_id)
{
	struct run *r = brd_alloc(sizeof(*r));

	r->tree = t;
	r->env = t->env;
	r->loop = t->loop;
	r->parent = parent;
	snprintf(r->id, sizeof(r->id), "%.*s", BRD_ARG(id));
	if (pipeline) {
		r->kind = BREAD_RUN_PIPELINE;
		r->pipeline = brd_pipeline_def_ref(pipeline);
		brd_crumb_base_pipeline(&r->base, brd_str(pipeline->id), brd_str(r->id), &r->arena);
	} else {
		r->def = brd_agent_def_ref(def);
		r->session_id = brd_arena_copy(&r->arena, session_id);
		brd_crumb_base_init(
			&r->base, brd_str(def->id), brd_str(r->id), r->session_id, &r->arena);
	}
	describe(r);
	if (def && def->skill)
		r->options = brd_arena_printf(&r->arena, "{\"skill\":\"%s\"}", def->skill->id);
	r->history_before = -1;
	brd_list_init(&r->repairs);
	brd_buf_init(&r->text, BUF_NO_LIMIT);
	brd_buf_init(&r->knowledge, BUF_NO_LIMIT);
	brd_buf_init(&r->files_json, BUF_NO_LIMIT);
	brd_seq_init(&r->seq, 0);
	r->topic = brd_topic_get(t->env->hub, r->base.run_id, false);
	r->started_wall = brd_clock_wall();
	r->started_mono = brd_clock_mono();
	if (!parent)
		brd_tree_plant(t, r);
	return r;
}

void brd_run_free(struct run *r)
{
	brd_list_remove(&r->link);
	brd_list_remove(&r->windows);
	brd_seq_fini(&r->seq);
	brd_topic_unref(r->topic);
	brd_agent_def_unref(r->def);
	brd_pipeline_def_unref(r->pipeline);
	brd_loop_state_free(r->loop_state);
	if (r->journal)
		brd_map_fini(&r->journal->by_name);
	brd_buf_fini(&r->text);
	brd_buf_fini(&r->knowledge);
	brd_buf_fini(&r->files_json);
	brd_buf_fini(&r->output_json);
	brd_timer_stop(&r->deadline);
	brd_arena_fini(&r->arena);
	free(r);
}

static void on_deadline(struct timer *timer)
{
	struct run *r = brd_list_of(timer, struct run, deadline);

	if (r->ended || r->tree->phase >= RUN_ENDING)
		return;
	r->timed_out = true;
	brd_tree_cancel_run(r->tree, r->base.run_id);
}

/* A child has the time of its own definition alone: the root's holds for all. */
static int64_t longest(const struct run *r)
{
	if (r->def && r->def->max_ms)
		return r->def->max_ms;
	return r->parent ? 0 : r->env->run_ms;
}

void brd_run_clock(struct run *r, int64_t spent_ms)
{
	int64_t most = longest(r);

	if (most)
		brd_timer_start(
			&r->deadline, r->loop, most > spent_ms ? most - spent_ms : 1, on_deadline);
}

void brd_run_go(struct run *r, struct node *at, int64_t spent_ms)
{
	if (!r->parent)
		r->tree->phase = RUN_GOING;
	brd_run_clock(r, spent_ms);
	if (!r->root && r->pipeline)
		brd_node_root(r, at, &brd_pipeline_node, "pipeline");
	else if (!r->root)
		brd_node_root(r, at, &brd_agent_node, "agent");
	brd_node_wake(r->root);
	if (r->cancelled && !r->parent) {
		r->cancelled = false;
		brd_tree_cancel(r->tree);
	}
}

void brd_tree_refuse(struct tree *t, const char *code, const char *message, const char *context)
{
	struct run *r = t->root;

	r->error.code = brd_arena_copy(&r->arena, brd_str(code));
	r->error.message = brd_arena_copy(&r->arena, brd_str(message));
	r->error.context = brd_arena_copy(&r->arena, brd_str(context));
	r->status = BREAD_RUN_FAILED;
	t->phase = RUN_ENDING;
	brd_tree_dirty(t);
}

void brd_tree_opened(struct tree *t)
{
	t->opening = false;
	brd_tree_dirty(t);
}

void brd_tree_stored(struct tree *t)
{
	void (*tell)(void *arg) = t->on_stored;

	t->on_stored = NULL;
	if (tell)
		tell(t->arg);
}

static struct bread_str definition_hash(const struct run *r)
{
	return brd_str(r->pipeline ? r->pipeline->hash : r->def->hash);
}

void brd_run_rows(const struct run *r, struct bread_str session_tags, enum bread_run_status status,
	struct bread_rec recs[RUN_ROWS])
{
	const struct tree *t = r->tree;
	int64_t now = brd_clock_wall();

	memset(recs, 0, RUN_ROWS * sizeof(*recs));
	recs[0].kind = BREAD_REC_SESSION;
	recs[0].session = (struct bread_session_row){ .id = r->session_id,
		.created_at = now,
		.updated_at = now,
		.tags = session_tags.n ? session_tags : BRD_STR("{}") };
	recs[1].kind = BREAD_REC_DEFINITION;
	recs[1].key = definition_hash(r);
	recs[1].value = r->pipeline ? r->pipeline->json : r->def->json;
	recs[2].kind = BREAD_REC_RUN;
	recs[2].run = (struct bread_run_row){
		.id = r->base.run_id,
		.root_id = t->root->base.run_id,
		.parent_id = r->parent ? r->parent->base.run_id : (struct bread_str){ 0 },
		.path = r->parent ? r->path : (struct bread_str){ 0 },
		.kind = r->kind,
		.composed = !r->parent && t->composed,
		.agent_id = r->base.agent_id,
		.session_id = r->session_id,
		.status = status,
		.owner = r->env->owner,
		.epoch = t->epoch,
		.definition = definition_hash(r),
		.input = r->input,
		.options = r->options,
		.tags = r->tags,
		.created_at = r->started_wall,
		.started_at = status == BREAD_RUN_QUEUED ? 0 : r->started_wall,
	};
}

void brd_run_add_rows(struct run *r, struct bread_str session_tags)
{
	struct bread_rec recs[RUN_ROWS];

	brd_run_rows(r, session_tags, BREAD_RUN_RUNNING, recs);
	for (size_t i = r->pipeline ? 1 : 0; i < RUN_ROWS; i++)
		*brd_tx_add(r, recs[i].kind) = recs[i];
}

static void add_user_message(struct run *r)
{
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_MESSAGE);
	struct buf b;

	brd_uuid7(r->input_id);
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_history_input(&b, r->input);
	rec->message = (struct bread_message_row){ .id = brd_str(r->input_id),
		.session_id = r->session_id,
		.role = BRD_STR("user"),
		.content = brd_tx_copy(r, brd_buf_str(&b)),
		.timestamp = brd_clock_wall() };
	brd_buf_fini(&b);
}

/* So that a later owner does not ask what was asked before it began. */
static void journal_opened(struct run *r)
{
	brd_tx_add(r, BREAD_REC_NODE)->node = (struct bread_node_row){
		.run_id = r->base.run_id,
		.name = BRD_STR("opened"),
		.kind = BRD_STR("opened"),
		.state = BREAD_NODE_ENDED,
		.data = BRD_STR("{}"),
	};
}

void brd_run_announce(struct run *r)
{
	struct crumb_draft d;

	r->announced = true;
	if (r->def) {
		if (r->history_known)
			brd_history_own_input(r);
		brd_history_write_repairs(r);
		add_user_message(r);
		if (brd_agent_hears(r, BREAD_HOOK_BEFORE_RUN))
			journal_opened(r);
	}
	brd_choke_begin(r, &d, CRUMB_RUN_START);
	brd_jw_kraw(&d.w, "input", r->input);
	if (r->def && r->def->skill)
		brd_jw_kstr(&d.w, "skill", brd_str(r->def->skill->id));
	brd_choke_emit(r, &d);
}

void brd_run_begin(struct run *r, struct node *at)
{
	if (!r->def || !brd_agent_hears(r, BREAD_HOOK_BEFORE_RUN))
		brd_run_announce(r);
	brd_run_go(r, at, 0);
}

static void begin(struct starting *s)
{
	struct run *r = s->tree->root;
	struct bread_rec keys[KEY_RECS];
	size_t n = brd_key_recs(&s->tree->key, r->base.run_id, 0, keys);

	for (size_t i = 0; i < n; i++)
		*brd_tx_add(r, keys[i].kind) = keys[i];
	brd_run_add_rows(r, s->session_tags);
	r->history_known = true;
	brd_run_begin(r, NULL);
}

static void done(struct starting *s)
{
	struct tree *t = s->tree;

	bread_read_fini(&s->read);
	bread_read_fini(&s->checkpoints);
	free(s);
	brd_tree_opened(t);
}

static void ask(struct starting *s, struct bread_read *read, enum bread_read_kind kind,
	struct bread_str key, void (*on_end)(struct bread_op *op))
{
	struct tree *t = s->tree;

	brd_read_again(read, kind, key);
	bread_op_init(&read->op, t->loop, on_end, s);
	brd_store_read(t->env->store, read);
}

/* true: the run does not begin, because it was left meanwhile or the store gave no answer. */
static bool stopped(struct starting *s, const struct bread_op *op)
{
	if (!s->tree->lost && op->code == BREAD_OK)
		return false;
	if (!s->tree->lost)
		brd_tree_refuse(s->tree, "STORE_FAILED", op->err.text, "");
	done(s);
	return true;
}

static void on_messages(struct bread_op *op)
{
	struct starting *s = op->arg;
	struct bread_err err;

	if (stopped(s, op))
		return;
	if (brd_history_load(s->tree->root, &s->read, &err))
		brd_tree_refuse(s->tree, "INTERNAL_ERROR", err.text, "");
	else
		begin(s);
	done(s);
}

/* What its tree waits for: a question of its own first. Empty: for nothing that is written. */
static struct bread_str question_of(const struct starting *s)
{
	struct bread_str id = { 0 };

	for (size_t i = s->checkpoints.count; i-- > 0;) {
		const struct bread_checkpoint_row *row = &s->checkpoints.checkpoints[i];
		bool own = brd_str_eq(row->run_id, s->read.runs->id);

		if (brd_str_is(row->kind, "delegate"))
			continue;
		if (own)
			return row->id;
		id = row->id;
	}
	return id;
}

/* With whom the session is busy; a run that waits for a human is named with its question. */
static void refuse_busy(struct starting *s)
{
	struct run *r = s->tree->root;
	const struct bread_run_row *with = s->read.runs;
	char text[600], context[600];
	int n;

	n = snprintf(context, sizeof(context), "{\"runId\":\"%.*s\"", BRD_ARG(with->id));
	if (question_of(s).n) {
		struct bread_str id = question_of(s);

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
	brd_tree_refuse(s->tree, "SESSION_BUSY", text, context);
}

static void on_checkpoints(struct bread_op *op)
{
	struct starting *s = op->arg;

	if (stopped(s, op))
		return;
	refuse_busy(s);
	done(s);
}

/* Of the whole tree: the run may wait for one below it. */
static void ask_questions(struct starting *s)
{
	const struct bread_run_row *with = s->read.runs;
	struct tree *t = s->tree;

	brd_read_again(&s->checkpoints, BREAD_READ_CHECKPOINTS, (struct bread_str){ 0 });
	s->checkpoints.filter.root_id = with->root_id.n ? with->root_id : with->id;
	bread_op_init(&s->checkpoints.op, t->loop, on_checkpoints, s);
	brd_store_read(t->env->store, &s->checkpoints);
}

static void on_active(struct bread_op *op)
{
	struct starting *s = op->arg;

	if (stopped(s, op))
		return;
	if (s->read.count == 0) {
		ask(s, &s->read, BREAD_READ_MESSAGES, s->tree->root->session_id, on_messages);
	} else if (s->read.runs->status == BREAD_RUN_SUSPENDED) {
		ask_questions(s);
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

/* Reads what must be known of an old session; a new one is known to be empty. */
static void open_session(struct tree *t, struct bread_str tags, bool new_session)
{
	struct starting *s = brd_alloc(sizeof(*s));

	s->tree = t;
	s->session_tags = tags;
	if (new_session) {
		begin(s);
		done(s);
	} else {
		ask(s, &s->read, BREAD_READ_ACTIVE, t->root->session_id, on_active);
	}
}

struct tree *brd_run_new(struct run_env *env, struct loop *l, struct agent_def *def,
	struct pipeline_def *pipeline, const struct run_start *in)
{
	struct tree *t = brd_tree_new(env, l);
	struct run *r = brd_run_make(t, NULL, def, pipeline, in->run_id, in->session_id);
	struct bread_str tags = compact_object(&r->arena, in->session_tags);

	t->fresh = true;
	t->epoch = 1;
	t->on_stored = in->on_stored;
	t->on_end = in->on_end;
	t->arg = in->arg;
	t->opening = true;
	t->key = (struct run_key){ .key = brd_arena_copy(&r->arena, in->key.key),
		.hash = brd_arena_copy(&r->arena, in->key.hash),
		.stale = in->key.stale };
	r->input = brd_arena_copy(&r->arena, in->input);
	if (in->options.n)
		r->options = brd_arena_copy(&r->arena, in->options);
	r->tags = compact_object(&r->arena, in->tags);
	brd_tree_go_live(t, 0);
	atomic_fetch_add_explicit(&env->counts->started, 1, memory_order_relaxed);
	if (!in->new_session && in->if_busy != BREAD_BUSY_REJECT)
		brd_run_queue(r, tags, in->if_busy == BREAD_BUSY_INTERRUPT);
	else
		open_session(t, tags, in->new_session || pipeline);
	return t;
}

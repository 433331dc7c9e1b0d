/* SPDX-License-Identifier: MIT */
/* An answer to a run that waits (contract C15, C16).
 *
 * One transaction claims the checkpoint and writes the answer into the journal of the run that
 * asked. Whoever loses it changes nothing. A tree that is suspended is taken in the same
 * transaction, built and driven on; one that is at work, here or elsewhere, is woken: it reads its
 * answers. Either way what the answer leads to is decided by the tree's owner alone, so any number
 * of answers to one tree may come at the same moment, from anywhere.
 *
 * The claim leaves a mark, so that whoever comes later is told that somebody was first, and not
 * that there never was such a checkpoint.
 *
 * After the transaction the answer is never lost: a tree that has answers nobody has heard is found
 * by its row (wake). */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/err_context.h"
#include "base/mem.h"
#include "run/life.h"
#include "run/node.h"

#define LOOK_AGAIN_MS 5
#define LOOKS_MAX 400       /* 2 s */
#define RECS (4 + KEY_RECS) /* the claim, that it was, the answer, the run */

struct resuming {
	struct run_env *env;
	struct loop *loop;
	struct arena arena;
	struct run_resume in;
	struct bread_read checkpoint, root, key, mark, again;
	const struct bread_checkpoint_row *row; /* NULL: it is gone */
	struct bread_str root_id;
	struct bread_tx tx;
	struct bread_rec recs[RECS];
	struct timer timer;
	unsigned looks;
	struct waking waking;
	int64_t after; /* where what the answer leads to begins */
	bool claimed;  /* this instance knows that it is about to work on the tree */
};

static void look(struct resuming *s);

static void unclaim(struct resuming *s)
{
	if (s->claimed)
		s->env->unclaim(s->env->arg, s->root.runs->id);
	s->claimed = false;
}

static void over(struct resuming *s, const struct bread_err *err)
{
	const struct bread_str none = { 0 };

	unclaim(s);
	s->in.on_claimed(s->in.arg, err ? none : s->root_id, s->after, err);
	bread_read_fini(&s->checkpoint);
	bread_read_fini(&s->root);
	bread_read_fini(&s->key);
	bread_read_fini(&s->mark);
	bread_read_fini(&s->again);
	brd_arena_fini(&s->arena);
	free(s);
}

static void refuse(struct resuming *s, enum bread_code code, const char *name, const char *text)
{
	struct bread_err err;
	struct err_context ctx;

	brd_fail_as(&err, code, name, "resume", "%s", text);
	brd_jw_kstr(brd_err_context(&ctx), "checkpointId", s->in.checkpoint_id);
	brd_err_context_end(&ctx, &err);
	over(s, &err);
}

static void not_found(struct resuming *s)
{
	struct bread_str text = brd_arena_printf(&s->arena,
		"Checkpoint not found or already resumed: %.*s", BRD_ARG(s->in.checkpoint_id));

	refuse(s, BREAD_E_NOT_FOUND, "CHECKPOINT_NOT_FOUND", text.p);
}

static void claimed(struct resuming *s)
{
	struct bread_str text = brd_arena_printf(
		&s->arena, "Checkpoint %.*s was answered already", BRD_ARG(s->in.checkpoint_id));

	refuse(s, BREAD_E_CONFLICT, "CHECKPOINT_CLAIMED", text.p);
}

static bool failed(struct resuming *s, const struct bread_op *op)
{
	if (op->code == BREAD_OK)
		return false;
	refuse(s, op->code, "STORE_FAILED", op->err.text);
	return true;
}

static void ask(struct resuming *s, struct bread_read *read, enum bread_read_kind kind,
	struct bread_str key, void (*on_end)(struct bread_op *op))
{
	brd_read_again(read, kind, key);
	bread_op_init(&read->op, s->loop, on_end, s);
	brd_store_read(s->env->store, read);
}

/* The key of the mark that a claim leaves; it goes with the run, or after a day as those of
 * requests do. */
static struct bread_str mark_of(struct resuming *s)
{
	return brd_arena_printf(&s->arena, "checkpoint %.*s", BRD_ARG(s->in.checkpoint_id));
}

static void on_mark(struct bread_op *op)
{
	struct resuming *s = op->arg;

	if (failed(s, op))
		return;
	if (s->mark.count)
		claimed(s);
	else
		not_found(s);
}

/* Nothing waits for an answer: was there one, or never a question? */
static void ask_mark(struct resuming *s)
{
	ask(s, &s->mark, BREAD_READ_IDEMPOTENCY, mark_of(s), on_mark);
}

/* ---- what may be an answer ---- */

/* false: it was refused, and the checkpoint stays. */
static bool fits(struct resuming *s)
{
	struct bread_str schema = s->row->answer_schema;
	struct schema *compiled;
	struct schema_fault f;
	struct bread_err err;
	struct jval v;
	bool ok = true;

	if (!schema.n || s->in.expired || brd_schema_new(&compiled, schema, &err))
		return true;
	if (brd_json_parse(
		    &s->arena, s->in.response.n ? s->in.response : BRD_STR("null"), 0, &v, NULL))
		v = (struct jval){ 0 };
	ok = brd_schema_check(compiled, v, &s->arena, &f);
	if (!ok)
		refuse(s, BREAD_E_INVALID, "ANSWER_INVALID",
			brd_arena_printf(&s->arena,
				"The answer does not fit what tool \"%.*s\" asks for%s%.*s: "
				"%.*s; the checkpoint waits for another",
				BRD_ARG(s->row->tool_name), f.at.n ? " at " : "", BRD_ARG(f.at),
				BRD_ARG(f.text))
				.p);
	brd_schema_unref(compiled);
	return ok;
}

/* "a, b": the children's checkpoints, as they were when it was put aside. */
static struct bread_str pending_ids(struct resuming *s, struct jval pending)
{
	struct buf b;
	struct bread_str text;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (struct json_iter it = brd_json_each(pending); brd_json_next(&it);)
		brd_buf_addf(&b, "%s%.*s", it.index ? ", " : "",
			BRD_ARG(brd_json_str(
				brd_json_get(it.value, "childCheckpointId"), &s->arena)));
	text = brd_arena_copy(&s->arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return text;
}

static void put_pending(struct resuming *s, struct bread_str pending, struct bread_err *err)
{
	struct err_context ctx;
	struct jsonw *w = brd_err_context(&ctx);

	brd_jw_kstr(w, "checkpointId", s->in.checkpoint_id);
	brd_jw_kstr(w, "agentId", s->row->agent_id);
	brd_jw_kraw(w, "pending", pending);
	brd_err_context_end(&ctx, err);
}

/* A supervisor's own line about the runs that it waits for: answers are theirs. */
static bool is_for_nobody(struct resuming *s)
{
	struct bread_err err;
	struct jval pending;

	if (!s->row->pending.n || brd_json_parse(&s->arena, s->row->pending, 0, &pending, NULL))
		return false;
	brd_fail_as(&err, BREAD_E_CONFLICT, "SUPERVISOR_CHECKPOINT_NOT_RESUMABLE", "resume",
		"Checkpoint %.*s belongs to supervisor \"%.*s\" awaiting %zu suspended "
		"delegation(s) "
		"\xe2\x80\x94 resume the delegated run(s) instead (child checkpoint(s) at "
		"suspension "
		"time: %.*s).",
		BRD_ARG(s->in.checkpoint_id), BRD_ARG(s->row->agent_id), brd_json_count(pending),
		BRD_ARG(pending_ids(s, pending)));
	put_pending(s, s->row->pending, &err);
	if (!err.context[0]) /* there are too many */
		put_pending(s, (struct bread_str){ 0 }, &err);
	over(s, &err);
	return true;
}

/* ---- the transaction ---- */

/* The question's line with the answer in it. */
static struct bread_str answered(struct resuming *s)
{
	struct buf b;
	struct jsonw w;

	w = brd_jw_begin(&b);
	brd_jw_kstr(&w, "callId", s->row->tool_call_id);
	brd_jw_kstr(&w, "name", s->row->tool_name);
	brd_jw_kraw(&w, "args", s->row->schema);
	brd_jw_kstr(&w, "checkpointId", s->row->id);
	brd_jw_kstr(&w, "kind", s->row->kind);
	brd_jw_kraw(&w, "response", s->in.response);
	if (s->in.expired)
		brd_jw_kbool(&w, "expired", true);
	return brd_jw_finish(&w, &s->arena);
}

static struct bread_rec *add(struct resuming *s, enum bread_rec_kind kind)
{
	struct bread_rec *rec = &s->recs[s->tx.count++];

	*rec = (struct bread_rec){ .kind = kind };
	return rec;
}

static void on_claimed(struct bread_op *op);

static void claim(struct resuming *s)
{
	const struct bread_run_row *root = s->root.runs;

	memset(&s->tx, 0, sizeof(s->tx));
	add(s, BREAD_REC_CHECKPOINT_CLAIM)->key = s->row->id;
	add(s, BREAD_REC_NODE)->node = (struct bread_node_row){ .run_id = s->row->run_id,
		.name = s->row->node,
		.kind = BRD_STR("human"),
		.state = BREAD_NODE_ANSWERED,
		.data = answered(s) };
	add(s, BREAD_REC_IDEMPOTENCY)->idempotency =
		(struct bread_idempotency_row){ .key = mark_of(s),
			.hash = s->row->id,
			.run_id = root->id,
			.after = s->after,
			.created_at = brd_clock_wall() };
	s->tx.count += brd_key_recs(&s->in.key, s->root_id, s->after, s->recs + s->tx.count);
	if (s->claimed) {
		struct bread_rec *take = add(s, BREAD_REC_RUN_TAKE);

		take->run.id = root->id;
		take->run.owner = s->env->owner;
		s->tx.fence = root->id;
		s->tx.fence_epoch = root->epoch;
	} else {
		add(s, BREAD_REC_RUN_WAKE)->run.id = root->id;
	}
	s->tx.recs = s->recs;
	bread_op_init(&s->tx.op, s->loop, on_claimed, s);
	brd_store_commit(s->env->store, &s->tx);
}

/* ---- after it ---- */

/* Another owner has the tree, or it has ended: its end is not told from here. */
static void go_elsewhere(struct resuming *s)
{
	if (s->in.on_end)
		brd_run_tell(s->env, s->loop, s->root_id, s->in.on_end, s->in.arg);
	over(s, NULL);
}

static void on_built(void *arg, struct tree *t)
{
	struct resuming *s = arg;

	if (!t) {
		refuse(s, BREAD_E_UPSTREAM, "STORE_FAILED",
			"the answer was taken, but the run could not be read; it goes on when the "
			"store works");
		return;
	}
	t->on_end = s->in.on_end;
	t->arg = s->in.arg;
	over(s, NULL); /* before its first turn: whoever watches from here on sees it live */
}

static void on_timer(struct timer *t)
{
	look(brd_list_of(t, struct resuming, timer));
}

/* It changes hands just now. */
static void look_again(struct resuming *s)
{
	unclaim(s);
	if (s->looks++ < LOOKS_MAX && !s->env->draining)
		brd_timer_start(&s->timer, s->loop, LOOK_AGAIN_MS, on_timer);
	else
		refuse(s, BREAD_E_BUSY, "RUN_BUSY", "the run changes hands; try again");
}

/* ---- a tree that was at work: the answer is on record, and it is made to hear it ---- */

static void wake(struct resuming *s);

static void on_wait_over(struct timer *t)
{
	wake(brd_list_of(t, struct resuming, timer));
}

/* It changes hands just now; who has it next finds that it was woken. */
static void wake_later(struct resuming *s)
{
	if (s->looks++ < LOOKS_MAX && !s->env->draining)
		brd_timer_start(&s->timer, s->loop, LOOK_AGAIN_MS, on_wait_over);
	else
		go_elsewhere(s);
}

static void on_taken_up(void *arg, struct tree *t)
{
	struct resuming *s = arg;

	if (!t) {
		wake_later(s); /* somebody else was first */
		return;
	}
	t->on_end = s->in.on_end;
	t->arg = s->in.arg;
	over(s, NULL);
}

static void on_root_again(struct bread_op *op)
{
	struct resuming *s = op->arg;
	const struct bread_run_row *root = s->again.runs;

	if (op->code == BREAD_OK && s->again.count && root->status == BREAD_RUN_SUSPENDED)
		brd_run_take_up(s->env, s->loop, root, on_taken_up, s);
	else if (op->code == BREAD_OK && s->again.count && !brd_run_ended(root->status))
		wake_later(s);
	else
		go_elsewhere(s);
}

static void on_woken(struct waking *w)
{
	struct resuming *s = brd_list_of(w, struct resuming, waking);

	if (w->outcome == WAKE_HEARD)
		over(s, NULL);
	else if (w->outcome == WAKE_MISSED)
		ask(s, &s->again, BREAD_READ_RUN, s->root_id, on_root_again);
	else
		go_elsewhere(s);
}

static void wake(struct resuming *s)
{
	s->waking = (struct waking){
		.loop = s->loop, .on_end = s->in.on_end, .end_arg = s->in.arg, .done = on_woken
	};
	s->env->wake(s->env->arg, s->root_id, &s->waking);
}

static void on_claimed(struct bread_op *op)
{
	struct resuming *s = op->arg;

	if (op->code == BREAD_E_CONFLICT) {
		look_again(s);
		return;
	}
	if (failed(s, op))
		return;
	if (s->claimed) {
		s->claimed = false; /* it is the builder's from here on */
		brd_run_build(s->env, s->loop, s->root.runs, on_built, s);
		return;
	}
	s->looks = 0;
	wake(s);
}

static void on_root(struct bread_op *op)
{
	struct resuming *s = op->arg;
	const struct bread_run_row *root = s->root.runs;

	if (failed(s, op))
		return;
	if (s->root.count == 0 || brd_run_ended(root->status)) {
		ask_mark(s); /* answered, and all over, since the checkpoint was read */
		return;
	}
	s->root_id = root->id;
	s->after = root->composed ? root->tree_head : root->head;
	if (root->status == BREAD_RUN_SUSPENDED) {
		s->claimed = s->env->claim(
			s->env->arg, root->id, root->session_id, root->composed, s->loop);
		if (!s->claimed) {
			look_again(s);
			return;
		}
	} else {
		struct topic *topic = brd_topic_peek(s->env->hub, root->id, root->composed);
		int64_t live = topic ? brd_topic_head(topic) : -1;

		if (live > s->after)
			s->after = live;
		brd_topic_unref(topic);
	}
	claim(s);
}

/* ---- what is known of the checkpoint, and of the request ---- */

/* A run that the original wrote has no row of ours, and cannot be gone on with here. */
static void go_on(struct resuming *s)
{
	if (!s->row) {
		ask_mark(s);
		return;
	}
	if (is_for_nobody(s) || !fits(s))
		return;
	if (!s->row->root_id.n)
		not_found(s);
	else
		ask(s, &s->root, BREAD_READ_RUN, s->row->root_id, on_root);
}

/* The request was answered before: it is led to the same place. */
static void repeat(struct resuming *s)
{
	s->root_id = s->key.idempotency->run_id;
	s->after = s->key.idempotency->after;
	brd_run_tell(s->env, s->loop, s->root_id, s->in.on_end, s->in.arg);
	over(s, NULL);
}

static void on_key(struct bread_op *op)
{
	struct resuming *s = op->arg;
	struct bread_err err;

	if (failed(s, op))
		return;
	switch (brd_key_state(&s->in.key, &s->key)) {
	case KEY_SAME:
		repeat(s);
		break;
	case KEY_OTHER:
		brd_key_refuse(&err);
		over(s, &err);
		break;
	case KEY_UNKNOWN:
		go_on(s);
		break;
	}
}

/* The key is asked for after the checkpoint: whoever took the one has written the other. */
static void on_checkpoint(struct bread_op *op)
{
	struct resuming *s = op->arg;

	if (failed(s, op))
		return;
	s->row = s->checkpoint.count ? s->checkpoint.checkpoints : NULL;
	if (s->in.key.key.n)
		ask(s, &s->key, BREAD_READ_IDEMPOTENCY, s->in.key.key, on_key);
	else
		go_on(s);
}

static void look(struct resuming *s)
{
	ask(s, &s->checkpoint, BREAD_READ_CHECKPOINT, s->in.checkpoint_id, on_checkpoint);
}

void brd_run_resume(struct run_env *env, struct loop *l, const struct run_resume *in)
{
	struct resuming *s = brd_alloc(sizeof(*s));

	s->env = env;
	s->loop = l;
	s->in = *in;
	s->in.checkpoint_id = brd_arena_copy(&s->arena, in->checkpoint_id);
	s->in.response = brd_run_compact(&s->arena, in->response);
	s->in.key.key = brd_arena_copy(&s->arena, in->key.key);
	s->in.key.hash = brd_arena_copy(&s->arena, in->key.hash);
	look(s);
}

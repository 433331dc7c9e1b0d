/* SPDX-License-Identifier: MIT */
/* An answer to a run that waits (contract C15, C16).
 *
 * One transaction claims the checkpoint, takes the run, and writes the answer: the
 * end of the question's node, the session's tool message, the crumb that says so.
 * Whoever loses it changes nothing. After it the run is "running" with an owner
 * like any other, so a crash here is taken up like any other; then the tree is
 * built and driven on. When siblings still wait, the run is suspended again.
 *
 * Two answers to two questions of one run at the same moment: the second finds
 * another epoch and looks again. */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "run/internal.h"

#define LOOK_AGAIN_MS 5
#define LOOKS_MAX 400 /* 2 s */

struct resuming {
	struct run_env *env;
	struct loop *loop;
	struct arena arena;
	struct run_resume in;
	struct bread_read checkpoint, run, nodes;
	const struct bread_checkpoint_row *row;
	struct bread_tx tx;
	struct bread_rec recs[5];
	struct crumb *crumb; /* human:resumed */
	struct timer timer;
	unsigned looks;
	bool claimed; /* this instance knows that it is about to work on the run */
};

static void look(struct resuming *s);

static void unclaim(struct resuming *s)
{
	if (s->claimed)
		s->env->unclaim(s->env->arg, s->run.runs->id);
	s->claimed = false;
}

static void over(struct resuming *s, struct run *r, int64_t after, const struct bread_err *err)
{
	unclaim(s);
	s->in.on_claimed(s->in.arg, r, after, err);
	bread_read_fini(&s->checkpoint);
	bread_read_fini(&s->run);
	bread_read_fini(&s->nodes);
	brd_crumb_unref(s->crumb);
	brd_arena_fini(&s->arena);
	free(s);
}

static void refuse(struct resuming *s, enum bread_code code, const char *name, const char *text)
{
	struct bread_err err;
	struct buf ctx;

	brd_fail_as(&err, code, name, "resume", "%s", text);
	brd_buf_init(&ctx, sizeof(err.context) - 1);
	brd_buf_addz(&ctx, "{\"checkpointId\":");
	brd_json_quote(&ctx, s->in.checkpoint_id);
	brd_buf_addc(&ctx, '}');
	snprintf(err.context, sizeof(err.context), "%s", ctx.bad ? "" : ctx.data);
	brd_buf_fini(&ctx);
	over(s, NULL, 0, &err);
}

static void not_found(struct resuming *s)
{
	struct bread_str text = brd_arena_printf(&s->arena,
		"Checkpoint not found or already resumed: %.*s", BRD_ARG(s->in.checkpoint_id));

	refuse(s, BREAD_E_NOT_FOUND, "CHECKPOINT_NOT_FOUND", text.p);
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

/* ---- the transaction ---- */

/* The question's line in the journal. NULL: it is not there. */
static const struct bread_node_row *question(struct resuming *s)
{
	for (size_t i = 0; i < s->nodes.count; i++) {
		const struct bread_node_row *n = &s->nodes.nodes[i];
		struct jval data;

		if (!brd_str_is(n->kind, brd_human_node.kind) || n->state != 1 ||
			brd_json_parse(&s->arena, n->data, 0, &data, NULL))
			continue;
		if (brd_str_eq(brd_json_str(brd_json_get(data, "checkpointId"), &s->arena),
			    s->row->id))
			return n;
	}
	return NULL;
}

static struct bread_str node_end(struct resuming *s)
{
	struct buf b;
	struct jsonw w;
	struct bread_str text;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "callId", s->row->tool_call_id);
	brd_jw_kstr(&w, "name", s->row->tool_name);
	brd_jw_kraw(&w, "json", s->in.response.n ? s->in.response : BRD_STR("null"));
	brd_jw_kbool(&w, "failed", false);
	brd_jw_end_obj(&w);
	text = brd_arena_copy(&s->arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return text;
}

/* [{"type":"tool-result",…,"output":{"type":"json","value":V}}]; no value when none was given. */
static struct bread_str message(struct resuming *s)
{
	struct buf b;
	struct jsonw w;
	struct bread_str text;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_arr(&w);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "type", BRD_STR("tool-result"));
	brd_jw_kstr(&w, "toolCallId", s->row->tool_call_id);
	brd_jw_kstr(&w, "toolName", s->row->tool_name);
	brd_jw_key(&w, "output");
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "type", BRD_STR("json"));
	brd_jw_kraw(&w, "value", s->in.response);
	brd_jw_end_obj(&w);
	brd_jw_end_obj(&w);
	brd_jw_end_arr(&w);
	text = brd_arena_copy(&s->arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return text;
}

static void render_crumb(struct resuming *s, int64_t seq)
{
	struct crumb_base base;
	struct crumb_draft d;

	brd_crumb_base_init(&base, s->row->agent_id, s->row->run_id, s->row->session_id, &s->arena);
	brd_crumb_begin(&d, CRUMB_HUMAN_RESUMED, &base, brd_clock_wall());
	brd_jw_kstr(&d.w, "checkpointId", s->row->id);
	brd_jw_kraw(&d.w, "response", s->in.response);
	brd_jw_kstr(&d.w, "kind", BRD_STR("input"));
	brd_crumb_unref(s->crumb);
	s->crumb = brd_crumb_seal(&d, seq);
}

static void on_claimed(struct bread_op *op);

static void claim(struct resuming *s, const struct bread_node_row *node)
{
	const struct bread_run_row *run = s->run.runs;
	int64_t now = brd_clock_wall();
	char id[UUID_LEN + 1];

	brd_uuid7(id);
	render_crumb(s, run->head + 1);
	memset(s->recs, 0, sizeof(s->recs));
	s->recs[0].kind = BREAD_REC_CHECKPOINT_CLAIM;
	s->recs[0].key = s->row->id;
	s->recs[1].kind = BREAD_REC_RUN_TAKE;
	s->recs[1].run.id = run->id;
	s->recs[1].run.owner = s->env->owner;
	s->recs[2].kind = BREAD_REC_NODE;
	s->recs[2].node = *node;
	s->recs[2].node.state = 2;
	s->recs[2].node.data = node_end(s);
	s->recs[3].kind = BREAD_REC_MESSAGE;
	s->recs[3].message =
		(struct bread_message_row){ .id = brd_arena_copy(&s->arena, brd_str(id)),
			.session_id = s->row->session_id,
			.role = BRD_STR("tool"),
			.content = message(s),
			.timestamp = now };
	s->recs[4].kind = BREAD_REC_CRUMB;
	s->recs[4].crumb = (struct bread_crumb_row){ .run_id = run->id,
		.session_id = s->row->session_id,
		.agent_id = s->row->agent_id,
		.type = BRD_STR("human:resumed"),
		.crumb = s->crumb->json,
		.seq = s->crumb->seq,
		.created_at = now };
	memset(&s->tx, 0, sizeof(s->tx));
	s->tx.fence = run->id;
	s->tx.fence_epoch = run->epoch;
	s->tx.recs = s->recs;
	s->tx.count = 5;
	bread_op_init(&s->tx.op, s->loop, on_claimed, s);
	brd_store_commit(s->env->store, &s->tx);
}

/* ---- after it ---- */

static void on_built(void *arg, struct run *r)
{
	struct resuming *s = arg;
	int64_t head = s->run.runs->head;
	struct crumb *crumb;

	if (!r) {
		refuse(s, BREAD_E_UPSTREAM, "STORE_FAILED",
			"the answer was taken, but the run could not be read; it goes on when the "
			"store works");
		return;
	}
	crumb = brd_crumb_ref(s->crumb);
	r->on_end = s->in.on_end;
	r->arg = s->in.arg;
	over(s, r, head, NULL); /* first: whoever watches from here on sees it live */
	if (!r->lost)
		brd_topic_publish(r->topic, crumb);
	brd_crumb_unref(crumb);
}

static void on_timer(struct timer *t)
{
	look(brd_list_of(t, struct resuming, timer));
}

/* A sibling's answer is being taken in, or the run is about to end. */
static void look_again(struct resuming *s)
{
	unclaim(s);
	if (s->looks++ < LOOKS_MAX)
		brd_timer_start(&s->timer, s->loop, LOOK_AGAIN_MS, on_timer);
	else
		refuse(s, BREAD_E_BUSY, "RUN_BUSY",
			"the run is busy with another answer; try again");
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
	s->claimed = false; /* it is the builder's from here on */
	brd_run_build(s->env, s->loop, s->run.runs, s->crumb->seq, on_built, s);
}

static void on_nodes(struct bread_op *op)
{
	struct resuming *s = op->arg;
	const struct bread_node_row *node;

	if (failed(s, op))
		return;
	node = question(s);
	if (node)
		claim(s, node);
	else
		not_found(s);
}

static void on_run(struct bread_op *op)
{
	struct resuming *s = op->arg;
	const struct bread_run_row *run = s->run.runs;

	if (failed(s, op))
		return;
	if (s->run.count == 0) {
		not_found(s);
		return;
	}
	s->claimed = run->status == BREAD_RUN_SUSPENDED &&
		     s->env->claim(s->env->arg, run->id, run->session_id, s->loop);
	if (s->claimed)
		ask(s, &s->nodes, BREAD_READ_NODES, s->row->run_id, on_nodes);
	else
		look_again(s);
}

static void on_checkpoint(struct bread_op *op)
{
	struct resuming *s = op->arg;

	if (failed(s, op))
		return;
	if (s->checkpoint.count == 0 && s->looks) {
		refuse(s, BREAD_E_CONFLICT, "CHECKPOINT_CLAIMED",
			"somebody else has just answered this checkpoint");
		return;
	}
	if (s->checkpoint.count == 0) {
		not_found(s);
		return;
	}
	s->row = s->checkpoint.checkpoints;
	ask(s, &s->run, BREAD_READ_RUN, s->row->run_id, on_run);
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
	look(s);
}

/* SPDX-License-Identifier: MIT */
/* A question to a decision host about the value. The answer gives a label; the value passes
 * unchanged. Nothing is in the journal before the answer: a question has no effect, and is asked
 * again after a crash. */
#include <stdlib.h>
#include "base/mem.h"
#include "decision/decision.h"
#include "run/step.h"
#include "run/tree.h"

struct decision_work {
	struct bread_decision_call call;
	struct step_node *step;
	struct arena arena;
};

static enum flow fail(struct step_node *s, const struct bread_err *err, struct bread_str context)
{
	return brd_node_fail(
		&s->node, &(struct run_error){ brd_str(err->name), brd_str(err->text), context });
}

static void on_answer(struct bread_op *op)
{
	struct decision_work *w = op->arg;
	struct step_node *s = w->step;
	struct tree *t = s->node.run->tree;

	s->node.busy = false;
	brd_node_wake(&s->node);
	brd_tree_dirty(t);
	brd_tree_release(t);
}

static enum flow ask(struct step_node *s)
{
	struct run *r = s->node.run;
	struct decision_work *w;
	struct bread_decision *host;
	struct bread_err err;
	struct bread_str context;

	host = brd_decision_of(
		r->env->decisions, brd_str(s->def->provider), &r->arena, &err, &context);
	if (!host)
		return fail(s, &err, context);
	w = brd_alloc(sizeof(*w));
	s->work = w;
	w->step = s;
	w->call.model = brd_str(s->def->model);
	w->call.state = s->in.value.n ? s->in.value : BRD_STR("null");
	w->call.loop = r->loop;
	brd_question_ask(s->def->question, &w->call, &w->arena);
	s->node.busy = true;
	brd_tree_hold(r->tree);
	bread_op_init(&w->call.op, r->loop, on_answer, w);
	brd_decision_start(host, &w->call);
	return FLOW_WAIT;
}

static enum flow take(struct step_node *s)
{
	struct run *r = s->node.run;
	struct bread_decision_call *c = &s->work->call;
	struct bread_str answer = { c->answer, c->answer_len }, label, context, shown;
	struct bread_err err;
	struct buf b;
	struct jsonw w;

	if (c->op.code != BREAD_OK)
		return fail(s, &c->op.err, brd_str(c->error_context));
	if (brd_decision_label(s->def->question, answer, &r->arena, &label, &err, &context))
		return fail(s, &err, context);
	w = brd_jw_begin(&b);
	brd_jw_kstr(&w, "label", label);
	brd_jw_kraw(&w, "answer", answer);
	shown = brd_jw_finish(&w, &r->arena);
	return brd_step_end(s, s->in.value, label, shown);
}

static enum flow advance(struct step_node *s)
{
	if (s->node.busy)
		return FLOW_WAIT;
	if (s->node.run->cancelled)
		return brd_node_end(&s->node, END_CANCELED);
	return s->work ? take(s) : ask(s);
}

static void cancel(struct step_node *s)
{
	if (s->node.busy)
		bread_op_cancel(&s->work->call.op);
}

static void fini(struct step_node *s)
{
	if (!s->work)
		return;
	brd_decision_call_fini(&s->work->call);
	brd_arena_fini(&s->work->arena);
	free(s->work);
}

const struct step_kind_ops brd_step_decision = {
	.begin = ask,
	.advance = advance,
	.cancel = cancel,
	.fini = fini,
};

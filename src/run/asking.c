/* SPDX-License-Identifier: MIT */
/* Hooks, asked by nodes. A node that asks is busy until the chain has answered; then it is woken,
 * and finds the answer in node.hook. */
#include "base/err.h"
#include "run/asking.h"
#include "run/life.h"
#include "run/tree.h"

static void on_asked(struct bread_op *op)
{
	struct node *n = op->arg;
	struct tree *t = n->run->tree;

	n->busy = false;
	brd_node_wake(n);
	brd_tree_dirty(t);
	brd_tree_release(t);
}

struct hook_run *brd_node_ask(struct node *n, const struct hook_chain *c,
	enum bread_hook_scope scope, enum bread_hook_point point)
{
	struct run *r = n->run;
	struct hook_run *h = brd_hook_run_new(c, scope, point);

	brd_assert(!n->hook);
	h->about.run_id = r->base.run_id;
	h->about.session_id = r->base.session_id;
	if (r->def && r->def->skill)
		h->about.skill = brd_str(r->def->skill->id);
	n->hook = h;
	n->busy = true;
	brd_tree_hold(r->tree);
	bread_op_init(&h->op, r->loop, on_asked, n);
	return h;
}

void brd_node_asked(struct node *n)
{
	brd_hook_run_free(n->hook);
	n->hook = NULL;
}

struct run_error brd_hook_error(struct run *r, const struct hook_run *h)
{
	const struct bread_err *e = &h->op.err;

	return brd_run_error(r, e->name[0] ? e->name : "AGENT_ERROR",
		brd_arena_copy(&r->arena, brd_str(e->text)));
}

struct hook_chain brd_agent_chain(const struct run *r)
{
	return (struct hook_chain){
		.own = r->def->hook_set, .table = r->env->hooks, .agent_id = r->base.agent_id
	};
}

bool brd_agent_hears(const struct run *r, enum bread_hook_point point)
{
	struct hook_chain c = brd_agent_chain(r);

	return brd_hooks_hear(&c, BREAD_HOOK_AGENT, point);
}

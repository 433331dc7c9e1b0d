/* SPDX-License-Identifier: MIT */
/* What an agent knows, for its prompt: read before the first call of its model; what it learns
 * meanwhile it knows from its tools (docs/tools.md). */
#include <stdlib.h>
#include "base/log.h"
#include "base/mem.h"
#include "run/core_tool.h"
#include "run/node_model.h"
#include "run/tree.h"

struct knowing {
	struct bread_read read;
	struct node *node;
};

static void on_known(struct bread_op *op)
{
	struct knowing *k = op->arg;
	struct node *n = k->node;
	struct run *r = n->run;
	struct tree *t = r->tree;

	n->busy = false;
	r->knowledge_known = true;
	if (op->code == BREAD_OK)
		brd_knowledge_section(&k->read, r->def->prompt_tokens, &r->knowledge);
	else
		log_warn("run.knowledge", "what agent %s knows could not be read (%s)", r->def->id,
			op->err.text);
	bread_read_fini(&k->read);
	free(k);
	brd_node_wake(n);
	brd_tree_dirty(t);
	brd_tree_release(t);
}

bool brd_knowledge_ready(struct node *n)
{
	struct run *r = n->run;
	struct knowing *k;

	if (r->knowledge_known || !r->def->prompt_tokens)
		return true;
	k = brd_alloc(sizeof(*k));
	k->node = n;
	n->busy = true;
	brd_tree_hold(r->tree);
	brd_read_again(&k->read, BREAD_READ_KNOWLEDGE_OF, (struct bread_str){ 0 });
	k->read.filter.agent_id = r->base.agent_id;
	k->read.filter.session_id = r->session_id;
	k->read.limit = KNOWLEDGE_SHOWN;
	bread_op_init(&k->read.op, r->loop, on_known, k);
	brd_store_read(r->env->store, &k->read);
	return false;
}

/* SPDX-License-Identifier: MIT */
/* Cancelling, wherever the run is (contract C10).
 *
 * Live here: its loop is told. Suspended: it is taken up here, to end. Elsewhere:
 * the wish is written into its row, where its owner looks for it. A run may go from
 * one to the other meanwhile, so it is looked at again until one of them has
 * heard the wish: after the wish is written it is looked at once more, and who suspends
 * a run looks at its row once that is committed; whichever is second sees the
 * other. Whoever is told that a run will be cancelled may rely on it: the wish is in the
 * store by then, also for a run that is live here. */
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "instance/internal.h"

#define LOOK_AGAIN_MS 10
#define LOOKS_MAX 200 /* 2 s */

struct cancelling {
	struct bread *b;
	struct loop *loop;
	struct bread_op *op; /* NULL: nobody waits for it */
	enum bread_run_status *ret_status;
	struct arena arena;
	struct bread_str id, root; /* root: empty until the run's row was read */
	struct bread_read read;
	struct bread_tx tx;
	struct bread_rec recs[3];
	struct timer timer;
	unsigned looks;
	bool wished; /* it is in the run's row */
	bool told;   /* its loop has heard it */
};

static void end(struct cancelling *c, enum bread_code code, const struct bread_err *err)
{
	if (c->op)
		bread_op_end(c->op, code, err);
	bread_read_fini(&c->read);
	brd_arena_fini(&c->arena);
	atomic_fetch_sub(&c->b->cancelling, 1);
	free(c);
}

static void look(struct cancelling *c);

static void on_timer(struct timer *t)
{
	look(brd_list_of(t, struct cancelling, timer));
}

static void look_again(struct cancelling *c)
{
	if (c->looks++ < LOOKS_MAX)
		brd_timer_start(&c->timer, c->loop, LOOK_AGAIN_MS, on_timer);
	else
		end(c, BREAD_OK, NULL); /* whoever has it finds the wish in its row */
}

static void on_woken(void *arg, struct tree *t)
{
	struct cancelling *c = arg;

	if (t)
		end(c, BREAD_OK, NULL);
	else
		look_again(c); /* it goes on, or somebody else works on it */
}

static void on_wish(struct bread_op *op)
{
	struct cancelling *c = op->arg;

	if (op->code != BREAD_OK || c->told) {
		end(c, op->code, &op->err);
		return;
	}
	c->wished = true;
	look(c);
}

static struct bread_rec *add(struct cancelling *c, enum bread_rec_kind kind)
{
	struct bread_rec *rec = &c->recs[c->tx.count++];

	*rec = (struct bread_rec){ .kind = kind };
	return rec;
}

static void write_wish(struct cancelling *c)
{
	c->tx.recs = c->recs;
	c->tx.count = 0;
	add(c, BREAD_REC_RUN_CANCEL)->run.id = c->id;
	if (!c->told) /* the owner of a tree looks at its root's row, and reads what is new */
		add(c, BREAD_REC_RUN_WAKE)->run.id = c->root;
	if (!brd_str_eq(c->id, c->root))
		add(c, BREAD_REC_NODE)->node = (struct bread_node_row){ .run_id = c->id,
			.name = BRD_STR("cancel"),
			.kind = BRD_STR("cancel"),
			.state = BREAD_NODE_ANSWERED,
			.data = BRD_STR("{}") };
	bread_op_init(&c->tx.op, c->loop, on_wish, c);
	brd_store_commit(c->b->store, &c->tx);
}

/* It is live here, and has heard of it. */
static void told(struct cancelling *c)
{
	if (c->wished || !c->op) {
		end(c, BREAD_OK, NULL);
		return;
	}
	c->told = true;
	if (!c->root.n)
		c->root = c->id;
	write_wish(c);
}

static void not_found(struct cancelling *c)
{
	struct bread_err err;

	brd_fail_as(&err, BREAD_E_NOT_FOUND, "RUN_NOT_FOUND", "bread",
		"Run not found or not cancelable");
	end(c, BREAD_E_NOT_FOUND, &err);
}

static void ended_before(struct cancelling *c, enum bread_run_status status)
{
	struct bread_err err;

	if (c->ret_status)
		*c->ret_status = status;
	brd_fail_as(&err, BREAD_E_CONFLICT, "RUN_ENDED", "bread", "the run has ended before: %s",
		brd_run_status_name(status));
	end(c, BREAD_E_CONFLICT, &err);
}

static void ask_row(struct cancelling *c, struct bread_str id, void (*on_end)(struct bread_op *op));

/* Its tree has not ended: who has it? */
static void look_at_tree(struct cancelling *c, const struct bread_run_row *root)
{
	if (brd_active_cancel(c->b, c->root, c->id))
		told(c);
	else if (root->status == BREAD_RUN_SUSPENDED)
		brd_run_end_suspended(&c->b->env, c->loop, root, c->id, on_woken, c);
	else if (!c->wished)
		write_wish(c);
	else if (brd_active_known(c->b, c->root))
		look_again(c); /* it is just being taken up here */
	else
		end(c, BREAD_OK, NULL);
}

static void on_root(struct bread_op *op)
{
	struct cancelling *c = op->arg;

	if (op->code != BREAD_OK)
		end(c, op->code, &op->err);
	else if (c->read.count == 0 || brd_run_ended(c->read.runs->status))
		look_again(c); /* it is just ending, and so is the run */
	else
		look_at_tree(c, c->read.runs);
}

static void on_row(struct bread_op *op)
{
	struct cancelling *c = op->arg;
	const struct bread_run_row *row = c->read.runs;

	if (op->code != BREAD_OK) {
		end(c, op->code, &op->err);
		return;
	}
	if (c->read.count == 0) {
		not_found(c);
		return;
	}
	if (brd_run_ended(row->status)) {
		if (c->wished)
			end(c, BREAD_OK, NULL);
		else
			ended_before(c, row->status);
		return;
	}
	c->root = brd_arena_copy(&c->arena, row->root_id.n ? row->root_id : row->id);
	if (row->parent_id.n)
		ask_row(c, c->root, on_root);
	else
		look_at_tree(c, row);
}

static void ask_row(struct cancelling *c, struct bread_str id, void (*on_end)(struct bread_op *op))
{
	brd_read_again(&c->read, BREAD_READ_RUN, id);
	bread_op_init(&c->read.op, c->loop, on_end, c);
	brd_store_read(c->b->store, &c->read);
}

static void look(struct cancelling *c)
{
	if (brd_active_cancel(c->b, c->id, c->id)) {
		told(c);
		return;
	}
	ask_row(c, c->id, on_row);
}

static struct cancelling *cancelling_new(struct bread *b, struct bread_str run_id)
{
	struct cancelling *c = brd_alloc(sizeof(*c));

	c->b = b;
	atomic_fetch_add(&b->cancelling, 1);
	c->loop = bread_here(b);
	c->id = brd_arena_copy(&c->arena, run_id);
	return c;
}

void bread_cancel(struct bread *b, struct bread_str run_id, enum bread_run_status *ret_status,
	struct bread_op *op)
{
	struct cancelling *c = cancelling_new(b, run_id);

	*ret_status = BREAD_RUN_RUNNING;
	bread_op_begin(op, NULL, NULL);
	c->op = op;
	c->ret_status = ret_status;
	look(c);
}

void brd_cancel_ask(struct bread *b, struct bread_str run_id)
{
	look(cancelling_new(b, run_id));
}

/* ---- a tree that has just been suspended ---- */

static void on_taken_up(void *arg, struct tree *t)
{
	end(arg, BREAD_OK, NULL);
}

/* A wish to cancel, or an answer, may have come too late for who put it aside. */
static void on_suspended_row(struct bread_op *op)
{
	struct cancelling *c = op->arg;
	const struct bread_run_row *row = c->read.runs;

	if (op->code != BREAD_OK || !c->read.count)
		end(c, op->code, &op->err);
	else if (row->cancel_requested)
		look(c);
	else if (row->wake)
		brd_run_take_up(&c->b->env, c->loop, row, on_taken_up, c);
	else
		end(c, BREAD_OK, NULL);
}

void brd_cancel_suspended(struct bread *b, struct bread_str run_id, bool wished)
{
	struct cancelling *c = cancelling_new(b, run_id);

	if (wished) {
		look(c);
		return;
	}
	ask_row(c, c->id, on_suspended_row);
}

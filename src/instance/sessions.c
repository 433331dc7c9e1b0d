/* SPDX-License-Identifier: MIT */
/* Sessions from outside: deleted with all that hangs on them, once their runs
 * have ended (contract C12); cleaned up by age. */
#include <stdlib.h>
#include "base/mem.h"
#include "instance/internal.h"

#define LOOK_AGAIN_MS 25
#define LOOKS_MAX 200 /* 5 s: a run has ended by then, or its owner is dead */

struct deleting {
	struct bread *b;
	struct loop *loop;
	struct bread_op *op;
	struct arena arena;
	struct bread_str id;
	struct bread_read read;
	struct bread_tx tx;
	struct bread_rec rec;
	struct timer timer;
	unsigned looks;
	int64_t *ret_deleted;
};

static struct deleting *deleting_new(struct bread *b, struct bread_op *op)
{
	struct deleting *d = brd_alloc(sizeof(*d));

	d->b = b;
	d->loop = bread_here(b);
	d->op = op;
	bread_op_begin(op, NULL, NULL);
	return d;
}

static void end(struct deleting *d, const struct bread_op *op)
{
	bread_op_end(d->op, op->code, &op->err);
	bread_read_fini(&d->read);
	brd_arena_fini(&d->arena);
	free(d);
}

static void on_deleted(struct bread_op *op)
{
	struct deleting *d = op->arg;

	if (d->ret_deleted)
		*d->ret_deleted = d->rec.affected;
	end(d, op);
}

static void commit(struct deleting *d)
{
	d->tx.recs = &d->rec;
	d->tx.count = 1;
	bread_op_init(&d->tx.op, d->loop, on_deleted, d);
	brd_store_commit(d->b->store, &d->tx);
}

static void look(struct deleting *d);

static void on_timer(struct timer *t)
{
	look(brd_list_of(t, struct deleting, timer));
}

struct nobody {
	struct bread_op op;
	enum bread_run_status status;
};

static void on_asked(struct bread_op *op)
{
	free(brd_list_of(op, struct nobody, op));
}

static void ask_cancel(struct deleting *d, struct bread_str run_id)
{
	struct nobody *n = brd_alloc(sizeof(*n));

	bread_op_init(&n->op, d->loop, on_asked, n);
	bread_cancel(d->b, run_id, &n->status, &n->op);
}

static void on_active(struct bread_op *op)
{
	struct deleting *d = op->arg;

	if (op->code != BREAD_OK) {
		end(d, op); /* its runs are not known: nothing is deleted under them */
		return;
	}
	if (d->read.count == 0 || d->looks >= LOOKS_MAX) {
		commit(d);
		return;
	}
	if (d->looks++ == 0)
		for (size_t i = 0; i < d->read.count; i++)
			ask_cancel(d, d->read.runs[i].id);
	brd_timer_start(&d->timer, d->loop, LOOK_AGAIN_MS, on_timer);
}

static void look(struct deleting *d)
{
	brd_read_again(&d->read, BREAD_READ_ACTIVE, d->id);
	bread_op_init(&d->read.op, d->loop, on_active, d);
	brd_store_read(d->b->store, &d->read);
}

void bread_session_delete(struct bread *b, struct bread_str id, struct bread_op *op)
{
	struct deleting *d = deleting_new(b, op);

	d->id = brd_arena_copy(&d->arena, id);
	d->rec.kind = BREAD_REC_SESSION_DELETE;
	d->rec.key = d->id;
	look(d);
}

void bread_session_cleanup(struct bread *b, int64_t before_ms, struct bread_str tags,
	int64_t *ret_deleted, struct bread_op *op)
{
	struct deleting *d = deleting_new(b, op);

	d->ret_deleted = ret_deleted;
	d->rec.kind = BREAD_REC_SESSION_CLEANUP;
	d->rec.number = before_ms;
	d->rec.value = brd_arena_copy(&d->arena, tags);
	commit(d);
}

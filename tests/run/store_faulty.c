/* SPDX-License-Identifier: MIT */
#include "run/store_faulty.h"
#include <stdlib.h>
#include "test.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "loop/loop.h"

static struct faulty *world;
static struct loop *side; /* of what is asked beside it; until the store is closed */

/* ---- ends, perhaps late ---- */

struct late {
	struct timer timer;
	struct bread_op *op;
	enum bread_code code;
	struct bread_err err;
};

static void on_late(struct timer *t)
{
	struct late *l = brd_list_of(t, struct late, timer);

	world->in_flight--;
	bread_op_end(l->op, l->code, &l->err);
	free(l);
}

static unsigned next_random(void)
{
	world->seed = world->seed * 1103515245 + 12345;
	return world->seed >> 16;
}

static void end(struct bread_op *op, enum bread_code code, const struct bread_err *err)
{
	struct late *l;

	if (!world->delay) {
		bread_op_end(op, code, err);
		return;
	}
	l = brd_alloc(sizeof(*l));
	l->op = op;
	l->code = code;
	if (err)
		l->err = *err;
	world->in_flight++;
	brd_timer_start(&l->timer, op->loop, next_random() % (world->delay + 1), on_late);
}

static void fail_op(struct bread_op *op)
{
	struct bread_err err = { 0 };

	brd_fail(&err, BREAD_E_UPSTREAM, "store.faulty", "the store was told to fail");
	end(op, BREAD_E_UPSTREAM, &err);
}

/* ---- commits ---- */

static bool of_runs(const struct bread_tx *tx)
{
	return tx->count && tx->recs[0].kind != BREAD_REC_OWNER &&
	       tx->recs[0].kind != BREAD_REC_OWNER_GONE;
}

static bool hit(unsigned n, unsigned at, unsigned times)
{
	return at && n >= at && (!times || n < at + times);
}

struct commit {
	struct bread_tx tx;
	struct bread_tx *outer;
	bool lie, touched;
};

static void on_committed(struct bread_op *op)
{
	struct commit *c = op->arg;

	if (c->lie) {
		fail_op(&c->outer->op);
	} else if (c->touched) {
		end(&c->outer->op, op->code, &op->err);
	} else {
		bread_op_end(&c->outer->op, op->code, &op->err);
	}
	free(c);
}

static void forward(struct bread_tx *tx, bool touched, bool lie)
{
	struct commit *c = brd_alloc(sizeof(*c));

	c->outer = tx;
	c->touched = touched;
	c->lie = lie;
	c->tx.fence = tx->fence;
	c->tx.fence_epoch = tx->fence_epoch;
	c->tx.recs = tx->recs;
	c->tx.count = tx->count;
	bread_op_init(&c->tx.op, tx->op.loop, on_committed, c);
	brd_store_commit(world->inner, &c->tx);
}

static void steal(struct bread_tx *tx)
{
	struct bread_rec rec = { .kind = BREAD_REC_RUN_TAKE };

	if (!tx->fence.n)
		return;
	rec.run.id = tx->fence;
	rec.run.owner = BRD_STR("thief");
	faulty_commit(world, &rec, 1, tx->fence.p, tx->fence_epoch);
}

static void commit(struct bread_store *s, struct bread_tx *tx)
{
	bool faulty, touched = of_runs(tx);
	unsigned n = world->commits + touched;

	bread_op_begin(&tx->op, NULL, s);
	world->commits = n;
	faulty = touched && hit(n, world->commit_at, world->commit_for);
	if (world->freeze_after && world->true_commits >= world->freeze_after)
		world->frozen = true;
	if ((touched && world->frozen) || (faulty && world->fault == FAULT_FAIL)) {
		fail_op(&tx->op);
		return;
	}
	if (faulty && world->fault == FAULT_STEAL)
		steal(tx);
	world->true_commits += touched;
	forward(tx, touched, faulty && world->fault == FAULT_LIE);
}

/* ---- reads ---- */

struct read {
	struct bread_read read;
	struct bread_read *outer;
	bool touched, held;
};

static void on_read(struct bread_op *op)
{
	struct read *r = op->arg;
	struct bread_read *to = r->outer;

	to->count = r->read.count;
	to->rows = r->read.rows;
	to->text = r->read.text;
	to->more = r->read.more;
	to->memory = r->read.memory;
	to->release = r->read.release;
	if (r->held && op->code == BREAD_OK)
		world->held = &to->op;
	else if (r->touched)
		end(&to->op, op->code, &op->err);
	else
		bread_op_end(&to->op, op->code, &op->err);
	free(r);
}

static void read_rows(struct bread_store *s, struct bread_read *r)
{
	bool touched = r->kind != BREAD_READ_OWNERS && r->kind != BREAD_READ_UNFINISHED;
	struct read *inner;

	bread_op_begin(&r->op, NULL, s);
	world->reads += touched;
	if (touched && hit(world->reads, world->read_at, world->read_for)) {
		fail_op(&r->op);
		return;
	}
	inner = brd_alloc(sizeof(*inner));
	inner->outer = r;
	inner->touched = touched;
	inner->held = touched && world->reads == world->hold_at;
	inner->read.kind = r->kind;
	inner->read.key = r->key;
	inner->read.after = r->after;
	inner->read.limit = r->limit;
	inner->read.max_bytes = r->max_bytes;
	inner->read.filter = r->filter;
	bread_op_init(&inner->read.op, r->op.loop, on_read, inner);
	brd_store_read(world->inner, &inner->read);
}

/* ---- life ---- */

static int open_it(struct bread_store *s, struct bread_str url, struct bread_str options,
	struct bread_err *err)
{
	return 0;
}

static void close_it(struct bread_store *s)
{
}

const struct bread_store_ops faulty_ops = {
	.name = "faulty",
	.size = sizeof(struct bread_store),
	.open = open_it,
	.close = close_it,
	.commit = commit,
	.read = read_rows,
};

void faulty_open(struct faulty *f, const char *word, const char *url)
{
	struct bread_err err = { 0 };

	memset(f, 0, sizeof(*f));
	world = f;
	if (brd_store_open(&f->inner, brd_str(word), brd_str(url), (struct bread_str){ 0 }, &err))
		fail_msg("%s", err.text);
}

void faulty_close(struct faulty *f)
{
	if (side)
		brd_loop_free(side);
	side = NULL;
	brd_store_close(f->inner);
	memset(f, 0, sizeof(*f));
}

void faulty_reset(struct faulty *f)
{
	struct bread_store *inner = f->inner;

	memset(f, 0, sizeof(*f));
	f->inner = inner;
	world = f;
}

void faulty_let_go(struct faulty *f)
{
	struct bread_op *op = f->held;

	f->held = NULL;
	if (op)
		bread_op_end(op, BREAD_OK, NULL);
}

/* ---- beside it ---- */

static void on_end(struct bread_op *op)
{
	*(bool *)op->arg = true;
}

static struct loop *side_loop(void)
{
	if (!side) {
		assert_int_equal(brd_loop_new(&side, NULL), 0);
		brd_loop_turn(side, 0);
	}
	return side;
}

static void turn_until(const bool *done)
{
	while (!*done)
		brd_loop_turn(side, 1);
}

enum bread_code faulty_commit(
	struct faulty *f, struct bread_rec *recs, size_t count, const char *fence, int64_t epoch)
{
	struct bread_tx tx = {
		.recs = recs, .count = count, .fence = brd_str(fence), .fence_epoch = epoch
	};
	bool done = false;

	bread_op_init(&tx.op, side_loop(), on_end, &done);
	brd_store_commit(f->inner, &tx);
	turn_until(&done);
	return tx.op.code;
}

void faulty_read(struct faulty *f, struct bread_read *r)
{
	bool done = false;

	bread_op_init(&r->op, side_loop(), on_end, &done);
	brd_store_read(f->inner, r);
	turn_until(&done);
	assert_int_equal(r->op.code, BREAD_OK);
}

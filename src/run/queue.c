/* SPDX-License-Identifier: MIT */
/* Runs that wait for their session to be free (contract C12: ifBusy).
 *
 * Such a run has a row from the start, with the status queued, so that it
 * outlives this process: a later owner takes it up when its turn comes. Whose turn it
 * is the store decides, in the order of the rows; here is only asked now and
 * then. The session's messages are read after the turn was won, so a run knows
 * what those before it said. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "run/history.h"
#include "run/life.h"
#include "run/tree.h"

#define LOOK_FIRST_MS 10
#define LOOK_MAX_MS 250
#define TROUBLE_MAX 20 /* looks in a row that failed: some five seconds */

struct queued {
	struct run *run;
	bool interrupt; /* the others are still to be asked to end */
	unsigned trouble;
	int64_t wait_ms;
	struct bread_read read;
	struct bread_tx tx;
	struct bread_rec recs[RUN_ROWS + KEY_RECS];
	struct timer timer;
};

static void look(struct queued *q);

static void over(struct queued *q)
{
	struct run *r = q->run;

	bread_read_fini(&q->read);
	free(q);
	brd_tree_opened(r->tree);
}

static void on_timer(struct timer *t)
{
	look(brd_list_of(t, struct queued, timer));
}

static void look_again(struct queued *q)
{
	brd_timer_start(&q->timer, q->run->loop, q->wait_ms, on_timer);
	q->wait_ms = q->wait_ms * 2 < LOOK_MAX_MS ? q->wait_ms * 2 : LOOK_MAX_MS;
}

/* The store is in trouble: its row stays, and is taken up when the store works. */
static void trouble(struct queued *q, const struct bread_op *op)
{
	if (++q->trouble <= TROUBLE_MAX) {
		look_again(q);
		return;
	}
	brd_tree_lose(q->run->tree, "STORE_FAILED", op->err.text);
	over(q);
}

static void ask(struct queued *q, enum bread_read_kind kind, void (*on_end)(struct bread_op *op))
{
	struct run *r = q->run;

	brd_read_again(&q->read, kind, r->session_id);
	bread_op_init(&q->read.op, r->loop, on_end, q);
	brd_store_read(r->env->store, &q->read);
}

static void commit(struct queued *q, size_t count, void (*on_end)(struct bread_op *op))
{
	q->tx.recs = q->recs;
	q->tx.count = count;
	bread_op_init(&q->tx.op, q->run->loop, on_end, q);
	brd_store_commit(q->run->env->store, &q->tx);
}

/* ---- its turn ---- */

static void on_messages(struct bread_op *op)
{
	struct queued *q = op->arg;
	struct run *r = q->run;
	struct bread_err err;

	if (r->tree->lost) {
		over(q);
		return;
	}
	if (op->code != BREAD_OK) {
		brd_tree_lose(r->tree, "STORE_FAILED", op->err.text);
	} else if (brd_history_load(r, &q->read, &err)) {
		struct run_error e = brd_run_error(r, "INTERNAL_ERROR", brd_str(err.text));

		brd_run_fail(r, &e, false);
	} else {
		r->history_known = true;
		brd_run_begin(r, NULL);
	}
	over(q);
}

static void on_turn(struct bread_op *op)
{
	struct queued *q = op->arg;
	bool busy = op->code == BREAD_E_CONFLICT && op->err.name[0];

	if (q->run->tree->lost) {
		over(q);
	} else if (op->code == BREAD_OK) {
		ask(q, BREAD_READ_MESSAGES, on_messages);
	} else if (busy) {
		look_again(q);
	} else if (op->code == BREAD_E_CONFLICT) {
		brd_tree_leave(q->run->tree); /* another owner has it */
		over(q);
	} else {
		trouble(q, op);
	}
}

static void take_turn(struct queued *q)
{
	struct run *r = q->run;

	r->started_wall = brd_clock_wall();
	r->started_mono = brd_clock_mono();
	q->recs[0] = (struct bread_rec){ .kind = BREAD_REC_RUN_STATUS,
		.run = { .id = r->base.run_id,
			.status = BREAD_RUN_RUNNING,
			.started_at = r->started_wall } };
	q->tx.fence = r->base.run_id;
	q->tx.fence_epoch = r->tree->epoch;
	commit(q, 1, on_turn);
}

/* ---- those before it ---- */

/* How many runs it waits for; they are asked to end if that was wished. */
static size_t those_before(struct queued *q)
{
	struct run_env *env = q->run->env;
	bool older = true;
	size_t n = 0;

	for (size_t i = 0; i < q->read.count; i++) {
		const struct bread_run_row *row = &q->read.runs[i];

		if (brd_str_eq(row->id, q->run->base.run_id)) {
			older = false;
		} else if (older || row->status != BREAD_RUN_QUEUED) {
			n++;
			if (q->interrupt)
				env->interrupt(env->arg, row->id);
		}
	}
	q->interrupt = false;
	return n;
}

static void on_active(struct bread_op *op)
{
	struct queued *q = op->arg;

	if (q->run->tree->lost) {
		over(q);
	} else if (op->code != BREAD_OK) {
		trouble(q, op);
	} else if (those_before(q)) {
		q->trouble = 0;
		look_again(q);
	} else {
		take_turn(q);
	}
}

static void look(struct queued *q)
{
	struct run *r = q->run;

	if (!r->tree->lost && !r->cancelled) {
		ask(q, BREAD_READ_ACTIVE, on_active);
		return;
	}
	if (!r->tree->lost)
		brd_run_fail(r,
			&(struct run_error){ BRD_STR("RUN_CANCELLED"), BRD_STR("run cancelled"),
				r->ids_context },
			true);
	over(q);
}

static void on_rows(struct bread_op *op)
{
	struct queued *q = op->arg;
	struct run *r = q->run;

	r->tree->fresh = op->code != BREAD_OK;
	if (op->code == BREAD_OK) {
		brd_tree_stored(r->tree);
		look(q);
		return;
	}
	if (!r->tree->lost)
		brd_tree_refuse(r->tree,
			op->code != BREAD_E_CONFLICT ? "STORE_FAILED"
			: op->err.name[0]            ? op->err.name
						     : "RUN_EXISTS",
			op->err.text, "");
	over(q);
}

void brd_run_queue(struct run *r, struct bread_str session_tags, bool interrupt)
{
	struct queued *q = brd_alloc(sizeof(*q));
	size_t keys;

	q->run = r;
	q->interrupt = interrupt;
	q->wait_ms = LOOK_FIRST_MS;
	keys = brd_key_recs(&r->tree->key, r->base.run_id, 0, q->recs);
	brd_run_rows(r, session_tags, BREAD_RUN_QUEUED, q->recs + keys);
	commit(q, keys + RUN_ROWS, on_rows);
}

/* SPDX-License-Identifier: MIT */
/* Operations (include/bread/ext/op.h): the states, and who may change them.
 *
 *   IDLE --begin--> RUNNING --end, end_from--> ENDED --(a turn)--> DONE
 *
 * Only the step to ENDED may be made by another thread, so state is read and
 * written atomically; everything else belongs to the loop's thread. An end from
 * another thread writes the outcome first, then the state, then puts the
 * operation into a list under the loop's lock, from which the loop takes it: the
 * owner can free all, the loop too, in on_end. The deadline's timer is touched by
 * the loop alone, when it delivers. */
#include <stdio.h>
#include <string.h>
#include "base/err.h"
#include "loop/impl.h"

enum { OP_IDLE, OP_RUNNING, OP_ENDED, OP_DONE };

/* op->canceled: what it was asked, if anything. */
enum {
	ASKED_NOTHING,
	ASKED_CANCEL,   /* by the owner */
	ASKED_DEADLINE, /* by the deadline's timer */
	ASKED_EARLY,    /* the deadline passed before begin */
};

struct op_priv {
	struct list link;
	struct timer deadline;
};
_Static_assert(sizeof(struct op_priv) <= sizeof(((struct bread_op *)0)->priv),
	"struct bread_op has room for our part");

static struct op_priv *priv(struct bread_op *op)
{
	return (struct op_priv *)&op->priv;
}

static struct bread_op *op_of(void *p)
{
	return brd_list_of(p, struct bread_op, priv);
}

static int state(const struct bread_op *op)
{
	return __atomic_load_n(&op->state, __ATOMIC_ACQUIRE);
}

static void set_state(struct bread_op *op, int to)
{
	__atomic_store_n(&op->state, to, __ATOMIC_RELEASE);
}

void bread_op_init(
	struct bread_op *op, struct loop *loop, void (*on_end)(struct bread_op *op), void *arg)
{
	op->on_end = on_end;
	op->arg = arg;
	op->code = BREAD_OK;
	op->err.code = BREAD_OK;
	op->err.name[0] = op->err.where[0] = op->err.text[0] = op->err.context[0] = '\0';
	op->loop = loop;
	op->on_cancel = NULL;
	op->by = NULL;
	op->canceled = ASKED_NOTHING;
	memset(&op->priv, 0, sizeof(op->priv));
	set_state(op, OP_IDLE);
}

/* From here the deadline or a cancel leads to the end. */
static void ask(struct bread_op *op, int what)
{
	op->canceled = what;
	if (op->on_cancel)
		op->on_cancel(op, op->by);
}

static void on_deadline(struct timer *t)
{
	struct bread_op *op = op_of(brd_list_of(t, struct op_priv, deadline));

	if (state(op) == OP_IDLE)
		op->canceled = ASKED_EARLY;
	else if (state(op) == OP_RUNNING && op->canceled == ASKED_NOTHING)
		ask(op, ASKED_DEADLINE);
}

void bread_op_begin(struct bread_op *op, void (*on_cancel)(struct bread_op *op, void *by), void *by)
{
	brd_assert(state(op) == OP_IDLE);
	brd_assert(brd_loop_here(op->loop));
	op->on_cancel = on_cancel;
	op->by = by;
	op->loop->ops++;
	set_state(op, OP_RUNNING);
	if (op->canceled == ASKED_EARLY) {
		/* not from in here: the runner is still setting itself up */
		op->canceled = ASKED_NOTHING;
		brd_timer_start(&priv(op)->deadline, op->loop, 0, on_deadline);
	}
}

static void set_outcome(struct bread_op *op, enum bread_code code, const struct bread_err *err)
{
	op->code = code;
	if (err && err != &op->err)
		op->err = *err;
}

void bread_op_end(struct bread_op *op, enum bread_code code, const struct bread_err *err)
{
	struct loop *l = op->loop;

	brd_assert(brd_loop_here(l));
	if (state(op) == OP_IDLE)
		l->ops++; /* refused before it was begun */
	else
		brd_assert(state(op) == OP_RUNNING);
	set_outcome(op, code, err);
	set_state(op, OP_ENDED);
	brd_list_push(&l->ended, &priv(op)->link);
}

void bread_op_end_from(struct bread_op *op, enum bread_code code, const struct bread_err *err)
{
	struct loop *l = op->loop;
	int was = OP_RUNNING;

	set_outcome(op, code, err);
	brd_assert(__atomic_compare_exchange_n(
		&op->state, &was, OP_ENDED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	/* The wake-up is sent under the lock: once the loop has the operation, this
	 * thread is done with the loop. */
	pthread_mutex_lock(&l->lock);
	brd_list_push(&l->ended_from, &priv(op)->link);
	uv_async_send(&l->wake);
	pthread_mutex_unlock(&l->lock);
}

void bread_op_cancel(struct bread_op *op)
{
	if (state(op) == OP_RUNNING && op->canceled == ASKED_NOTHING)
		ask(op, ASKED_CANCEL);
}

void bread_op_deadline(struct bread_op *op, int64_t ms)
{
	if (ms <= 0)
		brd_timer_stop(&priv(op)->deadline);
	else if (state(op) == OP_IDLE || state(op) == OP_RUNNING)
		brd_timer_start(&priv(op)->deadline, op->loop, ms, on_deadline);
}

int bread_op_running(const struct bread_op *op)
{
	return state(op) == OP_RUNNING || state(op) == OP_ENDED;
}

/* A wish that was heard decides the code, unless all was done before. */
static void settle(struct bread_op *op)
{
	struct bread_err *e = &op->err;

	if (op->code != BREAD_OK && op->canceled == ASKED_CANCEL) {
		op->code = BREAD_E_CANCELED;
		if (!e->text[0])
			snprintf(e->text, sizeof(e->text), "it was cancelled");
	} else if (op->code != BREAD_OK && op->canceled == ASKED_DEADLINE) {
		op->code = BREAD_E_TIMEOUT;
		snprintf(e->text, sizeof(e->text), "its deadline passed before it was done");
	} else if (op->code != BREAD_OK && !e->text[0]) {
		snprintf(e->text, sizeof(e->text), "%s", bread_code_name(op->code));
	}
	e->code = op->code;
}

void brd_op_deliver(struct list *link)
{
	struct bread_op *op = op_of(brd_list_of(link, struct op_priv, link));

	brd_timer_stop(&priv(op)->deadline);
	op->loop->ops--;
	settle(op);
	set_state(op, OP_DONE);
	if (op->on_end)
		op->on_end(op);
}

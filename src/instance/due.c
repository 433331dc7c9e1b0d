/* SPDX-License-Identifier: MIT */
/* Questions whose time is over (contract C17).
 *
 * Every beat the store is asked which deadlines have passed; each such question is answered with
 * its default as anybody could answer it. So the claim decides who does it: of several processes,
 * and of a person in the last moment, one. Nothing is kept here: after a restart the store is asked
 * again. Answers wait for places under the cap on runs, as new runs do. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "instance/internal.h"

#define AT_ONCE 256

struct due {
	struct bread *b;
	struct loop *loop; /* the first */
	struct bread_read read;
	bool reading, closing, more;
	atomic_size_t open; /* answers on their way */
	atomic_bool some;   /* one of them was taken: it is worth to ask for more at once */
	struct post again;
};

struct answering {
	struct post post;
	struct due *due;
	struct loop *loop;
	struct bread_str id, fallback;
	struct arena arena;
};

static void one_less(struct due *d)
{
	if (atomic_fetch_sub(&d->open, 1) == 1 && d->more && atomic_load(&d->some))
		brd_loop_post(d->loop, &d->again);
}

/* Answered by somebody else meanwhile, or taken. */
static bool is_news(const struct bread_err *err)
{
	return err && err->code != BREAD_E_CONFLICT && err->code != BREAD_E_NOT_FOUND;
}

static void on_claimed(
	void *arg, struct bread_str root_id, int64_t after, const struct bread_err *err)
{
	struct answering *a = arg;
	struct due *d = a->due;

	brd_active_place(d->b, -1); /* it was kept for it */
	if (is_news(err))
		log_warn("due.answer", "checkpoint %.*s is overdue and was not answered: %s",
			BRD_ARG(a->id), err->text);
	if (!err)
		atomic_store(&d->some, true);
	brd_arena_fini(&a->arena);
	free(a);
	one_less(d);
}

static void answer(struct post *p)
{
	struct answering *a = brd_list_of(p, struct answering, post);
	struct run_resume in = { .checkpoint_id = a->id,
		.response = a->fallback,
		.expired = true,
		.on_claimed = on_claimed,
		.arg = a };

	brd_run_resume(&a->due->b->env, a->loop, &in);
}

static void send(struct due *d, const struct bread_checkpoint_row *row, size_t nth)
{
	struct answering *a = brd_alloc(sizeof(*a));

	a->post.run = answer;
	a->due = d;
	a->loop = d->b->loops[nth % d->b->loop_count];
	a->id = brd_arena_copy(&a->arena, row->id);
	a->fallback = brd_arena_copy(&a->arena, row->fallback);
	atomic_fetch_add(&d->open, 1);
	brd_active_place(d->b, 1);
	brd_loop_post(a->loop, &a->post);
}

static void on_due(struct bread_op *op)
{
	struct due *d = op->arg;

	d->reading = false;
	if (op->code != BREAD_OK || d->closing)
		return;
	d->more = d->read.more;
	atomic_store(&d->some, false);
	atomic_fetch_add(&d->open, 1); /* so that none of them is the last too early */
	for (size_t i = 0; i < d->read.count && !brd_active_room(d->b, NULL); i++)
		send(d, &d->read.checkpoints[i], i);
	one_less(d);
}

void brd_due_look(struct bread *b)
{
	struct due *d = b->due;

	if (d->reading || d->closing || b->env.draining || atomic_load(&d->open))
		return;
	d->reading = true;
	brd_read_again(&d->read, BREAD_READ_DUE, (struct bread_str){ 0 });
	d->read.limit = AT_ONCE;
	d->read.filter.until = brd_clock_wall();
	bread_op_init(&d->read.op, d->loop, on_due, d);
	brd_store_read(b->store, &d->read);
}

static void look_again(struct post *p)
{
	brd_due_look(brd_list_of(p, struct due, again)->b);
}

void brd_due_open(struct bread *b)
{
	struct due *d = brd_alloc(sizeof(*d));

	d->b = b;
	d->loop = b->loops[0];
	d->again.run = look_again;
	b->due = d;
}

void brd_due_close(struct bread *b)
{
	if (b->due)
		b->due->closing = true;
}

void brd_due_free(struct bread *b)
{
	if (!b->due)
		return;
	bread_read_fini(&b->due->read);
	free(b->due);
	b->due = NULL;
}

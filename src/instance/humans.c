/* SPDX-License-Identifier: MIT */
/* Questions to humans, told to the embedder.
 *
 * A crumb says that somebody is asked; what is asked is in the checkpoint, which is committed
 * before the crumb leaves. It is read on the run's loop, and told there. One that was answered in
 * the meantime is not told. */
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "instance/internal.h"

struct human {
	struct bread *b;
	bread_human_fn *fn;
	void *arg;
};

struct telling {
	struct bread_read read;
	struct human *to;
	struct arena arena;
};

static void on_row(struct bread_op *op)
{
	struct telling *t = op->arg;
	const struct bread_checkpoint_row *c = t->read.checkpoints;

	if (op->code == BREAD_OK && t->read.count) {
		struct bread_human q = {
			.checkpoint_id = c->id,
			.run_id = c->run_id,
			.root_id = c->root_id,
			.session_id = c->session_id,
			.agent_id = c->agent_id,
			.tool = c->tool_name,
			.args = c->schema,
			.kind = c->kind,
			.answer_schema = c->answer_schema,
			.fallback = c->fallback,
			.deadline = c->deadline,
		};

		t->to->fn(&q, t->to->arg);
	}
	bread_read_fini(&t->read);
	brd_arena_fini(&t->arena);
	free(t);
}

static void on_crumb(const struct bread_crumb *c, void *arg)
{
	struct human *h = arg;
	struct telling *t;
	struct jval v;

	if (!brd_str_is(c->type, "human:required"))
		return;
	t = brd_alloc(sizeof(*t));
	t->to = h;
	t->read.kind = BREAD_READ_CHECKPOINT;
	if (!brd_json_parse(&t->arena, c->json, 0, &v, NULL))
		t->read.key = brd_arena_copy(
			&t->arena, brd_json_str(brd_json_get(v, "checkpointId"), &t->arena));
	bread_op_init(&t->read.op, bread_here(h->b), on_row, t);
	brd_store_read(h->b->store, &t->read);
}

void bread_on_human(struct bread *b, bread_human_fn *fn, void *arg)
{
	struct human *h = brd_arena_alloc(&b->arena, sizeof(*h));

	*h = (struct human){ b, fn, arg };
	bread_listen(b, on_crumb, h);
}

/* SPDX-License-Identifier: MIT */
/* What the store knows of a run, as its caller would have been told it: for those who come again
 * with the same request. */
#include <stdlib.h>
#include "base/mem.h"
#include "run/run.h"

struct telling {
	struct arena arena;
	struct bread_str run_id;
	struct bread_read read;
	void (*on_end)(const struct bread_outcome *o, void *arg);
	void *arg;
};

static void put_error(struct telling *t, struct bread_outcome *o, struct bread_str json)
{
	struct jval v;

	if (!json.n || brd_json_parse(&t->arena, json, 0, &v, NULL))
		return;
	o->error_code = brd_json_str(brd_json_get(v, "code"), &t->arena);
	o->error_message = brd_json_str(brd_json_get(v, "message"), &t->arena);
	o->error_context = brd_json_raw(brd_json_get(v, "context"));
}

static void on_row(struct bread_op *op)
{
	struct telling *t = op->arg;
	const struct bread_run_row *row = t->read.runs;
	struct bread_outcome o = { .run_id = t->run_id, .status = BREAD_RUN_RUNNING };

	if (op->code == BREAD_OK && t->read.count) {
		o.session_id = row->session_id;
		o.status = row->status == BREAD_RUN_QUEUED ? BREAD_RUN_RUNNING : row->status;
		o.output = row->output;
		o.files = row->files;
		put_error(t, &o, row->error);
	}
	t->on_end(&o, t->arg);
	bread_read_fini(&t->read);
	brd_arena_fini(&t->arena);
	free(t);
}

void brd_run_tell(struct run_env *env, struct loop *l, struct bread_str run_id,
	void (*on_end)(const struct bread_outcome *o, void *arg), void *arg)
{
	struct telling *t;

	if (!on_end)
		return;
	t = brd_alloc(sizeof(*t));
	t->run_id = brd_arena_copy(&t->arena, run_id);
	t->on_end = on_end;
	t->arg = arg;
	brd_read_again(&t->read, BREAD_READ_RUN, t->run_id);
	bread_op_init(&t->read.op, l, on_row, t);
	brd_store_read(env->store, &t->read);
}

/* SPDX-License-Identifier: MIT */
/* Taking up a run whose owner is dead (contract C11).
 *
 * The row is taken first, by one conditional write that also ends the old
 * owner's right to write; then the journal is read and the tree built from it,
 * and the same advance that drives every run goes on where the last committed
 * step ended. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/internal.h"

struct taking {
	struct run_env *env;
	struct loop *loop;
	struct arena arena;
	struct bread_run_row row;
	struct agent_def *def;
	int64_t head;   /* the last number in its log by now */
	bool claimed;   /* this instance knows that it is about to work on it */
	bool taken;     /* it is ours already: its checkpoint was claimed */
	bool cancelled; /* a suspended one is taken up to end */
	struct bread_read read, nodes;
	struct bread_tx tx;
	struct bread_rec rec;
	void (*done)(void *arg, struct run *r);
	void *arg;
};

static void over(struct taking *t, struct run *r)
{
	if (t->claimed)
		t->env->unclaim(t->env->arg, t->row.id);
	bread_read_fini(&t->read);
	bread_read_fini(&t->nodes);
	brd_agent_def_unref(t->def);
	t->done(t->arg, r);
	brd_arena_fini(&t->arena);
	free(t);
}

static void give_up(struct taking *t, const char *what, const char *why)
{
	log_warn("run.recover", "run %.*s was not taken up: %s: %s", BRD_ARG(t->row.id), what, why);
	over(t, NULL);
}

static void ask(struct taking *t, struct bread_read *read, enum bread_read_kind kind,
	struct bread_str key, void (*on_end)(struct bread_op *op))
{
	brd_read_again(read, kind, key);
	bread_op_init(&read->op, t->loop, on_end, t);
	brd_store_read(t->env->store, read);
}

static const struct node_ops *kind_of(struct bread_str kind)
{
	static const struct node_ops *const kinds[] = { &brd_model_node, &brd_tool_node,
		&brd_human_node };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (brd_str_is(kind, kinds[i]->kind))
			return kinds[i];
	return NULL;
}

/* How many of the session's messages stood before this run's own turns; SIZE_MAX: all. */
static size_t load_history_line(struct run *r, const struct bread_node_row *row)
{
	struct jval data;

	if (brd_json_parse(&r->arena, brd_arena_copy(&r->arena, row->data), 0, &data, NULL))
		return SIZE_MAX;
	r->stored_turns = (unsigned)brd_json_int_or(brd_json_get(data, "turns"), 0);
	return (size_t)brd_json_int_or(brd_json_get(data, "before"), INT64_MAX);
}

static size_t load_nodes(struct run *r, const struct bread_read *nodes)
{
	size_t before = SIZE_MAX;

	brd_node_root(r, &brd_agent_node, "agent");
	for (size_t i = 0; i < nodes->count; i++) {
		const struct bread_node_row *row = &nodes->nodes[i];
		const struct node_ops *ops = kind_of(row->kind);
		struct jval data;
		struct node *n;

		if (brd_str_is(row->kind, "history"))
			before = load_history_line(r, row);
		if (!ops || brd_json_parse(&r->arena, brd_arena_copy(&r->arena, row->data), 0,
				    &data, NULL))
			continue;
		n = brd_node_child(r->root, ops, "%.*s", BRD_ARG(row->name));
		ops->load(n, row->state, data);
	}
	return before;
}

/* true when the next thing to do is a model call: what an attempt at it had shown is void. */
static bool at_model(const struct run *r)
{
	const struct node *last = NULL;

	brd_list_each(l, &r->root->children) {
		const struct node *n = brd_list_of(l, struct node, siblings);

		if (n->ops != &brd_model_node && n->end == END_NONE)
			return false;
		last = n;
	}
	return !last || last->ops != &brd_model_node ||
	       brd_model_calls((const struct model_node *)last) == 0;
}

static void nothing(void *arg, struct run *r)
{
}

static void rebuild(struct taking *t, const struct bread_read *messages)
{
	struct run *r = brd_run_make(t->env, t->loop, t->def, t->row.id, t->row.session_id);
	struct bread_err err;
	int64_t spent = brd_clock_wall() - t->row.started_at;
	size_t before;

	r->epoch = t->row.epoch + 1;
	r->input = brd_arena_copy(&r->arena, t->row.input);
	if (t->row.started_at)
		r->started_wall = t->row.started_at;
	r->cancelled = t->row.cancel_requested || t->cancelled;
	r->stored = t->head;
	brd_seq_init(&r->seq, t->head);
	brd_topic_begin(r->topic, t->row.head);
	before = load_nodes(r, &t->nodes);
	t->claimed = false;
	t->env->up(t->env->arg, r);
	t->done(t->arg, r);
	t->done = nothing;
	if (brd_history_load(r, messages, &err)) {
		struct run_error e = brd_run_error(
			r, "INTERNAL_ERROR", brd_arena_copy(&r->arena, brd_str(err.text)));

		brd_run_fail(r, &e, false);
		return;
	}
	brd_history_trim(r, before);
	if (t->head == 0) { /* it was queued */
		brd_run_begin(r);
		return;
	}
	if (t->taken)
		spent = 0; /* the time of a human is not the run's */
	else if (at_model(r))
		brd_model_void(r, 0, BRD_STR("RUN_TAKEN_UP"));
	brd_run_go(r, spent > 0 ? spent : 0);
	if (!t->taken && !t->cancelled)
		log_info("run.recover",
			"run %s was cut short and goes on (step boundary after crumb %lld)", r->id,
			(long long)t->row.head);
}

static void on_messages(struct bread_op *op)
{
	struct taking *t = op->arg;

	if (op->code != BREAD_OK) {
		give_up(t, "its session", op->err.text);
		return;
	}
	rebuild(t, &t->read);
	over(t, NULL);
}

static void on_nodes(struct bread_op *op)
{
	struct taking *t = op->arg;

	if (op->code != BREAD_OK)
		give_up(t, "its journal", op->err.text);
	else
		ask(t, &t->read, BREAD_READ_MESSAGES, t->row.session_id, on_messages);
}

static void on_taken(struct bread_op *op)
{
	struct taking *t = op->arg;

	if (op->code == BREAD_E_CONFLICT)
		over(t, NULL); /* another owner was first */
	else if (op->code != BREAD_OK)
		give_up(t, "its row", op->err.text);
	else
		ask(t, &t->nodes, BREAD_READ_NODES, t->row.id, on_nodes);
}

static void take(struct taking *t)
{
	if (t->taken) {
		ask(t, &t->nodes, BREAD_READ_NODES, t->row.id, on_nodes);
		return;
	}
	t->rec = (struct bread_rec){ .kind = BREAD_REC_RUN_TAKE };
	t->rec.run.id = t->row.id;
	t->rec.run.owner = t->env->owner;
	t->tx.fence = t->row.id;
	t->tx.fence_epoch = t->row.epoch;
	t->tx.recs = &t->rec;
	t->tx.count = 1;
	bread_op_init(&t->tx.op, t->loop, on_taken, t);
	brd_store_commit(t->env->store, &t->tx);
}

static void on_definition(struct bread_op *op)
{
	struct taking *t = op->arg;
	char *id = brd_arena_strz(&t->arena, t->row.agent_id);
	struct bread_err err;

	if (op->code != BREAD_OK)
		give_up(t, "its definition", op->err.text);
	else if (!t->read.text.n)
		give_up(t, "its definition", "it is not in the store");
	else if (brd_agent_def_new(&t->def, id, t->read.text, NULL, &err))
		give_up(t, "its definition", err.text);
	else
		take(t);
}

/* The strings that are asked for later; the others are the answer's, and go with it. */
static void copy_row(struct taking *t, const struct bread_run_row *row)
{
	struct arena *a = &t->arena;

	t->row = *row;
	t->row.id = brd_arena_copy(a, row->id);
	t->row.agent_id = brd_arena_copy(a, row->agent_id);
	t->row.session_id = brd_arena_copy(a, row->session_id);
	t->row.definition = brd_arena_copy(a, row->definition);
	t->row.input = brd_arena_copy(a, row->input);
}

static void find_definition(struct taking *t)
{
	t->def = t->env->definition(t->env->arg, t->row.agent_id, t->row.definition);
	if (t->def)
		take(t);
	else
		ask(t, &t->read, BREAD_READ_DEFINITION, t->row.definition, on_definition);
}

static void on_row(struct bread_op *op)
{
	struct taking *t = op->arg;
	enum bread_run_status status;

	if (op->code != BREAD_OK || t->read.count == 0) {
		give_up(t, "its row", op->code != BREAD_OK ? op->err.text : "it is gone");
		return;
	}
	status = t->read.runs[0].status;
	if (t->cancelled ? status != BREAD_RUN_SUSPENDED : status > BREAD_RUN_RUNNING) {
		over(t, NULL); /* it has gone on meanwhile */
		return;
	}
	copy_row(t, t->read.runs);
	t->head = t->row.head;
	t->claimed = t->env->claim(t->env->arg, t->row.id, t->row.session_id, t->loop);
	if (t->claimed)
		find_definition(t);
	else
		over(t, NULL); /* it is worked on here */
}

static struct taking *taking_new(struct run_env *env, struct loop *l,
	const struct bread_run_row *row, void (*done)(void *arg, struct run *r), void *arg)
{
	struct taking *t = brd_alloc(sizeof(*t));

	t->env = env;
	t->loop = l;
	t->done = done;
	t->arg = arg;
	copy_row(t, row);
	return t;
}

void brd_run_take_up(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	void (*done)(void *arg, struct run *r), void *arg)
{
	struct taking *t = taking_new(env, l, row, done, arg);

	ask(t, &t->read, BREAD_READ_RUN, t->row.id, on_row);
}

void brd_run_end_suspended(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	void (*done)(void *arg, struct run *r), void *arg)
{
	struct taking *t = taking_new(env, l, row, done, arg);

	t->cancelled = true;
	ask(t, &t->read, BREAD_READ_RUN, t->row.id, on_row);
}

void brd_run_build(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	int64_t head, void (*done)(void *arg, struct run *r), void *arg)
{
	struct taking *t = taking_new(env, l, row, done, arg);

	t->taken = t->claimed = true;
	t->head = head;
	find_definition(t);
}

/* SPDX-License-Identifier: MIT */
/* Taking up a tree whose owner is dead, or that has answers nobody has heard (contract C11, C16).
 *
 * The root's row is taken first, by one conditional write that also ends the old owner's right to
 * write; then the rows and journals of its runs that have not ended are read, the trees of nodes
 * are built from them, and the same advance that drives every run goes on where the last committed
 * step ended. Definitions are those that the runs began with. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/asking.h"
#include "run/call.h"
#include "run/life.h"
#include "run/loop_state.h"
#include "run/tree.h"

struct taking {
	struct run_env *env;
	struct loop *loop;
	struct arena arena;
	struct bread_run_row row; /* the root's */
	struct bread_str cancel;  /* a run of a suspended tree that is taken up to end */
	bool claimed;             /* this instance knows that it is about to work on it */
	bool taken;               /* it is ours already: a checkpoint of it was claimed */
	struct bread_read runs, nodes, read;
	struct agent_def **defs; /* of runs, by their place; of each one is NULL */
	struct pipeline_def **pipelines;
	size_t found; /* of them */
	struct bread_tx tx;
	struct bread_rec rec;
	void (*done)(void *arg, struct tree *t);
	void *arg;
};

static void over(struct taking *t, struct tree *tree)
{
	if (t->claimed)
		t->env->unclaim(t->env->arg, t->row.id);
	for (size_t i = 0; i < t->found; i++) {
		brd_agent_def_unref(t->defs[i]);
		brd_pipeline_def_unref(t->pipelines[i]);
	}
	bread_read_fini(&t->read);
	bread_read_fini(&t->runs);
	bread_read_fini(&t->nodes);
	t->done(t->arg, tree);
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

/* ---- nodes from the journal ---- */

static const struct node_ops *kind_of(struct bread_str kind)
{
	static const struct node_ops *const kinds[] = { &brd_model_node, &brd_tool_node,
		&brd_human_node, &brd_delegate_node, &brd_loop_node, &brd_task_node };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (brd_str_is(kind, kinds[i]->kind))
			return kinds[i];
	return NULL;
}

static void load_history_line(struct run *r, const struct bread_node_row *row)
{
	struct jval data;

	if (brd_json_parse(&r->arena, row->data, 0, &data, NULL))
		return;
	r->stored_turns = (unsigned)brd_json_int_or(brd_json_get(data, "turns"), 0);
	r->history_before = brd_json_int_or(brd_json_get(data, "before"), -1);
}

static void load_budget(struct tree *t, const struct bread_node_row *row)
{
	struct jval data;

	if (brd_json_parse(&t->root->arena, row->data, 0, &data, NULL))
		return;
	t->steps = brd_json_int_or(brd_json_get(data, "steps"), 0);
	t->tokens = brd_json_int_or(brd_json_get(data, "tokens"), 0);
}

/* Children of an agent are model.TURN and KIND.TURN.CALL; what is deeper its own node makes. */
static bool is_child(struct bread_str name)
{
	size_t dots = 0;

	for (size_t i = 0; i < name.n; i++)
		dots += name.p[i] == '.';
	return dots < 3;
}

void brd_run_rebuild(struct run *r, struct node *at)
{
	if (r->pipeline) {
		brd_node_root(r, at, &brd_pipeline_node, "pipeline");
	} else {
		brd_node_root(r, at, &brd_agent_node, "agent");
		brd_list_each(l, &r->journal->rows) {
			const struct bread_node_row *row =
				&brd_list_of(l, struct journal_row, link)->row;
			const struct node_ops *ops = kind_of(row->kind);

			if (ops && is_child(row->name))
				brd_node_child(r->root, ops, "%.*s", BRD_ARG(row->name));
		}
	}
	brd_node_wake(r->root);
}

static void keep_row(struct run *r, const struct bread_node_row *row)
{
	struct journal_row *own = brd_arena_alloc(&r->arena, sizeof(*own));

	own->row.name = brd_arena_copy(&r->arena, row->name);
	own->row.kind = brd_arena_copy(&r->arena, row->kind);
	own->row.data = brd_arena_copy(&r->arena, row->data);
	own->row.state = row->state;
	if (brd_str_is(row->kind, "history")) {
		load_history_line(r, &own->row);
		return;
	}
	if (brd_str_is(row->kind, "loop.state")) {
		brd_loop_state_load(r, own->row.data);
		return;
	}
	if (brd_str_is(row->kind, "budget")) {
		load_budget(r->tree, &own->row);
		return;
	}
	if (brd_str_is(row->kind, "opened")) {
		r->announced = true;
		return;
	}
	brd_list_push(&r->journal->rows, &own->link);
	brd_map_put(&r->journal->by_name, own->row.name, own);
}

static void keep_journals(const struct map *runs, const struct bread_read *nodes)
{
	for (size_t i = 0; i < nodes->count; i++) {
		struct run *r = brd_map_get(runs, nodes->nodes[i].run_id);

		if (r)
			keep_row(r, &nodes->nodes[i]);
	}
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

/* ---- the tree ---- */

static struct run *build_run(struct taking *t, struct tree *tree, size_t i)
{
	const struct bread_run_row *row = &t->runs.runs[i];
	struct run *r = brd_run_make(
		tree, tree->root, t->defs[i], t->pipelines[i], row->id, row->session_id);

	r->input = brd_arena_copy(&r->arena, row->input);
	r->options = brd_arena_copy(&r->arena, row->options);
	if (row->path.n) {
		r->path = brd_arena_copy(&r->arena, row->path);
		r->base.path = r->path;
	}
	if (row->started_at)
		r->started_wall = row->started_at;
	r->status = row->status;
	r->usage.input = row->input_tokens;
	r->usage.output = row->output_tokens;
	r->steps = row->steps;
	r->stored = row->head;
	brd_seq_init(&r->seq, row->head);
	r->journal = brd_arena_alloc(&r->arena, sizeof(*r->journal));
	brd_list_init(&r->journal->rows);
	if (r != tree->root) {
		r->cancelled = row->cancel_requested || brd_str_eq(t->cancel, r->base.run_id);
		brd_topic_begin(r->topic, row->head);
		brd_list_push(&tree->loaded, &r->link);
	}
	return r;
}

/* Where hooks come before the beginning a line of the journal tells; else a run that has a row has
 * begun, but for one that was queued. */
static void settle_announced(struct tree *tree)
{
	struct run *root = tree->root;

	brd_list_each(l, &tree->loaded) {
		struct run *r = brd_list_of(l, struct run, link);

		r->announced |= !r->def || !brd_agent_hears(r, BREAD_HOOK_BEFORE_RUN);
	}
	root->announced |= root->seq.head > 0;
}

static struct tree *build(struct taking *t)
{
	struct tree *tree = brd_tree_new(t->env, t->loop);
	struct map runs = { 0 };

	for (size_t i = 0; i < t->runs.count; i++) {
		struct run *r = build_run(t, tree, i);

		brd_map_put(&runs, r->base.run_id, r);
	}
	keep_journals(&runs, &t->nodes);
	brd_map_fini(&runs);
	settle_announced(tree);
	tree->epoch = t->row.epoch + 1;
	tree->seq = tree->stored = t->row.tree_head;
	tree->root->tags = brd_arena_copy(&tree->root->arena, t->row.tags);
	tree->root->cancelled =
		t->row.cancel_requested || brd_str_eq(t->cancel, tree->root->base.run_id);
	brd_tree_go_live(tree, t->row.head);
	return tree;
}

static int64_t spent(const struct taking *t)
{
	int64_t ms = brd_clock_wall() - t->row.started_at;

	/* the time of a human is not the run's */
	return t->row.status == BREAD_RUN_SUSPENDED || ms < 0 ? 0 : ms;
}

/* What attempts had shown that no end is known of. */
static void void_attempts(struct tree *tree, enum bread_run_status root_was)
{
	if (root_was == BREAD_RUN_SUSPENDED)
		return;
	brd_list_each(l, &tree->runs) {
		struct run *r = brd_list_of(l, struct run, link);

		if (r->def && !r->ended && r->status == BREAD_RUN_RUNNING && at_model(r))
			brd_model_void(r, 0, BRD_STR("RUN_TAKEN_UP"));
	}
}

static void go(struct taking *t, struct tree *tree)
{
	struct run *root = tree->root;
	bool queued = t->row.head == 0 && t->row.status != BREAD_RUN_SUSPENDED;

	if (queued) {
		brd_run_begin(root, NULL);
		return;
	}
	root->status = BREAD_RUN_RUNNING; /* so its row says since it was taken */
	brd_run_rebuild(root, NULL);
	brd_run_go(root, NULL, spent(t));
	brd_tree_drive(tree); /* children are below their nodes by now */
	void_attempts(tree, t->row.status);
	if (t->cancel.n && !root->cancelled)
		brd_tree_cancel_run(tree, t->cancel);
	if (t->row.status != BREAD_RUN_SUSPENDED)
		log_info("run.recover",
			"run %s was cut short and goes on (step boundary after crumb %lld)",
			root->id, (long long)t->row.head);
}

static void nothing(void *arg, struct tree *t)
{
}

static void finish(struct taking *t)
{
	struct tree *tree = build(t);

	t->claimed = false;
	t->env->up(t->env->arg, tree);
	t->done(t->arg, tree);
	t->done = nothing;
	if (!tree->lost)
		go(t, tree);
	over(t, NULL);
}

/* ---- what is needed for it, one after the other ---- */

static void find_definitions(struct taking *t);

static void on_definition(struct bread_op *op)
{
	struct taking *t = op->arg;
	const struct bread_run_row *row = &t->runs.runs[t->found];
	char *id = brd_arena_strz(&t->arena, row->agent_id);
	struct agent_def *newest; /* of that agent: its files are where they were */
	struct bread_err err;
	int r;

	if (op->code != BREAD_OK) {
		give_up(t, "its definition", op->err.text);
		return;
	}
	if (!t->read.text.n) {
		give_up(t, "its definition", "it is not in the store");
		return;
	}
	newest = t->env->definition(t->env->arg, row->agent_id, (struct bread_str){ 0 });
	if (row->kind == BREAD_RUN_PIPELINE)
		r = brd_pipeline_def_new(&t->pipelines[t->found], id, t->read.text, &err);
	else
		r = brd_agent_def_new(
			&t->defs[t->found], id, t->read.text, newest ? newest->dir : NULL, &err);
	brd_agent_def_unref(newest);
	if (r) {
		give_up(t, "its definition", err.text);
		return;
	}
	t->found++;
	find_definitions(t);
}

/* The skill that the run's caller had chosen. false: it is there no more. */
static bool add_skill(struct taking *t, size_t i)
{
	const struct bread_run_row *row = &t->runs.runs[i];
	struct agent_def *with, *base = t->defs[i];
	struct bread_err err;
	struct jval options;
	struct bread_str skill;

	if (!row->options.n || !base || base->skill ||
		brd_json_parse(&t->arena, row->options, 0, &options, NULL))
		return true;
	skill = brd_json_str(brd_json_get(options, "skill"), &t->arena);
	if (!skill.n)
		return true;
	if (brd_agent_def_with_skill(&with, base, skill, &err)) {
		give_up(t, "its skill", err.text);
		return false;
	}
	brd_agent_def_unref(base);
	t->defs[i] = with;
	return true;
}

static void find_definitions(struct taking *t)
{
	for (; t->found < t->runs.count; t->found++) {
		const struct bread_run_row *row = &t->runs.runs[t->found];

		if (row->kind == BREAD_RUN_AGENT)
			t->defs[t->found] =
				t->env->definition(t->env->arg, row->agent_id, row->definition);
		if (!t->defs[t->found]) {
			ask(t, &t->read, BREAD_READ_DEFINITION, row->definition, on_definition);
			return;
		}
	}
	for (size_t i = 0; i < t->found; i++)
		if (!add_skill(t, i))
			return;
	finish(t);
}

static void on_nodes(struct bread_op *op)
{
	struct taking *t = op->arg;

	if (op->code != BREAD_OK)
		give_up(t, "its journal", op->err.text);
	else
		find_definitions(t);
}

static void on_runs(struct bread_op *op)
{
	struct taking *t = op->arg;

	if (op->code != BREAD_OK || t->runs.count == 0) {
		give_up(t, "its runs", op->code != BREAD_OK ? op->err.text : "they are gone");
		return;
	}
	t->defs = brd_arena_array(&t->arena, t->runs.count, sizeof(struct agent_def *));
	t->pipelines = brd_arena_array(&t->arena, t->runs.count, sizeof(struct pipeline_def *));
	ask(t, &t->nodes, BREAD_READ_TREE_NODES, t->row.id, on_nodes);
}

static void on_taken(struct bread_op *op)
{
	struct taking *t = op->arg;

	if (op->code == BREAD_E_CONFLICT)
		over(t, NULL); /* another owner was first */
	else if (op->code != BREAD_OK)
		give_up(t, "its row", op->err.text);
	else
		ask(t, &t->runs, BREAD_READ_TREE_OPEN, t->row.id, on_runs);
}

static void take(struct taking *t)
{
	if (t->taken) {
		ask(t, &t->runs, BREAD_READ_TREE_OPEN, t->row.id, on_runs);
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

/* The strings that are asked for later; the others are the answer's, and go with it. */
static void copy_row(struct taking *t, const struct bread_run_row *row)
{
	struct arena *a = &t->arena;

	t->row = *row;
	t->row.id = brd_arena_copy(a, row->id);
	t->row.agent_id = brd_arena_copy(a, row->agent_id);
	t->row.session_id = brd_arena_copy(a, row->session_id);
	t->row.tags = brd_arena_copy(a, row->tags);
}

/* Suspended: it is taken up because it was woken, or because one of its runs is to end. One that
 * has changed hands since somebody looked may well have an owner who is alive. */
static bool may_be_taken(const struct taking *t, const struct bread_run_row *row)
{
	if (!t->cancel.n && (row->epoch != t->row.epoch || row->status != t->row.status))
		return false;
	if (row->status == BREAD_RUN_SUSPENDED)
		return t->cancel.n || row->wake || row->cancel_requested;
	return !t->cancel.n && !brd_run_ended(row->status);
}

static void on_row(struct bread_op *op)
{
	struct taking *t = op->arg;

	if (op->code != BREAD_OK || t->read.count == 0) {
		give_up(t, "its row", op->code != BREAD_OK ? op->err.text : "it is gone");
		return;
	}
	if (!may_be_taken(t, t->read.runs)) {
		over(t, NULL); /* it has gone on meanwhile */
		return;
	}
	copy_row(t, t->read.runs);
	t->claimed =
		t->env->claim(t->env->arg, t->row.id, t->row.session_id, t->row.composed, t->loop);
	if (t->claimed)
		take(t);
	else
		over(t, NULL); /* it is worked on here */
}

static struct taking *taking_new(struct run_env *env, struct loop *l,
	const struct bread_run_row *row, void (*done)(void *arg, struct tree *t), void *arg)
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
	void (*done)(void *arg, struct tree *t), void *arg)
{
	struct taking *t = taking_new(env, l, row, done, arg);

	ask(t, &t->read, BREAD_READ_RUN, t->row.id, on_row);
}

void brd_run_end_suspended(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	struct bread_str run_id, void (*done)(void *arg, struct tree *t), void *arg)
{
	struct taking *t = taking_new(env, l, row, done, arg);

	t->cancel = brd_arena_copy(&t->arena, run_id);
	ask(t, &t->read, BREAD_READ_RUN, t->row.id, on_row);
}

void brd_run_build(struct run_env *env, struct loop *l, const struct bread_run_row *row,
	void (*done)(void *arg, struct tree *t), void *arg)
{
	struct taking *t = taking_new(env, l, row, done, arg);

	t->taken = t->claimed = true;
	take(t);
}

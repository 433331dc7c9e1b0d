/* SPDX-License-Identifier: MIT */
/* The contract of a store, run on every implementation: trees of runs, their logs, and the
 * questions that they wait for. */
#include "contract/store_world.h"

static struct bread_rec root_of_a_tree(const char *id, const char *session)
{
	struct bread_rec rec = kit_run(id, session, BREAD_RUN_RUNNING);

	rec.run.kind = BREAD_RUN_PIPELINE;
	rec.run.composed = 1;
	return rec;
}

static struct bread_rec below(const char *root, const char *parent, const char *id,
	const char *session, enum bread_run_status status)
{
	struct bread_rec rec = kit_run(id, session, status);

	rec.run.root_id = brd_str(root);
	rec.run.parent_id = brd_str(parent);
	rec.run.path = BRD_STR("[\"step\"]");
	return rec;
}

static struct bread_rec line(const char *root, int64_t tree_seq, const char *run, int64_t seq)
{
	struct bread_rec rec = kit_crumb(run, seq, NULL, BRD_STR("{\"n\":1}"));

	rec.crumb.root_id = brd_str(root);
	rec.crumb.tree_seq = tree_seq;
	rec.crumb.path = BRD_STR("[\"step\",\"in\"]");
	return rec;
}

static void ids_are(const struct bread_read *r, const char *const *ids, size_t count)
{
	assert_int_equal(r->count, count);
	for (size_t i = 0; i < count; i++)
		assert_str(r->runs[i].id, ids[i]);
}

/* p: a in its session, b (ended) and c below a. */
static void given_tree(struct world *w)
{
	struct bread_rec recs[] = { kit_session("s", 100, NULL), kit_session("sa", 100, NULL),
		root_of_a_tree("p", "s"), below("p", "p", "a", "sa", BREAD_RUN_RUNNING),
		below("p", "a", "b", NULL, BREAD_RUN_COMPLETED),
		below("p", "a", "c", NULL, BREAD_RUN_SUSPENDED) };

	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
}

static void run_of_a_tree_comes_back_as_it_was(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = below("p", "p", "a", NULL, BREAD_RUN_RUNNING);
	struct bread_read r;

	rec.run.kind = BREAD_RUN_PIPELINE;
	rec.run.steps = 3;
	rec.run.wake = 2;
	commit1(w, root_of_a_tree("p", NULL));
	assert_int_equal(commit1(w, rec), BREAD_OK);
	r = question(w, BREAD_READ_RUN, "a");
	assert_str(r.runs->root_id, "p");
	assert_str(r.runs->parent_id, "p");
	assert_str(r.runs->path, "[\"step\"]");
	assert_int_equal(r.runs->kind, BREAD_RUN_PIPELINE);
	assert_int_equal(r.runs->composed, 0);
	assert_int_equal(r.runs->steps, 3);
	assert_int_equal(r.runs->wake, 2);
	assert_int_equal(r.runs->tree_head, 0);
	bread_read_fini(&r);
	r = question(w, BREAD_READ_RUN, "p");
	assert_int_equal(r.runs->composed, 1);
	assert_str(r.runs->path, "");
	bread_read_fini(&r);
}

static void status_takes_steps(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = kit_status("r", BREAD_RUN_RUNNING);
	struct bread_read r;

	given(w, "s", "r");
	rec.run.steps = 4;
	commit1(w, rec);
	commit1(w, kit_status("r", BREAD_RUN_COMPLETED));
	r = question(w, BREAD_READ_RUN, "r");
	assert_int_equal(r.runs->steps, 4);
	bread_read_fini(&r);
}

static void tree_is_read_root_first(void **state)
{
	struct world *w = *state;
	struct bread_read r;

	given_tree(w);
	given(w, "other", "lone");
	r = question(w, BREAD_READ_TREE, "p");
	ids_are(&r, (const char *const[]){ "p", "a", "b", "c" }, 4);
	bread_read_fini(&r);
	r = question(w, BREAD_READ_TREE, "lone");
	ids_are(&r, (const char *const[]){ "lone" }, 1);
	bread_read_fini(&r);
	assert_int_equal(count_of(w, BREAD_READ_TREE, "a"), 0);
	assert_int_equal(count_of(w, BREAD_READ_TREE, "nobody"), 0);
}

static void tree_is_read_in_pages(void **state)
{
	struct world *w = *state;
	struct bread_read r = {
		.kind = BREAD_READ_TREE, .key = BRD_STR("p"), .after = 1, .limit = 2
	};

	given_tree(w);
	kit_read(w->store, w->loop, &r);
	ids_are(&r, (const char *const[]){ "a", "b" }, 2);
	assert_true(r.more);
	bread_read_fini(&r);
}

static void open_part_of_a_tree_keeps_the_root(void **state)
{
	struct world *w = *state;
	struct bread_read r;

	given_tree(w);
	r = question(w, BREAD_READ_TREE_OPEN, "p");
	ids_are(&r, (const char *const[]){ "p", "a", "c" }, 3);
	bread_read_fini(&r);
	commit1(w, kit_status("c", BREAD_RUN_COMPLETED));
	commit1(w, kit_status("a", BREAD_RUN_COMPLETED));
	commit1(w, kit_status("p", BREAD_RUN_COMPLETED));
	r = question(w, BREAD_READ_TREE_OPEN, "p");
	ids_are(&r, (const char *const[]){ "p" }, 1);
	bread_read_fini(&r);
}

static void journals_of_a_tree_come_by_run(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_node("c", "n1", 1, NULL), kit_node("p", "n2", 1, NULL),
		kit_node("a", "n3", 2, "3"), kit_node("b", "n4", 2, NULL),
		kit_node("p", "n5", 1, NULL), kit_node("lone", "n6", 1, NULL) };
	static const char *const order[][2] = { { "p", "n2" }, { "p", "n5" }, { "a", "n3" },
		{ "c", "n1" } };
	struct bread_read r;

	given_tree(w);
	commit(w, recs, COUNT(recs));
	r = question(w, BREAD_READ_TREE_NODES, "p");
	assert_int_equal(r.count, COUNT(order));
	for (size_t i = 0; i < COUNT(order); i++) {
		assert_str(r.nodes[i].run_id, order[i][0]);
		assert_str(r.nodes[i].name, order[i][1]);
	}
	assert_str(r.nodes[2].data, "3");
	bread_read_fini(&r);
}

static void answers_of_a_tree_are_found(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_node("c", "h1", 3, "{\"yes\":1}"),
		kit_node("c", "h2", 1, NULL), kit_node("p", "h3", 3, "2"),
		kit_node("lone", "h4", 3, "3") };
	struct bread_read r;

	given_tree(w);
	commit(w, recs, COUNT(recs));
	r = question(w, BREAD_READ_ANSWERS, "p");
	assert_int_equal(r.count, 2);
	assert_str(r.nodes[0].name, "h3");
	assert_str(r.nodes[1].name, "h1");
	assert_str(r.nodes[1].data, "{\"yes\":1}");
	assert_int_equal(r.nodes[1].state, 3);
	bread_read_fini(&r);
	commit1(w, kit_node("p", "h3", 2, "2"));
	commit1(w, kit_node("c", "h2", 3, "4"));
	r = question(w, BREAD_READ_ANSWERS, "p");
	assert_int_equal(r.count, 2);
	assert_str(r.nodes[0].name, "h1");
	assert_str(r.nodes[1].name, "h2");
	bread_read_fini(&r);
}

static void log_of_a_tree_has_the_crumbs_of_all(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { line("p", 1, "p", 1), line("p", 2, "a", 1),
		line("p", 3, "p", 2), kit_crumb("lone", 1, NULL, BRD_STR("{}")) };
	struct bread_read r = {
		.kind = BREAD_READ_TREE_CRUMBS, .key = BRD_STR("p"), .after = 1, .limit = 1
	};

	given_tree(w);
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_true(r.more);
	assert_str(r.crumbs->run_id, "a");
	assert_str(r.crumbs->agent_id, "a");
	assert_str(r.crumbs->type, "text:end");
	assert_str(r.crumbs->crumb, "{\"n\":1}");
	assert_str(r.crumbs->path, "[\"step\",\"in\"]");
	assert_int_equal(r.crumbs->seq, 1);
	assert_int_equal(r.crumbs->tree_seq, 2);
	assert_int_equal(r.crumbs->created_at, 1001);
	bread_read_fini(&r);
	r = question(w, BREAD_READ_RUN, "p");
	assert_int_equal(r.runs->tree_head, 3);
	assert_int_equal(r.runs->head, 2);
	bread_read_fini(&r);
	r = question(w, BREAD_READ_CRUMBS, "a");
	assert_int_equal(r.count, 1);
	assert_int_equal(r.crumbs->tree_seq, 0);
	bread_read_fini(&r);
	assert_int_equal(count_of(w, BREAD_READ_TREE_CRUMBS, "lone"), 0);
}

static void log_of_a_tree_is_cut_by_bytes(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { line("p", 1, "p", 1), line("p", 2, "a", 1) };
	struct bread_read r = {
		.kind = BREAD_READ_TREE_CRUMBS, .key = BRD_STR("p"), .max_bytes = 8
	};

	given_tree(w);
	commit(w, recs, COUNT(recs));
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_true(r.more);
	bread_read_fini(&r);
}

static void number_in_a_tree_is_taken_once(void **state)
{
	struct world *w = *state;
	struct bread_rec again[] = { line("p", 2, "a", 1), line("p", 1, "a", 2) };

	given_tree(w);
	assert_int_equal(commit1(w, line("p", 1, "p", 1)), BREAD_OK);
	assert_int_equal(commit(w, again, COUNT(again)), BREAD_E_CONFLICT);
	assert_int_equal(count_of(w, BREAD_READ_TREE_CRUMBS, "p"), 1);
	assert_int_equal(count_of(w, BREAD_READ_CRUMBS, "a"), 0);
	assert_int_equal(commit1(w, line("p", 2, "a", 1)), BREAD_OK);
}

static int64_t wake_of(struct world *w, const char *run)
{
	struct bread_read r = question(w, BREAD_READ_RUN, run);
	int64_t wake = r.runs->wake;

	bread_read_fini(&r);
	return wake;
}

static void wake_is_counted_until_the_run_is_taken(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = { .kind = BREAD_REC_RUN_WAKE, .run.id = BRD_STR("r") };

	given(w, "s", "r");
	commit1(w, kit_status("r", BREAD_RUN_SUSPENDED));
	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	assert_int_equal(rec.affected, 1);
	commit1(w, rec);
	assert_int_equal(wake_of(w, "r"), 2);
	commit1(w, (struct bread_rec){ .kind = BREAD_REC_RUN_HEARD, .run.id = BRD_STR("r") });
	assert_int_equal(wake_of(w, "r"), 0);
	commit1(w, rec);
	assert_int_equal(fenced1(w, "r", 1, kit_take("r", "you")), BREAD_OK);
	assert_int_equal(wake_of(w, "r"), 0);
	commit1(w, kit_status("r", BREAD_RUN_COMPLETED));
	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	assert_int_equal(rec.affected, 0);
	assert_int_equal(wake_of(w, "r"), 0);
}

static void unfinished_are_roots_that_are_awake(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_session("s", 1, NULL),
		kit_run("asleep", NULL, BREAD_RUN_SUSPENDED),
		kit_run("woken", NULL, BREAD_RUN_SUSPENDED),
		kit_run("cancelled", NULL, BREAD_RUN_SUSPENDED),
		kit_run("ended", NULL, BREAD_RUN_COMPLETED),
		kit_run("queued", "s", BREAD_RUN_QUEUED), root_of_a_tree("p", NULL),
		below("p", "p", "a", NULL, BREAD_RUN_RUNNING),
		{ .kind = BREAD_REC_RUN_WAKE, .run.id = BRD_STR("woken") },
		{ .kind = BREAD_REC_RUN_WAKE, .run.id = BRD_STR("ended") },
		{ .kind = BREAD_REC_RUN_CANCEL, .run.id = BRD_STR("cancelled") } };
	struct bread_read r;

	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
	r = question(w, BREAD_READ_UNFINISHED, NULL);
	ids_are(&r, (const char *const[]){ "woken", "cancelled", "queued", "p" }, 4);
	assert_int_equal(r.runs[0].wake, 1);
	assert_int_equal(r.runs[1].cancel_requested, 1);
	assert_int_equal(r.runs[2].status, BREAD_RUN_QUEUED);
	assert_str(r.runs[3].owner, "me");
	bread_read_fini(&r);
}

static void runs_below_do_not_keep_a_session_busy(void **state)
{
	struct world *w = *state;

	given_tree(w);
	commit1(w, kit_session("t", 1, NULL));
	/* a session in which only runs below others are is free, and so is a run below another */
	assert_int_equal(commit1(w, kit_run("r", "sa", BREAD_RUN_RUNNING)), BREAD_OK);
	assert_int_equal(commit1(w, below("p", "p", "d", "s", BREAD_RUN_RUNNING)), BREAD_OK);
	assert_int_equal(commit1(w, below("p", "p", "e", "sa", BREAD_RUN_QUEUED)), BREAD_OK);
	assert_int_equal(commit1(w, kit_status("e", BREAD_RUN_RUNNING)), BREAD_OK);
	assert_int_equal(commit1(w, kit_run("q", "s", BREAD_RUN_RUNNING)), BREAD_E_CONFLICT);
}

/* ---- checkpoints ---- */

static struct bread_rec waiting(
	const char *id, const char *run, const char *root, const char *session, int64_t deadline)
{
	return (struct bread_rec){ .kind = BREAD_REC_CHECKPOINT,
		.checkpoint = { .id = brd_str(id),
			.agent_id = BRD_STR("a"),
			.run_id = brd_str(run),
			.session_id = brd_str(session),
			.tool_name = BRD_STR("ask"),
			.tool_call_id = BRD_STR("call"),
			.schema = BRD_STR("{\"q\":1}"),
			.created_at = 5,
			.root_id = brd_str(root),
			.node = BRD_STR("human.0.0"),
			.kind = BRD_STR("input"),
			.answer_schema = BRD_STR("{\"type\":\"string\"}"),
			.fallback = BRD_STR("\"no\""),
			.deadline = deadline } };
}

static void checkpoint_comes_back_as_it_was(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = waiting("c", "r", "p", "s", 77), foreign = { 0 };
	struct bread_read r;

	rec.checkpoint.prompt = BRD_STR("Sure?");
	rec.checkpoint.skill = BRD_STR("k");
	rec.checkpoint.parent = BRD_STR("{}");
	rec.checkpoint.pending = BRD_STR("[1]");
	assert_int_equal(commit1(w, rec), BREAD_OK);
	r = question(w, BREAD_READ_CHECKPOINT, "c");
	assert_int_equal(r.count, 1);
	assert_str(r.checkpoints->agent_id, "a");
	assert_str(r.checkpoints->run_id, "r");
	assert_str(r.checkpoints->session_id, "s");
	assert_str(r.checkpoints->tool_name, "ask");
	assert_str(r.checkpoints->tool_call_id, "call");
	assert_str(r.checkpoints->schema, "{\"q\":1}");
	assert_str(r.checkpoints->prompt, "Sure?");
	assert_str(r.checkpoints->skill, "k");
	assert_str(r.checkpoints->parent, "{}");
	assert_str(r.checkpoints->pending, "[1]");
	assert_int_equal(r.checkpoints->created_at, 5);
	assert_str(r.checkpoints->root_id, "p");
	assert_str(r.checkpoints->node, "human.0.0");
	assert_str(r.checkpoints->kind, "input");
	assert_str(r.checkpoints->answer_schema, "{\"type\":\"string\"}");
	assert_str(r.checkpoints->fallback, "\"no\"");
	assert_int_equal(r.checkpoints->deadline, 77);
	bread_read_fini(&r);

	foreign.kind = BREAD_REC_CHECKPOINT;
	foreign.checkpoint.id = BRD_STR("c");
	foreign.checkpoint.run_id = BRD_STR("r");
	assert_int_equal(commit1(w, foreign), BREAD_OK);
	r = question(w, BREAD_READ_CHECKPOINT, "c");
	assert_str(r.checkpoints->schema, "null");
	assert_str(r.checkpoints->root_id, "");
	assert_int_equal(r.checkpoints->deadline, 0);
	bread_read_fini(&r);
}

static size_t checkpoints_of(struct world *w, const char *run, struct bread_run_filter filter)
{
	struct bread_read r = {
		.kind = BREAD_READ_CHECKPOINTS, .key = brd_str(run), .filter = filter
	};
	size_t n;

	kit_read(w->store, w->loop, &r);
	n = r.count;
	bread_read_fini(&r);
	return n;
}

static void checkpoints_are_filtered(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { waiting("c2", "r1", "p", "s", 0),
		waiting("c1", "r2", "p", "s", 0), waiting("c3", "r3", "r3", "t", 0) };
	struct bread_read r;

	recs[2].checkpoint.agent_id = BRD_STR("b");
	recs[2].checkpoint.created_at = 4;
	commit(w, recs, COUNT(recs));
	r = question(w, BREAD_READ_CHECKPOINTS, NULL);
	assert_int_equal(r.count, 3);
	assert_str(r.checkpoints[0].id, "c3");
	assert_str(r.checkpoints[1].id, "c1");
	assert_str(r.checkpoints[2].id, "c2");
	bread_read_fini(&r);
	assert_int_equal(checkpoints_of(w, "r1", (struct bread_run_filter){ 0 }), 1);
	assert_int_equal(
		checkpoints_of(w, NULL, (struct bread_run_filter){ .root_id = BRD_STR("p") }), 2);
	assert_int_equal(
		checkpoints_of(w, "r1", (struct bread_run_filter){ .root_id = BRD_STR("r3") }), 0);
	assert_int_equal(
		checkpoints_of(w, NULL, (struct bread_run_filter){ .agent_id = BRD_STR("b") }), 1);
	assert_int_equal(
		checkpoints_of(w, NULL, (struct bread_run_filter){ .session_id = BRD_STR("s") }),
		2);
	assert_int_equal(checkpoints_of(w, NULL,
				 (struct bread_run_filter){
					 .root_id = BRD_STR("p"), .agent_id = BRD_STR("b") }),
		0);
}

static void due_ones_come_soonest_first(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { waiting("late", "r", "r", "s", 30),
		waiting("never", "r", "r", "s", 0), waiting("second", "r", "r", "s", 20),
		waiting("first", "r", "r", "s", 10) };
	struct bread_read r = { .kind = BREAD_READ_DUE, .filter.until = 20 };

	commit(w, recs, COUNT(recs));
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 2);
	assert_str(r.checkpoints[0].id, "first");
	assert_str(r.checkpoints[1].id, "second");
	bread_read_fini(&r);
	commit1(w, kit_key(BREAD_REC_CHECKPOINT_CLAIM, "first", NULL));
	r = (struct bread_read){ .kind = BREAD_READ_DUE, .filter.until = 99, .limit = 1 };
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_true(r.more);
	assert_str(r.checkpoints[0].id, "second");
	bread_read_fini(&r);
}

static void checkpoint_is_claimed_once(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = kit_key(BREAD_REC_CHECKPOINT_CLAIM, "c", NULL);

	commit1(w, waiting("c", "r", "p", "s", 0));
	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	assert_int_equal(commit(w, &rec, 1), BREAD_E_CONFLICT);
	assert_int_equal(
		checkpoints_of(w, NULL, (struct bread_run_filter){ .root_id = BRD_STR("p") }), 0);
	/* nothing of the old one is left to the next of that name */
	rec = waiting("c", "r", NULL, "s", 0);
	rec.checkpoint.node = rec.checkpoint.kind = (struct bread_str){ 0 };
	commit1(w, rec);
	assert_int_equal(
		checkpoints_of(w, NULL, (struct bread_run_filter){ .root_id = BRD_STR("p") }), 0);
}

static int64_t dropped(struct world *w, const char *key)
{
	struct bread_rec rec = kit_key(BREAD_REC_CHECKPOINT_DROP, key, NULL);

	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	return rec.affected;
}

static void checkpoints_go_with_their_run_or_tree(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { waiting("c1", "p", "p", "s", 0),
		waiting("c2", "a", "p", "s", 0), waiting("c3", "b", "p", "s", 0),
		waiting("c4", "lone", "lone", "s", 0) };

	commit(w, recs, COUNT(recs));
	assert_int_equal(dropped(w, "a"), 1);
	assert_int_equal(dropped(w, "a"), 0);
	assert_int_equal(dropped(w, "p"), 2);
	assert_int_equal(count_of(w, BREAD_READ_CHECKPOINTS, NULL), 1);
	assert_int_equal(count_of(w, BREAD_READ_CHECKPOINT, "c4"), 1);
}

static int64_t changed(
	struct world *w, enum bread_rec_kind kind, const char *key, const char *value)
{
	struct bread_rec rec = kit_key(kind, key, value);

	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	return rec.affected;
}

static void link_of_a_checkpoint_is_replaced_while_it_is_there(void **state)
{
	struct world *w = *state;
	struct bread_read r;

	commit1(w, waiting("c", "a", "p", "s", 5));
	assert_int_equal(changed(w, BREAD_REC_CHECKPOINT_LINK, "c", "{\"n\":1}"), 1);
	assert_int_equal(changed(w, BREAD_REC_CHECKPOINT_LINK, "c", "{\"n\":2}"), 1);
	r = question(w, BREAD_READ_CHECKPOINT, "c");
	assert_str(r.checkpoints->parent, "{\"n\":2}");
	assert_str(r.checkpoints->root_id, "p");
	assert_int_equal(r.checkpoints->deadline, 5);
	bread_read_fini(&r);
	commit1(w, kit_key(BREAD_REC_CHECKPOINT_CLAIM, "c", NULL));
	assert_int_equal(changed(w, BREAD_REC_CHECKPOINT_LINK, "c", "{}"), 0);
	assert_int_equal(count_of(w, BREAD_READ_CHECKPOINT, "c"), 0);
}

static void checkpoint_is_forgotten_whether_it_is_there_or_not(void **state)
{
	struct world *w = *state;

	commit1(w, waiting("c", "a", "p", "s", 0));
	assert_int_equal(changed(w, BREAD_REC_CHECKPOINT_FORGET, "c", NULL), 1);
	assert_int_equal(changed(w, BREAD_REC_CHECKPOINT_FORGET, "c", NULL), 0);
	assert_int_equal(
		checkpoints_of(w, NULL, (struct bread_run_filter){ .root_id = BRD_STR("p") }), 0);
}

/* ---- deleting ---- */

static void given_full_tree(struct world *w)
{
	struct bread_rec recs[] = { line("p", 1, "p", 1), line("p", 2, "a", 1),
		line("p", 3, "c", 1), kit_node("c", "n", 3, "1"), waiting("cp", "c", "p", "sa", 9),
		kit_message("m", "sa", 100, "1"),
		{ .kind = BREAD_REC_IDEMPOTENCY,
			.idempotency = { .key = BRD_STR("k"), .run_id = BRD_STR("p") } } };

	given_tree(w);
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
}

static void full_tree_is_there(struct world *w, size_t there)
{
	struct bread_read r = { .kind = BREAD_READ_DUE, .filter.until = 99 };

	assert_int_equal(count_of(w, BREAD_READ_TREE, "p"), there * 4);
	assert_int_equal(count_of(w, BREAD_READ_RUNS, NULL), there * 4);
	assert_int_equal(count_of(w, BREAD_READ_TREE_CRUMBS, "p"), there * 3);
	assert_int_equal(count_of(w, BREAD_READ_CRUMBS, "c"), there);
	assert_int_equal(count_of(w, BREAD_READ_NODES, "c"), there);
	assert_int_equal(count_of(w, BREAD_READ_ANSWERS, "p"), there);
	assert_int_equal(count_of(w, BREAD_READ_CHECKPOINT, "cp"), there);
	assert_int_equal(count_of(w, BREAD_READ_SESSION, "sa"), there);
	assert_int_equal(count_of(w, BREAD_READ_MESSAGES, "sa"), there);
	assert_int_equal(count_of(w, BREAD_READ_IDEMPOTENCY, "k"), there);
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, there);
	bread_read_fini(&r);
}

static void session_goes_with_the_trees_of_its_runs(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = kit_key(BREAD_REC_SESSION_DELETE, "s", NULL);

	given_full_tree(w);
	full_tree_is_there(w, 1);
	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	assert_int_equal(rec.affected, 1);
	full_tree_is_there(w, 0);
	/* all of its ids and numbers are free again */
	given_full_tree(w);
	full_tree_is_there(w, 1);
}

static void session_below_goes_without_its_root(void **state)
{
	struct world *w = *state;
	struct bread_read r;

	given_full_tree(w);
	assert_int_equal(commit1(w, kit_key(BREAD_REC_SESSION_DELETE, "sa", NULL)), BREAD_OK);
	r = question(w, BREAD_READ_TREE, "p");
	ids_are(&r, (const char *const[]){ "p" }, 1);
	assert_int_equal(r.runs->tree_head, 1);
	bread_read_fini(&r);
	assert_int_equal(count_of(w, BREAD_READ_TREE_CRUMBS, "p"), 1);
	assert_int_equal(count_of(w, BREAD_READ_CHECKPOINT, "cp"), 0);
	assert_int_equal(count_of(w, BREAD_READ_IDEMPOTENCY, "k"), 1);
	assert_int_equal(count_of(w, BREAD_READ_SESSION, "s"), 1);
}

static void refused_tx_brings_the_tree_back(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_key(BREAD_REC_SESSION_DELETE, "s", NULL),
		kit_session("s", 200, NULL), root_of_a_tree("p", "s"),
		below("p", "p", "a", NULL, BREAD_RUN_RUNNING), line("p", 1, "a", 1),
		kit_message("m2", "nobody", 1, "1") };

	given_full_tree(w);
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_E_NOT_FOUND);
	full_tree_is_there(w, 1);
	assert_int_equal(commit1(w, line("p", 4, "a", 2)), BREAD_OK);
	assert_int_equal(commit1(w, kit_key(BREAD_REC_SESSION_DELETE, "s", NULL)), BREAD_OK);
	full_tree_is_there(w, 0);
}

static void cleanup_counts_the_sessions_below(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = { .kind = BREAD_REC_SESSION_CLEANUP, .number = 200 };

	given_full_tree(w);
	commit1(w, kit_message("fresh", "sa", 900, "1")); /* not old itself */
	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	assert_int_equal(rec.affected, 2);
	full_tree_is_there(w, 0);
}

static const struct CMUnitTest tests[] = {
	T(run_of_a_tree_comes_back_as_it_was),
	T(status_takes_steps),
	T(tree_is_read_root_first),
	T(tree_is_read_in_pages),
	T(open_part_of_a_tree_keeps_the_root),
	T(journals_of_a_tree_come_by_run),
	T(answers_of_a_tree_are_found),
	T(log_of_a_tree_has_the_crumbs_of_all),
	T(log_of_a_tree_is_cut_by_bytes),
	T(number_in_a_tree_is_taken_once),
	T(wake_is_counted_until_the_run_is_taken),
	T(unfinished_are_roots_that_are_awake),
	T(runs_below_do_not_keep_a_session_busy),
	T(checkpoint_comes_back_as_it_was),
	T(checkpoints_are_filtered),
	T(due_ones_come_soonest_first),
	T(checkpoint_is_claimed_once),
	T(checkpoints_go_with_their_run_or_tree),
	T(link_of_a_checkpoint_is_replaced_while_it_is_there),
	T(checkpoint_is_forgotten_whether_it_is_there_or_not),
	T(session_goes_with_the_trees_of_its_runs),
	T(session_below_goes_without_its_root),
	T(refused_tx_brings_the_tree_back),
	T(cleanup_counts_the_sessions_below),
};

int main(void)
{
	return run_contract(tests, COUNT(tests));
}

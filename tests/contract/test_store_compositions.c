/* SPDX-License-Identifier: MIT */
/* The contract of a store, run on every implementation: loops, task runs, knowledge,
 * documents, and the keys of requests. */
#include "contract/store_world.h"

static struct bread_read filtered(
	struct world *w, enum bread_read_kind kind, struct bread_run_filter filter)
{
	struct bread_read r = { .kind = kind, .filter = filter };

	kit_read(w->store, w->loop, &r);
	return r;
}

static size_t count_filtered(
	struct world *w, enum bread_read_kind kind, struct bread_run_filter filter)
{
	struct bread_read r = filtered(w, kind, filter);
	size_t n = r.count;

	bread_read_fini(&r);
	return n;
}
#define FILTER(...) ((struct bread_run_filter){ __VA_ARGS__ })

static struct bread_rec a_loop(const char *id, const char *session, int64_t started)
{
	return (struct bread_rec){ .kind = BREAD_REC_LOOP,
		.loop = { .id = brd_str(id),
			.agent_id = BRD_STR("a"),
			.session_id = brd_str(session),
			.run_id = BRD_STR("r"),
			.pool = BRD_STR("[\"x\",\"y\"]"),
			.pipeline = BRD_STR("[\"x\"]"),
			.status = BRD_STR("running"),
			.max_iterations = 5,
			.started_at = started } };
}

static void loop_comes_back_and_is_replaced(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = a_loop("l", "s", 10);
	struct bread_read r;

	assert_int_equal(commit1(w, rec), BREAD_OK);
	r = question(w, BREAD_READ_LOOP, "l");
	assert_int_equal(r.count, 1);
	assert_str(r.loops->id, "l");
	assert_str(r.loops->agent_id, "a");
	assert_str(r.loops->session_id, "s");
	assert_str(r.loops->run_id, "r");
	assert_str(r.loops->pool, "[\"x\",\"y\"]");
	assert_str(r.loops->pipeline, "[\"x\"]");
	assert_str(r.loops->status, "running");
	assert_str(r.loops->result, "");
	assert_int_equal(r.loops->max_iterations, 5);
	assert_int_equal(r.loops->iterations, 0);
	assert_int_equal(r.loops->started_at, 10);
	assert_int_equal(r.loops->completed_at, 0);
	bread_read_fini(&r);
	rec.loop.status = BRD_STR("completed");
	rec.loop.result = BRD_STR("{\"done\":true}");
	rec.loop.iterations = 2;
	rec.loop.completed_at = 20;
	assert_int_equal(commit1(w, rec), BREAD_OK);
	r = question(w, BREAD_READ_LOOP, "l");
	assert_str(r.loops->status, "completed");
	assert_str(r.loops->result, "{\"done\":true}");
	assert_int_equal(r.loops->iterations, 2);
	assert_int_equal(r.loops->completed_at, 20);
	bread_read_fini(&r);
	assert_int_equal(count_of(w, BREAD_READ_LOOPS, NULL), 1);
	assert_int_equal(count_of(w, BREAD_READ_LOOP, "nobody"), 0);
}

static void loops_are_filtered_newest_first(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { a_loop("l1", "s", 10), a_loop("l2", "t", 30),
		a_loop("l3", "s", 20), a_loop("l4", "s", 20), a_loop("l3", "s", 20) };
	static const char *const order[] = { "l2", "l4", "l3", "l1" };
	struct bread_read r;

	recs[0].loop.status = BRD_STR("failed");
	recs[1].loop.agent_id = BRD_STR("b");
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
	r = question(w, BREAD_READ_LOOPS, NULL);
	assert_int_equal(r.count, COUNT(order));
	for (size_t i = 0; i < COUNT(order); i++)
		assert_str(r.loops[i].id, order[i]);
	bread_read_fini(&r);
	assert_int_equal(
		count_filtered(w, BREAD_READ_LOOPS, FILTER(.session_id = BRD_STR("s"))), 3);
	assert_int_equal(count_filtered(w, BREAD_READ_LOOPS, FILTER(.agent_id = BRD_STR("b"))), 1);
	assert_int_equal(
		count_filtered(w, BREAD_READ_LOOPS,
			FILTER(.session_id = BRD_STR("s"), .status_word = BRD_STR("running"))),
		2);
}

static struct bread_rec a_round(const char *id, const char *loop, int64_t index)
{
	return (struct bread_rec){ .kind = BREAD_REC_LOOP_ROUND,
		.round = { .id = brd_str(id),
			.loop_id = brd_str(loop),
			.input = BRD_STR("\"in\""),
			.output = BRD_STR("{\"o\":1}"),
			.index = index,
			.started_at = 1,
			.completed_at = 2 } };
}

static void rounds_come_by_index(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { a_round("i2", "l", 2), a_round("i1", "l", 1),
		a_round("i3", "other", 1) };
	struct bread_read r;

	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
	assert_int_equal(commit1(w, a_round("i1", "l", 3)), BREAD_E_CONFLICT);
	r = question(w, BREAD_READ_LOOP_ROUNDS, "l");
	assert_int_equal(r.count, 2);
	assert_str(r.rounds[0].id, "i1");
	assert_str(r.rounds[0].loop_id, "l");
	assert_str(r.rounds[0].input, "\"in\"");
	assert_str(r.rounds[0].output, "{\"o\":1}");
	assert_int_equal(r.rounds[0].index, 1);
	assert_int_equal(r.rounds[0].started_at, 1);
	assert_int_equal(r.rounds[0].completed_at, 2);
	assert_str(r.rounds[1].id, "i2");
	bread_read_fini(&r);
}

static struct bread_rec a_task_run(const char *id, const char *task, int64_t at)
{
	return (struct bread_rec){ .kind = BREAD_REC_TASK_RUN,
		.task_run = { .id = brd_str(id),
			.task_id = brd_str(task),
			.agent_id = BRD_STR("a"),
			.session_id = BRD_STR("s"),
			.run_id = BRD_STR("r"),
			.model = BRD_STR("{\"provider\":\"p\",\"model\":\"m\"}"),
			.input = BRD_STR("{\"i\":1}"),
			.status = BRD_STR("running"),
			.duration_ms = -1,
			.created_at = at } };
}

static void task_run_comes_back_and_is_replaced(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = a_task_run("t", "task", 10);
	struct bread_read r;

	assert_int_equal(commit1(w, rec), BREAD_OK);
	r = question(w, BREAD_READ_TASK_RUN, "t");
	assert_int_equal(r.count, 1);
	assert_str(r.task_runs->task_id, "task");
	assert_str(r.task_runs->agent_id, "a");
	assert_str(r.task_runs->session_id, "s");
	assert_str(r.task_runs->run_id, "r");
	assert_str(r.task_runs->model, "{\"provider\":\"p\",\"model\":\"m\"}");
	assert_str(r.task_runs->input, "{\"i\":1}");
	assert_str(r.task_runs->output, "");
	assert_str(r.task_runs->status, "running");
	assert_int_equal(r.task_runs->duration_ms, -1);
	assert_int_equal(r.task_runs->created_at, 10);
	assert_int_equal(r.task_runs->completed_at, 0);
	bread_read_fini(&r);
	rec.task_run.status = BRD_STR("failed");
	rec.task_run.output = BRD_STR("null");
	rec.task_run.usage = BRD_STR("{}");
	rec.task_run.error = BRD_STR("no");
	rec.task_run.duration_ms = 0;
	rec.task_run.completed_at = 10;
	commit1(w, rec);
	r = question(w, BREAD_READ_TASK_RUN, "t");
	assert_str(r.task_runs->status, "failed");
	assert_str(r.task_runs->output, "null");
	assert_str(r.task_runs->usage, "{}");
	assert_str(r.task_runs->error, "no");
	assert_int_equal(r.task_runs->duration_ms, 0);
	assert_int_equal(r.task_runs->completed_at, 10);
	bread_read_fini(&r);
}

static void task_runs_are_filtered_newest_first(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { a_task_run("t1", "x", 10), a_task_run("t2", "y", 20),
		a_task_run("t3", "x", 20) };
	struct bread_read r = { .kind = BREAD_READ_TASK_RUNS, .after = 1, .limit = 1 };

	recs[0].task_run.session_id = BRD_STR("other");
	recs[1].task_run.agent_id = BRD_STR("b");
	recs[2].task_run.status = BRD_STR("completed");
	commit(w, recs, COUNT(recs));
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_str(r.task_runs->id, "t2");
	assert_true(r.more);
	bread_read_fini(&r);
	r = filtered(w, BREAD_READ_TASK_RUNS, FILTER(.task_id = BRD_STR("x")));
	assert_int_equal(r.count, 2);
	assert_str(r.task_runs[0].id, "t3");
	bread_read_fini(&r);
	assert_int_equal(
		count_filtered(w, BREAD_READ_TASK_RUNS, FILTER(.session_id = BRD_STR("s"))), 2);
	assert_int_equal(
		count_filtered(w, BREAD_READ_TASK_RUNS, FILTER(.agent_id = BRD_STR("b"))), 1);
	assert_int_equal(
		count_filtered(w, BREAD_READ_TASK_RUNS, FILTER(.status_word = BRD_STR("running"))),
		2);
}

static struct bread_rec known(const char *id, const char *session, const char *label, int64_t at)
{
	return (struct bread_rec){ .kind = BREAD_REC_KNOWLEDGE,
		.knowledge = { .id = brd_str(id),
			.agent_id = BRD_STR("a"),
			.session_id = brd_str(session),
			.label = brd_str(label),
			.created_at = at } };
}

static void knowledge_is_found_by_its_label(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { known("k1", "s", "The Red fox", 1),
		known("k2", "t", "redder", 2), known("k3", "s", "100%", 3),
		known("k4", "s", "red", 4) };
	struct bread_read r;

	recs[0].knowledge.data = BRD_STR("{\"k\":\"v\"}");
	recs[3].knowledge.agent_id = BRD_STR("b");
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
	r = filtered(
		w, BREAD_READ_KNOWLEDGE, FILTER(.agent_id = BRD_STR("a"), .text = BRD_STR("RED")));
	assert_int_equal(r.count, 2);
	assert_str(r.knowledge[0].id, "k2");
	assert_str(r.knowledge[0].data, "{}");
	assert_str(r.knowledge[1].label, "The Red fox");
	assert_str(r.knowledge[1].data, "{\"k\":\"v\"}");
	assert_str(r.knowledge[1].session_id, "s");
	assert_int_equal(r.knowledge[1].created_at, 1);
	bread_read_fini(&r);
	/* what would be a wildcard elsewhere is a character */
	assert_int_equal(count_filtered(w, BREAD_READ_KNOWLEDGE,
				 FILTER(.agent_id = BRD_STR("a"), .text = BRD_STR("%"))),
		1);
	assert_int_equal(
		count_filtered(w, BREAD_READ_KNOWLEDGE, FILTER(.agent_id = BRD_STR("a"))), 3);
	r = filtered(w, BREAD_READ_KNOWLEDGE_OF,
		FILTER(.agent_id = BRD_STR("a"), .session_id = BRD_STR("s")));
	assert_int_equal(r.count, 2);
	assert_str(r.knowledge[0].id, "k3");
	assert_str(r.knowledge[1].id, "k1");
	bread_read_fini(&r);
}

static int64_t related(struct world *w, const char *id, const char *to, const char *edge)
{
	struct bread_rec rec = known(id, "s", id, 1);

	rec.knowledge.to_id = brd_str(to);
	rec.knowledge.relation = BRD_STR("knows");
	rec.knowledge.edge_id = brd_str(edge);
	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	return rec.affected;
}

static int64_t forgotten(struct world *w, const char *id, const char *agent)
{
	struct bread_rec rec = kit_key(BREAD_REC_KNOWLEDGE_FORGET, id, agent);

	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	return rec.affected;
}

static void knowledge_is_related_to_what_is_there(void **state)
{
	struct world *w = *state;

	commit1(w, known("k1", "s", "one", 1));
	assert_int_equal(commit1(w, known("k1", "s", "again", 1)), BREAD_E_CONFLICT);
	assert_int_equal(related(w, "k2", "k1", "e1"), 1);
	assert_int_equal(related(w, "k3", "nobody", "e2"), 0);
	assert_int_equal(forgotten(w, "k1", "other"), 0);
	assert_int_equal(forgotten(w, "k1", "a"), 1);
	assert_int_equal(forgotten(w, "k1", "a"), 0);
	assert_int_equal(
		count_filtered(w, BREAD_READ_KNOWLEDGE, FILTER(.agent_id = BRD_STR("a"))), 2);
	/* the edge went with one of its ends: its id is free */
	assert_int_equal(related(w, "k4", "k2", "e1"), 1);
}

static struct bread_rec a_document(const char *id, const char *title, const char *content)
{
	return (struct bread_rec){ .kind = BREAD_REC_DOCUMENT,
		.document = { .id = brd_str(id),
			.agent_id = BRD_STR("a"),
			.title = brd_str(title),
			.content = brd_str(content),
			.created_at = 1 } };
}

static void documents_are_found_by_title_or_content(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { a_document("d2", "Bread", "how to bake"),
		a_document("d1", "Cake", "unlike bread"), a_document("d3", "Soup", "hot"),
		a_document("d4", "bread", "") };
	struct bread_read r;

	recs[0].document.source = BRD_STR("book");
	recs[3].document.agent_id = BRD_STR("b");
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
	assert_int_equal(commit1(w, recs[0]), BREAD_E_CONFLICT);
	r = filtered(w, BREAD_READ_DOCUMENTS,
		FILTER(.agent_id = BRD_STR("a"), .text = BRD_STR("bReAd")));
	assert_int_equal(r.count, 2);
	assert_str(r.documents[0].id, "d2");
	assert_str(r.documents[0].source, "book");
	assert_str(r.documents[1].id, "d1");
	assert_str(r.documents[1].source, "");
	assert_str(r.documents[1].content, "unlike bread");
	bread_read_fini(&r);
	r = (struct bread_read){
		.kind = BREAD_READ_DOCUMENT, .key = BRD_STR("d2"), .filter.agent_id = BRD_STR("a")
	};
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_str(r.documents->title, "Bread");
	bread_read_fini(&r);
	r = (struct bread_read){
		.kind = BREAD_READ_DOCUMENT, .key = BRD_STR("d4"), .filter.agent_id = BRD_STR("a")
	};
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 0);
	bread_read_fini(&r);
}

static struct bread_rec a_key(const char *key, int64_t at)
{
	return (struct bread_rec){ .kind = BREAD_REC_IDEMPOTENCY,
		.idempotency = { .key = brd_str(key),
			.hash = BRD_STR("hash"),
			.run_id = BRD_STR("r"),
			.after = 7,
			.created_at = at } };
}

static void on_end(struct bread_op *op)
{
	*(int *)op->arg = 1;
}

static void key_is_used_once(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = a_key("k", 10);
	struct bread_tx tx = { .recs = &rec, .count = 1 };
	struct bread_read r;
	int ended = 0;

	assert_int_equal(commit1(w, rec), BREAD_OK);
	bread_op_init(&tx.op, w->loop, on_end, &ended);
	brd_store_commit(w->store, &tx);
	while (!ended)
		brd_loop_turn(w->loop, -1);
	assert_int_equal(tx.op.code, BREAD_E_CONFLICT);
	assert_string_equal(tx.op.err.name, "IDEMPOTENCY_KEY");
	r = question(w, BREAD_READ_IDEMPOTENCY, "k");
	assert_int_equal(r.count, 1);
	assert_str(r.idempotency->key, "k");
	assert_str(r.idempotency->hash, "hash");
	assert_str(r.idempotency->run_id, "r");
	assert_int_equal(r.idempotency->after, 7);
	assert_int_equal(r.idempotency->created_at, 10);
	bread_read_fini(&r);
}

static void old_keys_are_cleaned_up(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { a_key("k3", 30), a_key("k1", 10), a_key("k2", 20) };
	struct bread_rec rec = { .kind = BREAD_REC_IDEMPOTENCY_CLEANUP, .number = 20 };

	commit(w, recs, COUNT(recs));
	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	assert_int_equal(rec.affected, 1);
	assert_int_equal(count_of(w, BREAD_READ_IDEMPOTENCY, "k1"), 0);
	assert_int_equal(count_of(w, BREAD_READ_IDEMPOTENCY, "k2"), 1);
	assert_int_equal(commit1(w, a_key("k1", 40)), BREAD_OK);
}

static void refused_tx_leaves_no_row_behind(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { a_loop("l", "s", 1), a_round("i", "l", 1),
		a_task_run("t", "x", 1), known("k", "s", "l", 1), a_document("d", "t", "c"),
		a_key("new", 1), kit_key(BREAD_REC_KNOWLEDGE_FORGET, "old", "a"),
		{ .kind = BREAD_REC_IDEMPOTENCY_CLEANUP, .number = 50 }, a_key("new2", 1),
		kit_message("m", "nobody", 1, "1") };

	commit1(w, known("old", "s", "old", 1));
	commit1(w, a_key("kept", 10));
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_E_NOT_FOUND);
	assert_int_equal(count_of(w, BREAD_READ_LOOPS, NULL), 0);
	assert_int_equal(count_of(w, BREAD_READ_LOOP_ROUNDS, "l"), 0);
	assert_int_equal(count_of(w, BREAD_READ_TASK_RUN, "t"), 0);
	assert_int_equal(count_filtered(w, BREAD_READ_KNOWLEDGE,
				 FILTER(.agent_id = BRD_STR("a"), .text = BRD_STR("old"))),
		1);
	assert_int_equal(
		count_filtered(w, BREAD_READ_KNOWLEDGE, FILTER(.agent_id = BRD_STR("a"))), 1);
	assert_int_equal(
		count_filtered(w, BREAD_READ_DOCUMENTS, FILTER(.agent_id = BRD_STR("a"))), 0);
	assert_int_equal(count_of(w, BREAD_READ_IDEMPOTENCY, "new"), 0);
	assert_int_equal(count_of(w, BREAD_READ_IDEMPOTENCY, "new2"), 0);
	assert_int_equal(count_of(w, BREAD_READ_IDEMPOTENCY, "kept"), 1);
}

static void what_a_session_leaves_behind_stays(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { a_loop("l", "s", 1), a_task_run("t", "x", 1),
		known("k", "s", "l", 1), a_document("d", "t", "c"), a_key("key", 1) };

	given(w, "s", "r");
	commit(w, recs, COUNT(recs));
	assert_int_equal(commit1(w, kit_key(BREAD_REC_SESSION_DELETE, "s", NULL)), BREAD_OK);
	assert_int_equal(count_of(w, BREAD_READ_LOOP, "l"), 1);
	assert_int_equal(count_of(w, BREAD_READ_TASK_RUN, "t"), 1);
	assert_int_equal(
		count_filtered(w, BREAD_READ_KNOWLEDGE, FILTER(.agent_id = BRD_STR("a"))), 1);
	assert_int_equal(
		count_filtered(w, BREAD_READ_DOCUMENTS, FILTER(.agent_id = BRD_STR("a"))), 1);
	assert_int_equal(count_of(w, BREAD_READ_IDEMPOTENCY, "key"), 0);
}

static const struct CMUnitTest tests[] = {
	T(loop_comes_back_and_is_replaced),
	T(loops_are_filtered_newest_first),
	T(rounds_come_by_index),
	T(task_run_comes_back_and_is_replaced),
	T(task_runs_are_filtered_newest_first),
	T(knowledge_is_found_by_its_label),
	T(knowledge_is_related_to_what_is_there),
	T(documents_are_found_by_title_or_content),
	T(key_is_used_once),
	T(old_keys_are_cleaned_up),
	T(refused_tx_leaves_no_row_behind),
	T(what_a_session_leaves_behind_stays),
};

int main(void)
{
	return run_contract(tests, COUNT(tests));
}

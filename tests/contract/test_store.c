/* SPDX-License-Identifier: MIT */
/* The contract of a store (include/bread/ext/store.h), run on every implementation:
 * what each record does and each question answers. */
#include "contract/store_world.h"

/* ---- sessions and messages ---- */

static void session_comes_back_as_it_was(void **state)
{
	struct world *w = *state;
	struct bread_read r;
	struct bread_rec rec = kit_session("s", 100, "{\"owner\":\"x\"}");

	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	assert_int_equal(rec.affected, 1);
	r = question(w, BREAD_READ_SESSION, "s");
	assert_int_equal(r.count, 1);
	assert_str(r.sessions->id, "s");
	assert_str(r.sessions->agent_id, "a");
	assert_str(r.sessions->tags, "{\"owner\":\"x\"}");
	assert_int_equal(r.sessions->created_at, 100);
	assert_int_equal(r.sessions->updated_at, 100);
	assert_false(r.more);
	bread_read_fini(&r);
	assert_int_equal(count_of(w, BREAD_READ_SESSION, "other"), 0);
}

static void session_that_exists_stays(void **state)
{
	struct world *w = *state;
	struct bread_rec again = kit_session("s", 200, "{\"b\":\"2\"}");
	struct bread_read r;

	commit1(w, kit_session("s", 100, "{\"a\":\"1\"}"));
	assert_int_equal(commit(w, &again, 1), BREAD_OK);
	assert_int_equal(again.affected, 0);
	r = question(w, BREAD_READ_SESSION, "s");
	assert_str(r.sessions->tags, "{\"a\":\"1\"}");
	assert_int_equal(r.sessions->created_at, 100);
	bread_read_fini(&r);
}

static void session_without_tags_has_an_empty_object(void **state)
{
	struct world *w = *state;
	struct bread_read r;

	commit1(w, kit_session("s", 100, NULL));
	r = question(w, BREAD_READ_SESSION, "s");
	assert_str(r.sessions->tags, "{}");
	bread_read_fini(&r);
}

static void messages_come_by_time_then_id(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_session("s", 100, NULL),
		kit_message("m3", "s", 300, "\"three\""), kit_message("m2b", "s", 200, "\"two b\""),
		kit_message("m2a", "s", 200, "\"two a\""), kit_message("m1", "s", 150, "\"one\"") };
	static const char *const order[] = { "m1", "m2a", "m2b", "m3" };
	struct bread_read r;

	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
	r = question(w, BREAD_READ_MESSAGES, "s");
	assert_int_equal(r.count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_str(r.messages[i].id, order[i]);
	assert_str(r.messages[0].role, "user");
	assert_str(r.messages[0].content, "\"one\"");
	assert_str(r.messages[0].session_id, "s");
	bread_read_fini(&r);
}

static void message_moves_the_sessions_time(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_message("m1", "s", 500, "1"),
		kit_message("m2", "s", 700, "2"), kit_message("m3", "t", 800, "3") };
	struct bread_read r;

	commit1(w, kit_session("s", 100, NULL));
	commit1(w, kit_session("t", 100, NULL));
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
	r = question(w, BREAD_READ_SESSION, "s");
	assert_int_equal(r.sessions->updated_at, 700);
	assert_int_equal(r.sessions->created_at, 100);
	bread_read_fini(&r);
	r = question(w, BREAD_READ_SESSION, "t");
	assert_int_equal(r.sessions->updated_at, 800);
	bread_read_fini(&r);
}

static void message_for_an_unknown_session_is_not_found(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_message("m1", "nobody", 1, "1"),
		kit_message("m2", "nobody", 2, "2") };

	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_E_NOT_FOUND);
	assert_int_equal(count_of(w, BREAD_READ_MESSAGES, "nobody"), 0);
	/* nothing of it stayed: the ids are free */
	commit1(w, kit_session("s", 1, NULL));
	assert_int_equal(commit1(w, kit_message("m1", "s", 1, "1")), BREAD_OK);
}

static void message_id_is_taken_once(void **state)
{
	struct world *w = *state;

	commit1(w, kit_session("s", 1, NULL));
	assert_int_equal(commit1(w, kit_message("m", "s", 1, "1")), BREAD_OK);
	assert_int_equal(commit1(w, kit_message("m", "s", 2, "2")), BREAD_E_CONFLICT);
	assert_int_equal(count_of(w, BREAD_READ_MESSAGES, "s"), 1);
}

static struct bread_read tagged(struct world *w, const char *key, const char *value)
{
	struct bread_read r = { .kind = BREAD_READ_SESSIONS,
		.filter = { .status = -1, .tag_key = brd_str(key), .tag_value = brd_str(value) } };

	kit_read(w->store, w->loop, &r);
	return r;
}

static void sessions_are_listed_by_creation_and_tag(void **state)
{
	struct world *w = *state;
	struct bread_read r;

	commit1(w, kit_session("s3", 300, "{\"owner\":\"ann\",\"x\":\"1\"}"));
	commit1(w, kit_session("s1", 100, "{\"owner\":\"bob\"}"));
	commit1(w, kit_session("s2", 200, "{}"));
	commit1(w, kit_session("s4", 400, "{\"o\\u0077ner\":\"a\\u006en\"}"));
	r = question(w, BREAD_READ_SESSIONS, NULL);
	assert_int_equal(r.count, 4);
	assert_str(r.sessions[0].id, "s1");
	assert_str(r.sessions[3].id, "s4");
	bread_read_fini(&r);
	r = tagged(w, "owner", "ann");
	assert_int_equal(r.count, 2);
	assert_str(r.sessions[0].id, "s3");
	assert_str(r.sessions[1].id, "s4");
	bread_read_fini(&r);
	r = tagged(w, "owner", NULL);
	assert_int_equal(r.count, 1);
	assert_str(r.sessions[0].id, "s2");
	bread_read_fini(&r);
	r = tagged(w, "owner", "");
	assert_int_equal(r.count, 0);
	bread_read_fini(&r);
}

static void pages_skip_and_say_that_there_is_more(void **state)
{
	struct world *w = *state;
	struct bread_read r = { .kind = BREAD_READ_SESSIONS, .limit = 2, .filter.status = -1 };

	for (int i = 0; i < 5; i++) {
		char id[16];

		snprintf(id, sizeof(id), "s%d", i);
		commit1(w, kit_session(id, i, NULL));
	}
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 2);
	assert_true(r.more);
	bread_read_fini(&r);
	r.after = 4;
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_false(r.more);
	assert_str(r.sessions[0].id, "s4");
	bread_read_fini(&r);
}

/* ---- runs ---- */

static void run_comes_back_as_it_was(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = { .kind = BREAD_REC_RUN,
		.run = { .id = BRD_STR("r"),
			.root_id = BRD_STR("root"),
			.parent_id = BRD_STR("p"),
			.agent_id = BRD_STR("a"),
			.session_id = BRD_STR("s"),
			.status = BREAD_RUN_QUEUED,
			.owner = BRD_STR("o"),
			.epoch = 7,
			.definition = BRD_STR("hash"),
			.input = BRD_STR("{\"i\":1}"),
			.output = BRD_STR("\"out\""),
			.files = BRD_STR("[]"),
			.error = BRD_STR("null"),
			.options = BRD_STR("{\"skill\":\"k\"}"),
			.tags = BRD_STR("{\"t\":\"1\"}"),
			.created_at = 1,
			.started_at = 2,
			.ended_at = 3,
			.input_tokens = 4,
			.output_tokens = 5,
			.cancel_requested = 1 } };
	struct bread_read r;
	const struct bread_run_row *row;

	assert_int_equal(commit1(w, kit_session("s", 1, NULL)), BREAD_OK);
	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	r = question(w, BREAD_READ_RUN, "r");
	assert_int_equal(r.count, 1);
	row = r.runs;
	assert_str(row->id, "r");
	assert_str(row->root_id, "root");
	assert_str(row->parent_id, "p");
	assert_str(row->agent_id, "a");
	assert_str(row->session_id, "s");
	assert_int_equal(row->status, BREAD_RUN_QUEUED);
	assert_str(row->owner, "o");
	assert_int_equal(row->epoch, 7);
	assert_str(row->definition, "hash");
	assert_str(row->input, "{\"i\":1}");
	assert_str(row->output, "\"out\"");
	assert_str(row->files, "[]");
	assert_str(row->error, "null");
	assert_str(row->options, "{\"skill\":\"k\"}");
	assert_str(row->tags, "{\"t\":\"1\"}");
	assert_int_equal(row->created_at, 1);
	assert_int_equal(row->started_at, 2);
	assert_int_equal(row->ended_at, 3);
	assert_int_equal(row->input_tokens, 4);
	assert_int_equal(row->output_tokens, 5);
	assert_int_equal(row->cancel_requested, 1);
	assert_int_equal(row->head, 0);
	bread_read_fini(&r);
}

static void run_id_is_taken_once(void **state)
{
	struct world *w = *state;
	struct bread_rec again[] = { kit_message("m", "s", 900, "1"),
		kit_run("r", "s", BREAD_RUN_QUEUED) };

	given(w, "s", "r");
	assert_int_equal(commit(w, again, COUNT(again)), BREAD_E_CONFLICT);
	assert_int_equal(count_of(w, BREAD_READ_MESSAGES, "s"), 0);
}

static void status_keeps_what_is_not_given(void **state)
{
	struct world *w = *state;
	struct bread_rec first = kit_status("r", BREAD_RUN_SUSPENDED);
	struct bread_read r;

	given(w, "s", "r");
	first.run.output = BRD_STR("1");
	first.run.started_at = 5;
	first.run.input_tokens = 9;
	assert_int_equal(fenced1(w, "r", 1, first), BREAD_OK);
	assert_int_equal(fenced1(w, "r", 1, kit_status("r", BREAD_RUN_COMPLETED)), BREAD_OK);
	r = question(w, BREAD_READ_RUN, "r");
	assert_int_equal(r.runs->status, BREAD_RUN_COMPLETED);
	assert_str(r.runs->output, "1");
	assert_str(r.runs->input, "\"hello\"");
	assert_int_equal(r.runs->started_at, 5);
	assert_int_equal(r.runs->ended_at, 0);
	assert_int_equal(r.runs->input_tokens, 9);
	bread_read_fini(&r);
	assert_int_equal(commit1(w, kit_status("nobody", BREAD_RUN_FAILED)), BREAD_E_NOT_FOUND);
}

static void head_is_the_highest_seq(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_crumb("r", 1, "s", BRD_STR("{}")),
		kit_crumb("r", 2, "s", BRD_STR("{}")), kit_crumb("r", 9, "s", BRD_STR("{}")) };
	struct bread_read r;

	given(w, "s", "r");
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
	r = question(w, BREAD_READ_RUN, "r");
	assert_int_equal(r.runs->head, 9);
	bread_read_fini(&r);
}

static void old_epoch_changes_nothing(void **state)
{
	struct world *w = *state;

	given(w, "s", "r");
	assert_int_equal(
		fenced1(w, "r", 0, kit_crumb("r", 1, "s", BRD_STR("{}"))), BREAD_E_CONFLICT);
	assert_int_equal(
		fenced1(w, "r", 2, kit_crumb("r", 1, "s", BRD_STR("{}"))), BREAD_E_CONFLICT);
	assert_int_equal(
		fenced1(w, "gone", 1, kit_crumb("r", 1, "s", BRD_STR("{}"))), BREAD_E_CONFLICT);
	assert_int_equal(count_of(w, BREAD_READ_CRUMBS, "r"), 0);
	assert_int_equal(fenced1(w, "r", 1, kit_crumb("r", 1, "s", BRD_STR("{}"))), BREAD_OK);
}

static void take_over_shuts_the_old_owner_out(void **state)
{
	struct world *w = *state;
	struct bread_read r;

	given(w, "s", "r");
	assert_int_equal(fenced1(w, "r", 1, kit_take("r", "you")), BREAD_OK);
	assert_int_equal(fenced1(w, "r", 1, kit_take("r", "third")), BREAD_E_CONFLICT);
	assert_int_equal(
		fenced1(w, "r", 1, kit_status("r", BREAD_RUN_COMPLETED)), BREAD_E_CONFLICT);
	r = question(w, BREAD_READ_RUN, "r");
	assert_str(r.runs->owner, "you");
	assert_int_equal(r.runs->epoch, 2);
	assert_int_equal(r.runs->status, BREAD_RUN_RUNNING);
	bread_read_fini(&r);
	assert_int_equal(fenced1(w, "r", 2, kit_status("r", BREAD_RUN_COMPLETED)), BREAD_OK);
}

static void run_that_has_ended_cannot_be_taken(void **state)
{
	struct world *w = *state;
	struct bread_read r;

	given(w, "s", "r");
	assert_int_equal(fenced1(w, "r", 1, kit_status("r", BREAD_RUN_FAILED)), BREAD_OK);
	assert_int_equal(fenced1(w, "r", 1, kit_take("r", "you")), BREAD_E_CONFLICT);
	r = question(w, BREAD_READ_RUN, "r");
	assert_int_equal(r.runs->status, BREAD_RUN_FAILED);
	bread_read_fini(&r);
}

static void cancel_is_asked_of_open_runs_only(void **state)
{
	struct world *w = *state;
	struct bread_rec cancel = { .kind = BREAD_REC_RUN_CANCEL, .run.id = BRD_STR("r") };
	struct bread_read r;

	given(w, "s", "r");
	assert_int_equal(commit(w, &cancel, 1), BREAD_OK);
	assert_int_equal(cancel.affected, 1);
	r = question(w, BREAD_READ_RUN, "r");
	assert_int_equal(r.runs->cancel_requested, 1);
	bread_read_fini(&r);
	given(w, "t", "r2");
	commit1(w, kit_status("r2", BREAD_RUN_COMPLETED));
	cancel.run.id = BRD_STR("r2");
	assert_int_equal(commit(w, &cancel, 1), BREAD_OK);
	assert_int_equal(cancel.affected, 0);
}

static void unfinished_and_active_runs_are_found(void **state)
{
	struct world *w = *state;
	struct bread_read r;
	static const enum bread_run_status all[] = { BREAD_RUN_QUEUED, BREAD_RUN_RUNNING,
		BREAD_RUN_SUSPENDED, BREAD_RUN_COMPLETED, BREAD_RUN_FAILED, BREAD_RUN_CANCELLED };

	commit1(w, kit_session("s", 1, NULL));
	commit1(w, kit_session("t", 1, NULL));
	for (size_t i = 0; i < COUNT(all); i++) {
		char id[16];

		snprintf(id, sizeof(id), "r%zu", i);
		assert_int_equal(commit1(w, kit_run(id, i == 1 ? "t" : "s", all[i])), BREAD_OK);
	}
	r = question(w, BREAD_READ_UNFINISHED, NULL);
	assert_int_equal(r.count, 2);
	assert_str(r.runs[0].id, "r0");
	assert_str(r.runs[1].id, "r1");
	assert_str(r.runs[1].owner, "me");
	assert_int_equal(r.runs[1].epoch, 1);
	bread_read_fini(&r);
	r = question(w, BREAD_READ_ACTIVE, "s");
	assert_int_equal(r.count, 2);
	assert_str(r.runs[0].id, "r0");
	assert_str(r.runs[1].id, "r2");
	bread_read_fini(&r);
	commit1(w, kit_status("r2", BREAD_RUN_COMPLETED));
	assert_int_equal(count_of(w, BREAD_READ_ACTIVE, "s"), 1);
	assert_int_equal(count_of(w, BREAD_READ_ACTIVE, "nobody"), 0);
}

static void a_session_has_one_running_run(void **state)
{
	struct world *w = *state;
	struct bread_rec child = kit_run("c", "s", BREAD_RUN_RUNNING);
	struct bread_rec both[2];

	given(w, "s", "r");
	assert_int_equal(commit1(w, kit_run("r2", "s", BREAD_RUN_RUNNING)), BREAD_E_CONFLICT);
	both[0] = kit_session("s", 1, NULL);
	both[1] = kit_run("r2", "s", BREAD_RUN_RUNNING);
	assert_int_equal(commit(w, both, 2), BREAD_E_CONFLICT);
	child.run.parent_id = BRD_STR("r");
	assert_int_equal(commit1(w, child), BREAD_OK);
	commit1(w, kit_status("r", BREAD_RUN_SUSPENDED));
	assert_int_equal(commit1(w, kit_run("r2", "s", BREAD_RUN_RUNNING)), BREAD_E_CONFLICT);
	commit1(w, kit_status("r", BREAD_RUN_FAILED));
	assert_int_equal(commit(w, both, 2), BREAD_OK);
}

static enum bread_code take(struct world *w, const char *id)
{
	struct bread_rec rec = { .kind = BREAD_REC_RUN_TAKE,
		.run = { .id = brd_str(id), .owner = BRD_STR("you") } };

	return fenced1(w, id, 1, rec);
}

static void queued_runs_have_their_turn_in_order(void **state)
{
	struct world *w = *state;

	given(w, "s", "r");
	assert_int_equal(commit1(w, kit_run("q1", "s", BREAD_RUN_QUEUED)), BREAD_OK);
	assert_int_equal(commit1(w, kit_run("q2", "s", BREAD_RUN_QUEUED)), BREAD_OK);
	assert_int_equal(commit1(w, kit_status("q1", BREAD_RUN_RUNNING)), BREAD_E_CONFLICT);
	assert_int_equal(take(w, "q1"), BREAD_E_CONFLICT);
	commit1(w, kit_status("r", BREAD_RUN_COMPLETED));
	assert_int_equal(commit1(w, kit_run("r2", "s", BREAD_RUN_RUNNING)), BREAD_E_CONFLICT);
	assert_int_equal(commit1(w, kit_status("q2", BREAD_RUN_RUNNING)), BREAD_E_CONFLICT);
	assert_int_equal(commit1(w, kit_status("q1", BREAD_RUN_RUNNING)), BREAD_OK);
	assert_int_equal(take(w, "q2"), BREAD_E_CONFLICT);
	commit1(w, kit_status("q1", BREAD_RUN_CANCELLED));
	assert_int_equal(take(w, "q2"), BREAD_OK);
}

static void runs_come_newest_first_in_pages(void **state)
{
	struct world *w = *state;
	struct bread_read r = { .kind = BREAD_READ_RUNS, .limit = 3, .filter.status = -1 };

	commit1(w, kit_session("s", 1, NULL));
	for (int i = 0; i < 5; i++) {
		char id[16];

		snprintf(id, sizeof(id), "r%d", i);
		assert_int_equal(commit1(w, kit_run(id, "s", BREAD_RUN_COMPLETED)), BREAD_OK);
	}
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 3);
	assert_true(r.more);
	assert_str(r.runs[0].id, "r4");
	assert_str(r.runs[2].id, "r2");
	bread_read_fini(&r);
	r.filter.before = BRD_STR("r2");
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 2);
	assert_false(r.more);
	assert_str(r.runs[0].id, "r1");
	bread_read_fini(&r);
}

static size_t filtered(struct world *w, struct bread_run_filter f)
{
	struct bread_read r = { .kind = BREAD_READ_RUNS, .filter = f };
	size_t n;

	kit_read(w->store, w->loop, &r);
	n = r.count;
	bread_read_fini(&r);
	return n;
}

static void runs_are_filtered(void **state)
{
	struct world *w = *state;
	struct bread_rec one = kit_run("r1", "s", BREAD_RUN_RUNNING);
	struct bread_rec two = kit_run("r2", "t", BREAD_RUN_FAILED);
	struct bread_str ann = BRD_STR("ann"), owner = BRD_STR("owner");

	one.run.tags = BRD_STR("{\"owner\":\"ann\"}");
	two.run.agent_id = BRD_STR("b");
	commit1(w, kit_session("s", 1, NULL));
	commit1(w, kit_session("t", 1, NULL));
	commit1(w, one);
	commit1(w, two);
	assert_int_equal(filtered(w, (struct bread_run_filter){ .status = -1 }), 2);
	assert_int_equal(filtered(w, (struct bread_run_filter){ .status = BREAD_RUN_FAILED }), 1);
	assert_int_equal(
		filtered(w, (struct bread_run_filter){ .status = -1, .agent_id = BRD_STR("b") }),
		1);
	assert_int_equal(filtered(w, (struct bread_run_filter){ .status = BREAD_RUN_RUNNING,
					     .session_id = BRD_STR("t") }),
		0);
	assert_int_equal(filtered(w,
				 (struct bread_run_filter){
					 .status = -1, .tag_key = owner, .tag_value = ann }),
		1);
	assert_int_equal(
		filtered(w, (struct bread_run_filter){ .status = -1, .tag_key = owner }), 1);
}

/* ---- the log ---- */

static void crumb_number_is_taken_once(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_crumb("r", 2, "s", BRD_STR("{\"n\":2}")),
		kit_crumb("r", 3, "s", BRD_STR("{\"n\":3}")),
		kit_crumb("r", 1, "s", BRD_STR("{\"n\":1}")) };

	given(w, "s", "r");
	assert_int_equal(commit1(w, kit_crumb("r", 1, "s", BRD_STR("{}"))), BREAD_OK);
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_E_CONFLICT);
	assert_int_equal(count_of(w, BREAD_READ_CRUMBS, "r"), 1);
	assert_int_equal(commit(w, recs, 2), BREAD_OK);
	assert_int_equal(count_of(w, BREAD_READ_CRUMBS, "r"), 3);
}

static void crumb_is_read_by_number(void **state)
{
	struct world *w = *state;
	struct bread_read r = { .kind = BREAD_READ_CRUMB, .key = BRD_STR("r"), .after = 2 };

	given(w, "s", "r");
	commit1(w, kit_crumb("r", 1, "s", BRD_STR("{\"n\":1}")));
	commit1(w, kit_crumb("r", 2, "s", BRD_STR("{\"n\":2}")));
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_str(r.crumbs->crumb, "{\"n\":2}");
	assert_str(r.crumbs->type, "text:end");
	assert_str(r.crumbs->run_id, "r");
	assert_str(r.crumbs->session_id, "s");
	assert_str(r.crumbs->agent_id, "a");
	assert_int_equal(r.crumbs->seq, 2);
	assert_int_equal(r.crumbs->created_at, 1002);
	bread_read_fini(&r);
	r.after = 3;
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 0);
	bread_read_fini(&r);
}

static void crumbs_come_in_pages_by_count(void **state)
{
	struct world *w = *state;
	struct bread_read r = { .kind = BREAD_READ_CRUMBS, .key = BRD_STR("r"), .limit = 4 };
	struct bread_rec recs[10];
	int64_t seen = 0;
	int pages = 0;

	given(w, "s", "r");
	for (int i = 0; i < 10; i++)
		recs[i] = kit_crumb("r", i + 1, "s", BRD_STR("{}"));
	assert_int_equal(commit(w, recs, 10), BREAD_OK);
	do {
		r.after = seen;
		kit_read(w->store, w->loop, &r);
		for (size_t i = 0; i < r.count; i++)
			assert_int_equal(r.crumbs[i].seq, ++seen);
		bread_read_fini(&r);
		pages++;
	} while (seen < 10);
	assert_int_equal(pages, 3);
	r.after = 6;
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 4);
	assert_false(r.more); /* just full is not more */
	bread_read_fini(&r);
}

static void crumbs_come_in_pages_by_bytes(void **state)
{
	struct world *w = *state;
	struct bread_read r = { .kind = BREAD_READ_CRUMBS, .key = BRD_STR("r"), .max_bytes = 250 };
	char text[101];

	memset(text, 'x', 100);
	text[0] = text[99] = '"';
	given(w, "s", "r");
	for (int i = 1; i <= 3; i++)
		commit1(w, kit_crumb("r", i, "s", (struct bread_str){ text, 100 }));
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 2);
	assert_true(r.more);
	bread_read_fini(&r);
	r.max_bytes = 10; /* one at least */
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_true(r.more);
	bread_read_fini(&r);
	r.after = 2;
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_false(r.more);
	bread_read_fini(&r);
}

static void big_texts_come_back_whole(void **state)
{
	struct world *w = *state;
	size_t n = (size_t)6 << 20;
	char *text = malloc(n);
	struct bread_read r;

	for (size_t i = 0; i < n; i++)
		text[i] = (char)('a' + i % 23);
	text[0] = text[n - 1] = '"';
	given(w, "s", "r");
	assert_int_equal(
		commit1(w, kit_crumb("r", 1, "s", (struct bread_str){ text, n })), BREAD_OK);
	r = question(w, BREAD_READ_CRUMBS, "r");
	assert_int_equal(r.count, 1);
	assert_int_equal(r.crumbs->crumb.n, n);
	assert_memory_equal(r.crumbs->crumb.p, text, n);
	bread_read_fini(&r);
	free(text);
}

static void json_passes_byte_for_byte(void **state)
{
	struct world *w = *state;
	/* order, duplicates, lexemes, escapes, blanks, a lone surrogate, what is no UTF-8 */
	struct bread_str odd =
		BRD_STR("{ \"b\":1.0e+2, \"a\":\"\\u0000\\ud800\\/\", \"b\":-0,"
			" \"10\":1, \"9\":12345678901234567890, \"\xff\":\"\xed\xa0\x80\"}");
	struct bread_rec rec = kit_message("m", "s", 1, NULL);
	struct bread_read r;

	given(w, "s", "r");
	rec.message.content = odd;
	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	assert_int_equal(commit1(w, kit_crumb("r", 1, "s", odd)), BREAD_OK);
	r = question(w, BREAD_READ_MESSAGES, "s");
	assert_int_equal(r.messages->content.n, odd.n);
	assert_memory_equal(r.messages->content.p, odd.p, odd.n);
	bread_read_fini(&r);
	r = question(w, BREAD_READ_CRUMBS, "r");
	assert_int_equal(r.crumbs->crumb.n, odd.n);
	assert_memory_equal(r.crumbs->crumb.p, odd.p, odd.n);
	bread_read_fini(&r);
}

static void ids_may_hold_a_nul(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = kit_session(NULL, 1, "{\"k\\u0000x\":\"v\\u0000y\",\"k\":\"v\"}");
	struct bread_read r = { .kind = BREAD_READ_SESSION, .key = BRD_STR("a\0b") };

	rec.session.id = r.key;
	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	assert_int_equal(commit1(w, kit_session("a", 2, NULL)), BREAD_OK);
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_int_equal(r.sessions->id.n, 3);
	assert_int_equal(r.sessions->created_at, 1);
	bread_read_fini(&r);
	r.kind = BREAD_READ_SESSIONS;
	r.filter.tag_key = BRD_STR("k\0x");
	r.filter.tag_value = BRD_STR("v\0y");
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	bread_read_fini(&r);
	r.filter.tag_value = BRD_STR("v");
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 0);
	bread_read_fini(&r);
}

/* ---- the journal, definitions, owners ---- */

static void nodes_come_in_order_of_first_writing(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_node("r", "z", 1, "{}"), kit_node("r", "b", 1, NULL),
		kit_node("r", "a", 1, NULL), kit_node("r", "z", 2, "{\"end\":1}") };
	struct bread_read r;

	given(w, "s", "r");
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_OK);
	assert_int_equal(commit1(w, kit_node("r", "b", 2, "2")), BREAD_OK);
	r = question(w, BREAD_READ_NODES, "r");
	assert_int_equal(r.count, 3);
	assert_str(r.nodes[0].name, "z");
	assert_int_equal(r.nodes[0].state, 2);
	assert_str(r.nodes[0].data, "{\"end\":1}");
	assert_str(r.nodes[0].kind, "tool");
	assert_str(r.nodes[0].run_id, "r");
	assert_str(r.nodes[1].name, "b");
	assert_str(r.nodes[1].data, "2");
	assert_str(r.nodes[2].name, "a");
	assert_int_equal(r.nodes[2].data.n, 0);
	bread_read_fini(&r);
}

static void definition_is_written_once(void **state)
{
	struct world *w = *state;
	struct bread_read r;

	assert_int_equal(commit1(w, kit_key(BREAD_REC_DEFINITION, "h", "{\"v\":1}")), BREAD_OK);
	assert_int_equal(commit1(w, kit_key(BREAD_REC_DEFINITION, "h", "{\"v\":2}")), BREAD_OK);
	r = question(w, BREAD_READ_DEFINITION, "h");
	assert_int_equal(r.count, 1);
	assert_str(r.text, "{\"v\":1}");
	bread_read_fini(&r);
	assert_int_equal(count_of(w, BREAD_READ_DEFINITION, "other"), 0);
}

static void owners_are_renewed_and_go(void **state)
{
	struct world *w = *state;
	struct bread_rec me = { .kind = BREAD_REC_OWNER,
		.owner = { BRD_STR("me"), BRD_STR("host/boot"), 17, 18, 1000 } };
	struct bread_rec you = { .kind = BREAD_REC_OWNER,
		.owner = { BRD_STR("you"), BRD_STR("host"), 1, 2, 3 } };
	struct bread_read r;

	commit1(w, you);
	commit1(w, me);
	me.owner.lease_until = 2000;
	assert_int_equal(commit1(w, me), BREAD_OK);
	r = question(w, BREAD_READ_OWNERS, NULL);
	assert_int_equal(r.count, 2);
	assert_str(r.owners[0].id, "me");
	assert_str(r.owners[0].place, "host/boot");
	assert_int_equal(r.owners[0].pid, 17);
	assert_int_equal(r.owners[0].pid_started, 18);
	assert_int_equal(r.owners[0].lease_until, 2000);
	bread_read_fini(&r);
	assert_int_equal(commit1(w, kit_key(BREAD_REC_OWNER_GONE, "me", NULL)), BREAD_OK);
	assert_int_equal(commit1(w, kit_key(BREAD_REC_OWNER_GONE, "me", NULL)), BREAD_OK);
	assert_int_equal(count_of(w, BREAD_READ_OWNERS, NULL), 1);
}

/* ---- deleting ---- */

static void session_goes_with_all_that_is_its(void **state)
{
	struct world *w = *state;
	struct bread_rec gone = kit_key(BREAD_REC_SESSION_DELETE, "s", NULL);

	fill(w, "s", "r", "m");
	fill(w, "t", "q", "n");
	assert_int_equal(commit(w, &gone, 1), BREAD_OK);
	assert_int_equal(gone.affected, 1);
	nothing_is_left_of(w, "s", "r", 0);
	nothing_is_left_of(w, "t", "q", 1);
	assert_int_equal(count_of(w, BREAD_READ_UNFINISHED, NULL), 1);
	assert_int_equal(commit(w, &gone, 1), BREAD_OK);
	assert_int_equal(gone.affected, 0);
	/* the run's owner learns of it by its fence; all names are free again */
	assert_int_equal(
		fenced1(w, "r", 1, kit_crumb("r", 2, "s", BRD_STR("{}"))), BREAD_E_CONFLICT);
	fill(w, "s", "r", "m");
	nothing_is_left_of(w, "s", "r", 1);
}

static void refused_tx_brings_the_deleted_back(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_key(BREAD_REC_SESSION_DELETE, "s", NULL),
		kit_session("s", 900, NULL), kit_run("r", "s", BREAD_RUN_QUEUED),
		kit_status("nobody", BREAD_RUN_FAILED) };
	struct bread_read r;

	fill(w, "s", "r", "m");
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_E_NOT_FOUND);
	nothing_is_left_of(w, "s", "r", 1);
	r = question(w, BREAD_READ_SESSION, "s");
	assert_int_equal(r.sessions->created_at, 100);
	bread_read_fini(&r);
}

static void refused_run_may_come_again_in_another_session(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_run("r", "s", BREAD_RUN_QUEUED),
		kit_status("nobody", BREAD_RUN_FAILED) };

	commit1(w, kit_session("s", 100, NULL));
	commit1(w, kit_session("t", 100, NULL));
	assert_int_equal(commit(w, recs, COUNT(recs)), BREAD_E_NOT_FOUND);
	assert_int_equal(commit1(w, kit_run("r", "t", BREAD_RUN_QUEUED)), BREAD_OK);
	assert_int_equal(count_of(w, BREAD_READ_ACTIVE, "t"), 1);
	commit1(w, kit_key(BREAD_REC_SESSION_DELETE, "s", NULL));
	assert_int_equal(count_of(w, BREAD_READ_RUN, "r"), 1);
}

static int64_t cleaned(struct world *w, int64_t before, const char *tags)
{
	struct bread_rec rec = kit_key(BREAD_REC_SESSION_CLEANUP, NULL, tags);

	rec.number = before;
	assert_int_equal(commit(w, &rec, 1), BREAD_OK);
	return rec.affected;
}

static void cleanup_takes_old_sessions_with_the_tags(void **state)
{
	struct world *w = *state;

	commit1(w, kit_session("old1", 100, "{\"k\":\"v\",\"l\":\"w\"}"));
	commit1(w, kit_session("old2", 100, "{\"k\":\"v\"}"));
	commit1(w, kit_session("old3", 100, NULL));
	commit1(w, kit_session("new", 500, "{\"k\":\"v\",\"l\":\"w\"}"));
	assert_int_equal(cleaned(w, 100, NULL), 0); /* before, not at */
	assert_int_equal(cleaned(w, 200, "no JSON"), 0);
	assert_int_equal(cleaned(w, 200, "{\"k\":\"other\"}"), 0);
	assert_int_equal(cleaned(w, 200, "{\"l\":\"w\",\"k\":\"v\"}"), 1);
	assert_int_equal(cleaned(w, 200, "{}"), 2);
	assert_int_equal(count_of(w, BREAD_READ_SESSIONS, NULL), 1);
	fill(w, "full", "r", "m");
	assert_int_equal(cleaned(w, 101, NULL), 1);
	nothing_is_left_of(w, "full", "r", 0);
}

static const struct CMUnitTest tests[] = {
	T(session_comes_back_as_it_was),
	T(session_that_exists_stays),
	T(session_without_tags_has_an_empty_object),
	T(messages_come_by_time_then_id),
	T(message_moves_the_sessions_time),
	T(message_for_an_unknown_session_is_not_found),
	T(message_id_is_taken_once),
	T(sessions_are_listed_by_creation_and_tag),
	T(pages_skip_and_say_that_there_is_more),
	T(run_comes_back_as_it_was),
	T(run_id_is_taken_once),
	T(status_keeps_what_is_not_given),
	T(head_is_the_highest_seq),
	T(old_epoch_changes_nothing),
	T(take_over_shuts_the_old_owner_out),
	T(run_that_has_ended_cannot_be_taken),
	T(cancel_is_asked_of_open_runs_only),
	T(unfinished_and_active_runs_are_found),
	T(a_session_has_one_running_run),
	T(queued_runs_have_their_turn_in_order),
	T(runs_come_newest_first_in_pages),
	T(runs_are_filtered),
	T(crumb_number_is_taken_once),
	T(crumb_is_read_by_number),
	T(crumbs_come_in_pages_by_count),
	T(crumbs_come_in_pages_by_bytes),
	T(big_texts_come_back_whole),
	T(json_passes_byte_for_byte),
	T(ids_may_hold_a_nul),
	T(nodes_come_in_order_of_first_writing),
	T(definition_is_written_once),
	T(owners_are_renewed_and_go),
	T(session_goes_with_all_that_is_its),
	T(refused_tx_brings_the_deleted_back),
	T(refused_run_may_come_again_in_another_session),
	T(cleanup_takes_old_sessions_with_the_tags),
};

int main(void)
{
	return run_contract(tests, COUNT(tests));
}

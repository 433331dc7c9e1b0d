/* SPDX-License-Identifier: MIT */
/* What must hold of a composition, whatever happened: told from what the store has. */
#include <stdlib.h>
#include "base/json.h"
#include "instance/internal.h"
#include "run/stage.h"

void stage_all(struct stage *s, struct bread_read *r, enum bread_read_kind kind, const char *key)
{
	*r = (struct bread_read){
		.kind = kind, .key = brd_str(key), .limit = 100000, .max_bytes = 64 << 20
	};
	faulty_read(&s->store, r);
}

static bool terminal(struct bread_str type)
{
	return brd_str_is(type, "agent:run:end") || brd_str_is(type, "agent:error");
}

/* A run of which all is seen begins with its start and ends with its end; of others less is seen,
 * but nothing comes after an end. */
static void check_log(struct stage *s, const struct bread_run_row *row)
{
	struct bread_read r;
	bool whole;

	*(&r) = (struct bread_read){
		.kind = BREAD_READ_CRUMBS, .key = row->id, .limit = 100000, .max_bytes = 64 << 20
	};
	faulty_read(&s->store, &r);
	whole = r.count && brd_str_is(r.crumbs[0].type, "agent:run:start");
	stage_must(s, whole || row->parent_id.n);
	for (size_t i = 0; i < r.count; i++) {
		bool last = i + 1 == r.count;

		stage_same(s, r.crumbs[i].seq, i + 1);
		if (whole && brd_run_ended(row->status))
			stage_same(s, terminal(r.crumbs[i].type), last);
		else if (!last)
			stage_must(s, !terminal(r.crumbs[i].type));
	}
	stage_same(s, row->head, r.count);
	bread_read_fini(&r);
}

static void check_tree_log(struct stage *s, const struct bread_run_row *root)
{
	struct bread_read r;

	stage_all(s, &r, BREAD_READ_TREE_CRUMBS, s->id);
	stage_same(s, root->tree_head, r.count);
	for (size_t i = 0; i < r.count; i++) {
		bool last = i + 1 == r.count;

		stage_same(s, r.crumbs[i].tree_seq, i + 1);
		if (brd_run_ended(root->status) && last)
			stage_must(s, brd_str_eq(r.crumbs[i].run_id, root->id) &&
					      terminal(r.crumbs[i].type));
	}
	bread_read_fini(&r);
}

void stage_check_logs(struct stage *s)
{
	struct bread_read tree;

	stage_all(s, &tree, BREAD_READ_TREE, s->id);
	stage_must(s, tree.count);
	for (size_t i = 0; i < tree.count; i++)
		check_log(s, &tree.runs[i]);
	if (tree.runs[0].composed)
		check_tree_log(s, &tree.runs[0]);
	bread_read_fini(&tree);
}

/* ---- messages ---- */

#define PAIRS_MAX 64

struct pairing {
	char calls[PAIRS_MAX][24];
	bool answered[PAIRS_MAX];
	unsigned count;
};

static void pair_part(struct stage *s, struct pairing *pr, struct jval part, struct arena *a)
{
	struct bread_str id = brd_json_str(brd_json_get(part, "toolCallId"), a);
	unsigned i = 0;

	if (brd_json_is(brd_json_get(part, "type"), "tool-call")) {
		stage_must(s, pr->count < PAIRS_MAX);
		snprintf(pr->calls[pr->count++], sizeof(pr->calls[0]), "%.*s", BRD_ARG(id));
	} else if (brd_json_is(brd_json_get(part, "type"), "tool-result")) {
		while (i < pr->count && (!brd_str_is(id, pr->calls[i]) || pr->answered[i]))
			i++;
		if (i == pr->count)
			stage_fail(
				s, "a result without a call, or a second one: %.*s", BRD_ARG(id));
		pr->answered[i] = true;
	}
}

static void check_session(struct stage *s, struct bread_str session)
{
	struct bread_read r = { .kind = BREAD_READ_MESSAGES, .key = session, .limit = 10000 };
	struct pairing pr = { 0 };
	struct arena a = { 0 };

	faulty_read(&s->store, &r);
	for (size_t i = 0; i < r.count; i++) {
		struct jval v;

		stage_same(s, brd_json_parse(&a, r.messages[i].content, 0, &v, NULL), 0);
		stage_must(s, i || brd_str_is(r.messages[i].role, "user"));
		if (brd_json_type(v) == JSON_ARRAY)
			for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
				pair_part(s, &pr, it.value, &a);
	}
	for (unsigned i = 0; i < pr.count; i++)
		if (!pr.answered[i])
			stage_fail(s, "call %s has no result in session %.*s", pr.calls[i],
				BRD_ARG(session));
	brd_arena_fini(&a);
	bread_read_fini(&r);
}

/* ---- the end ---- */

static void check_none(struct stage *s, enum bread_read_kind kind, const char *status)
{
	struct bread_read r = { .kind = kind, .limit = 1000 };

	if (status)
		r.filter.status_word = brd_str(status);
	faulty_read(&s->store, &r);
	for (size_t i = 0; kind == BREAD_READ_CHECKPOINTS && i < r.count; i++)
		stage_fail(s, "checkpoint %.*s of run %.*s, node %.*s, is still there",
			BRD_ARG(r.checkpoints[i].id), BRD_ARG(r.checkpoints[i].run_id),
			BRD_ARG(r.checkpoints[i].node));
	if (r.count)
		stage_fail(s, "%zu rows of kind %d are still open", r.count, (int)kind);
	bread_read_fini(&r);
}

void stage_check_ended(struct stage *s)
{
	struct bread_read tree;

	stage_all(s, &tree, BREAD_READ_TREE, s->id);
	stage_must(s, tree.count);
	for (size_t i = 0; i < tree.count; i++) {
		const struct bread_run_row *row = &tree.runs[i];

		if (!brd_run_ended(row->status))
			stage_fail(s, "run %.*s (%.*s) is still %s", BRD_ARG(row->id),
				BRD_ARG(row->agent_id), brd_run_status_name(row->status));
		stage_must(s, row->ended_at);
		if (row->session_id.n)
			check_session(s, row->session_id);
	}
	bread_read_fini(&tree);
	stage_check_logs(s);
	check_none(s, BREAD_READ_CHECKPOINTS, NULL);
	check_none(s, BREAD_READ_UNFINISHED, NULL);
	check_none(s, BREAD_READ_LOOPS, "running");
	check_none(s, BREAD_READ_TASK_RUNS, "running");
	stage_check_memory(s);
}

void stage_check_output(struct stage *s)
{
	const struct expected *w = &s->family.want;
	struct bread_read r = { .kind = BREAD_READ_RUN, .key = brd_str(s->id) };
	const struct bread_run_row *row;

	faulty_read(&s->store, &r);
	row = r.runs;
	if (row->status != (w->fails ? BREAD_RUN_FAILED : BREAD_RUN_COMPLETED))
		stage_fail(s, "it ended as %s: %.*s", brd_run_status_name(row->status),
			BRD_ARG(row->error));
	if (brd_str_find(row->error, BRD_STR("_LOST")) >= 0 ||
		brd_str_find(row->error, BRD_STR("INTERNAL")) >= 0)
		stage_fail(s, "it failed for no reason of its own: %.*s", BRD_ARG(row->error));
	if (!w->fails && !brd_str_eq(row->output, w->output))
		stage_fail(s, "it gave\n%.*s, not\n%.*s", BRD_ARG(row->output), BRD_ARG(w->output));
	bread_read_fini(&r);
}

static unsigned times(const struct stage *s, const struct ran *which)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->ran_count; i++)
		n += !strcmp(s->ran[i].run_id, which->run_id) &&
		     !strcmp(s->ran[i].call_id, which->call_id);
	return n;
}

void stage_check_tools(struct stage *s)
{
	unsigned most = s->idempotent ? 1 + s->deaths : 1;

	for (unsigned i = 0; i < s->ran_count; i++)
		if (times(s, &s->ran[i]) > most)
			stage_fail(s, "call %s of run %s ran more than once", s->ran[i].call_id,
				s->ran[i].run_id);
}

void stage_check_memory(struct stage *s)
{
	for (unsigned i = 0; i < STAGED; i++) {
		struct bread_stats stats;

		if (!s->b[i])
			continue;
		bread_stats(s->b[i], &stats);
		stage_same(s, stats.runs_active, 0);
		stage_same(s, stats.topics, 0);
	}
}

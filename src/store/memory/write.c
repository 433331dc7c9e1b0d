/* SPDX-License-Identifier: MIT */
/* Records as changes in memory, with a way back.
 *
 * Each change leaves an entry behind that can put the old state back. A tx that
 * is refused undoes its entries, newest first; one that is done frees what they
 * kept. What a tx deletes leaves the maps at once and memory at the end. */
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/memory/impl.h"
#include "store/store.h"

#define WHERE MEM_WHERE

static void set_session(struct mem_store *m, struct mem_session *s, struct bread_session_row *row)
{
	brd_mem_remember(m, UNDO_SESSION, s, s->row);
	s->row = row;
	if (!brd_list_linked(&s->link))
		brd_list_push(&m->sessions_list, &s->link);
}

static int add_session(struct mem_store *m, struct bread_rec *rec)
{
	struct mem_session *s = brd_mem_session_at(m, rec->session.id, true);
	struct bread_session_row row = rec->session;

	if (s->row)
		return 0;
	if (!row.tags.n)
		row.tags = BRD_STR("{}");
	set_session(m, s, brd_mem_copy(&brd_mem_session, &row));
	rec->affected = 1;
	return 0;
}

/* Where it goes: nearly always at the end. */
static size_t message_place(const struct mem_session *s, const struct bread_message_row *row)
{
	size_t i = s->messages.count;

	for (; i; i--) {
		const struct bread_message_row *before = s->messages.at[i - 1];

		if (before->timestamp < row->timestamp ||
			(before->timestamp == row->timestamp &&
				brd_str_cmp(before->id, row->id) < 0))
			break;
	}
	return i;
}

static int add_message(struct mem_store *m, const struct bread_rec *rec, struct bread_err *err)
{
	const struct bread_message_row *row = &rec->message;
	struct mem_session *s = brd_mem_session_at(m, row->session_id, false);
	struct bread_message_row *copy;
	struct bread_session_row touched;

	if (!s || !s->row)
		return brd_fail(err, BREAD_E_NOT_FOUND, WHERE, "there is no session %.*s",
			BRD_ARG(row->session_id));
	if (brd_map_get(&m->messages, row->id))
		return brd_fail(err, BREAD_E_CONFLICT, WHERE, "message %.*s is there already",
			BRD_ARG(row->id));
	copy = brd_mem_copy(&brd_mem_message, row);
	brd_mem_insert(&s->messages, message_place(s, copy), copy);
	brd_map_put(&m->messages, copy->id, copy);
	brd_mem_remember(m, UNDO_MESSAGE, s, copy);
	touched = *s->row;
	touched.updated_at = row->timestamp;
	set_session(m, s, brd_mem_copy(&brd_mem_session, &touched));
	return 0;
}

static void join_session(struct mem_store *m, struct mem_run *run, struct bread_str session_id)
{
	if (session_id.n && !brd_list_linked(&run->of_session))
		brd_list_push(&brd_mem_session_at(m, session_id, true)->runs, &run->of_session);
}

static void join_root(struct mem_store *m, struct mem_run *run, const struct bread_run_row *row)
{
	if (row->parent_id.n && row->root_id.n && !brd_list_linked(&run->of_root))
		brd_list_push(&brd_mem_run_at(m, row->root_id, true)->below, &run->of_root);
}

static void set_run(struct mem_store *m, struct mem_run *run, const struct bread_run_row *row)
{
	brd_mem_remember(m, UNDO_RUN, run, run->row);
	run->row = brd_mem_copy(&brd_mem_run, row);
	brd_mem_run_listed(m, run);
}

static int busy(struct bread_err *err, struct bread_str with)
{
	return brd_fail_as(err, BREAD_E_CONFLICT, "SESSION_BUSY", WHERE,
		"the session is busy with run %.*s", BRD_ARG(with));
}

/* A session has one active run (contract C12). before: a queued run that wants its turn; NULL: a
 * new one, to which every other counts. */
static int check_free(struct mem_store *m, struct bread_str session_id,
	const struct mem_run *before, struct bread_err *err)
{
	struct mem_session *s = brd_mem_session_at(m, session_id, false);
	bool older = true;

	if (!s)
		return 0;
	brd_list_each(it, &s->runs) {
		struct mem_run *run = brd_list_of(it, struct mem_run, of_session);

		if (run == before)
			older = false;
		else if (run->row && !brd_run_ended(run->row->status) && !run->row->parent_id.n &&
			 (older || run->row->status != BREAD_RUN_QUEUED))
			return busy(err, run->id);
	}
	return 0;
}

/* The same for a run that is there: only a queued one has to wait. */
static int check_turn(struct mem_store *m, const struct mem_run *run, struct bread_err *err)
{
	if (run->row->status != BREAD_RUN_QUEUED || run->row->parent_id.n)
		return 0;
	return check_free(m, run->row->session_id, run, err);
}

static int add_run(struct mem_store *m, const struct bread_rec *rec, struct bread_err *err)
{
	struct mem_run *run = brd_mem_run_at(m, rec->run.id, false);
	struct bread_run_row row = rec->run;

	if (run && run->row)
		return brd_fail(err, BREAD_E_CONFLICT, WHERE, "run %.*s is there already",
			BRD_ARG(rec->run.id));
	if (row.status == BREAD_RUN_RUNNING && !row.parent_id.n &&
		check_free(m, row.session_id, NULL, err))
		return err->code;
	row.cancel_requested = !!row.cancel_requested;
	row.composed = !!row.composed;
	run = brd_mem_run_at(m, rec->run.id, true);
	join_session(m, run, row.session_id);
	join_root(m, run, &row);
	set_run(m, run, &row);
	return 0;
}

static void keep_text(struct bread_str *to, struct bread_str from)
{
	if (from.n)
		*to = from;
}

static void keep_number(int64_t *to, int64_t from)
{
	if (from)
		*to = from;
}

static int set_status(struct mem_store *m, const struct bread_rec *rec, struct bread_err *err)
{
	const struct bread_run_row *in = &rec->run;
	struct mem_run *run = brd_mem_run_at(m, in->id, false);
	struct bread_run_row row;

	if (!run || !run->row)
		return brd_fail(
			err, BREAD_E_NOT_FOUND, WHERE, "there is no run %.*s", BRD_ARG(in->id));
	if (in->status == BREAD_RUN_RUNNING && check_turn(m, run, err))
		return err->code;
	row = *run->row;
	row.status = in->status;
	keep_text(&row.output, in->output);
	keep_text(&row.files, in->files);
	keep_text(&row.error, in->error);
	keep_number(&row.started_at, in->started_at);
	keep_number(&row.ended_at, in->ended_at);
	keep_number(&row.input_tokens, in->input_tokens);
	keep_number(&row.output_tokens, in->output_tokens);
	keep_number(&row.steps, in->steps);
	set_run(m, run, &row);
	return 0;
}

static int take_run(
	struct mem_store *m, const struct bread_rec *rec, int64_t epoch, struct bread_err *err)
{
	struct mem_run *run = brd_mem_run_at(m, rec->run.id, false);
	struct bread_run_row row;

	if (!run || !run->row || run->row->epoch != epoch || brd_run_ended(run->row->status))
		return brd_fail(err, BREAD_E_CONFLICT, WHERE,
			"run %.*s has ended, or another instance has taken it",
			BRD_ARG(rec->run.id));
	if (check_turn(m, run, err))
		return err->code;
	row = *run->row;
	row.owner = rec->run.owner;
	row.epoch = epoch + 1;
	row.status = BREAD_RUN_RUNNING;
	row.wake = 0;
	set_run(m, run, &row);
	return 0;
}

/* What anybody may do to a run that has not ended. */
static void poke_run(struct mem_store *m, struct bread_rec *rec)
{
	struct mem_run *run = brd_mem_run_at(m, rec->run.id, false);
	struct bread_run_row row;

	if (!run || !run->row || brd_run_ended(run->row->status))
		return;
	row = *run->row;
	if (rec->kind == BREAD_REC_RUN_CANCEL)
		row.cancel_requested = 1;
	else
		row.wake = rec->kind == BREAD_REC_RUN_WAKE ? row.wake + 1 : 0;
	set_run(m, run, &row);
	rec->affected = 1;
}

static void put_node(struct mem_store *m, const struct bread_node_row *row)
{
	struct mem_run *run = brd_mem_run_at(m, row->run_id, true);
	struct mem_node *n = brd_map_get(&run->nodes_by_name, row->name);

	if (!n) {
		n = brd_alloc(sizeof(*n));
		n->name = (struct bread_str){ brd_strndup(row->name), row->name.n };
		brd_map_put(&run->nodes_by_name, n->name, n);
		brd_mem_insert(&run->nodes, run->nodes.count, n);
		brd_mem_remember(m, UNDO_NODE_ADDED, run, NULL);
	} else {
		brd_mem_remember(m, UNDO_NODE, n, n->row);
	}
	n->row = brd_mem_copy(&brd_mem_node, row);
}

/* Its line in the log of its tree. */
static int add_line(struct mem_store *m, struct mem_run *run, struct bread_str root_id,
	const struct bread_crumb_row *row, struct bread_err *err)
{
	struct mem_run *root = brd_mem_run_at(m, root_id, true);
	size_t at = brd_mem_line_find(root, row->tree_seq);
	struct mem_line *line;

	if (at < root->lines.count &&
		((struct mem_line *)root->lines.at[at])->row->tree_seq == row->tree_seq)
		return brd_fail(err, BREAD_E_CONFLICT, WHERE,
			"line %lld of the tree of run %.*s is there already",
			(long long)row->tree_seq, BRD_ARG(root_id));
	line = brd_alloc(sizeof(*line));
	*line = (struct mem_line){ run, row };
	brd_mem_insert(&root->lines, at, line);
	brd_mem_remember(m, UNDO_LINE, root, line);
	return 0;
}

static int add_crumb(struct mem_store *m, const struct bread_crumb_row *row, struct bread_err *err)
{
	struct mem_run *run = brd_mem_run_at(m, row->run_id, true);
	size_t at = brd_mem_crumb_find(run, row->seq);
	struct bread_crumb_row *copy;

	if (at < run->crumbs.count &&
		((struct bread_crumb_row *)run->crumbs.at[at])->seq == row->seq)
		return brd_fail(err, BREAD_E_CONFLICT, WHERE,
			"crumb %lld of run %.*s is there already", (long long)row->seq,
			BRD_ARG(row->run_id));
	join_session(m, run, row->session_id);
	copy = brd_mem_copy(&brd_mem_crumb, row);
	copy->root_id = (struct bread_str){ 0 };
	brd_mem_insert(&run->crumbs, at, copy);
	brd_mem_remember(m, UNDO_CRUMB, run, copy);
	return row->tree_seq ? add_line(m, run, row->root_id, copy, err) : 0;
}

static int apply(
	struct mem_store *m, struct bread_tx *tx, struct bread_rec *rec, struct bread_err *err)
{
	switch (rec->kind) {
	case BREAD_REC_SESSION:
		return add_session(m, rec);
	case BREAD_REC_MESSAGE:
		return add_message(m, rec, err);
	case BREAD_REC_RUN:
		return add_run(m, rec, err);
	case BREAD_REC_RUN_STATUS:
		return set_status(m, rec, err);
	case BREAD_REC_RUN_TAKE:
		return take_run(m, rec, tx->fence_epoch, err);
	case BREAD_REC_RUN_CANCEL:
	case BREAD_REC_RUN_WAKE:
	case BREAD_REC_RUN_HEARD:
		poke_run(m, rec);
		return 0;
	case BREAD_REC_NODE:
		put_node(m, &rec->node);
		return 0;
	case BREAD_REC_CRUMB:
		return add_crumb(m, &rec->crumb, err);
	case BREAD_REC_SESSION_DELETE:
		brd_mem_delete_session(m, rec);
		return 0;
	case BREAD_REC_SESSION_CLEANUP:
		brd_mem_clean_sessions(m, rec);
		return 0;
	default:
		return brd_mem_apply_table(m, rec, err);
	}
}

static int check_fence(struct mem_store *m, const struct bread_tx *tx, struct bread_err *err)
{
	struct mem_run *run = brd_mem_run_at(m, tx->fence, false);

	if (!run || !run->row)
		return brd_fail(
			err, BREAD_E_CONFLICT, WHERE, "run %.*s is gone", BRD_ARG(tx->fence));
	if (run->row->epoch != tx->fence_epoch)
		return brd_fail(err, BREAD_E_CONFLICT, WHERE, "another instance has taken run %.*s",
			BRD_ARG(tx->fence));
	return 0;
}

int brd_mem_apply(struct mem_store *m, struct bread_tx *tx, struct bread_err *err)
{
	int r = tx->fence.n ? check_fence(m, tx, err) : 0;

	for (size_t i = 0; !r && i < tx->count; i++) {
		tx->recs[i].affected = 0;
		r = apply(m, tx, &tx->recs[i], err);
	}
	brd_mem_settle(m, !r);
	return r;
}

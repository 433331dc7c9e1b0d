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
#include "store/tags.h"

#define WHERE "store.memory"

enum undo_kind {
	UNDO_SESSION,    /* place: session, old: row */
	UNDO_MESSAGE,    /* place: session, old: the row that was added */
	UNDO_RUN,        /* place: run, old: row */
	UNDO_CRUMB,      /* place: run, old: the row that was added */
	UNDO_NODE,       /* place: node, old: row */
	UNDO_NODE_ADDED, /* place: run, its last node is new */
	UNDO_DEFINITION, /* place: the definition that was added */
	UNDO_OWNER,      /* place: owner, old: row */
	UNDO_CHECKPOINT, /* old: the row that was added */
	UNDO_CLAIM,      /* old: the row that was taken away */
	UNDO_DELETED,    /* place: session */
};

struct mem_undo {
	struct mem_undo *next;
	enum undo_kind kind;
	void *place, *old;
};

static void remember(struct mem_store *m, enum undo_kind kind, void *place, void *old)
{
	struct mem_undo *u = brd_alloc(sizeof(*u));

	*u = (struct mem_undo){ m->undo, kind, place, old };
	m->undo = u;
}

/* ---- changes ---- */

static void set_session(struct mem_store *m, struct mem_session *s, struct bread_session_row *row)
{
	remember(m, UNDO_SESSION, s, s->row);
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
	remember(m, UNDO_MESSAGE, s, copy);
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

static void set_run(struct mem_store *m, struct mem_run *run, const struct bread_run_row *row)
{
	remember(m, UNDO_RUN, run, run->row);
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
	return run->row->status == BREAD_RUN_QUEUED ? check_free(m, run->row->session_id, run, err)
						    : 0;
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
	run = brd_mem_run_at(m, rec->run.id, true);
	join_session(m, run, row.session_id);
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
	set_run(m, run, &row);
	return 0;
}

static void cancel_run(struct mem_store *m, struct bread_rec *rec)
{
	struct mem_run *run = brd_mem_run_at(m, rec->run.id, false);
	struct bread_run_row row;

	if (!run || !run->row || brd_run_ended(run->row->status))
		return;
	row = *run->row;
	row.cancel_requested = 1;
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
		remember(m, UNDO_NODE_ADDED, run, NULL);
	} else {
		remember(m, UNDO_NODE, n, n->row);
	}
	n->row = brd_mem_copy(&brd_mem_node, row);
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
	brd_mem_insert(&run->crumbs, at, copy);
	remember(m, UNDO_CRUMB, run, copy);
	return 0;
}

static void add_definition(struct mem_store *m, const struct bread_rec *rec)
{
	struct mem_definition *d;

	if (brd_map_get(&m->definitions, rec->key))
		return;
	d = brd_mem_copy(&brd_mem_definition, &(struct mem_definition){ rec->key, rec->value });
	brd_map_put(&m->definitions, d->key, d);
	remember(m, UNDO_DEFINITION, d, NULL);
}

static void set_owner(struct mem_store *m, struct bread_str id, const struct bread_owner_row *row)
{
	struct mem_owner *o = brd_map_get(&m->owners, id);

	if (!o) {
		o = brd_alloc(sizeof(*o));
		o->id = (struct bread_str){ brd_strndup(id), id.n };
		brd_map_put(&m->owners, o->id, o);
	}
	remember(m, UNDO_OWNER, o, o->row);
	o->row = row ? brd_mem_copy(&brd_mem_owner, row) : NULL;
}

/* ---- checkpoints ---- */

static void take_away(struct mem_store *m, struct bread_checkpoint_row *row)
{
	brd_map_del(&m->checkpoints, row->id);
	remember(m, UNDO_CLAIM, NULL, row);
}

static void put_checkpoint(struct mem_store *m, const struct bread_checkpoint_row *row)
{
	struct bread_checkpoint_row *before = brd_map_get(&m->checkpoints, row->id);
	struct bread_checkpoint_row *copy = brd_mem_copy(&brd_mem_checkpoint, row);

	if (before)
		take_away(m, before);
	brd_map_put(&m->checkpoints, copy->id, copy);
	remember(m, UNDO_CHECKPOINT, NULL, copy);
}

static int claim(struct mem_store *m, const struct bread_rec *rec, struct bread_err *err)
{
	struct bread_checkpoint_row *row = brd_map_get(&m->checkpoints, rec->key);

	if (!row)
		return brd_fail(err, BREAD_E_CONFLICT, WHERE,
			"checkpoint %.*s was answered already", BRD_ARG(rec->key));
	take_away(m, row);
	return 0;
}

/* Those of a run, or of a session: id is compared with that text of the row. */
static void drop_checkpoints(
	struct mem_store *m, size_t text, struct bread_str id, int64_t *affected)
{
	struct map_slot *slot;
	struct mem_vec found = { 0 };

	for (size_t at = 0; brd_map_next(&m->checkpoints, &at, &slot);)
		if (brd_str_eq(*(struct bread_str *)((char *)slot->value + text), id))
			brd_mem_insert(&found, found.count, slot->value);
	for (size_t i = 0; i < found.count; i++)
		take_away(m, found.at[i]);
	*affected += (int64_t)found.count;
	free(found.at);
}

/* ---- deleting ---- */

static void out_of_maps(struct mem_store *m, struct mem_session *s)
{
	s->gone = true;
	brd_map_del(&m->sessions, s->id);
	brd_list_each(it, &s->runs)
		brd_map_del(&m->runs, brd_list_of(it, struct mem_run, of_session)->id);
}

static void delete_session(struct mem_store *m, struct mem_session *s, int64_t *affected)
{
	int64_t dropped = 0;

	*affected += s->row != NULL;
	drop_checkpoints(m, offsetof(struct bread_checkpoint_row, session_id), s->id, &dropped);
	out_of_maps(m, s);
	remember(m, UNDO_DELETED, s, NULL);
}

static void clean_up(struct mem_store *m, struct bread_rec *rec)
{
	struct arena scratch = { 0 };

	brd_list_each(it, &m->sessions_list) {
		struct mem_session *s = brd_list_of(it, struct mem_session, link);

		if (!s->gone && s->row && s->row->updated_at < rec->number &&
			brd_tags_match_all(&scratch, s->row->tags, rec->value))
			delete_session(m, s, &rec->affected);
	}
	brd_arena_fini(&scratch);
}

/* ---- the way back, and the way on ---- */

static void remove_row(struct mem_vec *v, const void *row)
{
	size_t i = v->count;

	while (v->at[i - 1] != row)
		i--;
	brd_mem_remove(v, i - 1);
}

static void undo_node_added(struct mem_run *run)
{
	struct mem_node *n = run->nodes.at[run->nodes.count - 1];

	brd_mem_remove(&run->nodes, run->nodes.count - 1);
	brd_map_del(&run->nodes_by_name, n->name);
	free(n->row);
	free((char *)n->name.p);
	free(n);
}

/* Places may have been made at these ids meanwhile; they are empty again by now. */
static void undo_deleted(struct mem_store *m, struct mem_session *s)
{
	struct mem_session *other;

	brd_list_each(it, &s->runs) {
		struct mem_run *run = brd_list_of(it, struct mem_run, of_session);

		brd_mem_run_free(brd_map_del(&m->runs, run->id));
		brd_map_put(&m->runs, run->id, run);
	}
	other = brd_map_del(&m->sessions, s->id);
	if (other) {
		out_of_maps(m, other);
		brd_mem_session_free(m, other);
	}
	s->gone = false;
	brd_map_put(&m->sessions, s->id, s);
}

static void undo_session(struct mem_session *s, struct bread_session_row *old)
{
	free(s->row);
	s->row = old;
	if (!old)
		brd_list_remove(&s->link);
}

/* A run of which nothing is left may come again, in another session. */
static void leave_session(struct mem_run *run)
{
	if (!run->row && !run->crumbs.count)
		brd_list_remove(&run->of_session);
}

static void undo_run(struct mem_store *m, struct mem_run *run, struct bread_run_row *old)
{
	free(run->row);
	run->row = old;
	brd_mem_run_listed(m, run);
	leave_session(run);
}

static void undo_crumb(struct mem_run *run, struct bread_crumb_row *row)
{
	remove_row(&run->crumbs, row);
	free(row);
	leave_session(run);
}

static void undo_message(struct mem_store *m, struct mem_session *s, struct bread_message_row *row)
{
	brd_map_del(&m->messages, row->id);
	remove_row(&s->messages, row);
	free(row);
}

static void undo_one(struct mem_store *m, struct mem_undo *u)
{
	switch (u->kind) {
	case UNDO_SESSION:
		undo_session(u->place, u->old);
		break;
	case UNDO_MESSAGE:
		undo_message(m, u->place, u->old);
		break;
	case UNDO_RUN:
		undo_run(m, u->place, u->old);
		break;
	case UNDO_CRUMB:
		undo_crumb(u->place, u->old);
		break;
	case UNDO_NODE:
		free(((struct mem_node *)u->place)->row);
		((struct mem_node *)u->place)->row = u->old;
		break;
	case UNDO_NODE_ADDED:
		undo_node_added(u->place);
		break;
	case UNDO_DEFINITION:
		brd_map_del(&m->definitions, ((struct mem_definition *)u->place)->key);
		free(u->place);
		break;
	case UNDO_OWNER:
		free(((struct mem_owner *)u->place)->row);
		((struct mem_owner *)u->place)->row = u->old;
		break;
	case UNDO_CHECKPOINT:
		brd_map_del(&m->checkpoints, ((struct bread_checkpoint_row *)u->old)->id);
		free(u->old);
		break;
	case UNDO_CLAIM:
		brd_map_put(&m->checkpoints, ((struct bread_checkpoint_row *)u->old)->id, u->old);
		break;
	case UNDO_DELETED:
		undo_deleted(m, u->place);
		break;
	}
}

static void keep_one(struct mem_store *m, struct mem_undo *u)
{
	switch (u->kind) {
	case UNDO_SESSION:
	case UNDO_RUN:
	case UNDO_NODE:
	case UNDO_OWNER:
	case UNDO_CLAIM:
		free(u->old);
		break;
	case UNDO_DELETED:
		brd_mem_session_free(m, u->place);
		break;
	default:
		break;
	}
}

static void settle(struct mem_store *m, void (*each)(struct mem_store *m, struct mem_undo *u))
{
	struct mem_undo *u;

	while ((u = m->undo)) {
		m->undo = u->next;
		each(m, u);
		free(u);
	}
}

static int apply(
	struct mem_store *m, struct bread_tx *tx, struct bread_rec *rec, struct bread_err *err)
{
	struct mem_session *s;

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
		cancel_run(m, rec);
		return 0;
	case BREAD_REC_NODE:
		put_node(m, &rec->node);
		return 0;
	case BREAD_REC_CRUMB:
		return add_crumb(m, &rec->crumb, err);
	case BREAD_REC_DEFINITION:
		add_definition(m, rec);
		return 0;
	case BREAD_REC_OWNER:
		set_owner(m, rec->owner.id, &rec->owner);
		return 0;
	case BREAD_REC_OWNER_GONE:
		set_owner(m, rec->key, NULL);
		return 0;
	case BREAD_REC_CHECKPOINT:
		put_checkpoint(m, &rec->checkpoint);
		return 0;
	case BREAD_REC_CHECKPOINT_CLAIM:
		return claim(m, rec, err);
	case BREAD_REC_CHECKPOINT_DROP:
		drop_checkpoints(
			m, offsetof(struct bread_checkpoint_row, run_id), rec->key, &rec->affected);
		return 0;
	case BREAD_REC_SESSION_DELETE:
		s = brd_mem_session_at(m, rec->key, false);
		if (s)
			delete_session(m, s, &rec->affected);
		return 0;
	case BREAD_REC_SESSION_CLEANUP:
		clean_up(m, rec);
		return 0;
	}
	return brd_fail(
		err, BREAD_E_INVALID, WHERE, "there is no record of kind %d", (int)rec->kind);
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
	settle(m, r ? undo_one : keep_one);
	return r;
}

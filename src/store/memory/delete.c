/* SPDX-License-Identifier: MIT */
/* How sessions go, with all that is theirs.
 *
 * With a session go its runs and the runs below them; with those the sessions that they ran
 * in, and so on until nothing new is found. They are marked first, then leave the maps; memory
 * is given back when the tx is settled. */
#include <stdlib.h>
#include "base/str.h"
#include "store/memory/impl.h"
#include "store/tags.h"

struct gone {
	struct mem_store *m;
	struct mem_vec sessions, runs; /* marked ones; sessions are also the queue */
};

static void mark_session(struct gone *g, struct bread_str id)
{
	struct mem_session *s = id.n ? brd_mem_session_at(g->m, id, false) : NULL;

	if (!s || s->gone)
		return;
	s->gone = true;
	brd_mem_insert(&g->sessions, g->sessions.count, s);
}

static void mark_run(struct gone *g, struct mem_run *run)
{
	run->gone = true;
	brd_mem_insert(&g->runs, g->runs.count, run);
	if (run->row)
		mark_session(g, run->row->session_id);
}

static bool parent_is_gone(struct gone *g, const struct mem_run *run)
{
	struct mem_run *parent = run->row ? brd_mem_run_at(g->m, run->row->parent_id, false) : NULL;

	return parent && parent->gone;
}

/* With those below it: one is made after the one it hangs on, so one pass finds them all. */
static void mark_tree(struct gone *g, struct mem_run *run)
{
	struct mem_run *root;

	if (run->gone)
		return;
	mark_run(g, run);
	root = run->row ? brd_mem_run_at(g->m, run->row->root_id, false) : NULL;
	if (!root)
		return;
	brd_list_each(it, &root->below) {
		struct mem_run *other = brd_list_of(it, struct mem_run, of_root);

		if (!other->gone && parent_is_gone(g, other))
			mark_run(g, other);
	}
}

static bool run_is_gone(struct gone *g, struct bread_str id)
{
	struct mem_run *run = brd_mem_run_at(g->m, id, false);

	return run && run->gone;
}

static bool session_is_gone(struct gone *g, struct bread_str id)
{
	struct mem_session *s = brd_mem_session_at(g->m, id, false);

	return s && s->gone;
}

static void take_rows(struct gone *g)
{
	brd_mem_each(it, g->m, MEM_CHECKPOINTS)
	{
		const struct bread_checkpoint_row *row = brd_mem_row_at(it);

		if (row && (run_is_gone(g, row->run_id) || run_is_gone(g, row->root_id) ||
				   session_is_gone(g, row->session_id)))
			brd_mem_put(g->m, MEM_CHECKPOINTS, row->id, NULL);
	}
	brd_mem_each(it, g->m, MEM_KEYS)
	{
		const struct bread_idempotency_row *row = brd_mem_row_at(it);

		if (row && run_is_gone(g, row->run_id))
			brd_mem_put(g->m, MEM_KEYS, row->key, NULL);
	}
}

/* How many sessions went that were there. */
static int64_t delete_marked(struct gone *g)
{
	int64_t went = 0;

	for (size_t i = 0; i < g->sessions.count; i++) {
		struct mem_session *s = g->sessions.at[i];

		brd_list_each(it, &s->runs)
			mark_tree(g, brd_list_of(it, struct mem_run, of_session));
	}
	take_rows(g);
	for (size_t i = 0; i < g->runs.count; i++) {
		struct mem_run *run = g->runs.at[i];

		brd_map_del(&g->m->runs, run->id);
		brd_mem_remember(g->m, UNDO_RUN_GONE, run, NULL);
	}
	for (size_t i = 0; i < g->sessions.count; i++) {
		struct mem_session *s = g->sessions.at[i];

		went += s->row != NULL;
		brd_map_del(&g->m->sessions, s->id);
		brd_mem_remember(g->m, UNDO_SESSION_GONE, s, NULL);
	}
	free(g->sessions.at);
	free(g->runs.at);
	return went;
}

void brd_mem_delete_session(struct mem_store *m, struct bread_rec *rec)
{
	struct mem_session *s = brd_mem_session_at(m, rec->key, false);
	struct gone g = { .m = m };

	rec->affected = s && s->row;
	mark_session(&g, rec->key);
	delete_marked(&g);
}

void brd_mem_clean_sessions(struct mem_store *m, struct bread_rec *rec)
{
	struct arena scratch = { 0 };
	struct gone g = { .m = m };

	brd_list_each(it, &m->sessions_list) {
		struct mem_session *s = brd_list_of(it, struct mem_session, link);

		if (!s->gone && s->row && s->row->updated_at < rec->number &&
			brd_tags_match_all(&scratch, s->row->tags, rec->value))
			mark_session(&g, s->id);
	}
	brd_arena_fini(&scratch);
	rec->affected = delete_marked(&g);
}

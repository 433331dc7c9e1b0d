/* SPDX-License-Identifier: MIT */
/* How sessions go, with all that is theirs.
 *
 * With a session go its runs and the runs below them; with those the sessions that they ran
 * in, and so on until nothing new is found. What goes is collected first: a row must not go
 * while a cursor stands on it. */
#include "base/map.h"
#include "store/sqlite/records.h"
#include "store/tags.h"

struct gone_run {
	struct gone_run *next;
	struct bread_str id, root;
};

struct gone_session {
	struct gone_session *next;
	struct bread_str id;
};

struct gone {
	struct arena arena;
	struct map runs, sessions;               /* by id: that they are here */
	struct gone_run *first_run, *last_run;   /* a root before those below it */
	struct gone_session *first, *last_found; /* the same, and the queue of those to look into */
};

static void add_session(struct gone *g, struct bread_str id)
{
	struct gone_session *s;

	if (!id.n || brd_map_get(&g->sessions, id))
		return;
	s = brd_arena_alloc(&g->arena, sizeof(*s));
	*s = (struct gone_session){ .id = brd_arena_copy(&g->arena, id) };
	brd_map_put(&g->sessions, s->id, s);
	if (g->last_found)
		g->last_found->next = s;
	else
		g->first = s;
	g->last_found = s;
}

static void add_run(struct gone *g, struct bread_str id, struct bread_str root)
{
	struct gone_run *r;

	if (brd_map_get(&g->runs, id))
		return;
	r = brd_arena_alloc(&g->arena, sizeof(*r));
	*r = (struct gone_run){ .id = brd_arena_copy(&g->arena, id),
		.root = brd_arena_copy(&g->arena, root) };
	brd_map_put(&g->runs, r->id, r);
	if (g->last_run)
		g->last_run->next = r;
	else
		g->first_run = r;
	g->last_run = r;
}

static int find_runs(struct sq_conn *c, struct gone *g, struct bread_str session)
{
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, W_RUNS_OF_SESSION, &s);

	if (rc)
		return rc;
	brd_sq_bind(s, 1, session);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		add_run(g, brd_sq_column(s, 0), brd_sq_column(s, 1));
		add_session(g, brd_sq_column(s, 2));
	}
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : rc;
}

/* Its lines go with the whole tree if its root goes, too. */
static int delete_lines(struct sq_conn *c, const struct gone *g, const struct gone_run *r)
{
	struct binder b;

	if (!r->root.n || brd_str_eq(r->root, r->id))
		return brd_sq_run_with_id(c, W_DEL_TREE, r->id, NULL);
	if (brd_map_get(&g->runs, r->root))
		return 0;
	b = brd_sq_binder(c, W_DEL_LINES);
	brd_sq_must(&b, r->root);
	brd_sq_must(&b, r->id);
	return brd_sq_go(&b);
}

static int delete_run(struct sq_conn *c, const struct gone *g, const struct gone_run *r)
{
	int64_t dropped = 0;
	int rc = delete_lines(c, g, r);

	if (!rc)
		rc = brd_sq_drop(c, r->id, &dropped);
	for (size_t i = W_DEL_RUN_CRUMBS; !rc && i <= W_DEL_RUN; i++)
		rc = brd_sq_run_with_id(c, i, r->id, NULL);
	return rc;
}

static int delete_found(struct sq_conn *c, const struct gone *g, int64_t *affected)
{
	int rc = 0;

	for (struct gone_run *r = g->first_run; !rc && r; r = r->next)
		rc = delete_run(c, g, r);
	for (struct gone_session *s = g->first; !rc && s; s = s->next)
		for (size_t i = W_DEL_MESSAGES; !rc && i <= W_DEL_SESSION; i++)
			rc = brd_sq_run_with_id(c, i, s->id, i == W_DEL_SESSION ? affected : NULL);
	return rc;
}

/* Looks into the sessions that are there already, and into those that are found thereby. */
static int delete_all(struct sq_conn *c, struct gone *g, int64_t *affected)
{
	int rc = 0;

	for (struct gone_session *s = g->first; !rc && s; s = s->next)
		rc = find_runs(c, g, s->id);
	return rc ? rc : delete_found(c, g, affected);
}

static void gone_fini(struct gone *g)
{
	brd_map_fini(&g->runs);
	brd_map_fini(&g->sessions);
	brd_arena_fini(&g->arena);
}

int brd_sq_delete_session(struct sq_conn *c, struct bread_rec *rec)
{
	struct gone g = { 0 };
	int64_t went = 0;
	/* first by itself: whether it was there is the answer */
	int rc = brd_sq_run_with_id(c, W_DEL_SESSION, rec->key, &rec->affected);

	add_session(&g, rec->key);
	if (!rc)
		rc = delete_all(c, &g, &went);
	gone_fini(&g);
	return rc;
}

static int find_stale(struct sq_conn *c, const struct bread_rec *rec, struct gone *g)
{
	sqlite3_stmt *s;
	int rc = brd_sq_stmt(c, W_STALE, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, rec->number);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW)
		if (brd_tags_match_all(&c->scratch, brd_sq_column(s, 1), rec->value))
			add_session(g, brd_sq_column(s, 0));
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : rc;
}

/* Counts all that went, also those that only ran below: the number then is the same in
 * whatever order they are found. */
int brd_sq_clean_sessions(struct sq_conn *c, struct bread_rec *rec)
{
	struct gone g = { 0 };
	int rc = find_stale(c, rec, &g);

	if (!rc)
		rc = delete_all(c, &g, &rec->affected);
	gone_fini(&g);
	return rc;
}

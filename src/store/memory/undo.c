/* SPDX-License-Identifier: MIT */
/* The way back from a tx that is refused, and the way on from one that is done.
 *
 * Each change leaves an entry behind that can put the old state back. A tx that is refused
 * undoes its entries, newest first; one that is done frees what they kept. */
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"
#include "store/memory/impl.h"

struct mem_undo {
	struct mem_undo *next;
	enum undo_kind kind;
	void *place, *old;
};

void brd_mem_remember(struct mem_store *m, enum undo_kind kind, void *place, void *old)
{
	struct mem_undo *u = brd_alloc(sizeof(*u));

	*u = (struct mem_undo){ m->undo, kind, place, old };
	m->undo = u;
}

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
static void undo_session_gone(struct mem_store *m, struct mem_session *s)
{
	struct mem_session *other = brd_map_del(&m->sessions, s->id);

	if (other)
		brd_mem_session_free(m, other);
	s->gone = false;
	brd_map_put(&m->sessions, s->id, s);
}

static void undo_run_gone(struct mem_store *m, struct mem_run *run)
{
	brd_mem_run_free(brd_map_del(&m->runs, run->id));
	run->gone = false;
	brd_map_put(&m->runs, run->id, run);
}

static void undo_session(struct mem_session *s, struct bread_session_row *old)
{
	free(s->row);
	s->row = old;
	if (!old)
		brd_list_remove(&s->link);
}

/* A run of which nothing is left may come again, in another session or tree. */
static void leave(struct mem_run *run)
{
	if (run->row)
		return;
	brd_list_remove(&run->of_root);
	if (!run->crumbs.count)
		brd_list_remove(&run->of_session);
}

static void undo_run(struct mem_store *m, struct mem_run *run, struct bread_run_row *old)
{
	free(run->row);
	run->row = old;
	brd_mem_run_listed(m, run);
	leave(run);
}

static void undo_crumb(struct mem_run *run, struct bread_crumb_row *row)
{
	remove_row(&run->crumbs, row);
	free(row);
	leave(run);
}

static void undo_line(struct mem_run *root, struct mem_line *line)
{
	remove_row(&root->lines, line);
	free(line);
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
	case UNDO_LINE:
		undo_line(u->place, u->old);
		break;
	case UNDO_NODE:
		free(((struct mem_node *)u->place)->row);
		((struct mem_node *)u->place)->row = u->old;
		break;
	case UNDO_NODE_ADDED:
		undo_node_added(u->place);
		break;
	case UNDO_ROW:
		brd_mem_put_back(m, u->place, u->old);
		break;
	case UNDO_SESSION_GONE:
		undo_session_gone(m, u->place);
		break;
	case UNDO_RUN_GONE:
		undo_run_gone(m, u->place);
		break;
	}
}

/* Its lines in the log of a root that stays. */
static void forget_lines(struct mem_store *m, const struct mem_run *run)
{
	struct mem_run *root = run->row ? brd_mem_run_at(m, run->row->root_id, false) : NULL;
	size_t kept = 0;

	if (!root)
		return;
	for (size_t i = 0; i < root->lines.count; i++) {
		struct mem_line *line = root->lines.at[i];

		if (line->run == run)
			free(line);
		else
			root->lines.at[kept++] = line;
	}
	root->lines.count = kept;
}

static void keep_one(struct mem_store *m, struct mem_undo *u)
{
	switch (u->kind) {
	case UNDO_SESSION:
	case UNDO_RUN:
	case UNDO_NODE:
	case UNDO_ROW:
		free(u->old);
		break;
	case UNDO_SESSION_GONE:
		brd_mem_session_free(m, u->place);
		break;
	case UNDO_RUN_GONE:
		forget_lines(m, u->place);
		brd_mem_run_free(u->place);
		break;
	default:
		break;
	}
}

void brd_mem_settle(struct mem_store *m, bool keep)
{
	struct mem_undo *u;

	while ((u = m->undo)) {
		m->undo = u->next;
		if (keep)
			keep_one(m, u);
		else
			undo_one(m, u);
		free(u);
	}
	brd_mem_sweep(m);
}

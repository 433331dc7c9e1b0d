/* SPDX-License-Identifier: MIT */
/* Questions to the store in memory. */
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"
#include "store/memory/impl.h"
#include "store/tags.h"

bool brd_mem_give(struct page *p, const struct row_kind *k, const void *row)
{
	if (p->skip) {
		p->skip--;
		return true;
	}
	if (p->a->count == p->limit) {
		p->r->more = 1;
		return false;
	}
	brd_mem_answer(p->a, k, row);
	return true;
}

static int64_t head(const struct mem_run *run)
{
	const struct bread_crumb_row *last;

	if (!run->crumbs.count)
		return 0;
	last = run->crumbs.at[run->crumbs.count - 1];
	return last->seq;
}

static int64_t tree_head(const struct mem_run *root)
{
	const struct mem_line *last;

	if (!root->lines.count)
		return 0;
	last = root->lines.at[root->lines.count - 1];
	return last->row->tree_seq;
}

static bool give_run(struct page *p, const struct mem_run *run)
{
	struct bread_run_row row = *run->row;

	row.head = head(run);
	row.tree_head = row.composed ? tree_head(run) : 0;
	return brd_mem_give(p, &brd_mem_run, &row);
}

static bool run_matches(
	const struct bread_run_row *row, const struct bread_run_filter *f, struct arena *scratch)
{
	if (f->session_id.n && !brd_str_eq(f->session_id, row->session_id))
		return false;
	if (f->agent_id.n && !brd_str_eq(f->agent_id, row->agent_id))
		return false;
	if (f->status >= 0 && f->status != (int)row->status)
		return false;
	return !f->tag_key.n || brd_tag_matches(scratch, row->tags, f->tag_key, f->tag_value);
}

static void read_runs(struct mem_store *m, struct page *p)
{
	const struct bread_run_filter *f = &p->r->filter;
	struct list *it = m->runs_list.prev;
	struct arena scratch = { 0 };

	if (f->before.n) {
		struct mem_run *before = brd_mem_run_at(m, f->before, false);

		it = before && before->row ? before->link.prev : &m->runs_list;
	}
	for (; it != &m->runs_list; it = it->prev) {
		struct mem_run *run = brd_list_of(it, struct mem_run, link);

		if (run_matches(run->row, f, &scratch) && !give_run(p, run))
			break;
	}
	brd_arena_fini(&scratch);
}

static void read_run(struct mem_store *m, struct page *p)
{
	struct mem_run *run = brd_mem_run_at(m, p->r->key, false);

	if (run && run->row)
		give_run(p, run);
}

/* A root that goes on, or was answered or cancelled while it slept. */
static bool is_awake(const struct bread_run_row *row)
{
	return !row->parent_id.n &&
	       (row->status != BREAD_RUN_SUSPENDED || row->wake > 0 || row->cancel_requested);
}

static void read_unfinished(struct mem_store *m, struct page *p)
{
	brd_list_each(it, &m->open) {
		struct mem_run *run = brd_list_of(it, struct mem_run, open);

		if (is_awake(run->row) && !give_run(p, run))
			return;
	}
}

static void read_active(struct mem_store *m, struct page *p)
{
	struct mem_session *s = brd_mem_session_at(m, p->r->key, false);

	if (!s)
		return;
	brd_list_each(it, &s->runs) {
		struct mem_run *run = brd_list_of(it, struct mem_run, of_session);

		if (run->row && brd_list_linked(&run->open) && !give_run(p, run))
			return;
	}
}

/* false: the page is full. line: with what only the log of a tree says. */
static bool give_crumb(struct page *p, const struct bread_crumb_row *from, bool line)
{
	struct bread_crumb_row row = *from;

	p->bytes += row.crumb.n;
	if (p->a->count && p->bytes > p->max_bytes) {
		p->r->more = 1;
		return false;
	}
	if (!line) {
		row.path = (struct bread_str){ 0 };
		row.tree_seq = 0;
	}
	return brd_mem_give(p, &brd_mem_crumb, &row);
}

static void read_crumbs(struct mem_store *m, struct page *p)
{
	struct mem_run *run = brd_mem_run_at(m, p->r->key, false);

	if (!run || p->r->after == INT64_MAX)
		return;
	for (size_t i = brd_mem_crumb_find(run, p->r->after + 1); i < run->crumbs.count; i++)
		if (!give_crumb(p, run->crumbs.at[i], false))
			return;
}

static void read_tree_crumbs(struct mem_store *m, struct page *p)
{
	struct mem_run *root = brd_mem_run_at(m, p->r->key, false);

	if (!root || p->r->after == INT64_MAX)
		return;
	for (size_t i = brd_mem_line_find(root, p->r->after + 1); i < root->lines.count; i++)
		if (!give_crumb(p, ((struct mem_line *)root->lines.at[i])->row, true))
			return;
}

static void read_crumb(struct mem_store *m, struct page *p)
{
	struct mem_run *run = brd_mem_run_at(m, p->r->key, false);
	size_t at = run ? brd_mem_crumb_find(run, p->r->after) : 0;

	if (run && at < run->crumbs.count &&
		((struct bread_crumb_row *)run->crumbs.at[at])->seq == p->r->after)
		give_crumb(p, run->crumbs.at[at], false);
}

/* Calls each for the root and those below it; open: only for those of them that have not ended.
 * Stops when each says false. */
static void walk_tree(struct mem_store *m, struct page *p, bool open,
	bool (*each)(struct page *p, const struct mem_run *run))
{
	struct mem_run *root = brd_mem_run_at(m, p->r->key, false);

	if (!root)
		return;
	if (root->row && !root->row->parent_id.n && !each(p, root))
		return;
	brd_list_each(it, &root->below) {
		struct mem_run *run = brd_list_of(it, struct mem_run, of_root);

		if (run->row && (!open || brd_list_linked(&run->open)) && !each(p, run))
			return;
	}
}

static void read_tree(struct mem_store *m, struct page *p)
{
	walk_tree(m, p, false, give_run);
}

static void read_tree_open(struct mem_store *m, struct page *p)
{
	walk_tree(m, p, true, give_run);
}

static bool give_nodes(struct page *p, const struct mem_run *run)
{
	for (size_t i = 0; i < run->nodes.count; i++) {
		const struct bread_node_row *row = ((struct mem_node *)run->nodes.at[i])->row;

		if ((p->r->kind != BREAD_READ_ANSWERS || row->state == BREAD_NODE_ANSWERED) &&
			!brd_mem_give(p, &brd_mem_node, row))
			return false;
	}
	return true;
}

static void read_tree_nodes(struct mem_store *m, struct page *p)
{
	walk_tree(m, p, true, give_nodes);
}

static void read_answers(struct mem_store *m, struct page *p)
{
	walk_tree(m, p, false, give_nodes);
}

static void read_nodes(struct mem_store *m, struct page *p)
{
	struct mem_run *run = brd_mem_run_at(m, p->r->key, false);

	if (run)
		give_nodes(p, run);
}

static void read_session(struct mem_store *m, struct page *p)
{
	struct mem_session *s = brd_mem_session_at(m, p->r->key, false);

	if (s && s->row)
		brd_mem_give(p, &brd_mem_session, s->row);
}

/* By created_at; the order of the list, which is that of creation, decides among equals. */
struct session_at {
	const struct bread_session_row *row;
	size_t at;
};

static int by_creation(const void *a, const void *b)
{
	const struct session_at *x = a, *y = b;

	if (x->row->created_at != y->row->created_at)
		return x->row->created_at < y->row->created_at ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

static struct session_at *sorted_sessions(
	struct mem_store *m, const struct bread_run_filter *f, size_t *ret_count)
{
	struct session_at *all = brd_array(m->sessions.count + 1, sizeof(*all));
	struct arena scratch = { 0 };
	size_t n = 0;

	brd_list_each(it, &m->sessions_list) {
		const struct bread_session_row *row =
			brd_list_of(it, struct mem_session, link)->row;

		if (f->tag_key.n && !brd_tag_matches(&scratch, row->tags, f->tag_key, f->tag_value))
			continue;
		all[n] = (struct session_at){ row, n };
		n++;
	}
	brd_arena_fini(&scratch);
	qsort(all, n, sizeof(*all), by_creation);
	*ret_count = n;
	return all;
}

static void read_sessions(struct mem_store *m, struct page *p)
{
	size_t count;
	struct session_at *all = sorted_sessions(m, &p->r->filter, &count);

	for (size_t i = 0; i < count; i++)
		if (!brd_mem_give(p, &brd_mem_session, all[i].row))
			break;
	free(all);
}

static void read_messages(struct mem_store *m, struct page *p)
{
	struct mem_session *s = brd_mem_session_at(m, p->r->key, false);

	for (size_t i = 0; s && i < s->messages.count; i++)
		if (!brd_mem_give(p, &brd_mem_message, s->messages.at[i]))
			return;
}

static void read_definition(struct mem_store *m, struct page *p)
{
	const struct mem_definition *d = brd_mem_get(m, MEM_DEFINITIONS, p->r->key);

	if (!d)
		return;
	p->r->text = brd_answer_str(p->a, d->value);
	p->a->count = 1;
}

static void (*const questions[])(struct mem_store *m, struct page *p) = {
	[BREAD_READ_RUN] = read_run,
	[BREAD_READ_RUNS] = read_runs,
	[BREAD_READ_CRUMBS] = read_crumbs,
	[BREAD_READ_CRUMB] = read_crumb,
	[BREAD_READ_NODES] = read_nodes,
	[BREAD_READ_SESSION] = read_session,
	[BREAD_READ_SESSIONS] = read_sessions,
	[BREAD_READ_MESSAGES] = read_messages,
	[BREAD_READ_DEFINITION] = read_definition,
	[BREAD_READ_UNFINISHED] = read_unfinished,
	[BREAD_READ_TREE] = read_tree,
	[BREAD_READ_TREE_OPEN] = read_tree_open,
	[BREAD_READ_TREE_NODES] = read_tree_nodes,
	[BREAD_READ_ANSWERS] = read_answers,
	[BREAD_READ_TREE_CRUMBS] = read_tree_crumbs,
	[BREAD_READ_ACTIVE] = read_active,
};

/* For which after is a number of rows. */
static bool skips(enum bread_read_kind kind)
{
	switch (kind) {
	case BREAD_READ_NODES:
	case BREAD_READ_SESSIONS:
	case BREAD_READ_MESSAGES:
	case BREAD_READ_CHECKPOINTS:
	case BREAD_READ_DUE:
	case BREAD_READ_TREE:
	case BREAD_READ_TREE_OPEN:
	case BREAD_READ_TREE_NODES:
	case BREAD_READ_ANSWERS:
	case BREAD_READ_LOOPS:
	case BREAD_READ_LOOP_ROUNDS:
	case BREAD_READ_TASK_RUNS:
	case BREAD_READ_KNOWLEDGE:
	case BREAD_READ_KNOWLEDGE_OF:
	case BREAD_READ_DOCUMENTS:
		return true;
	default:
		return false;
	}
}

void brd_mem_read(struct mem_store *m, struct bread_read *r)
{
	struct page p = {
		.r = r,
		.a = brd_answer_new(r->kind),
		.skip = skips(r->kind) && r->after > 0 ? (size_t)r->after : 0,
		.limit = brd_read_limit(r),
		.max_bytes = brd_read_max_bytes(r),
	};

	if (!brd_mem_read_table(m, &p))
		questions[r->kind](m, &p);
	brd_answer_give(p.a, r);
}

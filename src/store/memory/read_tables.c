/* SPDX-License-Identifier: MIT */
/* Questions about tables: one row by its id, or those that match, in an order. */
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"
#include "store/memory/impl.h"
#include "store/tags.h"

/* What a row that matches is sorted by: key, then id, then its place in the table. */
struct sorted {
	int64_t key;
	struct bread_str id;
	size_t at;
	const void *row;
};

static int compare(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	int by_id;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	by_id = brd_str_cmp(x->id, y->id);
	if (by_id)
		return by_id;
	return x->at < y->at ? -1 : 1;
}

static void newest_first(struct sorted *s, int64_t time)
{
	s->key = -time;
	s->at = ~s->at;
}

static bool fits(struct bread_str wanted, struct bread_str is)
{
	return !wanted.n || brd_str_eq(wanted, is);
}

/* Each: whether the row matches, and what it is sorted by. */

static bool pick_owner(const struct bread_read *r, struct sorted *s)
{
	s->id = ((const struct bread_owner_row *)s->row)->id;
	return true;
}

static bool pick_checkpoint(const struct bread_read *r, struct sorted *s)
{
	const struct bread_checkpoint_row *row = s->row;

	s->key = row->created_at;
	s->id = row->id;
	return fits(r->key, row->run_id) && fits(r->filter.agent_id, row->agent_id) &&
	       fits(r->filter.session_id, row->session_id) && fits(r->filter.root_id, row->root_id);
}

static bool pick_due(const struct bread_read *r, struct sorted *s)
{
	const struct bread_checkpoint_row *row = s->row;

	s->key = row->deadline;
	s->id = row->id;
	return row->deadline > 0 && row->deadline <= r->filter.until;
}

static bool pick_loop(const struct bread_read *r, struct sorted *s)
{
	const struct bread_loop_row *row = s->row;

	newest_first(s, row->started_at);
	return fits(r->filter.agent_id, row->agent_id) &&
	       fits(r->filter.session_id, row->session_id) &&
	       fits(r->filter.status_word, row->status);
}

static bool pick_round(const struct bread_read *r, struct sorted *s)
{
	const struct bread_loop_round_row *row = s->row;

	s->key = row->index;
	return brd_str_eq(r->key, row->loop_id);
}

static bool pick_task_run(const struct bread_read *r, struct sorted *s)
{
	const struct bread_task_run_row *row = s->row;

	newest_first(s, row->created_at);
	return fits(r->filter.agent_id, row->agent_id) &&
	       fits(r->filter.session_id, row->session_id) &&
	       fits(r->filter.status_word, row->status) && fits(r->filter.task_id, row->task_id);
}

static bool pick_knowledge(const struct bread_read *r, struct sorted *s)
{
	const struct bread_knowledge_row *row = s->row;

	newest_first(s, row->created_at);
	return brd_str_eq(r->filter.agent_id, row->agent_id) &&
	       brd_text_has(row->label, r->filter.text);
}

static bool pick_knowledge_of(const struct bread_read *r, struct sorted *s)
{
	const struct bread_knowledge_row *row = s->row;

	newest_first(s, row->created_at);
	return brd_str_eq(r->filter.agent_id, row->agent_id) && row->session_id.n &&
	       brd_str_eq(r->filter.session_id, row->session_id);
}

static bool pick_document(const struct bread_read *r, struct sorted *s)
{
	const struct bread_document_row *row = s->row;

	return brd_str_eq(r->filter.agent_id, row->agent_id) &&
	       (brd_text_has(row->title, r->filter.text) ||
		       brd_text_has(row->content, r->filter.text));
}

static const struct list_question {
	enum bread_read_kind kind;
	enum mem_table_id table;
	bool (*pick)(const struct bread_read *r, struct sorted *s); /* NULL: the one with the key */
} questions[] = {
	{ BREAD_READ_OWNERS, MEM_OWNERS, pick_owner },
	{ BREAD_READ_CHECKPOINT, MEM_CHECKPOINTS, NULL },
	{ BREAD_READ_CHECKPOINTS, MEM_CHECKPOINTS, pick_checkpoint },
	{ BREAD_READ_DUE, MEM_CHECKPOINTS, pick_due },
	{ BREAD_READ_LOOP, MEM_LOOPS, NULL },
	{ BREAD_READ_LOOPS, MEM_LOOPS, pick_loop },
	{ BREAD_READ_LOOP_ROUNDS, MEM_ROUNDS, pick_round },
	{ BREAD_READ_TASK_RUN, MEM_TASK_RUNS, NULL },
	{ BREAD_READ_TASK_RUNS, MEM_TASK_RUNS, pick_task_run },
	{ BREAD_READ_KNOWLEDGE, MEM_KNOWLEDGE, pick_knowledge },
	{ BREAD_READ_KNOWLEDGE_OF, MEM_KNOWLEDGE, pick_knowledge_of },
	{ BREAD_READ_DOCUMENT, MEM_DOCUMENTS, NULL },
	{ BREAD_READ_DOCUMENTS, MEM_DOCUMENTS, pick_document },
	{ BREAD_READ_IDEMPOTENCY, MEM_KEYS, NULL },
};

static void give_one(struct mem_store *m, struct page *p, enum mem_table_id table)
{
	const void *row = brd_mem_get(m, table, p->r->key);

	if (row && table == MEM_DOCUMENTS &&
		!brd_str_eq(
			((const struct bread_document_row *)row)->agent_id, p->r->filter.agent_id))
		return;
	if (row)
		brd_mem_give(p, m->tables[table].kind, row);
}

static void give_list(struct mem_store *m, struct page *p, const struct list_question *q)
{
	struct mem_table *t = &m->tables[q->table];
	struct sorted *all = brd_array(t->by_id.count + 1, sizeof(*all));
	size_t n = 0;

	brd_list_each(it, &t->order) {
		all[n] = (struct sorted){ .at = n, .row = brd_mem_row_at(it) };
		if (q->pick(p->r, &all[n]))
			n++;
	}
	qsort(all, n, sizeof(*all), compare);
	for (size_t i = 0; i < n; i++)
		if (!brd_mem_give(p, t->kind, all[i].row))
			break;
	free(all);
}

bool brd_mem_read_table(struct mem_store *m, struct page *p)
{
	const struct list_question *q = questions;
	const struct list_question *end = questions + sizeof(questions) / sizeof(*questions);

	while (q != end && q->kind != p->r->kind)
		q++;
	if (q == end)
		return false;
	if (q->pick)
		give_list(m, p, q);
	else
		give_one(m, p, q->table);
	return true;
}

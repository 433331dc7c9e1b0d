/* SPDX-License-Identifier: MIT */
/* Questions to the store in memory. */
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"
#include "store/memory/impl.h"
#include "store/tags.h"

/* A page of the answer: how much is skipped, how much fits. */
struct page {
	struct bread_read *r;
	struct answer *a;
	size_t skip, limit, bytes, max_bytes;
};

/* false: the page is full, and more is set. */
static bool give(struct page *p, const struct row_kind *k, const void *row)
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

static bool give_run(struct page *p, const struct mem_run *run)
{
	struct bread_run_row row = *run->row;

	row.head = head(run);
	return give(p, &brd_mem_run, &row);
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

static void read_unfinished(struct mem_store *m, struct page *p)
{
	brd_list_each(it, &m->open) {
		struct mem_run *run = brd_list_of(it, struct mem_run, open);

		if (run->row->status != BREAD_RUN_SUSPENDED && !give_run(p, run))
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

static void read_crumbs(struct mem_store *m, struct page *p)
{
	struct mem_run *run = brd_mem_run_at(m, p->r->key, false);

	if (!run || p->r->after == INT64_MAX)
		return;
	for (size_t i = brd_mem_crumb_find(run, p->r->after + 1); i < run->crumbs.count; i++) {
		const struct bread_crumb_row *row = run->crumbs.at[i];

		p->bytes += row->crumb.n;
		if (p->a->count && p->bytes > p->max_bytes) {
			p->r->more = 1;
			return;
		}
		if (!give(p, &brd_mem_crumb, row))
			return;
	}
}

static void read_crumb(struct mem_store *m, struct page *p)
{
	struct mem_run *run = brd_mem_run_at(m, p->r->key, false);
	size_t at = run ? brd_mem_crumb_find(run, p->r->after) : 0;

	if (run && at < run->crumbs.count &&
		((struct bread_crumb_row *)run->crumbs.at[at])->seq == p->r->after)
		give(p, &brd_mem_crumb, run->crumbs.at[at]);
}

static void read_nodes(struct mem_store *m, struct page *p)
{
	struct mem_run *run = brd_mem_run_at(m, p->r->key, false);

	for (size_t i = 0; run && i < run->nodes.count; i++)
		if (!give(p, &brd_mem_node, ((struct mem_node *)run->nodes.at[i])->row))
			return;
}

static void read_session(struct mem_store *m, struct page *p)
{
	struct mem_session *s = brd_mem_session_at(m, p->r->key, false);

	if (s && s->row)
		give(p, &brd_mem_session, s->row);
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
		if (!give(p, &brd_mem_session, all[i].row))
			break;
	free(all);
}

static void read_messages(struct mem_store *m, struct page *p)
{
	struct mem_session *s = brd_mem_session_at(m, p->r->key, false);

	for (size_t i = 0; s && i < s->messages.count; i++)
		if (!give(p, &brd_mem_message, s->messages.at[i]))
			return;
}

static void read_definition(struct mem_store *m, struct page *p)
{
	struct mem_definition *d = brd_map_get(&m->definitions, p->r->key);

	if (!d)
		return;
	p->r->text = brd_answer_str(p->a, d->value);
	p->a->count = 1;
}

static int by_id(const void *a, const void *b)
{
	const struct mem_owner *x = *(void *const *)a, *y = *(void *const *)b;

	return brd_str_cmp(x->id, y->id);
}

static void read_owners(struct mem_store *m, struct page *p)
{
	struct mem_vec all = { 0 };
	struct map_slot *slot;
	size_t at = 0;

	while (brd_map_next(&m->owners, &at, &slot))
		if (((struct mem_owner *)slot->value)->row)
			brd_mem_insert(&all, all.count, slot->value);
	if (all.count)
		qsort(all.at, all.count, sizeof(*all.at), by_id);
	for (size_t i = 0; i < all.count; i++)
		if (!give(p, &brd_mem_owner, ((struct mem_owner *)all.at[i])->row))
			break;
	free(all.at);
}

static void read_checkpoint(struct mem_store *m, struct page *p)
{
	struct bread_checkpoint_row *row = brd_map_get(&m->checkpoints, p->r->key);

	if (row)
		give(p, &brd_mem_checkpoint, row);
}

static int by_age(const void *a, const void *b)
{
	const struct bread_checkpoint_row *x = *(void *const *)a, *y = *(void *const *)b;

	if (x->created_at != y->created_at)
		return x->created_at < y->created_at ? -1 : 1;
	return brd_str_cmp(x->id, y->id);
}

static void read_checkpoints(struct mem_store *m, struct page *p)
{
	struct mem_vec all = { 0 };
	struct map_slot *slot;

	for (size_t at = 0; brd_map_next(&m->checkpoints, &at, &slot);) {
		struct bread_checkpoint_row *row = slot->value;

		if (!p->r->key.n || brd_str_eq(row->run_id, p->r->key))
			brd_mem_insert(&all, all.count, row);
	}
	if (all.count)
		qsort(all.at, all.count, sizeof(*all.at), by_age);
	for (size_t i = 0; i < all.count; i++)
		if (!give(p, &brd_mem_checkpoint, all.at[i]))
			break;
	free(all.at);
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
	[BREAD_READ_CHECKPOINT] = read_checkpoint,
	[BREAD_READ_CHECKPOINTS] = read_checkpoints,
	[BREAD_READ_DEFINITION] = read_definition,
	[BREAD_READ_OWNERS] = read_owners,
	[BREAD_READ_UNFINISHED] = read_unfinished,
	[BREAD_READ_ACTIVE] = read_active,
};

static bool skips(enum bread_read_kind kind)
{
	return kind == BREAD_READ_SESSIONS || kind == BREAD_READ_MESSAGES ||
	       kind == BREAD_READ_NODES || kind == BREAD_READ_CHECKPOINTS;
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

	questions[r->kind](m, &p);
	brd_answer_give(p.a, r);
}

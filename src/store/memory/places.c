/* SPDX-License-Identifier: MIT */
/* Where sessions and runs are kept, and how they go. */
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"
#include "store/memory/impl.h"
#include "store/store.h"

/* A copy of id, which the place owns and the map borrows. */
static struct bread_str own(struct bread_str id)
{
	return (struct bread_str){ brd_strndup(id), id.n };
}

struct mem_session *brd_mem_session_at(struct mem_store *m, struct bread_str id, bool make)
{
	struct mem_session *s = brd_map_get(&m->sessions, id);

	if (s || !make)
		return s;
	s = brd_alloc(sizeof(*s));
	s->id = own(id);
	brd_list_init(&s->runs);
	brd_map_put(&m->sessions, s->id, s);
	return s;
}

struct mem_run *brd_mem_run_at(struct mem_store *m, struct bread_str id, bool make)
{
	struct mem_run *run = brd_map_get(&m->runs, id);

	if (run || !make)
		return run;
	run = brd_alloc(sizeof(*run));
	run->id = own(id);
	brd_list_init(&run->below);
	brd_map_put(&m->runs, run->id, run);
	return run;
}

static void free_node(void *p)
{
	struct mem_node *n = p;

	free(n->row);
	free((char *)n->name.p);
	free(n);
}

static void free_vec(struct mem_vec *v, void (*free_one)(void *p))
{
	for (size_t i = 0; i < v->count; i++)
		free_one(v->at[i]);
	free(v->at);
}

/* Those in the list are in none from now on. */
static void unlink_all(struct list *head)
{
	while (brd_list_pop(head))
		continue;
}

void brd_mem_run_free(struct mem_run *run)
{
	if (!run)
		return;
	brd_list_remove(&run->link);
	brd_list_remove(&run->open);
	brd_list_remove(&run->of_session);
	brd_list_remove(&run->of_root);
	unlink_all(&run->below);
	free_vec(&run->crumbs, free);
	free_vec(&run->lines, free);
	free_vec(&run->nodes, free_node);
	brd_map_fini(&run->nodes_by_name);
	free(run->row);
	free((char *)run->id.p);
	free(run);
}

/* It is not in the map by id any more. */
void brd_mem_session_free(struct mem_store *m, struct mem_session *s)
{
	unlink_all(&s->runs);
	for (size_t i = 0; i < s->messages.count; i++) {
		struct bread_message_row *row = s->messages.at[i];

		brd_map_del(&m->messages, row->id);
	}
	free_vec(&s->messages, free);
	brd_list_remove(&s->link);
	free(s->row);
	free((char *)s->id.p);
	free(s);
}

static void free_values(struct map *m, void (*free_one)(void *p))
{
	struct map_slot *slot;
	size_t at = 0;

	while (brd_map_next(m, &at, &slot))
		free_one(slot->value);
	brd_map_fini(m);
}

static void free_run(void *p)
{
	brd_mem_run_free(p);
}

void brd_mem_free_all(struct mem_store *m)
{
	struct map_slot *slot;
	size_t at = 0;

	free_values(&m->runs, free_run);
	while (brd_map_next(&m->sessions, &at, &slot))
		brd_mem_session_free(m, slot->value);
	brd_map_fini(&m->sessions);
	brd_map_fini(&m->messages);
	brd_mem_tables_fini(m);
}

size_t brd_mem_crumb_find(const struct mem_run *run, int64_t seq)
{
	size_t low = 0, high = run->crumbs.count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct bread_crumb_row *row = run->crumbs.at[mid];

		if (row->seq < seq)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t brd_mem_line_find(const struct mem_run *root, int64_t seq)
{
	size_t low = 0, high = root->lines.count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct mem_line *line = root->lines.at[mid];

		if (line->row->tree_seq < seq)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void listed(struct list *head, struct list *link, bool in)
{
	if (!in)
		brd_list_remove(link);
	else if (!brd_list_linked(link))
		brd_list_push(head, link);
}

void brd_mem_run_listed(struct mem_store *m, struct mem_run *run)
{
	listed(&m->runs_list, &run->link, run->row);
	listed(&m->open, &run->open, run->row && !brd_run_ended(run->row->status));
}

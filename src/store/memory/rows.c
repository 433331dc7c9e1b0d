/* SPDX-License-Identifier: MIT */
/* Copies of rows: a row and its texts in one block. */
#include <string.h>
#include "base/mem.h"
#include "store/memory/impl.h"

static const size_t run_texts[] = { AT(run, id), AT(run, root_id), AT(run, parent_id),
	AT(run, agent_id), AT(run, session_id), AT(run, owner), AT(run, definition), AT(run, input),
	AT(run, output), AT(run, files), AT(run, error), AT(run, options), AT(run, tags),
	AT(run, path) };
static const size_t session_texts[] = { AT(session, id), AT(session, agent_id), AT(session, tags) };
static const size_t message_texts[] = { AT(message, id), AT(message, session_id), AT(message, role),
	AT(message, content) };
static const size_t crumb_texts[] = { AT(crumb, run_id), AT(crumb, session_id), AT(crumb, agent_id),
	AT(crumb, type), AT(crumb, crumb), AT(crumb, path) };
static const size_t node_texts[] = { AT(node, run_id), AT(node, name), AT(node, kind),
	AT(node, data) };

const struct row_kind brd_mem_run = KIND(run, run_texts);
const struct row_kind brd_mem_session = KIND(session, session_texts);
const struct row_kind brd_mem_message = KIND(message, message_texts);
const struct row_kind brd_mem_crumb = KIND(crumb, crumb_texts);
const struct row_kind brd_mem_node = KIND(node, node_texts);

static struct bread_str *text_of(const struct row_kind *k, void *row, size_t i)
{
	return (struct bread_str *)((char *)row + k->texts[i]);
}

void *brd_mem_copy(const struct row_kind *k, const void *row)
{
	size_t size = k->size;
	char *copy, *to;

	for (size_t i = 0; i < k->count; i++)
		size += text_of(k, (void *)row, i)->n;
	copy = brd_alloc(size);
	memcpy(copy, row, k->size);
	to = copy + k->size;
	for (size_t i = 0; i < k->count; i++) {
		struct bread_str *s = text_of(k, copy, i);

		if (s->n)
			memcpy(to, s->p, s->n);
		s->p = to;
		to += s->n;
	}
	return copy;
}

void brd_mem_answer(struct answer *a, const struct row_kind *k, const void *row)
{
	void *copy = memcpy(brd_answer_row(a), row, k->size);

	for (size_t i = 0; i < k->count; i++) {
		struct bread_str *s = text_of(k, copy, i);

		*s = brd_answer_str(a, *s);
	}
}

void brd_mem_insert(struct mem_vec *v, size_t i, void *p)
{
	if (v->count == v->cap) {
		v->cap = v->cap ? v->cap * 2 : 8;
		v->at = brd_realloc(v->at, v->cap * sizeof(*v->at));
	}
	memmove(v->at + i + 1, v->at + i, (v->count - i) * sizeof(*v->at));
	v->at[i] = p;
	v->count++;
}

void brd_mem_remove(struct mem_vec *v, size_t i)
{
	v->count--;
	memmove(v->at + i, v->at + i + 1, (v->count - i) * sizeof(*v->at));
}

/* SPDX-License-Identifier: MIT */
/* Tables of rows by id.
 *
 * A row that is taken away leaves its place behind until the tx is settled, so that it comes
 * back where it was if the tx is refused. */
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"
#include "store/memory/impl.h"

static const size_t definition_texts[] = { offsetof(struct mem_definition, key),
	offsetof(struct mem_definition, value) };
static const size_t owner_texts[] = { AT(owner, id), AT(owner, place) };
static const size_t checkpoint_texts[] = { AT(checkpoint, id), AT(checkpoint, agent_id),
	AT(checkpoint, run_id), AT(checkpoint, session_id), AT(checkpoint, tool_name),
	AT(checkpoint, tool_call_id), AT(checkpoint, schema), AT(checkpoint, prompt),
	AT(checkpoint, skill), AT(checkpoint, parent), AT(checkpoint, pending),
	AT(checkpoint, root_id), AT(checkpoint, node), AT(checkpoint, kind),
	AT(checkpoint, answer_schema), AT(checkpoint, fallback) };
static const size_t loop_texts[] = { AT(loop, id), AT(loop, agent_id), AT(loop, session_id),
	AT(loop, run_id), AT(loop, pool), AT(loop, pipeline), AT(loop, status), AT(loop, result) };
static const size_t loop_round_texts[] = { AT(loop_round, id), AT(loop_round, loop_id),
	AT(loop_round, input), AT(loop_round, output) };
static const size_t task_run_texts[] = { AT(task_run, id), AT(task_run, task_id),
	AT(task_run, agent_id), AT(task_run, session_id), AT(task_run, run_id), AT(task_run, model),
	AT(task_run, input), AT(task_run, output), AT(task_run, usage), AT(task_run, status),
	AT(task_run, error) };
static const size_t knowledge_texts[] = { AT(knowledge, id), AT(knowledge, agent_id),
	AT(knowledge, session_id), AT(knowledge, label), AT(knowledge, data) };
static const size_t edge_texts[] = { offsetof(struct mem_edge, id), offsetof(struct mem_edge, from),
	offsetof(struct mem_edge, to), offsetof(struct mem_edge, relation) };
static const size_t document_texts[] = { AT(document, id), AT(document, agent_id),
	AT(document, title), AT(document, content), AT(document, source) };
static const size_t key_texts[] = { AT(idempotency, key), AT(idempotency, hash),
	AT(idempotency, run_id) };

static const struct row_kind kinds[] = {
	[MEM_DEFINITIONS] = { sizeof(struct mem_definition), definition_texts, 2 },
	[MEM_OWNERS] = KIND(owner, owner_texts),
	[MEM_CHECKPOINTS] = KIND(checkpoint, checkpoint_texts),
	[MEM_LOOPS] = KIND(loop, loop_texts),
	[MEM_ROUNDS] = KIND(loop_round, loop_round_texts),
	[MEM_TASK_RUNS] = KIND(task_run, task_run_texts),
	[MEM_KNOWLEDGE] = KIND(knowledge, knowledge_texts),
	[MEM_EDGES] = { sizeof(struct mem_edge), edge_texts, 4 },
	[MEM_DOCUMENTS] = KIND(document, document_texts),
	[MEM_KEYS] = KIND(idempotency, key_texts),
};

void brd_mem_tables_init(struct mem_store *m)
{
	for (size_t i = 0; i < MEM_TABLES; i++) {
		m->tables[i].kind = &kinds[i];
		brd_list_init(&m->tables[i].order);
	}
	brd_list_init(&m->emptied);
}

static void free_place(struct mem_row *at)
{
	brd_list_remove(&at->link);
	brd_list_remove(&at->emptied);
	free(at->row);
	free((char *)at->id.p);
	free(at);
}

void brd_mem_tables_fini(struct mem_store *m)
{
	for (size_t i = 0; i < MEM_TABLES; i++) {
		brd_list_each_safe(it, &m->tables[i].order)
			free_place(brd_list_of(it, struct mem_row, link));
		brd_map_fini(&m->tables[i].by_id);
	}
}

void *brd_mem_get(struct mem_store *m, enum mem_table_id table, struct bread_str id)
{
	struct mem_row *at = brd_map_get(&m->tables[table].by_id, id);

	return at ? at->row : NULL;
}

static struct mem_row *place(struct mem_table *t, struct bread_str id)
{
	struct mem_row *at = brd_map_get(&t->by_id, id);

	if (at)
		return at;
	at = brd_alloc(sizeof(*at));
	at->of = t;
	at->id = (struct bread_str){ brd_strndup(id), id.n };
	brd_list_push(&t->order, &at->link);
	brd_map_put(&t->by_id, at->id, at);
	return at;
}

static void set(struct mem_store *m, struct mem_row *at, void *row)
{
	at->row = row;
	if (row)
		brd_list_remove(&at->emptied);
	else if (!brd_list_linked(&at->emptied))
		brd_list_push(&m->emptied, &at->emptied);
}

void brd_mem_put(struct mem_store *m, enum mem_table_id table, struct bread_str id, const void *row)
{
	struct mem_table *t = &m->tables[table];
	struct mem_row *at = place(t, id);

	brd_mem_remember(m, UNDO_ROW, at, at->row);
	set(m, at, row ? brd_mem_copy(t->kind, row) : NULL);
}

void brd_mem_put_back(struct mem_store *m, struct mem_row *at, void *old)
{
	free(at->row);
	set(m, at, old);
}

void brd_mem_sweep(struct mem_store *m)
{
	struct list *it;

	while ((it = brd_list_pop(&m->emptied))) {
		struct mem_row *at = brd_list_of(it, struct mem_row, emptied);

		brd_map_del(&at->of->by_id, at->id);
		free_place(at);
	}
}

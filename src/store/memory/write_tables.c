/* SPDX-License-Identifier: MIT */
/* Records that are rows of tables: definitions, owners, checkpoints, and what compositions
 * leave behind. */
#include <stdlib.h>
#include "base/err.h"
#include "base/str.h"
#include "store/memory/impl.h"

#define WHERE MEM_WHERE

static int add_once(struct mem_store *m, enum mem_table_id table, struct bread_str id,
	const void *row, struct bread_err *err)
{
	if (brd_mem_get(m, table, id))
		return brd_fail(
			err, BREAD_E_CONFLICT, WHERE, "the id %.*s is there already", BRD_ARG(id));
	brd_mem_put(m, table, id, row);
	return 0;
}

static void add_definition(struct mem_store *m, const struct bread_rec *rec)
{
	if (!brd_mem_get(m, MEM_DEFINITIONS, rec->key))
		brd_mem_put(m, MEM_DEFINITIONS, rec->key,
			&(struct mem_definition){ rec->key, rec->value });
}

/* ---- checkpoints ---- */

static void put_checkpoint(struct mem_store *m, const struct bread_checkpoint_row *from)
{
	struct bread_checkpoint_row row = *from;

	if (!row.schema.n)
		row.schema = BRD_STR("null");
	brd_mem_put(m, MEM_CHECKPOINTS, row.id, &row);
}

static int claim(struct mem_store *m, struct bread_rec *rec, struct bread_err *err)
{
	if (!brd_mem_get(m, MEM_CHECKPOINTS, rec->key))
		return brd_fail(err, BREAD_E_CONFLICT, WHERE,
			"checkpoint %.*s was answered already", BRD_ARG(rec->key));
	brd_mem_put(m, MEM_CHECKPOINTS, rec->key, NULL);
	rec->affected = 1;
	return 0;
}

static void forget_checkpoint(struct mem_store *m, struct bread_rec *rec)
{
	rec->affected = brd_mem_get(m, MEM_CHECKPOINTS, rec->key) != NULL;
	if (rec->affected)
		brd_mem_put(m, MEM_CHECKPOINTS, rec->key, NULL);
}

static void link_checkpoint(struct mem_store *m, struct bread_rec *rec)
{
	const struct bread_checkpoint_row *was = brd_mem_get(m, MEM_CHECKPOINTS, rec->key);
	struct bread_checkpoint_row row;

	rec->affected = was != NULL;
	if (!was)
		return;
	row = *was;
	row.parent = rec->value;
	brd_mem_put(m, MEM_CHECKPOINTS, rec->key, &row);
}

static void drop(struct mem_store *m, struct bread_rec *rec)
{
	brd_mem_each(it, m, MEM_CHECKPOINTS)
	{
		const struct bread_checkpoint_row *row = brd_mem_row_at(it);

		if (!row ||
			(!brd_str_eq(row->run_id, rec->key) && !brd_str_eq(row->root_id, rec->key)))
			continue;
		brd_mem_put(m, MEM_CHECKPOINTS, row->id, NULL);
		rec->affected++;
	}
}

/* ---- knowledge ---- */

static int add_knowledge(struct mem_store *m, struct bread_rec *rec, struct bread_err *err)
{
	struct bread_knowledge_row row = rec->knowledge;
	struct mem_edge edge = { row.edge_id, row.id, row.to_id, row.relation };

	row.to_id = row.relation = row.edge_id = (struct bread_str){ 0 };
	if (!row.data.n)
		row.data = BRD_STR("{}");
	if (add_once(m, MEM_KNOWLEDGE, row.id, &row, err))
		return err->code;
	if (!edge.to.n || !brd_mem_get(m, MEM_KNOWLEDGE, edge.to))
		return 0;
	rec->affected = 1;
	return add_once(m, MEM_EDGES, edge.id, &edge, err);
}

static void forget(struct mem_store *m, struct bread_rec *rec)
{
	const struct bread_knowledge_row *row = brd_mem_get(m, MEM_KNOWLEDGE, rec->key);

	if (!row || !brd_str_eq(row->agent_id, rec->value))
		return;
	brd_mem_put(m, MEM_KNOWLEDGE, rec->key, NULL);
	rec->affected = 1;
	brd_mem_each(it, m, MEM_EDGES)
	{
		const struct mem_edge *edge = brd_mem_row_at(it);

		if (edge && (brd_str_eq(edge->from, rec->key) || brd_str_eq(edge->to, rec->key)))
			brd_mem_put(m, MEM_EDGES, edge->id, NULL);
	}
}

/* ---- keys of requests ---- */

static int add_key(
	struct mem_store *m, const struct bread_idempotency_row *row, struct bread_err *err)
{
	if (brd_mem_get(m, MEM_KEYS, row->key))
		return brd_fail_as(err, BREAD_E_CONFLICT, "IDEMPOTENCY_KEY", WHERE,
			"the key %.*s was used already", BRD_ARG(row->key));
	brd_mem_put(m, MEM_KEYS, row->key, row);
	return 0;
}

static void clean_keys(struct mem_store *m, struct bread_rec *rec)
{
	brd_mem_each(it, m, MEM_KEYS)
	{
		const struct bread_idempotency_row *row = brd_mem_row_at(it);

		if (!row || row->created_at >= rec->number)
			continue;
		brd_mem_put(m, MEM_KEYS, row->key, NULL);
		rec->affected++;
	}
}

static int apply_more(struct mem_store *m, struct bread_rec *rec, struct bread_err *err)
{
	switch (rec->kind) {
	case BREAD_REC_LOOP:
		brd_mem_put(m, MEM_LOOPS, rec->loop.id, &rec->loop);
		return 0;
	case BREAD_REC_LOOP_ROUND:
		return add_once(m, MEM_ROUNDS, rec->round.id, &rec->round, err);
	case BREAD_REC_TASK_RUN:
		brd_mem_put(m, MEM_TASK_RUNS, rec->task_run.id, &rec->task_run);
		return 0;
	case BREAD_REC_KNOWLEDGE:
		return add_knowledge(m, rec, err);
	case BREAD_REC_KNOWLEDGE_FORGET:
		forget(m, rec);
		return 0;
	case BREAD_REC_DOCUMENT:
		return add_once(m, MEM_DOCUMENTS, rec->document.id, &rec->document, err);
	case BREAD_REC_IDEMPOTENCY:
		return add_key(m, &rec->idempotency, err);
	case BREAD_REC_IDEMPOTENCY_CLEANUP:
		clean_keys(m, rec);
		return 0;
	default:
		return brd_fail(err, BREAD_E_INVALID, WHERE, "there is no record of kind %d",
			(int)rec->kind);
	}
}

int brd_mem_apply_table(struct mem_store *m, struct bread_rec *rec, struct bread_err *err)
{
	switch (rec->kind) {
	case BREAD_REC_DEFINITION:
		add_definition(m, rec);
		return 0;
	case BREAD_REC_OWNER:
		brd_mem_put(m, MEM_OWNERS, rec->owner.id, &rec->owner);
		return 0;
	case BREAD_REC_OWNER_GONE:
		brd_mem_put(m, MEM_OWNERS, rec->key, NULL);
		return 0;
	case BREAD_REC_CHECKPOINT:
		put_checkpoint(m, &rec->checkpoint);
		return 0;
	case BREAD_REC_CHECKPOINT_CLAIM:
		return claim(m, rec, err);
	case BREAD_REC_CHECKPOINT_DROP:
		drop(m, rec);
		return 0;
	case BREAD_REC_CHECKPOINT_LINK:
		link_checkpoint(m, rec);
		return 0;
	case BREAD_REC_CHECKPOINT_FORGET:
		forget_checkpoint(m, rec);
		return 0;
	default:
		return apply_more(m, rec, err);
	}
}

/* SPDX-License-Identifier: MIT */
/* Answers to reads: an arena for the strings and one array for the rows. */
#include "store/answer.h"
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

#define DEFAULT_LIMIT 1000
#define DEFAULT_MAX_BYTES ((size_t)1 << 20)

/* 0: a kind that answers with text. */
static size_t row_size(enum bread_read_kind kind)
{
	switch (kind) {
	case BREAD_READ_RUN:
	case BREAD_READ_RUNS:
	case BREAD_READ_UNFINISHED:
	case BREAD_READ_TREE:
	case BREAD_READ_TREE_OPEN:
	case BREAD_READ_ACTIVE:
		return sizeof(struct bread_run_row);
	case BREAD_READ_CRUMBS:
	case BREAD_READ_CRUMB:
	case BREAD_READ_TREE_CRUMBS:
		return sizeof(struct bread_crumb_row);
	case BREAD_READ_NODES:
	case BREAD_READ_TREE_NODES:
	case BREAD_READ_ANSWERS:
		return sizeof(struct bread_node_row);
	case BREAD_READ_SESSION:
	case BREAD_READ_SESSIONS:
		return sizeof(struct bread_session_row);
	case BREAD_READ_MESSAGES:
		return sizeof(struct bread_message_row);
	case BREAD_READ_CHECKPOINT:
	case BREAD_READ_CHECKPOINTS:
	case BREAD_READ_DUE:
		return sizeof(struct bread_checkpoint_row);
	case BREAD_READ_OWNERS:
		return sizeof(struct bread_owner_row);
	case BREAD_READ_LOOPS:
	case BREAD_READ_LOOP:
		return sizeof(struct bread_loop_row);
	case BREAD_READ_LOOP_ROUNDS:
		return sizeof(struct bread_loop_round_row);
	case BREAD_READ_TASK_RUNS:
	case BREAD_READ_TASK_RUN:
		return sizeof(struct bread_task_run_row);
	case BREAD_READ_KNOWLEDGE:
	case BREAD_READ_KNOWLEDGE_OF:
		return sizeof(struct bread_knowledge_row);
	case BREAD_READ_DOCUMENTS:
	case BREAD_READ_DOCUMENT:
		return sizeof(struct bread_document_row);
	case BREAD_READ_IDEMPOTENCY:
		return sizeof(struct bread_idempotency_row);
	case BREAD_READ_DEFINITION:
		return 0;
	}
	return 0;
}

struct answer *brd_answer_new(enum bread_read_kind kind)
{
	struct answer *a = brd_alloc(sizeof(*a));

	a->row_size = row_size(kind);
	return a;
}

void brd_answer_free(struct answer *a)
{
	if (!a)
		return;
	brd_arena_fini(&a->strings);
	free(a->rows);
	free(a);
}

void *brd_answer_row(struct answer *a)
{
	void *row;

	if (a->count == a->cap) {
		a->cap = a->cap ? a->cap * 2 : 8;
		a->rows = brd_realloc(a->rows, a->cap * a->row_size);
	}
	row = a->rows + a->count++ * a->row_size;
	return memset(row, 0, a->row_size);
}

void brd_answer_drop(struct answer *a)
{
	a->count--;
}

struct bread_str brd_answer_str(struct answer *a, struct bread_str s)
{
	return s.n ? brd_arena_copy(&a->strings, s) : (struct bread_str){ "", 0 };
}

static void release(void *memory)
{
	brd_answer_free(memory);
}

void brd_answer_give(struct answer *a, struct bread_read *r)
{
	r->count = a->count;
	r->rows = a->rows;
	r->memory = a;
	r->release = release;
}

size_t brd_read_limit(const struct bread_read *r)
{
	return r->limit ? r->limit : DEFAULT_LIMIT;
}

size_t brd_read_max_bytes(const struct bread_read *r)
{
	return r->max_bytes ? r->max_bytes : DEFAULT_MAX_BYTES;
}

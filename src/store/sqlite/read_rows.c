/* SPDX-License-Identifier: MIT */
/* Rows of the database as rows of an answer. */
#include "store/sqlite/reads.h"

static struct bread_str text(struct answer *a, sqlite3_stmt *s, int at)
{
	return brd_answer_str(a, brd_sq_column(s, at));
}

/* The first columns, which are texts; how many there are. */
static int fill(struct answer *a, sqlite3_stmt *s, struct bread_str *const *texts, size_t count)
{
	int at = 0;

	for (size_t i = 0; i < count; i++)
		*texts[i] = text(a, s, at++);
	return at;
}
#define TEXTS(a, s, texts) fill(a, s, texts, sizeof(texts) / sizeof(*(texts)))

void brd_sq_run_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_run_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->root_id, &row->parent_id,
		&row->agent_id, &row->session_id, &row->owner, &row->definition, &row->input,
		&row->output, &row->files, &row->error, &row->options, &row->tags, &row->path };
	int at = TEXTS(a, s, texts);

	row->status = (enum bread_run_status)sqlite3_column_int(s, at++);
	row->epoch = sqlite3_column_int64(s, at++);
	row->created_at = sqlite3_column_int64(s, at++);
	row->started_at = sqlite3_column_int64(s, at++);
	row->ended_at = sqlite3_column_int64(s, at++);
	row->input_tokens = sqlite3_column_int64(s, at++);
	row->output_tokens = sqlite3_column_int64(s, at++);
	row->cancel_requested = sqlite3_column_int(s, at++);
	row->kind = (enum bread_run_kind)sqlite3_column_int(s, at++);
	row->composed = sqlite3_column_int(s, at++);
	row->steps = sqlite3_column_int64(s, at++);
	row->wake = sqlite3_column_int64(s, at++);
	row->head = sqlite3_column_int64(s, at++);
	row->tree_head = sqlite3_column_int64(s, at);
}

void brd_sq_crumb_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_crumb_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->run_id, &row->session_id, &row->agent_id,
		&row->type, &row->crumb };

	TEXTS(a, s, texts);
	row->seq = sqlite3_column_int64(s, 5);
	row->created_at = sqlite3_column_int64(s, 6);
}

void brd_sq_line_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_crumb_row *row;

	brd_sq_crumb_row(a, s);
	row = (struct bread_crumb_row *)(void *)a->rows + a->count - 1;
	row->path = text(a, s, 7);
	row->tree_seq = sqlite3_column_int64(s, 8);
}

void brd_sq_node_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_node_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->run_id, &row->name, &row->kind, &row->data };

	TEXTS(a, s, texts);
	row->state = sqlite3_column_int(s, 4);
}

void brd_sq_session_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_session_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->agent_id, &row->tags };

	TEXTS(a, s, texts);
	row->created_at = sqlite3_column_int64(s, 3);
	row->updated_at = sqlite3_column_int64(s, 4);
}

void brd_sq_message_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_message_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->session_id, &row->role, &row->content };

	TEXTS(a, s, texts);
	row->timestamp = sqlite3_column_int64(s, 4);
}

void brd_sq_checkpoint_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_checkpoint_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->agent_id, &row->run_id,
		&row->session_id, &row->tool_name, &row->tool_call_id, &row->schema, &row->prompt,
		&row->skill, &row->parent, &row->pending, &row->root_id, &row->node, &row->kind,
		&row->answer_schema, &row->fallback };
	int at = TEXTS(a, s, texts);

	row->created_at = sqlite3_column_int64(s, at++);
	row->deadline = sqlite3_column_int64(s, at);
}

void brd_sq_owner_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_owner_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->place };

	TEXTS(a, s, texts);
	row->pid = sqlite3_column_int64(s, 2);
	row->pid_started = sqlite3_column_int64(s, 3);
	row->lease_until = sqlite3_column_int64(s, 4);
}

void brd_sq_loop_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_loop_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->agent_id, &row->session_id,
		&row->run_id, &row->pool, &row->pipeline, &row->status, &row->result };
	int at = TEXTS(a, s, texts);

	row->max_iterations = sqlite3_column_int64(s, at++);
	row->iterations = sqlite3_column_int64(s, at++);
	row->started_at = sqlite3_column_int64(s, at++);
	row->completed_at = sqlite3_column_int64(s, at);
}

void brd_sq_round_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_loop_round_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->loop_id, &row->input, &row->output };

	TEXTS(a, s, texts);
	row->index = sqlite3_column_int64(s, 4);
	row->started_at = sqlite3_column_int64(s, 5);
	row->completed_at = sqlite3_column_int64(s, 6);
}

void brd_sq_task_run_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_task_run_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->task_id, &row->agent_id,
		&row->session_id, &row->run_id, &row->model, &row->input, &row->output, &row->usage,
		&row->status, &row->error };
	int at = TEXTS(a, s, texts);

	row->duration_ms =
		sqlite3_column_type(s, at) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, at);
	row->created_at = sqlite3_column_int64(s, at + 1);
	row->completed_at = sqlite3_column_int64(s, at + 2);
}

void brd_sq_knowledge_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_knowledge_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->agent_id, &row->session_id, &row->label,
		&row->data };

	TEXTS(a, s, texts);
	row->created_at = sqlite3_column_int64(s, 5);
}

void brd_sq_document_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_document_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->agent_id, &row->title, &row->content,
		&row->source };

	TEXTS(a, s, texts);
	row->created_at = sqlite3_column_int64(s, 5);
}

void brd_sq_key_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_idempotency_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->key, &row->hash, &row->run_id };

	TEXTS(a, s, texts);
	row->after = sqlite3_column_int64(s, 3);
	row->created_at = sqlite3_column_int64(s, 4);
}

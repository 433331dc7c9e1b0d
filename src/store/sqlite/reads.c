/* SPDX-License-Identifier: MIT */
/* Questions as statements, and rows as answers.
 *
 * Each question is one statement that gives one row more than was asked for, so
 * that "more" is known without a count. A row is copied into the answer as it
 * comes; the database is let go of as soon as the page is full, because a log
 * that is being read cannot be started over. */
#include "store/sqlite/reads.h"

static const struct question {
	size_t statement;
	void (*row)(struct answer *a, sqlite3_stmt *s);
	bool filtered; /* as read_sql.c says of lists */
} questions[] = {
	[BREAD_READ_RUN] = { R_RUN, brd_sq_run_row },
	[BREAD_READ_RUNS] = { R_RUNS, brd_sq_run_row },
	[BREAD_READ_CRUMBS] = { R_CRUMBS, brd_sq_crumb_row },
	[BREAD_READ_CRUMB] = { R_CRUMB, brd_sq_crumb_row },
	[BREAD_READ_NODES] = { R_NODES, brd_sq_node_row },
	[BREAD_READ_SESSION] = { R_SESSION, brd_sq_session_row },
	[BREAD_READ_SESSIONS] = { R_SESSIONS, brd_sq_session_row },
	[BREAD_READ_MESSAGES] = { R_MESSAGES, brd_sq_message_row },
	[BREAD_READ_CHECKPOINT] = { R_CHECKPOINT, brd_sq_checkpoint_row },
	[BREAD_READ_CHECKPOINTS] = { R_CHECKPOINTS, brd_sq_checkpoint_row, true },
	[BREAD_READ_DUE] = { R_DUE, brd_sq_checkpoint_row, true },
	[BREAD_READ_DEFINITION] = { R_DEFINITION, NULL },
	[BREAD_READ_OWNERS] = { R_OWNERS, brd_sq_owner_row },
	[BREAD_READ_UNFINISHED] = { R_UNFINISHED, brd_sq_run_row },
	[BREAD_READ_TREE] = { R_TREE, brd_sq_run_row },
	[BREAD_READ_TREE_OPEN] = { R_TREE_OPEN, brd_sq_run_row },
	[BREAD_READ_TREE_NODES] = { R_TREE_NODES, brd_sq_node_row },
	[BREAD_READ_ANSWERS] = { R_ANSWERS, brd_sq_node_row },
	[BREAD_READ_TREE_CRUMBS] = { R_TREE_CRUMBS, brd_sq_line_row },
	[BREAD_READ_LOOPS] = { R_LOOPS, brd_sq_loop_row, true },
	[BREAD_READ_LOOP] = { R_LOOP, brd_sq_loop_row },
	[BREAD_READ_LOOP_ROUNDS] = { R_LOOP_ROUNDS, brd_sq_round_row },
	[BREAD_READ_TASK_RUNS] = { R_TASK_RUNS, brd_sq_task_run_row, true },
	[BREAD_READ_TASK_RUN] = { R_TASK_RUN, brd_sq_task_run_row },
	[BREAD_READ_KNOWLEDGE] = { R_KNOWLEDGE, brd_sq_knowledge_row, true },
	[BREAD_READ_KNOWLEDGE_OF] = { R_KNOWLEDGE_OF, brd_sq_knowledge_row, true },
	[BREAD_READ_DOCUMENTS] = { R_DOCUMENTS, brd_sq_document_row, true },
	[BREAD_READ_DOCUMENT] = { R_DOCUMENT, brd_sq_document_row, true },
	[BREAD_READ_IDEMPOTENCY] = { R_IDEMPOTENCY, brd_sq_key_row },
	[BREAD_READ_ACTIVE] = { R_ACTIVE, brd_sq_run_row },
};

/* One more than the page, and nothing that SQLite would take for "no limit". */
static int64_t page(const struct bread_read *r)
{
	size_t limit = brd_read_limit(r);

	return limit < INT64_MAX ? (int64_t)limit + 1 : INT64_MAX;
}

static void bind_tag(sqlite3_stmt *s, const struct bread_run_filter *f)
{
	brd_sq_bind_null(s, 4, f->tag_key);
	if (f->tag_value.p)
		brd_sq_bind(s, 5, f->tag_value);
	else
		sqlite3_bind_null(s, 5);
}

static void bind_filter(sqlite3_stmt *s, const struct bread_read *r)
{
	const struct bread_run_filter *f = &r->filter;

	brd_sq_bind_null(s, 1, f->session_id);
	brd_sq_bind_null(s, 2, f->agent_id);
	sqlite3_bind_int(s, 3, f->status);
	bind_tag(s, f);
	brd_sq_bind_null(s, 6, f->before);
	sqlite3_bind_int64(s, 7, page(r));
}

/* A statement without one of these ignores it. */
static void bind_list(sqlite3_stmt *s, const struct bread_read *r)
{
	const struct bread_run_filter *f = &r->filter;

	brd_sq_bind_null(s, 4, f->agent_id);
	brd_sq_bind_null(s, 5, f->session_id);
	brd_sq_bind_null(s, 6, r->kind == BREAD_READ_TASK_RUNS ? f->task_id : f->root_id);
	brd_sq_bind_null(s, 7, f->status_word);
	brd_sq_bind(s, 8, f->text);
	sqlite3_bind_int64(s, 9, f->until);
}

/* The one with an index for what is asked. */
static size_t statement(const struct bread_read *r)
{
	const struct bread_run_filter *f = &r->filter;

	if (r->kind == BREAD_READ_RUNS && f->session_id.n)
		return R_RUNS_OF_SESSION;
	if (r->kind == BREAD_READ_SESSIONS && f->tag_key.n)
		return R_SESSIONS_TAGGED;
	if (r->kind == BREAD_READ_CHECKPOINTS && r->key.n)
		return R_CHECKPOINTS_OF_RUN;
	if (r->kind == BREAD_READ_CHECKPOINTS && f->root_id.n)
		return R_CHECKPOINTS_OF_TREE;
	return questions[r->kind].statement;
}

static int ask(struct sq_conn *c, const struct bread_read *r, sqlite3_stmt **ret)
{
	size_t which = statement(r);
	int rc = brd_sq_stmt(c, which, ret);

	if (rc)
		return rc;
	if (r->kind == BREAD_READ_RUNS) {
		bind_filter(*ret, r);
		return 0;
	}
	brd_sq_bind(*ret, 1, r->key);
	sqlite3_bind_int64(*ret, 2, r->after);
	sqlite3_bind_int64(*ret, 3, page(r));
	if (which == R_SESSIONS_TAGGED)
		bind_tag(*ret, &r->filter);
	else if (questions[r->kind].filtered)
		bind_list(*ret, r);
	return 0;
}

static size_t crumb_bytes(const struct answer *a)
{
	const struct bread_crumb_row *row = (const void *)a->rows;

	return row[a->count - 1].crumb.n;
}

/* The row just read goes over the page. */
static bool over(const struct bread_read *r, const struct answer *a, size_t *bytes)
{
	if (a->count > brd_read_limit(r))
		return true;
	if (r->kind != BREAD_READ_CRUMBS && r->kind != BREAD_READ_TREE_CRUMBS)
		return false;
	*bytes += crumb_bytes(a);
	return a->count > 1 && *bytes > brd_read_max_bytes(r);
}

static int collect(sqlite3_stmt *s, struct bread_read *r, struct answer *a)
{
	const struct question *q = &questions[r->kind];
	size_t bytes = 0;
	int rc;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		if (!q->row) {
			r->text = brd_answer_str(a, brd_sq_column(s, 0));
			r->count = 1;
			continue;
		}
		q->row(a, s);
		if (over(r, a, &bytes)) {
			brd_answer_drop(a);
			r->more = 1;
			return 0;
		}
	}
	return rc == SQLITE_DONE ? 0 : rc;
}

int brd_sq_answer(struct sq_conn *c, struct bread_read *r)
{
	struct answer *a;
	sqlite3_stmt *s;
	int rc = ask(c, r, &s);

	if (rc)
		return rc;
	a = brd_answer_new(r->kind);
	rc = collect(s, r, a);
	sqlite3_reset(s);
	if (rc) {
		brd_answer_free(a);
		return rc;
	}
	a->count = questions[r->kind].row ? a->count : r->count;
	brd_answer_give(a, r);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Questions as statements, and rows as answers.
 *
 * Each question is one statement that gives one row more than was asked for, so
 * that "more" is known without a count. A row is copied into the answer as it
 * comes; the database is let go of as soon as the page is full, because a log
 * that is being read cannot be started over. */
#include "base/err.h"
#include "store/answer.h"
#include "store/sqlite/impl.h"

enum {
	R_RUN,
	R_RUNS,
	R_RUNS_OF_SESSION,
	R_CRUMBS,
	R_CRUMB,
	R_NODES,
	R_SESSION,
	R_SESSIONS,
	R_SESSIONS_TAGGED,
	R_MESSAGES,
	R_CHECKPOINT,
	R_CHECKPOINTS,
	R_CHECKPOINTS_OF_RUN,
	R_DEFINITION,
	R_OWNERS,
	R_UNFINISHED,
	R_ACTIVE,
	R_COUNT,
};

#define RUN_COLUMNS \
	"id, root_id, parent_id, agent_id, session_id, owner, definition, input, output, files," \
	" error, options, tags, status, epoch, created_at, started_at, ended_at, input_tokens," \
	" output_tokens, cancel_requested," \
	" (SELECT max(seq) FROM crumbs WHERE run_id = bread_runs.id)"
#define CHECKPOINT_COLUMNS \
	"id, agent_id, run_id, session_id, tool_name, tool_call_id, schema, prompt, skill," \
	" parent, pending, created_at"
#define SESSION_COLUMNS "id, agent_id, tags, created_at, updated_at"

/* ?1 session, ?2 agent, ?3 status, ?4 tag's key, ?5 tag's value, ?6 before, ?7 limit. The
 * session is the only filter with an index; the others stop at the page's end. */
#define RUN_FILTER \
	" AND (?2 IS NULL OR agent_id = ?2) AND (?3 < 0 OR status = ?3)" \
	" AND (?6 IS NULL OR rowid < (SELECT rowid FROM bread_runs WHERE id = ?6))" \
	" AND (?4 IS NULL OR bread_tag(tags, ?4, ?5)) ORDER BY rowid DESC LIMIT ?7"

const char *const brd_sq_read_sql[] = {
	[R_RUN] = "SELECT " RUN_COLUMNS " FROM bread_runs WHERE id = ?1",
	[R_RUNS] = "SELECT " RUN_COLUMNS " FROM bread_runs WHERE ?1 IS NULL" RUN_FILTER,
	[R_RUNS_OF_SESSION] =
		"SELECT " RUN_COLUMNS " FROM bread_runs WHERE session_id = ?1" RUN_FILTER,
	[R_CRUMBS] = "SELECT run_id, session_id, agent_id, type, crumb, seq, created_at FROM crumbs"
		     " WHERE run_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
	[R_CRUMB] = "SELECT run_id, session_id, agent_id, type, crumb, seq, created_at FROM crumbs"
		    " WHERE run_id = ?1 AND seq = ?2 LIMIT ?3",
	[R_NODES] = "SELECT run_id, name, kind, data, state FROM bread_nodes WHERE run_id = ?1"
		    " ORDER BY rowid LIMIT ?3 OFFSET ?2",
	[R_SESSION] = "SELECT " SESSION_COLUMNS " FROM sessions WHERE id = ?1",
	[R_SESSIONS] = "SELECT " SESSION_COLUMNS " FROM sessions"
		       " ORDER BY created_at, rowid LIMIT ?3 OFFSET ?2",
	[R_SESSIONS_TAGGED] = "SELECT " SESSION_COLUMNS " FROM sessions"
			      " WHERE bread_tag(tags, ?4, ?5)"
			      " ORDER BY created_at, rowid LIMIT ?3 OFFSET ?2",
	[R_MESSAGES] = "SELECT id, session_id, role, content, timestamp FROM session_messages"
		       " WHERE session_id = ?1 ORDER BY timestamp, id LIMIT ?3 OFFSET ?2",
	[R_CHECKPOINT] = "SELECT " CHECKPOINT_COLUMNS " FROM checkpoints WHERE id = ?1",
	[R_CHECKPOINTS] = "SELECT " CHECKPOINT_COLUMNS " FROM checkpoints"
			  " ORDER BY created_at, id LIMIT ?3 OFFSET ?2",
	[R_CHECKPOINTS_OF_RUN] = "SELECT " CHECKPOINT_COLUMNS " FROM checkpoints WHERE run_id = ?1"
				 " ORDER BY created_at, id LIMIT ?3 OFFSET ?2",
	[R_DEFINITION] = "SELECT definition FROM bread_definitions WHERE hash = ?1",
	[R_OWNERS] = "SELECT id, place, pid, pid_started, lease_until FROM bread_owners"
		     " ORDER BY id LIMIT ?3",
	/* status < 3 is the index's own condition, without which SQLite does not use it */
	[R_UNFINISHED] = "SELECT " RUN_COLUMNS " FROM bread_runs INDEXED BY bread_runs_open"
			 " WHERE status < 3 AND status < 2 ORDER BY rowid LIMIT ?3",
	[R_ACTIVE] = "SELECT " RUN_COLUMNS " FROM bread_runs INDEXED BY bread_runs_open"
		     " WHERE session_id = ?1 AND status < 3 ORDER BY rowid LIMIT ?3",
};
const size_t brd_sq_read_sql_count = R_COUNT;

static struct bread_str text(struct answer *a, sqlite3_stmt *s, int at)
{
	return brd_answer_str(a, brd_sq_column(s, at));
}

static void run_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_run_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->root_id, &row->parent_id,
		&row->agent_id, &row->session_id, &row->owner, &row->definition, &row->input,
		&row->output, &row->files, &row->error, &row->options, &row->tags };
	int at = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		*texts[i] = text(a, s, at++);
	row->status = (enum bread_run_status)sqlite3_column_int(s, at++);
	row->epoch = sqlite3_column_int64(s, at++);
	row->created_at = sqlite3_column_int64(s, at++);
	row->started_at = sqlite3_column_int64(s, at++);
	row->ended_at = sqlite3_column_int64(s, at++);
	row->input_tokens = sqlite3_column_int64(s, at++);
	row->output_tokens = sqlite3_column_int64(s, at++);
	row->cancel_requested = sqlite3_column_int(s, at++);
	row->head = sqlite3_column_int64(s, at);
}

static void crumb_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_crumb_row *row = brd_answer_row(a);

	row->run_id = text(a, s, 0);
	row->session_id = text(a, s, 1);
	row->agent_id = text(a, s, 2);
	row->type = text(a, s, 3);
	row->crumb = text(a, s, 4);
	row->seq = sqlite3_column_int64(s, 5);
	row->created_at = sqlite3_column_int64(s, 6);
}

static void node_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_node_row *row = brd_answer_row(a);

	row->run_id = text(a, s, 0);
	row->name = text(a, s, 1);
	row->kind = text(a, s, 2);
	row->data = text(a, s, 3);
	row->state = sqlite3_column_int(s, 4);
}

static void session_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_session_row *row = brd_answer_row(a);

	row->id = text(a, s, 0);
	row->agent_id = text(a, s, 1);
	row->tags = text(a, s, 2);
	row->created_at = sqlite3_column_int64(s, 3);
	row->updated_at = sqlite3_column_int64(s, 4);
}

static void message_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_message_row *row = brd_answer_row(a);

	row->id = text(a, s, 0);
	row->session_id = text(a, s, 1);
	row->role = text(a, s, 2);
	row->content = text(a, s, 3);
	row->timestamp = sqlite3_column_int64(s, 4);
}

static void checkpoint_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_checkpoint_row *row = brd_answer_row(a);
	struct bread_str *const texts[] = { &row->id, &row->agent_id, &row->run_id,
		&row->session_id, &row->tool_name, &row->tool_call_id, &row->schema, &row->prompt,
		&row->skill, &row->parent, &row->pending };
	int at = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		*texts[i] = text(a, s, at++);
	row->created_at = sqlite3_column_int64(s, at);
}

static void owner_row(struct answer *a, sqlite3_stmt *s)
{
	struct bread_owner_row *row = brd_answer_row(a);

	row->id = text(a, s, 0);
	row->place = text(a, s, 1);
	row->pid = sqlite3_column_int64(s, 2);
	row->pid_started = sqlite3_column_int64(s, 3);
	row->lease_until = sqlite3_column_int64(s, 4);
}

static const struct question {
	size_t statement;
	void (*row)(struct answer *a, sqlite3_stmt *s);
} questions[] = {
	[BREAD_READ_RUN] = { R_RUN, run_row },
	[BREAD_READ_RUNS] = { R_RUNS, run_row },
	[BREAD_READ_CRUMBS] = { R_CRUMBS, crumb_row },
	[BREAD_READ_CRUMB] = { R_CRUMB, crumb_row },
	[BREAD_READ_NODES] = { R_NODES, node_row },
	[BREAD_READ_SESSION] = { R_SESSION, session_row },
	[BREAD_READ_SESSIONS] = { R_SESSIONS, session_row },
	[BREAD_READ_MESSAGES] = { R_MESSAGES, message_row },
	[BREAD_READ_CHECKPOINT] = { R_CHECKPOINT, checkpoint_row },
	[BREAD_READ_CHECKPOINTS] = { R_CHECKPOINTS, checkpoint_row },
	[BREAD_READ_DEFINITION] = { R_DEFINITION, NULL },
	[BREAD_READ_OWNERS] = { R_OWNERS, owner_row },
	[BREAD_READ_UNFINISHED] = { R_UNFINISHED, run_row },
	[BREAD_READ_ACTIVE] = { R_ACTIVE, run_row },
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

static int ask(struct sq_conn *c, const struct bread_read *r, sqlite3_stmt **ret)
{
	const struct bread_run_filter *f = &r->filter;
	size_t which = questions[r->kind].statement;
	int rc;

	if (which == R_RUNS && f->session_id.n)
		which = R_RUNS_OF_SESSION;
	if (which == R_SESSIONS && f->tag_key.n)
		which = R_SESSIONS_TAGGED;
	if (which == R_CHECKPOINTS && r->key.n)
		which = R_CHECKPOINTS_OF_RUN;
	rc = brd_sq_stmt(c, which, ret);
	if (rc)
		return rc;
	if (r->kind == BREAD_READ_RUNS) {
		bind_filter(*ret, r);
		return 0;
	}
	/* a statement without one of these ignores it */
	brd_sq_bind(*ret, 1, r->key);
	sqlite3_bind_int64(*ret, 2, r->after);
	sqlite3_bind_int64(*ret, 3, page(r));
	if (which == R_SESSIONS_TAGGED)
		bind_tag(*ret, f);
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
	if (r->kind != BREAD_READ_CRUMBS)
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
			r->text = text(a, s, 0);
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

/* SPDX-License-Identifier: MIT */
/* The tables.
 *
 * The first ten are those of the TypeScript implementation of bread, with its
 * names, columns, keys and indexes, so that either opens what the other wrote;
 * those that this program does not use are made all the same, because the other
 * one expects them. Ours stand beside them and all begin with bread_. A database
 * says in bread_meta which version of ours it has; a newer one is refused, an
 * older one is brought up, in one transaction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "store/sqlite/impl.h"

#define SCHEMA_VERSION 2

static const char shared_tables[] =
	"CREATE TABLE IF NOT EXISTS sessions ("
	" id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,"
	" agent_id TEXT, tags TEXT NOT NULL DEFAULT '{}');"
	"CREATE TABLE IF NOT EXISTS session_messages ("
	" id TEXT PRIMARY KEY,"
	" session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,"
	" role TEXT NOT NULL, content TEXT NOT NULL, timestamp INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS checkpoints ("
	" id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, run_id TEXT NOT NULL,"
	" session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,"
	" tool_name TEXT NOT NULL, tool_call_id TEXT NOT NULL, schema TEXT NOT NULL,"
	" prompt TEXT, skill TEXT, parent TEXT, pending TEXT, created_at INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS loops ("
	" id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, session_id TEXT NOT NULL,"
	" run_id TEXT NOT NULL, pool TEXT NOT NULL, pipeline TEXT NOT NULL,"
	" max_iterations INTEGER NOT NULL, status TEXT NOT NULL,"
	" iterations INTEGER NOT NULL DEFAULT 0, result TEXT,"
	" started_at INTEGER NOT NULL, completed_at INTEGER);"
	"CREATE TABLE IF NOT EXISTS loop_iterations ("
	" id TEXT PRIMARY KEY, loop_id TEXT NOT NULL REFERENCES loops(id) ON DELETE CASCADE,"
	" idx INTEGER NOT NULL, input TEXT, output TEXT,"
	" started_at INTEGER NOT NULL, completed_at INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS kg_nodes ("
	" id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, session_id TEXT, label TEXT NOT NULL,"
	" data TEXT NOT NULL DEFAULT '{}', created_at INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS kg_edges ("
	" id TEXT PRIMARY KEY,"
	" from_id TEXT NOT NULL REFERENCES kg_nodes(id) ON DELETE CASCADE,"
	" to_id TEXT NOT NULL REFERENCES kg_nodes(id) ON DELETE CASCADE,"
	" relation TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS documents ("
	" id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, title TEXT NOT NULL,"
	" content TEXT NOT NULL, source TEXT, created_at INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS crumbs ("
	" run_id TEXT NOT NULL, seq INTEGER NOT NULL,"
	" session_id TEXT REFERENCES sessions(id) ON DELETE CASCADE, agent_id TEXT,"
	" type TEXT NOT NULL, crumb TEXT NOT NULL, created_at INTEGER NOT NULL,"
	" PRIMARY KEY (run_id, seq));"
	"CREATE TABLE IF NOT EXISTS task_runs ("
	" id TEXT PRIMARY KEY, task_id TEXT NOT NULL, agent_id TEXT, session_id TEXT,"
	" run_id TEXT, model TEXT NOT NULL, input TEXT, output TEXT, status TEXT NOT NULL,"
	" usage TEXT, error TEXT, duration_ms INTEGER,"
	" created_at INTEGER NOT NULL, completed_at INTEGER);";

static const char shared_indexes[] =
	"CREATE INDEX IF NOT EXISTS idx_messages_session ON session_messages(session_id);"
	"CREATE INDEX IF NOT EXISTS idx_sessions_updated ON sessions(updated_at);"
	"CREATE INDEX IF NOT EXISTS idx_loops_session ON loops(session_id);"
	"CREATE INDEX IF NOT EXISTS idx_loops_agent ON loops(agent_id);"
	"CREATE INDEX IF NOT EXISTS idx_loop_iter_loop ON loop_iterations(loop_id);"
	"CREATE INDEX IF NOT EXISTS idx_kg_nodes_agent ON kg_nodes(agent_id);"
	"CREATE INDEX IF NOT EXISTS idx_kg_edges_from ON kg_edges(from_id);"
	"CREATE INDEX IF NOT EXISTS idx_documents_agent ON documents(agent_id);"
	"CREATE INDEX IF NOT EXISTS idx_crumbs_session ON crumbs(session_id);"
	"CREATE INDEX IF NOT EXISTS idx_task_runs_task ON task_runs(task_id);"
	"CREATE INDEX IF NOT EXISTS idx_task_runs_session ON task_runs(session_id);"
	"CREATE INDEX IF NOT EXISTS idx_task_runs_agent ON task_runs(agent_id);";

/* status is enum bread_run_status; below 3 are the runs that have not ended. What is
 * looked up often stands first, so that it is found before a large input is.
 *
 * The order of rowids is the order of runs and of nodes: no index is paid for it. A
 * run that is alone has no line in bread_tree and is in none of the indexes of trees. */
static const char own_tables[] =
	"CREATE TABLE IF NOT EXISTS bread_runs ("
	" id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, status INTEGER NOT NULL,"
	" cancel_requested INTEGER NOT NULL DEFAULT 0, wake INTEGER NOT NULL DEFAULT 0,"
	" owner TEXT, root_id TEXT, parent_id TEXT, agent_id TEXT NOT NULL, session_id TEXT,"
	" definition TEXT, created_at INTEGER NOT NULL,"
	" started_at INTEGER NOT NULL DEFAULT 0, ended_at INTEGER NOT NULL DEFAULT 0,"
	" input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0,"
	" steps INTEGER NOT NULL DEFAULT 0, kind INTEGER NOT NULL DEFAULT 0,"
	" composed INTEGER NOT NULL DEFAULT 0, path TEXT,"
	" tags TEXT, options TEXT, input TEXT, output TEXT, files TEXT, error TEXT);"
	"CREATE TABLE IF NOT EXISTS bread_nodes ("
	" run_id TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,"
	" state INTEGER NOT NULL, data TEXT, PRIMARY KEY (run_id, name));"
	"CREATE TABLE IF NOT EXISTS bread_tree ("
	" root_id TEXT NOT NULL, tree_seq INTEGER NOT NULL, run_id TEXT NOT NULL,"
	" seq INTEGER NOT NULL, path TEXT, PRIMARY KEY (root_id, tree_seq)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS bread_checkpoints ("
	" id TEXT PRIMARY KEY, root_id TEXT, node TEXT, kind TEXT,"
	" answer_schema TEXT, fallback TEXT, deadline INTEGER NOT NULL DEFAULT 0)"
	" WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS bread_idempotency ("
	" key TEXT PRIMARY KEY, hash TEXT NOT NULL, run_id TEXT NOT NULL,"
	" after INTEGER NOT NULL, created_at INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS bread_definitions ("
	" hash TEXT PRIMARY KEY, definition TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS bread_owners ("
	" id TEXT PRIMARY KEY, place TEXT NOT NULL, pid INTEGER NOT NULL,"
	" pid_started INTEGER NOT NULL, lease_until INTEGER NOT NULL);";

/* Made when all columns are there. Each one that a lone run is in costs it a page when it begins
 * and one when it ends, so one index serves those who ask for a session's live runs and those who
 * ask for all that go on, however many are suspended. bread_runs_woken and bread_nodes_answered
 * are empty most of the time. The two that are dropped are what earlier versions had instead. */
static const char own_indexes[] =
	"DROP INDEX IF EXISTS bread_runs_open;"
	"DROP INDEX IF EXISTS bread_runs_awake;"
	"CREATE INDEX IF NOT EXISTS bread_runs_session ON bread_runs(session_id);"
	"CREATE INDEX IF NOT EXISTS bread_runs_live ON bread_runs(status, session_id)"
	" WHERE " SQ_LIVE ";"
	"CREATE INDEX IF NOT EXISTS bread_runs_woken ON bread_runs(status) WHERE " SQ_WOKEN ";"
	"CREATE INDEX IF NOT EXISTS bread_runs_below ON bread_runs(root_id, parent_id)"
	" WHERE parent_id IS NOT NULL;"
	"CREATE INDEX IF NOT EXISTS bread_nodes_answered ON bread_nodes(run_id) WHERE state = 3;"
	"CREATE INDEX IF NOT EXISTS bread_checkpoints_run ON checkpoints(run_id);"
	"CREATE INDEX IF NOT EXISTS bread_checkpoints_session ON checkpoints(session_id);"
	"CREATE INDEX IF NOT EXISTS bread_checkpoints_root ON bread_checkpoints(root_id);"
	"CREATE INDEX IF NOT EXISTS bread_checkpoints_due ON bread_checkpoints(deadline)"
	" WHERE deadline > 0;"
	"CREATE INDEX IF NOT EXISTS bread_edges_to ON kg_edges(to_id);"
	"CREATE INDEX IF NOT EXISTS bread_idempotency_run ON bread_idempotency(run_id);"
	"CREATE INDEX IF NOT EXISTS bread_idempotency_age ON bread_idempotency(created_at);";

/* What version 1 knew of a question stands in the journal; a node that nobody can read
 * leaves the question as the original's would be. */
static const char from_version_1[] =
	"INSERT OR IGNORE INTO bread_checkpoints (id, root_id, node, kind)"
	" SELECT c.id, coalesce(r.root_id, r.id), n.name, 'input' FROM checkpoints c"
	" JOIN bread_runs r ON r.id = c.run_id"
	" JOIN bread_nodes n ON n.run_id = r.id AND n.kind = 'human' AND n.state = 1"
	" WHERE CASE WHEN json_valid(n.data) THEN json_extract(n.data, '$.checkpointId') END"
	" = c.id;";

static const char meta_table[] = "CREATE TABLE IF NOT EXISTS bread_meta ("
				 " key TEXT PRIMARY KEY, value TEXT NOT NULL);";

/* *ret is 0 for a database that is not ours yet. */
static int read_version(struct sq_conn *c, int *ret, struct bread_err *err)
{
	sqlite3_stmt *s = NULL;
	int rc;

	*ret = 0;
	rc = sqlite3_prepare_v2(
		c->db, "SELECT value FROM bread_meta WHERE key = 'schema'", -1, &s, NULL);
	if (!rc)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return 0;
	return brd_sq_fail(c, rc, err);
}

static int write_version(struct sq_conn *c, struct bread_err *err)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO bread_meta VALUES ('schema', '%d')",
		SCHEMA_VERSION);
	return brd_sq_exec(c, sql, err);
}

static bool has_column(struct sq_conn *c, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(
		       c->db, "main", table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* Columns that an old version of the other implementation, or of this one, did not have. */
static int add_columns(struct sq_conn *c, struct bread_err *err)
{
	static const struct {
		const char *table, *column, *sql;
	} late[] = {
		{ "checkpoints", "skill", "ALTER TABLE checkpoints ADD COLUMN skill TEXT" },
		{ "checkpoints", "parent", "ALTER TABLE checkpoints ADD COLUMN parent TEXT" },
		{ "checkpoints", "pending", "ALTER TABLE checkpoints ADD COLUMN pending TEXT" },
		{ "sessions", "agent_id", "ALTER TABLE sessions ADD COLUMN agent_id TEXT" },
		{ "sessions", "tags",
			"ALTER TABLE sessions ADD COLUMN tags TEXT NOT NULL DEFAULT '{}'" },
		{ "bread_runs", "wake",
			"ALTER TABLE bread_runs ADD COLUMN wake INTEGER NOT NULL DEFAULT 0" },
		{ "bread_runs", "steps",
			"ALTER TABLE bread_runs ADD COLUMN steps INTEGER NOT NULL DEFAULT 0" },
		{ "bread_runs", "kind",
			"ALTER TABLE bread_runs ADD COLUMN kind INTEGER NOT NULL DEFAULT 0" },
		{ "bread_runs", "composed",
			"ALTER TABLE bread_runs ADD COLUMN composed INTEGER NOT NULL DEFAULT 0" },
		{ "bread_runs", "path", "ALTER TABLE bread_runs ADD COLUMN path TEXT" },
	};

	for (size_t i = 0; i < sizeof(late) / sizeof(*late); i++)
		if (!has_column(c, late[i].table, late[i].column) &&
			brd_sq_exec(c, late[i].sql, err))
			return err->code;
	return 0;
}

static int bring_up(struct sq_conn *c, struct bread_err *err)
{
	int version;

	if (brd_sq_exec(c, meta_table, err) || read_version(c, &version, err))
		return err->code;
	if (version > SCHEMA_VERSION)
		return brd_fail(err, BREAD_E_INVALID, SQ_WHERE,
			"the database %s was written by a newer bread (its schema is %d, this "
			"program knows %d); use that version, or another file",
			c->path, version, SCHEMA_VERSION);
	if (brd_sq_exec(c, shared_tables, err) || brd_sq_exec(c, own_tables, err) ||
		add_columns(c, err) || brd_sq_exec(c, shared_indexes, err) ||
		brd_sq_exec(c, own_indexes, err))
		return err->code;
	if (version == 1 && brd_sq_exec(c, from_version_1, err))
		return err->code;
	return version == SCHEMA_VERSION ? 0 : write_version(c, err);
}

int brd_sq_migrate(struct sq_conn *c, struct bread_err *err)
{
	if (brd_sq_exec(c, "BEGIN IMMEDIATE", err))
		return err->code;
	if (bring_up(c, err) || brd_sq_exec(c, "COMMIT", err)) {
		brd_sq_exec(c, "ROLLBACK", NULL);
		return err->code;
	}
	return 0;
}

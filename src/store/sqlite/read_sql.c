/* SPDX-License-Identifier: MIT */
/* The readers' statements. Each is prepared when it is first used.
 *
 * Parameters: ?1 the key, ?2 after, ?3 the limit; of lists also ?4 agent, ?5 session, ?6 root or
 * task, ?7 status, ?8 text, ?9 until. Those of runs and of tags are told where they stand. */
#include "store/sqlite/read_sql.h"
#include "store/sqlite/impl.h"

#define RUN_COLUMNS \
	"id, root_id, parent_id, agent_id, session_id, owner, definition, input, output, files," \
	" error, options, tags, path, status, epoch, created_at, started_at, ended_at," \
	" input_tokens, output_tokens, cancel_requested, kind, composed, steps, wake," \
	" (SELECT max(seq) FROM crumbs WHERE run_id = bread_runs.id)," \
	" CASE WHEN composed THEN" \
	" (SELECT max(tree_seq) FROM bread_tree WHERE root_id = bread_runs.id) END"
#define CHECKPOINT_COLUMNS \
	"c.id, c.agent_id, c.run_id, c.session_id, c.tool_name, c.tool_call_id, c.schema," \
	" c.prompt, c.skill, c.parent, c.pending, p.root_id, p.node, p.kind, p.answer_schema," \
	" p.fallback, c.created_at, p.deadline"
#define CHECKPOINTS " FROM checkpoints c LEFT JOIN bread_checkpoints p ON p.id = c.id"
#define CHECKPOINT_FILTER \
	" AND (?4 IS NULL OR c.agent_id = ?4) AND (?5 IS NULL OR c.session_id = ?5)" \
	" AND (?6 IS NULL OR p.root_id = ?6) ORDER BY c.created_at, c.id LIMIT ?3 OFFSET ?2"
#define LOOP_COLUMNS \
	"id, agent_id, session_id, run_id, pool, pipeline, status, result, max_iterations," \
	" iterations, started_at, completed_at"
#define TASK_RUN_COLUMNS \
	"id, task_id, agent_id, session_id, run_id, model, input, output, usage, status, error," \
	" duration_ms, created_at, completed_at"
#define KNOWLEDGE_COLUMNS "id, agent_id, session_id, label, data, created_at"
#define DOCUMENT_COLUMNS "id, agent_id, title, content, source, created_at"
/* ?4 agent, ?5 session, ?7 status */
#define COMMON_FILTER \
	" (?4 IS NULL OR agent_id = ?4) AND (?5 IS NULL OR session_id = ?5)" \
	" AND (?7 IS NULL OR status = ?7)"
/* ?1 the root. The first row made is the root's. */
#define TREE \
	"(SELECT rowid FROM bread_runs WHERE id = ?1 AND parent_id IS NULL UNION ALL" \
	" SELECT rowid FROM bread_runs INDEXED BY bread_runs_below" \
	" WHERE root_id = ?1 AND parent_id IS NOT NULL)"
#define TREE_OPEN \
	"(SELECT rowid FROM bread_runs WHERE id = ?1 AND parent_id IS NULL UNION ALL" \
	" SELECT rowid FROM bread_runs INDEXED BY bread_runs_below" \
	" WHERE root_id = ?1 AND parent_id IS NOT NULL AND status < 3)"
#define TREE_ORDER " ORDER BY parent_id IS NOT NULL, rowid LIMIT ?3 OFFSET ?2"
#define NODES_ORDER " ORDER BY r.parent_id IS NOT NULL, r.rowid, n.rowid LIMIT ?3 OFFSET ?2"
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
	[R_CHECKPOINT] = "SELECT " CHECKPOINT_COLUMNS CHECKPOINTS " WHERE c.id = ?1",
	[R_CHECKPOINTS] = "SELECT " CHECKPOINT_COLUMNS CHECKPOINTS " WHERE 1" CHECKPOINT_FILTER,
	[R_CHECKPOINTS_OF_RUN] =
		"SELECT " CHECKPOINT_COLUMNS CHECKPOINTS " WHERE c.run_id = ?1" CHECKPOINT_FILTER,
	[R_CHECKPOINTS_OF_TREE] =
		"SELECT " CHECKPOINT_COLUMNS " FROM bread_checkpoints p"
		" INDEXED BY bread_checkpoints_root JOIN checkpoints c ON c.id = p.id"
		" WHERE p.root_id = ?6" CHECKPOINT_FILTER,
	[R_DUE] = "SELECT " CHECKPOINT_COLUMNS " FROM bread_checkpoints p"
		  " INDEXED BY bread_checkpoints_due CROSS JOIN checkpoints c ON c.id = p.id"
		  " WHERE p.deadline > 0 AND p.deadline <= ?9"
		  " ORDER BY p.deadline, p.id LIMIT ?3 OFFSET ?2",
	[R_DEFINITION] = "SELECT definition FROM bread_definitions WHERE hash = ?1",
	[R_OWNERS] = "SELECT id, place, pid, pid_started, lease_until FROM bread_owners"
		     " ORDER BY id LIMIT ?3",
	[R_UNFINISHED] = "SELECT " RUN_COLUMNS " FROM bread_runs WHERE rowid IN"
			 " (SELECT rowid FROM bread_runs INDEXED BY bread_runs_live"
			 " WHERE " SQ_LIVE " AND status < 2 AND parent_id IS NULL UNION ALL"
			 " SELECT rowid FROM bread_runs INDEXED BY bread_runs_woken"
			 " WHERE " SQ_WOKEN ") ORDER BY rowid LIMIT ?3",
	[R_TREE] = "SELECT " RUN_COLUMNS " FROM bread_runs WHERE rowid IN " TREE TREE_ORDER,
	[R_TREE_OPEN] =
		"SELECT " RUN_COLUMNS " FROM bread_runs WHERE rowid IN " TREE_OPEN TREE_ORDER,
	[R_TREE_NODES] = "SELECT n.run_id, n.name, n.kind, n.data, n.state FROM bread_runs r"
			 " CROSS JOIN bread_nodes n ON n.run_id = r.id"
			 " WHERE r.rowid IN " TREE_OPEN NODES_ORDER,
	[R_ANSWERS] = "SELECT n.run_id, n.name, n.kind, n.data, n.state FROM bread_runs r"
		      " CROSS JOIN bread_nodes n INDEXED BY bread_nodes_answered"
		      " ON n.run_id = r.id AND n.state = 3 WHERE r.rowid IN " TREE NODES_ORDER,
	[R_TREE_CRUMBS] = "SELECT c.run_id, c.session_id, c.agent_id, c.type, c.crumb, c.seq,"
			  " c.created_at, t.path, t.tree_seq FROM bread_tree t CROSS JOIN crumbs c"
			  " ON c.run_id = t.run_id AND c.seq = t.seq"
			  " WHERE t.root_id = ?1 AND t.tree_seq > ?2 ORDER BY t.tree_seq LIMIT ?3",
	[R_LOOPS] = "SELECT " LOOP_COLUMNS " FROM loops WHERE" COMMON_FILTER
		    " ORDER BY started_at DESC, rowid DESC LIMIT ?3 OFFSET ?2",
	[R_LOOP] = "SELECT " LOOP_COLUMNS " FROM loops WHERE id = ?1",
	[R_LOOP_ROUNDS] = "SELECT id, loop_id, input, output, idx, started_at, completed_at"
			  " FROM loop_iterations WHERE loop_id = ?1 ORDER BY idx, rowid"
			  " LIMIT ?3 OFFSET ?2",
	[R_TASK_RUNS] = "SELECT " TASK_RUN_COLUMNS " FROM task_runs WHERE" COMMON_FILTER
			" AND (?6 IS NULL OR task_id = ?6)"
			" ORDER BY created_at DESC, rowid DESC LIMIT ?3 OFFSET ?2",
	[R_TASK_RUN] = "SELECT " TASK_RUN_COLUMNS " FROM task_runs WHERE id = ?1",
	[R_KNOWLEDGE] = "SELECT " KNOWLEDGE_COLUMNS " FROM kg_nodes WHERE agent_id = ?4"
			" AND bread_has(label, ?8)"
			" ORDER BY created_at DESC, rowid DESC LIMIT ?3 OFFSET ?2",
	[R_KNOWLEDGE_OF] = "SELECT " KNOWLEDGE_COLUMNS " FROM kg_nodes WHERE agent_id = ?4"
			   " AND session_id = ?5"
			   " ORDER BY created_at DESC, rowid DESC LIMIT ?3 OFFSET ?2",
	[R_DOCUMENTS] = "SELECT " DOCUMENT_COLUMNS " FROM documents WHERE agent_id = ?4"
			" AND (bread_has(title, ?8) OR bread_has(content, ?8))"
			" ORDER BY rowid LIMIT ?3 OFFSET ?2",
	[R_DOCUMENT] = "SELECT " DOCUMENT_COLUMNS " FROM documents WHERE id = ?1 AND agent_id = ?4",
	[R_IDEMPOTENCY] = "SELECT key, hash, run_id, after, created_at FROM bread_idempotency"
			  " WHERE key = ?1",
	/* the index's own condition, without which SQLite does not use it, and the three that it
	 * can look for */
	[R_ACTIVE] = "SELECT " RUN_COLUMNS " FROM bread_runs INDEXED BY bread_runs_live"
		     " WHERE " SQ_LIVE " AND status IN (0, 1, 2) AND session_id = ?1"
		     " ORDER BY rowid LIMIT ?3",
};
const size_t brd_sq_read_sql_count = R_COUNT;

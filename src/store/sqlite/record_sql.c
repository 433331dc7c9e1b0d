/* SPDX-License-Identifier: MIT */
/* The writer's statements. Each is prepared when it is first used. */
#include "store/sqlite/record_sql.h"
#include "store/sqlite/impl.h"

const char *const brd_sq_record_sql[] = {
	[W_BEGIN] = "BEGIN IMMEDIATE",
	[W_COMMIT] = "COMMIT",
	[W_SAVE] = "SAVEPOINT tx",
	[W_BACK] = "ROLLBACK TO tx",
	[W_RELEASE] = "RELEASE tx",
	[W_FENCE] = "SELECT epoch FROM bread_runs WHERE id = ?1",
	[W_SESSION] = "INSERT INTO sessions (id, created_at, updated_at, agent_id, tags)"
		      " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING",
	[W_TOUCH] = "UPDATE sessions SET updated_at = ?2 WHERE id = ?1",
	[W_MESSAGE] = "INSERT INTO session_messages (id, session_id, role, content, timestamp)"
		      " VALUES (?1, ?2, ?3, ?4, ?5)",
	[W_RUN] = "INSERT INTO bread_runs (id, root_id, parent_id, agent_id, session_id, owner,"
		  " definition, input, output, files, error, options, tags, path, status, epoch,"
		  " created_at, started_at, ended_at, input_tokens, output_tokens,"
		  " cancel_requested, kind, composed, steps, wake) VALUES (?1, ?2, ?3, ?4, ?5, ?6,"
		  " ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,"
		  " ?23, ?24, ?25, ?26)",
	[W_BUSY] = "SELECT id FROM bread_runs INDEXED BY bread_runs_live WHERE " SQ_LIVE
		   " AND status IN (0, 1, 2) AND session_id = ?1 AND parent_id IS NULL LIMIT 1",
	[W_TURN] = "SELECT o.id FROM bread_runs r JOIN bread_runs o INDEXED BY bread_runs_live"
		   " ON o.status IN (0, 1, 2) AND o.session_id = r.session_id"
		   " WHERE r.id = ?1 AND r.status = 0 AND r.parent_id IS NULL"
		   " AND o." SQ_LIVE " AND o.parent_id IS NULL AND o.id <> r.id"
		   " AND (o.status > 0 OR o.rowid < r.rowid) LIMIT 1",
	[W_RUN_STATUS] = "UPDATE bread_runs SET status = ?2, output = coalesce(?3, output),"
			 " files = coalesce(?4, files), error = coalesce(?5, error),"
			 " started_at = coalesce(?6, started_at),"
			 " ended_at = coalesce(?7, ended_at),"
			 " input_tokens = coalesce(?8, input_tokens),"
			 " output_tokens = coalesce(?9, output_tokens),"
			 " steps = coalesce(?10, steps) WHERE id = ?1",
	[W_RUN_TAKE] = "UPDATE bread_runs SET owner = ?2, epoch = ?3 + 1, status = 1, wake = 0"
		       " WHERE id = ?1 AND epoch = ?3 AND status < 3",
	[W_RUN_CANCEL] = "UPDATE bread_runs SET cancel_requested = 1 WHERE id = ?1 AND status < 3",
	[W_RUN_WAKE] = "UPDATE bread_runs SET wake = wake + 1 WHERE id = ?1 AND status < 3",
	[W_RUN_HEARD] = "UPDATE bread_runs SET wake = 0 WHERE id = ?1 AND status < 3",
	[W_NODE] = "INSERT INTO bread_nodes (run_id, name, kind, state, data)"
		   " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (run_id, name)"
		   " DO UPDATE SET kind = ?3, state = ?4, data = ?5",
	[W_CRUMB] =
		"INSERT INTO crumbs (run_id, seq, session_id, agent_id, type, crumb, created_at)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[W_TREE] = "INSERT INTO bread_tree (root_id, tree_seq, run_id, seq, path)"
		   " VALUES (?1, ?2, ?3, ?4, ?5)",
	[W_DEFINITION] = "INSERT INTO bread_definitions (hash, definition) VALUES (?1, ?2)"
			 " ON CONFLICT (hash) DO NOTHING",
	[W_OWNER] = "INSERT OR REPLACE INTO bread_owners (id, place, pid, pid_started, lease_until)"
		    " VALUES (?1, ?2, ?3, ?4, ?5)",
	[W_OWNER_GONE] = "DELETE FROM bread_owners WHERE id = ?1",

	[W_CHECKPOINT] = "INSERT OR REPLACE INTO checkpoints (id, agent_id, run_id, session_id,"
			 " tool_name, tool_call_id, schema, prompt, skill, parent, pending,"
			 " created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
	[W_CHECKPOINT_PART] =
		"INSERT OR REPLACE INTO bread_checkpoints (id, root_id, node, kind,"
		" answer_schema, fallback, deadline) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[W_CLAIM] = "DELETE FROM checkpoints WHERE id = ?1",
	[W_CLAIM_PART] = "DELETE FROM bread_checkpoints WHERE id = ?1",
	[W_LINK] = "UPDATE checkpoints SET parent = ?2 WHERE id = ?1",
	[W_DROP_PARTS_OF_RUN] = "DELETE FROM bread_checkpoints WHERE id IN"
				" (SELECT id FROM checkpoints WHERE run_id = ?1)",
	[W_DROP_OF_RUN] = "DELETE FROM checkpoints WHERE run_id = ?1",
	[W_DROP_OF_TREE] = "DELETE FROM checkpoints WHERE id IN"
			   " (SELECT id FROM bread_checkpoints WHERE root_id = ?1)",
	[W_DROP_PARTS_OF_TREE] = "DELETE FROM bread_checkpoints WHERE root_id = ?1",

	/* what is replaced keeps its place in the order */
	[W_LOOP] = "INSERT INTO loops (id, agent_id, session_id, run_id, pool, pipeline, status,"
		   " result, max_iterations, iterations, started_at, completed_at)"
		   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
		   " ON CONFLICT (id) DO UPDATE SET agent_id = ?2, session_id = ?3, run_id = ?4,"
		   " pool = ?5, pipeline = ?6, status = ?7, result = ?8, max_iterations = ?9,"
		   " iterations = ?10, started_at = ?11, completed_at = ?12",
	[W_LOOP_ROUND] = "INSERT INTO loop_iterations (id, loop_id, input, output, idx, started_at,"
			 " completed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[W_TASK_RUN] =
		"INSERT INTO task_runs (id, task_id, agent_id, session_id, run_id, model,"
		" input, output, status, usage, error, duration_ms, created_at, completed_at)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
		" ON CONFLICT (id) DO UPDATE SET task_id = ?2, agent_id = ?3, session_id = ?4,"
		" run_id = ?5, model = ?6, input = ?7, output = ?8, status = ?9, usage = ?10,"
		" error = ?11, duration_ms = ?12, created_at = ?13, completed_at = ?14",
	[W_KNOWLEDGE] = "INSERT INTO kg_nodes (id, agent_id, session_id, label, data, created_at)"
			" VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[W_EDGE] = "INSERT INTO kg_edges (id, from_id, to_id, relation)"
		   " SELECT ?1, ?2, id, ?4 FROM kg_nodes WHERE id = ?3",
	[W_FORGET] = "DELETE FROM kg_nodes WHERE id = ?1 AND agent_id = ?2",
	[W_FORGET_EDGES] = "DELETE FROM kg_edges WHERE from_id = ?1 OR to_id = ?1",
	[W_DOCUMENT] = "INSERT INTO documents (id, agent_id, title, content, source, created_at)"
		       " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[W_IDEMPOTENCY] = "INSERT INTO bread_idempotency (key, hash, run_id, after, created_at)"
			  " VALUES (?1, ?2, ?3, ?4, ?5)",
	[W_IDEMPOTENCY_CLEANUP] = "DELETE FROM bread_idempotency WHERE created_at < ?1",

	[W_STALE] = "SELECT id, tags FROM sessions WHERE updated_at < ?1",
	/* with those below them; of a run that is alone the second part finds nothing */
	[W_RUNS_OF_SESSION] =
		"WITH RECURSIVE gone(id, root, session) AS ("
		"SELECT id, root_id, session_id FROM bread_runs WHERE session_id = ?1"
		" UNION SELECT r.id, r.root_id, r.session_id FROM gone g JOIN bread_runs r"
		" INDEXED BY bread_runs_below ON r.root_id = g.root AND r.parent_id = g.id"
		" WHERE r.parent_id IS NOT NULL) SELECT id, root, session FROM gone",
	[W_DEL_TREE] = "DELETE FROM bread_tree WHERE root_id = ?1",
	[W_DEL_LINES] = "DELETE FROM bread_tree WHERE root_id = ?1 AND run_id = ?2",
	[W_DEL_RUN_CRUMBS] = "DELETE FROM crumbs WHERE run_id = ?1",
	[W_DEL_RUN_NODES] = "DELETE FROM bread_nodes WHERE run_id = ?1",
	[W_DEL_RUN_KEYS] = "DELETE FROM bread_idempotency WHERE run_id = ?1",
	[W_DEL_RUN] = "DELETE FROM bread_runs WHERE id = ?1",
	[W_DEL_MESSAGES] = "DELETE FROM session_messages WHERE session_id = ?1",
	[W_DEL_PARTS] = "DELETE FROM bread_checkpoints WHERE id IN"
			" (SELECT id FROM checkpoints WHERE session_id = ?1)",
	[W_DEL_CHECKPOINTS] = "DELETE FROM checkpoints WHERE session_id = ?1",
	[W_DEL_CRUMBS] = "DELETE FROM crumbs WHERE session_id = ?1",
	[W_DEL_SESSION] = "DELETE FROM sessions WHERE id = ?1",
};
const size_t brd_sq_record_sql_count = W_COUNT;

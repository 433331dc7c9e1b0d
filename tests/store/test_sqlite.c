/* SPDX-License-Identifier: MIT */
/* What only the SQLite store has: its file, its options, and what it says when
 * the disk or another process is in the way. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include "store/kit.h"
#include "store/faulty_vfs.h"

struct world {
	char dir[512];
	char path[600];
	struct loop *loop;
	struct bread_store *store;
	struct bread_err err;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	kit_dir(w->dir, sizeof(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/bread.db", w->dir);
	assert_int_equal(brd_loop_new(&w->loop, NULL), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	faulty_vfs_set(FAULT_NONE);
	brd_store_close(w->store);
	brd_loop_free(w->loop);
	kit_remove(w->dir);
	free(w);
	return 0;
}

static int open_with(struct world *w, const char *path, const char *options)
{
	w->store = NULL;
	return brd_store_open(
		&w->store, BRD_STR("sqlite"), brd_str(path), brd_str(options), &w->err);
}

static void opened(struct world *w)
{
	if (open_with(w, w->path, "{}"))
		fail_msg("%s", w->err.text);
}

static void closed(struct world *w)
{
	brd_store_close(w->store);
	w->store = NULL;
}

/* The error speaks of the file and of this. */
static void says(const struct world *w, const char *about, const char *word)
{
	if (!strstr(w->err.text, about) || !strstr(w->err.text, word))
		fail_msg("\"%s\" speaks neither of %s nor of %s", w->err.text, about, word);
	assert_string_equal(w->err.where, "store.sqlite");
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;
	char *text = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &text))
		fail_msg("%s: %s", sql, text);
	sqlite3_close(db);
}

/* The first column of the first row, or -1. */
static int64_t ask_sql(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *s;
	int64_t v = -1;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	if (sqlite3_step(s) == SQLITE_ROW)
		v = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return v;
}

static enum bread_code commit1(struct world *w, struct bread_rec rec)
{
	return kit_commit(w->store, w->loop, &rec, 1);
}

/* ---- opening ---- */

static void folder_that_does_not_exist_is_named(void **state)
{
	struct world *w = *state;
	char path[700];

	snprintf(path, sizeof(path), "%s/none/bread.db", w->dir);
	assert_int_equal(open_with(w, path, "{}"), BREAD_E_INVALID);
	says(w, path, "mkdir -p");
}

static void folder_is_no_database(void **state)
{
	struct world *w = *state;

	assert_int_equal(open_with(w, w->dir, "{}"), BREAD_E_INVALID);
	says(w, w->dir, "is a folder");
}

static void file_in_place_of_a_folder_is_named(void **state)
{
	struct world *w = *state;
	char path[700];

	close(open(w->path, O_CREAT | O_WRONLY, 0600));
	snprintf(path, sizeof(path), "%s/bread.db", w->path);
	assert_int_equal(open_with(w, path, "{}"), BREAD_E_INVALID);
	says(w, w->path, "");
}

static void file_that_is_no_database_stays_as_it_is(void **state)
{
	struct world *w = *state;
	struct stat st;
	FILE *f = fopen(w->path, "w");

	for (int i = 0; i < 100; i++)
		fputs("This is a letter to a friend.\n", f);
	fclose(f);
	assert_int_equal(open_with(w, w->path, "{}"), BREAD_E_INVALID);
	says(w, w->path, "no SQLite database");
	assert_int_equal(stat(w->path, &st), 0);
	assert_int_equal(st.st_size, 3000);
}

static void file_that_may_not_be_written_is_named(void **state)
{
	struct world *w = *state;

	if (geteuid() == 0)
		skip(); /* nothing is forbidden to root */
	opened(w);
	closed(w);
	chmod(w->path, 0400);
	assert_int_equal(open_with(w, w->path, "{}"), BREAD_E_INVALID);
	says(w, w->path, "chmod");
	chmod(w->path, 0600);
	chmod(w->dir, 0500);
	assert_int_not_equal(open_with(w, w->path, "{}"), BREAD_OK);
	says(w, w->path, "folder");
}

static void path_is_needed(void **state)
{
	struct world *w = *state;

	assert_int_equal(open_with(w, "", "{}"), BREAD_E_INVALID);
	assert_int_equal(open_with(w, ":memory:", "{}"), BREAD_E_INVALID);
	says(w, "memory", "use the store memory");
}

static void options_are_checked(void **state)
{
	struct world *w = *state;

	assert_int_equal(open_with(w, w->path, "{\"sync\":\"never\"}"), BREAD_E_INVALID);
	says(w, "sync", "normal");
	assert_int_equal(open_with(w, w->path, "{\"window_ms\":-1}"), BREAD_E_INVALID);
	assert_int_equal(open_with(w, w->path, "{\"windows\":1}"), BREAD_E_INVALID);
	says(w, "windows", "window_ms");
	assert_int_equal(open_with(w, w->path, "[]"), BREAD_E_INVALID);
	assert_int_equal(open_with(w, w->path, "{\"sync\":\"normal\",\"window_ms\":2}"), BREAD_OK);
	assert_int_equal(commit1(w, kit_session("s", 1, NULL)), BREAD_OK);
}

static void unknown_word_is_told_the_words_there_are(void **state)
{
	struct world *w = *state;

	assert_int_equal(
		brd_store_open(&w->store, BRD_STR("oracle"), BRD_STR("x"), BRD_STR("{}"), &w->err),
		BREAD_E_INVALID);
	assert_non_null(strstr(w->err.text, "memory, sqlite"));
	w->store = NULL;
}

/* ---- the schema ---- */

static void newer_schema_is_refused(void **state)
{
	struct world *w = *state;

	opened(w);
	closed(w);
	run_sql(w->path, "UPDATE bread_meta SET value = '3' WHERE key = 'schema'");
	assert_int_equal(open_with(w, w->path, "{}"), BREAD_E_INVALID);
	says(w, w->path, "newer");
	assert_int_equal(ask_sql(w->path, "SELECT value FROM bread_meta"), 3);
}

static void shared_tables_are_all_there(void **state)
{
	struct world *w = *state;

	opened(w);
	closed(w);
	assert_int_equal(
		ask_sql(w->path, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name "
				 "IN ('sessions', 'session_messages', 'checkpoints', 'crumbs', "
				 "'loops', 'loop_iterations', 'kg_nodes', 'kg_edges', 'documents', "
				 "'task_runs')"),
		10);
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM sqlite_master WHERE type = "
					  "'index' AND name LIKE 'idx\\_%' ESCAPE '\\'"),
		12);
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM sqlite_master WHERE type = "
					  "'table' AND name LIKE 'bread\\_%' ESCAPE '\\'"),
		8);
}

static void database_of_an_old_version_is_brought_up(void **state)
{
	struct world *w = *state;
	struct bread_read r = { .kind = BREAD_READ_MESSAGES, .key = BRD_STR("s") };

	run_sql(w->path,
		"CREATE TABLE sessions (id TEXT PRIMARY KEY, created_at INTEGER NOT NULL,"
		" updated_at INTEGER NOT NULL);"
		"CREATE TABLE session_messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL"
		" REFERENCES sessions(id) ON DELETE CASCADE, role TEXT NOT NULL,"
		" content TEXT NOT NULL, timestamp INTEGER NOT NULL);"
		"CREATE TABLE checkpoints (id TEXT PRIMARY KEY, agent_id TEXT NOT NULL,"
		" run_id TEXT NOT NULL, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE"
		" CASCADE, tool_name TEXT NOT NULL, tool_call_id TEXT NOT NULL, schema TEXT NOT"
		" NULL, prompt TEXT, created_at INTEGER NOT NULL);"
		"INSERT INTO sessions VALUES ('s', 1, 2);"
		"INSERT INTO session_messages VALUES ('m', 's', 'user', '\"hi\"', 2);"
		"INSERT INTO checkpoints VALUES ('c','a','r','s','t','tc','null',NULL,3);");
	opened(w);
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_str(r.messages->content, "\"hi\"");
	bread_read_fini(&r);
	closed(w);
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM checkpoints WHERE skill IS NULL "
					  "AND parent IS NULL AND pending IS NULL"),
		1);
	opened(w);
	assert_int_equal(commit1(w, kit_key(BREAD_REC_SESSION_DELETE, "s", NULL)), BREAD_OK);
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM checkpoints"), 0);
}

/* As version 1 wrote it: a run that waits for somebody, and one that somebody has to go on with. */
static const char version_1[] =
	"CREATE TABLE bread_runs ("
	" id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, status INTEGER NOT NULL,"
	" cancel_requested INTEGER NOT NULL DEFAULT 0, owner TEXT,"
	" root_id TEXT, parent_id TEXT, agent_id TEXT NOT NULL, session_id TEXT,"
	" definition TEXT, created_at INTEGER NOT NULL,"
	" started_at INTEGER NOT NULL DEFAULT 0, ended_at INTEGER NOT NULL DEFAULT 0,"
	" input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0,"
	" tags TEXT, options TEXT, input TEXT, output TEXT, files TEXT, error TEXT);"
	"CREATE INDEX bread_runs_session ON bread_runs(session_id);"
	"CREATE INDEX bread_runs_open ON bread_runs(session_id) WHERE status < 3;"
	"CREATE TABLE checkpoints ("
	" id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, run_id TEXT NOT NULL,"
	" session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,"
	" tool_name TEXT NOT NULL, tool_call_id TEXT NOT NULL, schema TEXT NOT NULL,"
	" prompt TEXT, skill TEXT, parent TEXT, pending TEXT, created_at INTEGER NOT NULL);"
	"CREATE INDEX bread_checkpoints_run ON checkpoints(run_id);"
	"CREATE TABLE bread_nodes ("
	" run_id TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,"
	" state INTEGER NOT NULL, data TEXT, PRIMARY KEY (run_id, name));"
	"CREATE TABLE bread_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"INSERT INTO bread_meta VALUES ('schema', '1');"
	"INSERT INTO bread_runs (id, epoch, status, root_id, agent_id, session_id, created_at,"
	" input) VALUES ('asleep', 1, 2, 'asleep', 'a', 's', 5, '\"hi\"'),"
	" ('going', 3, 1, 'going', 'a', 't', 6, '\"ho\"');"
	"INSERT INTO bread_nodes VALUES ('asleep', 'broken', 'human', 1, '{'),"
	" ('asleep', 'human.0.1', 'human', 1, '{\"checkpointId\":\"c\"}'),"
	" ('asleep', 'model.0', 'model', 2, '{\"checkpointId\":\"c\"}');"
	"INSERT INTO checkpoints VALUES"
	" ('c', 'a', 'asleep', 's', 'ask', 'tc', '{}', NULL, NULL, NULL, NULL, 7),"
	" ('foreign', 'a', 'theirs', 's', 'ask', 'tc', '{}', NULL, NULL, NULL, NULL, 8);";

static void database_of_version_1_is_brought_up(void **state)
{
	struct world *w = *state;
	struct bread_read r = { .kind = BREAD_READ_CHECKPOINTS };

	run_sql(w->path, version_1);
	opened(w);
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 2);
	assert_str(r.checkpoints[0].root_id, "asleep");
	assert_str(r.checkpoints[0].node, "human.0.1");
	assert_str(r.checkpoints[0].kind, "input");
	assert_str(r.checkpoints[1].id, "foreign");
	assert_str(r.checkpoints[1].root_id, "");
	bread_read_fini(&r);
	r = (struct bread_read){ .kind = BREAD_READ_UNFINISHED };
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 1);
	assert_str(r.runs->id, "going");
	assert_str(r.runs->input, "\"ho\"");
	assert_int_equal(r.runs->epoch, 3);
	bread_read_fini(&r);
	assert_int_equal(commit1(w, (struct bread_rec){ .kind = BREAD_REC_RUN_WAKE,
					    .run.id = BRD_STR("asleep") }),
		BREAD_OK);
	r = (struct bread_read){ .kind = BREAD_READ_UNFINISHED };
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 2);
	bread_read_fini(&r);
	closed(w);
	assert_int_equal(ask_sql(w->path, "SELECT value FROM bread_meta WHERE key = 'schema'"), 2);
	opened(w); /* a second time there is nothing to do */
	closed(w);
}

/* The columns are added, and then the process is gone: nothing of it has happened. */
static void migration_that_is_cut_off_begins_again(void **state)
{
	struct world *w = *state;

	run_sql(w->path, version_1);
	/* no index can be made over this: its name is taken by a table */
	run_sql(w->path, "CREATE TABLE bread_runs_woken (x)");
	assert_int_not_equal(open_with(w, w->path, "{}"), BREAD_OK);
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM pragma_table_info('bread_runs') "
					  "WHERE name = 'wake'"),
		0);
	assert_int_equal(ask_sql(w->path, "SELECT value FROM bread_meta WHERE key = 'schema'"), 1);
	run_sql(w->path, "DROP TABLE bread_runs_woken");
	opened(w);
	closed(w);
	assert_int_equal(ask_sql(w->path, "SELECT value FROM bread_meta WHERE key = 'schema'"), 2);
}

static void lone_run_leaves_nothing_in_the_tables_of_trees(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_session("s", 5, NULL), kit_run("r", "s", BREAD_RUN_RUNNING),
		kit_crumb("r", 1, "s", BRD_STR("{}")) };

	opened(w);
	assert_int_equal(kit_commit(w->store, w->loop, recs, 3), BREAD_OK);
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM bread_tree"), 0);
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM bread_runs INDEXED BY "
					  "bread_runs_below WHERE parent_id IS NOT NULL"),
		0);
}

static void our_part_of_a_checkpoint_goes_with_it(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = { .kind = BREAD_REC_CHECKPOINT,
		.checkpoint = { .id = BRD_STR("c"),
			.run_id = BRD_STR("r"),
			.root_id = BRD_STR("p"),
			.session_id = BRD_STR("s"),
			.deadline = 5 } };
	static const char count[] = "SELECT count(*) FROM bread_checkpoints";

	opened(w);
	commit1(w, rec);
	assert_int_equal(ask_sql(w->path, count), 1);
	commit1(w, kit_key(BREAD_REC_CHECKPOINT_CLAIM, "c", NULL));
	assert_int_equal(ask_sql(w->path, count), 0);
	commit1(w, rec);
	commit1(w, kit_key(BREAD_REC_CHECKPOINT_DROP, "r", NULL));
	assert_int_equal(ask_sql(w->path, count), 0);
	commit1(w, rec);
	commit1(w, kit_key(BREAD_REC_CHECKPOINT_DROP, "p", NULL));
	assert_int_equal(ask_sql(w->path, count), 0);
	commit1(w, rec);
	commit1(w, kit_key(BREAD_REC_SESSION_DELETE, "s", NULL));
	assert_int_equal(ask_sql(w->path, count), 0);
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM checkpoints"), 0);
}

static void edge_is_written_for_others(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = { .kind = BREAD_REC_KNOWLEDGE,
		.knowledge = { .id = BRD_STR("k1"), .agent_id = BRD_STR("a") } };

	opened(w);
	commit1(w, rec);
	rec.knowledge.id = BRD_STR("k2");
	rec.knowledge.to_id = BRD_STR("k1");
	rec.knowledge.relation = BRD_STR("knows");
	rec.knowledge.edge_id = BRD_STR("e");
	commit1(w, rec);
	assert_int_equal(
		ask_sql(w->path, "SELECT count(*) FROM kg_edges WHERE id = 'e' AND from_id "
				 "= 'k2' AND to_id = 'k1' AND relation = 'knows'"),
		1);
	commit1(w, kit_key(BREAD_REC_KNOWLEDGE_FORGET, "k1", "a"));
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM kg_edges"), 0);
}

static void others_find_what_we_write(void **state)
{
	struct world *w = *state;
	struct bread_rec recs[] = { kit_session("s", 5, NULL),
		kit_message("m", "s", 6, "{\"text\":1}"), kit_crumb("r", 1, "s", BRD_STR("{}")) };

	recs[0].session.agent_id = (struct bread_str){ 0 };
	opened(w);
	assert_int_equal(kit_commit(w->store, w->loop, recs, 3), BREAD_OK);
	/* read beside the running store; what is empty is NULL there */
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM sessions WHERE agent_id IS NULL "
					  "AND tags = '{}' AND updated_at = 6"),
		1);
	assert_int_equal(
		ask_sql(w->path, "SELECT json_extract(content, '$.text') FROM session_messages"),
		1);
	run_sql(w->path, "PRAGMA foreign_keys = ON; DELETE FROM sessions");
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM crumbs"), 0);
}

/* ---- trouble while it runs ---- */

static void full_disk_is_told_and_gone_through(void **state)
{
	struct world *w = *state;
	struct bread_read r = { .kind = BREAD_READ_SESSIONS, .filter.status = -1 };
	struct bread_rec recs[] = { kit_session("lost", 1, NULL),
		kit_message("m", "lost", 2, "1") };

	opened(w);
	assert_int_equal(commit1(w, kit_session("before", 1, NULL)), BREAD_OK);
	assert_true(brd_store_healthy(w->store));
	faulty_vfs_set(FAULT_FULL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(kit_commit(w->store, w->loop, recs, 2), BREAD_E_UPSTREAM);
	assert_false(brd_store_healthy(w->store));
	kit_read(w->store, w->loop, &r); /* reading goes on */
	assert_int_equal(r.count, 1);
	bread_read_fini(&r);
	assert_false(brd_store_healthy(w->store)); /* which does not make it well */
	faulty_vfs_set(FAULT_NONE);
	assert_int_equal(commit1(w, kit_session("after", 2, NULL)), BREAD_OK);
	assert_true(brd_store_healthy(w->store));
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 2);
	bread_read_fini(&r);
}

static void on_failed(struct bread_op *op)
{
	struct world *w = op->arg;

	w->err = op->err;
}

static void full_disk_names_the_file_and_the_remedy(void **state)
{
	struct world *w = *state;
	struct bread_rec rec = kit_session("s", 1, NULL);
	struct bread_tx tx = { .recs = &rec, .count = 1 };

	opened(w);
	faulty_vfs_set(FAULT_FULL);
	bread_op_init(&tx.op, w->loop, on_failed, w);
	brd_store_commit(w->store, &tx);
	while (bread_op_running(&tx.op))
		brd_loop_turn(w->loop, -1);
	says(w, w->path, "space");
}

static void failed_sync_is_no_success(void **state)
{
	struct world *w = *state;
	struct bread_read r = { .kind = BREAD_READ_SESSION, .key = BRD_STR("s") };

	opened(w);
	faulty_vfs_set(FAULT_SYNC);
	assert_int_equal(commit1(w, kit_session("s", 1, NULL)), BREAD_E_UPSTREAM);
	faulty_vfs_set(FAULT_WRITE);
	assert_int_equal(commit1(w, kit_session("s", 1, NULL)), BREAD_E_UPSTREAM);
	faulty_vfs_set(FAULT_NONE);
	kit_read(w->store, w->loop, &r);
	assert_int_equal(r.count, 0);
	bread_read_fini(&r);
	assert_int_equal(commit1(w, kit_session("s", 1, NULL)), BREAD_OK);
}

struct locker {
	const char *path;
	pthread_t thread;
	int locked; /* atomic */
};

/* Another program that writes for a while. */
static void *locker_main(void *arg)
{
	struct locker *k = arg;
	sqlite3 *db;

	sqlite3_open(k->path, &db);
	sqlite3_exec(db,
		"BEGIN IMMEDIATE; INSERT INTO sessions VALUES ('theirs', 1, 1, NULL, '{}')", NULL,
		NULL, NULL);
	__atomic_store_n(&k->locked, 1, __ATOMIC_SEQ_CST);
	sqlite3_sleep(100);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
	return NULL;
}

static void another_writer_is_waited_for(void **state)
{
	struct world *w = *state;
	struct locker k = { w->path };

	opened(w);
	assert_int_equal(pthread_create(&k.thread, NULL, locker_main, &k), 0);
	while (!__atomic_load_n(&k.locked, __ATOMIC_SEQ_CST))
		sqlite3_sleep(1);
	assert_int_equal(commit1(w, kit_session("ours", 2, NULL)), BREAD_OK);
	pthread_join(k.thread, NULL);
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM sessions"), 2);
}

/* ---- the log of the database ---- */

static int64_t size_of(const struct world *w, const char *suffix)
{
	char path[700];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", w->path, suffix);
	return stat(path, &st) ? -1 : (int64_t)st.st_size;
}

static void write_much(struct world *w, int64_t *seq, int txs)
{
	static char text[64 << 10];
	struct bread_rec recs[8];

	memset(text, '1', sizeof(text));
	for (int t = 0; t < txs; t++) {
		for (int i = 0; i < 8; i++)
			recs[i] = kit_crumb(
				"r", ++*seq, "s", (struct bread_str){ text, sizeof(text) });
		assert_int_equal(kit_commit(w->store, w->loop, recs, 8), BREAD_OK);
	}
}

static void log_does_not_grow_for_ever(void **state)
{
	struct world *w = *state;
	int64_t seq = 0;

	if (open_with(w, w->path, "{\"sync\":\"normal\"}"))
		fail_msg("%s", w->err.text);
	write_much(w, &seq, 400); /* 200 MB through a log of 64 */
	for (int i = 0; i < 600 && size_of(w, "-wal") > (int64_t)65 << 20; i++)
		usleep(100000); /* the checkpointer may be far behind on a slow disk */
	assert_in_range(size_of(w, "-wal"), 0, (int64_t)65 << 20);
	closed(w);
	assert_int_equal(size_of(w, "-wal"), -1);
	assert_int_equal(ask_sql(w->path, "SELECT count(*) FROM crumbs"), seq);
}

/* What a reader beside us holds on to must neither be lost nor stop the writer. */
static void old_snapshot_stops_nobody(void **state)
{
	struct world *w = *state;
	sqlite3 *db;
	sqlite3_stmt *s;
	int64_t seq = 0;

	if (open_with(w, w->path, "{\"sync\":\"normal\"}"))
		fail_msg("%s", w->err.text);
	assert_int_equal(commit1(w, kit_crumb("r", ++seq, "s", BRD_STR("{}"))), BREAD_OK);
	assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM crumbs", -1, &s, NULL), 0);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	sqlite3_reset(s);
	write_much(w, &seq, 200);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int64(s, 0), 1);
	sqlite3_finalize(s);
	sqlite3_close(db);
}

#define AT_ONCE 4

struct opener {
	pthread_barrier_t *gate;
	const char *path;
	struct bread_store *store;
	struct bread_err err;
	int r;
};

static void *open_at_once(void *arg)
{
	struct opener *o = arg;

	pthread_barrier_wait(o->gate);
	o->r = brd_store_open(
		&o->store, BRD_STR("sqlite"), brd_str(o->path), BRD_STR("{}"), &o->err);
	return NULL;
}

static void new_file_is_opened_by_several_at_once(void **state)
{
	struct world *w = *state;
	pthread_barrier_t gate;

	pthread_barrier_init(&gate, NULL, AT_ONCE);
	for (int round = 0; round < 100; round++) {
		struct opener all[AT_ONCE];
		pthread_t threads[AT_ONCE];
		char path[700];

		snprintf(path, sizeof(path), "%s/%d.db", w->dir, round);
		for (int i = 0; i < AT_ONCE; i++) {
			all[i] = (struct opener){ .gate = &gate, .path = path };
			assert_int_equal(
				pthread_create(&threads[i], NULL, open_at_once, &all[i]), 0);
		}
		for (int i = 0; i < AT_ONCE; i++)
			pthread_join(threads[i], NULL);
		for (int i = 0; i < AT_ONCE; i++) {
			if (all[i].r)
				fail_msg("round %d: %s", round, all[i].err.text);
			brd_store_close(all[i].store);
		}
	}
	pthread_barrier_destroy(&gate);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(folder_that_does_not_exist_is_named),
		T(folder_is_no_database),
		T(file_in_place_of_a_folder_is_named),
		T(file_that_is_no_database_stays_as_it_is),
		T(file_that_may_not_be_written_is_named),
		T(path_is_needed),
		T(options_are_checked),
		T(unknown_word_is_told_the_words_there_are),
		T(newer_schema_is_refused),
		T(shared_tables_are_all_there),
		T(database_of_an_old_version_is_brought_up),
		T(database_of_version_1_is_brought_up),
		T(migration_that_is_cut_off_begins_again),
		T(lone_run_leaves_nothing_in_the_tables_of_trees),
		T(our_part_of_a_checkpoint_goes_with_it),
		T(edge_is_written_for_others),
		T(others_find_what_we_write),
		T(full_disk_is_told_and_gone_through),
		T(full_disk_names_the_file_and_the_remedy),
		T(failed_sync_is_no_success),
		T(another_writer_is_waited_for),
		T(new_file_is_opened_by_several_at_once),
		T(log_does_not_grow_for_ever),
		T(old_snapshot_stops_nobody),
	};

	faulty_vfs_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

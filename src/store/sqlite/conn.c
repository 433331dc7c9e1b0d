/* SPDX-License-Identifier: MIT */
/* Connections to the database, and what its errors mean to a person.
 *
 * A connection belongs to one thread at a time. Texts are bound with their
 * length and without a copy: what a statement is bound to must stay unchanged
 * until it has been run. Foreign keys are not enforced here: what is deleted is
 * deleted by name (records.c), and what must exist is checked. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/mem.h"
#include "store/sqlite/impl.h"
#include "store/tags.h"

/* KiB of each connection. Keys rise, so writes touch the right edge of each tree: over a
 * database of 400 MB eight times as much saved no CPU. */
#define WRITER_CACHE "PRAGMA cache_size=-4096"
#define OTHER_CACHE "PRAGMA cache_size=-2048"
/* What a log that is started over is cut down to. */
#define WAL_LIMIT "PRAGMA journal_size_limit=67108864"

static int no_folder(const char *path, struct bread_err *err)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (!slash || slash == path)
		return 0;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	if (stat(folder, &st))
		return brd_fail(err, BREAD_E_INVALID, SQ_WHERE,
			"the folder of the database %s cannot be used (%s); make it (mkdir -p %s) "
			"or set another path",
			path, brd_errno(errno), folder);
	if (!S_ISDIR(st.st_mode))
		return brd_fail(err, BREAD_E_INVALID, SQ_WHERE,
			"%s is no folder, so %s cannot be in it; set another path", folder, path);
	return 0;
}

static int bad_path(const char *path, struct bread_err *err)
{
	struct stat st;

	if (no_folder(path, err))
		return err->code;
	if (stat(path, &st))
		return 0; /* it will be made */
	if (S_ISDIR(st.st_mode))
		return brd_fail(err, BREAD_E_INVALID, SQ_WHERE,
			"%s is a folder; name a file in it, such as %s/bread.db", path, path);
	if (access(path, R_OK | W_OK))
		return brd_fail(err, BREAD_E_INVALID, SQ_WHERE,
			"the database %s cannot be read and written (%s); change its owner or its "
			"mode (chmod u+rw)",
			path, brd_errno(errno));
	return 0;
}

int brd_sq_fail(const struct sq_conn *c, int rc, struct bread_err *err)
{
	int sys = c->db ? sqlite3_system_errno(c->db) : 0;
	const char *why = sys ? brd_errno(sys) : sqlite3_errstr(rc);

	if (rc == SQLITE_READONLY_DBMOVED)
		return brd_fail(err, BREAD_E_UPSTREAM, SQ_WHERE,
			"the database %s was moved or deleted while in use; put it back and start "
			"again",
			c->path);
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return brd_fail(err, BREAD_E_UPSTREAM, SQ_WHERE,
			"there is no space left to write %s; free some, the store then goes on by "
			"itself",
			c->path);
	case SQLITE_READONLY:
		return brd_fail(err, BREAD_E_UPSTREAM, SQ_WHERE,
			"the database %s is read-only; make the file and its folder writable",
			c->path);
	case SQLITE_CANTOPEN:
		return brd_fail(err, BREAD_E_UPSTREAM, SQ_WHERE,
			"the database %s, or a file beside it (-wal, -shm), cannot be opened (%s); "
			"check the folder and who may write to it",
			c->path, why);
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return brd_fail(err, BREAD_E_UPSTREAM, SQ_WHERE,
			"this user may not use %s; change its owner or its mode", c->path);
	case SQLITE_NOTADB:
		return brd_fail(err, BREAD_E_INVALID, SQ_WHERE,
			"%s is no SQLite database; set another path or move that file away",
			c->path);
	case SQLITE_CORRUPT:
		return brd_fail(err, BREAD_E_UPSTREAM, SQ_WHERE,
			"the database %s is damaged; restore a copy, or save what is readable with "
			"\"sqlite3 %s .recover\"",
			c->path, c->path);
	case SQLITE_IOERR:
		return brd_fail(err, BREAD_E_UPSTREAM, SQ_WHERE,
			"%s cannot be read or written (%s); check the disk, its quota and its "
			"permissions",
			c->path, why);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return brd_fail(err, BREAD_E_BUSY, SQ_WHERE,
			"another process has locked %s for more than %d s; end it, or try again",
			c->path, SQ_BUSY_MS / 1000);
	case SQLITE_TOOBIG:
		return brd_fail(err, BREAD_E_TOO_LARGE, SQ_WHERE,
			"a text is too large for the database %s", c->path);
	default:
		return brd_fail(err, BREAD_E_UPSTREAM, SQ_WHERE, "the database %s says: %s",
			c->path, c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc));
	}
}

int brd_sq_exec(struct sq_conn *c, const char *sql, struct bread_err *err)
{
	int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);

	return rc ? brd_sq_fail(c, rc, err) : 0;
}

/* bread_tag(tags, key, value): 1 if they match as brd_tag_matches says. */
static void tag_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct bread_str s[3];

	for (int i = 0; i < 3; i++) {
		s[i].p = (const char *)sqlite3_value_text(argv[i]);
		s[i].n = (size_t)sqlite3_value_bytes(argv[i]);
	}
	sqlite3_result_int(ctx, brd_tag_matches(sqlite3_user_data(ctx), s[0], s[1], s[2]));
}

/* bread_has(text, part): 1 if part is in text as brd_text_has says. */
static void has_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct bread_str s[2];

	for (int i = 0; i < 2; i++) {
		s[i].p = (const char *)sqlite3_value_text(argv[i]);
		s[i].n = (size_t)sqlite3_value_bytes(argv[i]);
	}
	sqlite3_result_int(ctx, brd_text_has(s[0], s[1]));
}

static int add_functions(struct sq_conn *c)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
	int rc = sqlite3_create_function_v2(
		c->db, "bread_tag", 3, flags, &c->scratch, tag_function, NULL, NULL, NULL);

	return rc ? rc
		  : sqlite3_create_function_v2(
			    c->db, "bread_has", 2, flags, NULL, has_function, NULL, NULL, NULL);
}

static int set_up(struct sq_conn *c, bool writable, struct bread_err *err)
{
	int rc;

	sqlite3_extended_result_codes(c->db, 1);
	sqlite3_busy_timeout(c->db, SQ_BUSY_MS);
	rc = add_functions(c);
	if (rc)
		return brd_sq_fail(c, rc, err);
	if (writable && sqlite3_db_readonly(c->db, "main") == 1)
		return brd_sq_fail(c, SQLITE_READONLY, err);
	if (brd_sq_exec(c, "PRAGMA foreign_keys=OFF", err) ||
		brd_sq_exec(c, "PRAGMA wal_autocheckpoint=0", err) ||
		brd_sq_exec(c, writable ? WRITER_CACHE : OTHER_CACHE, err) ||
		brd_sq_exec(c, WAL_LIMIT, err))
		return err->code;
	return 0;
}

int brd_sq_open(struct sq_conn *c, const char *path, bool writable, struct bread_err *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
	struct bread_err own;
	int rc;

	err = err ? err : &own;
	c->path = path;
	if (writable) {
		flags |= SQLITE_OPEN_CREATE;
		if (bad_path(path, err))
			return err->code;
	}
	rc = sqlite3_open_v2(path, &c->db, flags, NULL);
	if (rc) {
		brd_sq_fail(c, rc, err);
		brd_sq_close(c);
		return err->code;
	}
	if (set_up(c, writable, err)) {
		brd_sq_close(c);
		return err->code;
	}
	return 0;
}

void brd_sq_statements(struct sq_conn *c, const char *const *sql, size_t count)
{
	c->sql = sql;
	c->count = count;
	c->stmts = brd_array(count, sizeof(*c->stmts));
}

void brd_sq_close(struct sq_conn *c)
{
	for (size_t i = 0; i < c->count; i++)
		sqlite3_finalize(c->stmts[i]);
	free(c->stmts);
	c->stmts = NULL;
	c->count = 0;
	sqlite3_close(c->db);
	c->db = NULL;
	brd_arena_fini(&c->scratch);
}

int brd_sq_stmt(struct sq_conn *c, size_t which, sqlite3_stmt **ret)
{
	int rc = SQLITE_OK;

	if (!c->stmts[which])
		rc = sqlite3_prepare_v3(c->db, c->sql[which], -1, SQLITE_PREPARE_PERSISTENT,
			&c->stmts[which], NULL);
	*ret = c->stmts[which];
	return rc;
}

int brd_sq_run(sqlite3_stmt *s)
{
	int rc;

	do
		rc = sqlite3_step(s);
	while (rc == SQLITE_ROW);
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

void brd_sq_bind(sqlite3_stmt *s, int at, struct bread_str text)
{
	sqlite3_bind_text64(s, at, text.p ? text.p : "", text.n, SQLITE_STATIC, SQLITE_UTF8);
}

void brd_sq_bind_null(sqlite3_stmt *s, int at, struct bread_str text)
{
	if (text.n)
		sqlite3_bind_text64(s, at, text.p, text.n, SQLITE_STATIC, SQLITE_UTF8);
	else
		sqlite3_bind_null(s, at);
}

struct bread_str brd_sq_column(sqlite3_stmt *s, int at)
{
	struct bread_str text;

	text.p = (const char *)sqlite3_column_text(s, at);
	text.n = (size_t)sqlite3_column_bytes(s, at);
	return text;
}

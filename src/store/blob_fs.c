/* SPDX-License-Identifier: MIT */
/* Blobs as files in a folder.
 *
 * A file is written under a name of its own, synced and then renamed, so that
 * what can be seen under a key is whole; its name is synced, too, before a crumb
 * may speak of it. The media type decides the extension,
 * for those who look into the folder. Files are written by workers. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/uuid.h"
#include "bread/ext/blob.h"
#include "loop/work.h"

#define WHERE "blob.fs"

struct blob_fs {
	struct bread_blob blob;
	char *dir;    /* absolute */
	char *prefix; /* of the addresses; ends in a slash */
	bool counted;
	uint64_t count; /* atomic */
};

struct blob_job {
	struct work work;
	struct bread_op op; /* the worker's; its end brings put's about */
	struct blob_fs *fs;
	struct bread_blob_put *put;
};

static const char *extension(struct bread_str type)
{
	static const struct {
		const char *type, *ext;
	} known[] = {
		{ "image/png", ".png" },
		{ "image/jpeg", ".jpg" },
		{ "image/gif", ".gif" },
		{ "image/webp", ".webp" },
		{ "image/svg+xml", ".svg" },
		{ "audio/mpeg", ".mp3" },
		{ "audio/wav", ".wav" },
		{ "video/mp4", ".mp4" },
		{ "application/pdf", ".pdf" },
		{ "application/json", ".json" },
		{ "text/plain", ".txt" },
		{ "text/html", ".html" },
		{ "text/csv", ".csv" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (brd_str_ieq(type, brd_str(known[i].type)))
			return known[i].ext;
	return "";
}

static void make_key(struct blob_fs *fs, struct bread_blob_put *put)
{
	char id[UUID_LEN + 1];

	if (fs->counted) {
		uint64_t n = __atomic_add_fetch(&fs->count, 1, __ATOMIC_RELAXED);

		snprintf(put->key, sizeof(put->key), "blob-%llu", (unsigned long long)n);
		return;
	}
	brd_uuid7(id);
	snprintf(put->key, sizeof(put->key), "%s%s", id, extension(put->media_type));
}

static int write_all(int fd, struct bread_str s)
{
	while (s.n) {
		ssize_t n = write(fd, s.p, s.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		s = brd_sub(s, (size_t)n, s.n - (size_t)n);
	}
	return 0;
}

static int write_file(const char *path, struct bread_str bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int bad;

	if (fd < 0)
		return -1;
	bad = write_all(fd, bytes) || fsync(fd);
	if (close(fd))
		bad = 1;
	return bad ? -1 : 0;
}

/* A new name survives a power cut once its folder is synced. */
static int sync_folder(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int bad;

	if (fd < 0)
		return -1;
	bad = fsync(fd) && errno != EINVAL; /* file systems that cannot */
	close(fd);
	return bad ? -1 : 0;
}

static int put_file(const struct blob_fs *fs, struct bread_blob_put *put, struct bread_err *err)
{
	char path[PATH_MAX], part[PATH_MAX], id[UUID_LEN + 1];
	int e;

	brd_uuid7(id);
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", fs->dir, put->key) >= sizeof(path) ||
		(size_t)snprintf(part, sizeof(part), "%s/.%s.part", fs->dir, id) >= sizeof(part))
		return brd_fail(err, BREAD_E_INVALID, WHERE, "the path of %s is too long", fs->dir);
	if (write_file(part, put->bytes) || rename(part, path) || sync_folder(fs->dir)) {
		e = errno;
		unlink(part);
		return brd_fail(err, BREAD_E_UPSTREAM, WHERE,
			"%s cannot be written (%s); check the folder's space and who may write to "
			"it",
			path, brd_errno(e));
	}
	return 0;
}

static enum bread_code run_job(struct work *w, struct bread_err *err)
{
	struct blob_job *job = w->arg;

	make_key(job->fs, job->put);
	if ((size_t)snprintf(job->put->url, sizeof(job->put->url), "%s%s", job->fs->prefix,
		    job->put->key) >= sizeof(job->put->url))
		return brd_fail(err, BREAD_E_INVALID, WHERE, "the address %s… is too long",
			job->fs->prefix);
	return put_file(job->fs, job->put, err);
}

static void on_job_end(struct bread_op *op)
{
	struct blob_job *job = op->arg;
	struct bread_op *put = &job->put->op;
	struct bread_err err = op->err;
	enum bread_code code = op->code;

	free(job);
	bread_op_end(put, code, &err);
}

static void on_put_cancel(struct bread_op *op, void *by)
{
	struct blob_job *job = by;

	bread_op_cancel(&job->op);
}

static void fs_put(struct bread_blob *b, struct bread_blob_put *put)
{
	struct blob_job *job = brd_alloc(sizeof(*job));

	job->fs = (struct blob_fs *)b;
	job->put = put;
	job->work.run = run_job;
	job->work.arg = job;
	bread_op_init(&job->op, put->op.loop, on_job_end, job);
	bread_op_begin(&put->op, on_put_cancel, job);
	brd_work_start(&job->work, &job->op);
}

static int use_dir(struct blob_fs *fs, const char *dir, struct bread_err *err)
{
	struct stat st;

	if (mkdir(dir, 0755) && errno != EEXIST)
		return brd_fail(err, BREAD_E_INVALID, WHERE,
			"the folder %s cannot be made (%s); make it or set another dir", dir,
			brd_errno(errno));
	if (stat(dir, &st) || !S_ISDIR(st.st_mode))
		return brd_fail(
			err, BREAD_E_INVALID, WHERE, "%s is no folder; set another dir", dir);
	if (access(dir, W_OK | X_OK))
		return brd_fail(err, BREAD_E_INVALID, WHERE,
			"the folder %s cannot be written to (%s); change its owner or its mode",
			dir, brd_errno(errno));
	fs->dir = realpath(dir, NULL);
	return fs->dir ? 0 : brd_fail(err, BREAD_E_INVALID, WHERE, "%s: %s", dir, brd_errno(errno));
}

/* The path as a URL writes it. */
static void add_escaped(struct buf *b, const char *path)
{
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (strchr("/-._~", c) || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			(c >= 'a' && c <= 'z'))
			brd_buf_addc(b, (char)c);
		else
			brd_buf_addf(b, "%%%02X", c);
	}
}

static char *make_prefix(const struct blob_fs *fs, struct bread_str url)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	if (url.n) {
		brd_buf_add(&b, url);
	} else {
		brd_buf_addz(&b, "file://");
		add_escaped(&b, fs->dir);
	}
	if (!brd_str_ends(brd_buf_str(&b), BRD_STR("/")))
		brd_buf_addc(&b, '/');
	return brd_buf_take(&b, NULL);
}

static int configure(struct blob_fs *fs, struct jval o, struct arena *a, struct bread_err *err)
{
	const char *dir = brd_json_strz(brd_json_get(o, "dir"), a);
	struct jval keys = brd_json_get(o, "keys");

	if (!dir || !*dir)
		return brd_fail(
			err, BREAD_E_INVALID, WHERE, "the option dir (a folder) is missing");
	fs->counted = brd_json_is(keys, "count");
	if (!fs->counted && brd_json_type(keys) != JSON_NONE && !brd_json_is(keys, "uuid"))
		return brd_fail(
			err, BREAD_E_INVALID, WHERE, "the option keys is \"uuid\" or \"count\"");
	if (use_dir(fs, dir, err))
		return BREAD_E_INVALID;
	fs->prefix = make_prefix(fs, brd_json_str(brd_json_get(o, "url"), a));
	return 0;
}

static int fs_open(struct bread_blob *b, struct bread_str options, struct bread_err *err)
{
	struct arena a = { 0 };
	struct jval o;
	int r;

	if (brd_json_parse(&a, options, 0, &o, NULL) || brd_json_type(o) != JSON_OBJECT)
		r = brd_fail(err, BREAD_E_INVALID, WHERE, "its options are a JSON object");
	else
		r = configure((struct blob_fs *)b, o, &a, err);
	brd_arena_fini(&a);
	return r;
}

static void fs_close(struct bread_blob *b)
{
	struct blob_fs *fs = (struct blob_fs *)b;

	free(fs->dir);
	free(fs->prefix);
}

const struct bread_blob_ops bread_blob_fs = {
	.name = "fs",
	.size = sizeof(struct blob_fs),
	.open = fs_open,
	.close = fs_close,
	.put = fs_put,
};

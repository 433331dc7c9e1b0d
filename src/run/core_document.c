/* SPDX-License-Identifier: MIT */
/* The document tools. core_doc_load also takes in a file, from below the configured
 * root and through no link that leads out of it, or what is at a URL, past the
 * outbound guard (contract C27). */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/work.h"
#include "net/guard.h"
#include "run/core_call.h"

#define DRAFT "\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"object\","
#define DOCUMENT_MAX ((size_t)4 * 1024 * 1024)

/* ---- storing, finding, reading ---- */

static void keep(struct core_call *c, struct bread_str title, struct bread_str content,
	struct bread_str source, void (*done)(struct core_call *c))
{
	brd_uuid7(c->id);
	c->rec.kind = BREAD_REC_DOCUMENT;
	c->rec.document = (struct bread_document_row){
		.id = brd_str(c->id),
		.agent_id = c->call->agent_id,
		.title = title,
		.content = content,
		.source = source,
		.created_at = brd_clock_wall(),
	};
	brd_core_commit(c, done);
}

static void begin_result(struct core_call *c, struct buf *out, struct jsonw *w)
{
	brd_buf_init(out, BUF_NO_LIMIT);
	*w = brd_jsonw(out);
	brd_jw_obj(w);
	brd_jw_kstr(w, "id", c->rec.document.id);
	brd_jw_kstr(w, "title", c->rec.document.title);
}

static void ingested(struct core_call *c)
{
	struct buf out;
	struct jsonw w;

	begin_result(c, &out, &w);
	brd_jw_end_obj(&w);
	brd_core_return(c, &out);
}

static void ingest(struct run_env *env, const struct agent_def *def, struct bread_tool_call *call)
{
	struct core_call *c = brd_core_begin(env, call);

	keep(c, brd_core_arg(c, "title"), brd_core_arg(c, "content"), brd_core_arg(c, "source"),
		ingested);
}

static void found(struct core_call *c)
{
	struct buf out;
	struct jsonw w;

	brd_buf_init(&out, BUF_NO_LIMIT);
	w = brd_jsonw(&out);
	brd_jw_arr(&w);
	for (size_t i = 0; i < c->read.count; i++) {
		const struct bread_document_row *d = &c->read.documents[i];

		brd_jw_obj(&w);
		brd_jw_kstr(&w, "id", d->id);
		brd_jw_kstr(&w, "title", d->title);
		brd_jw_key(&w, "source");
		if (d->source.n)
			brd_jw_str(&w, d->source);
		else
			brd_jw_null(&w);
		brd_jw_end_obj(&w);
	}
	brd_jw_end_arr(&w);
	brd_core_return(c, &out);
}

static void search(struct run_env *env, const struct agent_def *def, struct bread_tool_call *call)
{
	brd_core_search(brd_core_begin(env, call), BREAD_READ_DOCUMENTS, 5, found);
}

static void was_read(struct core_call *c)
{
	struct buf out;
	struct jsonw w;

	brd_buf_init(&out, BUF_NO_LIMIT);
	w = brd_jsonw(&out);
	brd_jw_obj(&w);
	if (c->read.count) {
		brd_jw_kstr(&w, "title", c->read.documents[0].title);
		brd_jw_kstr(&w, "content", c->read.documents[0].content);
	} else {
		brd_jw_kstr(&w, "error", BRD_STR("Document not found"));
	}
	brd_jw_end_obj(&w);
	brd_core_return(c, &out);
}

static void read_one(struct run_env *env, const struct agent_def *def, struct bread_tool_call *call)
{
	struct core_call *c = brd_core_begin(env, call);

	c->read.kind = BREAD_READ_DOCUMENT;
	c->read.key = brd_core_arg(c, "id");
	c->read.filter.agent_id = call->agent_id;
	c->read.filter.status = -1;
	brd_core_read(c, was_read);
}

/* ---- loading ---- */

struct load {
	struct core_call *c;
	struct bread_str source;
	char *path, *root; /* of a file */
	struct work work;
	struct bread_op op;
	struct http_call *http;
	struct buf content;
	bool too_large;
};

static void load_free(struct load *l)
{
	brd_http_call_free(l->http);
	brd_buf_fini(&l->content);
	free(l);
}

/* As JavaScript counts it, which is what callers of the original saw. */
static int64_t length_of(struct bread_str s)
{
	int64_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80 ? 1 + ((unsigned char)s.p[i] >= 0xf0)
							    : 0;
	return n;
}

static void loaded(struct core_call *c)
{
	struct buf out;
	struct jsonw w;

	begin_result(c, &out, &w);
	brd_jw_kint(&w, "length", length_of(c->rec.document.content));
	brd_jw_end_obj(&w);
	brd_core_return(c, &out);
}

static void take_content(struct load *l)
{
	struct core_call *c = l->c;
	struct bread_str title = brd_core_arg(c, "title"), source = l->source;
	struct bread_str text = brd_arena_copy(&c->arena, brd_buf_str(&l->content));

	load_free(l);
	if (!brd_utf8_ok(text))
		brd_core_fail(c, NULL, "what is at \"%.*s\" is no UTF-8 text", BRD_ARG(source));
	else
		keep(c, title.n ? title : source, text, source, loaded);
}

/* Below the root, once every link is followed. */
static bool inside(const char *root, const char *path)
{
	size_t n = strlen(root);

	return !strncmp(path, root, n) && (path[n] == '/' || !path[n] || !strcmp(root, "/"));
}

static enum bread_code refuse(struct load *l, struct bread_err *err, const char *why)
{
	return brd_fail(err, BREAD_E_UPSTREAM, "tool", "%s, open '%.*s'", why, BRD_ARG(l->source));
}

/* What was opened may be another file than the one that was looked at: it is looked at again. */
static bool still_inside(int fd, const char *root)
{
	char link[48], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	return inside(root, path);
}

static enum bread_code read_all(struct load *l, int fd, struct bread_err *err)
{
	char part[16384];
	ssize_t n;

	while ((n = read(fd, part, sizeof(part))) > 0)
		brd_buf_addn(&l->content, part, (size_t)n);
	if (n < 0)
		return refuse(l, err, "the file cannot be read");
	if (l->content.bad)
		return refuse(l, err, "the file is over 4 MiB");
	return BREAD_OK;
}

static enum bread_code read_file(struct work *w, struct bread_err *err)
{
	struct load *l = w->arg;
	char root[PATH_MAX], path[PATH_MAX];
	enum bread_code code;
	struct stat st;
	int fd;

	if (!realpath(l->root, root))
		return refuse(l, err, "the documents' root is not there");
	if (!realpath(l->path, path))
		return refuse(l, err, "ENOENT: no such file or directory");
	if (!inside(root, path))
		return refuse(l, err, "the file is outside of the documents' root");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return refuse(l, err, "the file cannot be opened");
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !still_inside(fd, root))
		code = refuse(l, err, "this is no file that may be read");
	else
		code = read_all(l, fd, err);
	close(fd);
	return code;
}

static void on_file(struct bread_op *op)
{
	struct core_call *c = op->arg;
	struct load *l = c->call->priv;

	if (op->code == BREAD_E_CANCELED || op->code == BREAD_OK) {
		if (!op->code)
			take_content(l);
		else if (brd_core_failed(c, op))
			load_free(l);
		return;
	}
	brd_core_fail(c, NULL, "%s", op->err.text);
	load_free(l);
}

static void load_file(struct load *l)
{
	struct core_call *c = l->c;
	const char *root = c->env->core.documents_root;

	if (memchr(l->source.p, 0, l->source.n) || l->source.n >= PATH_MAX) {
		brd_core_fail(c, NULL, "this is no name of a file");
		load_free(l);
		return;
	}
	l->root = brd_arena_strz(&c->arena, brd_str(root ? root : "."));
	l->path = l->source.p[0] == '/'
			  ? brd_arena_strz(&c->arena, l->source)
			  : brd_arena_strz(&c->arena, brd_arena_printf(&c->arena, "%s/%.*s",
							      l->root, BRD_ARG(l->source)));
	l->work = (struct work){ .run = read_file, .arg = l };
	brd_core_step(c, &l->op, on_file);
	brd_work_start(&l->work, &l->op);
}

static bool on_data(void *arg, struct bread_str bytes)
{
	struct load *l = arg;

	brd_buf_add(&l->content, bytes);
	l->too_large = l->content.bad;
	return !l->too_large;
}

static void on_fetched(struct bread_op *op)
{
	struct core_call *c = op->arg;
	struct load *l = c->call->priv;
	int status = brd_http_call_status(l->http);

	if (op->code == BREAD_OK && status >= 200 && status < 300) {
		take_content(l);
		return;
	}
	if (l->too_large)
		brd_core_fail(c, NULL, "what is at \"%.*s\" is over 4 MiB", BRD_ARG(l->source));
	else if (op->code == BREAD_OK)
		brd_core_fail(c, NULL, "\"%.*s\" answered %d", BRD_ARG(l->source), status);
	else if (op->code == BREAD_E_CANCELED)
		brd_core_failed(c, op);
	else
		brd_core_fail(c, NULL, "%s", op->err.text);
	load_free(l);
}

static void load_url(struct load *l)
{
	struct core_call *c = l->c;
	struct http_call_spec spec = { .method = "GET",
		.url = brd_arena_strz(&c->arena, l->source),
		.silence_ms = 30000,
		.headers_ms = 60000,
		.max_redirects = 5,
		.on_data = on_data,
		.arg = l };
	struct bread_err err = { 0 };

	if (brd_guard(&spec, c->env->core.documents_private, &err)) {
		brd_core_fail(c, NULL, "%s", err.text);
		load_free(l);
		return;
	}
	brd_core_step(c, &l->op, on_fetched);
	l->http = brd_http_call_start(brd_http_client_of(c->call->loop), &spec, &l->op);
}

static bool is_url(struct bread_str s)
{
	ptrdiff_t at = brd_str_find(s, BRD_STR("://"));

	return at > 0 && !memchr(s.p, '/', (size_t)at);
}

static void load(struct run_env *env, const struct agent_def *def, struct bread_tool_call *call)
{
	struct core_call *c = brd_core_begin(env, call);
	struct load *l = brd_alloc(sizeof(*l));

	call->priv = l;
	l->c = c;
	l->source = brd_core_arg(c, "source");
	brd_buf_init(&l->content, DOCUMENT_MAX);
	if (is_url(l->source))
		load_url(l);
	else
		load_file(l);
}

const struct core_tool brd_document_tools[] = {
	{ .name = "doc_ingest",
		.description = "Store a document in the document store",
		.schema = "{" DRAFT "\"properties\":{\"title\":{\"type\":\"string\"},\"content\":{"
			  "\"type\":\"string\"},\"source\":{\"type\":\"string\"}},\"required\":["
			  "\"title\",\"content\"],\"additionalProperties\":false}",
		.start = ingest },
	{ .name = "doc_search",
		.description = "Search documents by keyword",
		.schema = "{" DRAFT "\"properties\":{\"query\":{\"type\":\"string\"},\"limit\":{"
			  "\"type\":\"integer\",\"minimum\":1,\"maximum\":20}},\"required\":["
			  "\"query\"],\"additionalProperties\":false}",
		.start = search },
	{ .name = "doc_read",
		.description = "Read the full content of a document by ID",
		.schema = "{" DRAFT "\"properties\":{\"id\":{\"type\":\"string\"}},\"required\":["
			  "\"id\"],\"additionalProperties\":false}",
		.start = read_one },
	{ .name = "doc_load",
		.description = "Load a document from a file path or URL and ingest it",
		.schema = "{" DRAFT "\"properties\":{\"source\":{\"type\":\"string\","
			  "\"description\":\"File path or URL\"},\"title\":{\"type\":\"string\"}},"
			  "\"required\":[\"source\"],\"additionalProperties\":false}",
		.start = load },
	{ 0 },
};

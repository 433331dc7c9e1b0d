/* SPDX-License-Identifier: MIT */
/* Loading a project's folder. */
#include "project/project.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "run/def.h"

#define PROMPT_MAX (1024 * 1024)

static char *path(struct project *p, const char *fmt, const char *a, const char *b)
{
	char rel[1024];

	snprintf(rel, sizeof(rel), fmt, a, b);
	if (!strcmp(p->dir, "."))
		return brd_arena_strz(&p->arena, brd_str(rel));
	return brd_arena_strz(&p->arena, brd_arena_printf(&p->arena, "%s/%s", p->dir, rel));
}

int brd_project_open(struct project *p, const char *dir, struct bread_err *err)
{
	char *file;
	int r;

	memset(p, 0, sizeof(*p));
	p->dir = brd_arena_strz(&p->arena, brd_str(dir));
	file = path(p, "%s", "bread.yaml", "");
	if (access(file, F_OK)) {
		brd_arena_fini(&p->arena);
		return brd_fail(err, BREAD_E_NOT_FOUND, file,
			"there is no bread.yaml in %s; `bread init` makes a project", dir);
	}
	r = brd_yaml_load(&p->doc, &p->arena, file, err);
	if (!r)
		r = brd_instance_check(p->doc.root, &p->doc, err);
	if (r)
		brd_arena_fini(&p->arena);
	return r;
}

void brd_project_close(struct project *p)
{
	brd_arena_fini(&p->arena);
}

int brd_project_configure(struct project *p, struct bread *b, struct bread_err *err)
{
	return bread_configure(b, p->doc.json.n ? p->doc.json : BRD_STR("{}"), err);
}

struct bread_str brd_project_part(const struct project *p, const char *key)
{
	return brd_json_raw(brd_json_get(p->doc.root, key));
}

/* ---- names of things in folders ---- */

struct names {
	char **v;
	size_t n, room;
};

static void names_add(struct names *l, struct arena *a, struct bread_str s)
{
	if (l->n == l->room) {
		l->room = l->room ? l->room * 2 : 16;
		l->v = brd_realloc(l->v, l->room * sizeof(*l->v));
	}
	l->v[l->n++] = brd_arena_strz(a, s);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Entries of a folder, sorted: those that end in suffix, without it. A missing folder has none. */
static struct names list_dir(struct project *p, const char *dir, const char *suffix)
{
	struct names l = { 0 };
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		struct bread_str name = brd_str(e->d_name), end = brd_str(suffix);

		if (name.p[0] != '.' && brd_str_ends(name, end))
			names_add(&l, &p->arena, brd_sub(name, 0, name.n - end.n));
	}
	if (d)
		closedir(d);
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_name);
	return l;
}

static struct names entrypoints(struct project *p)
{
	struct jval v = brd_json_get(p->doc.root, "entrypoints");
	struct names l = { 0 };

	if (brd_json_type(v) != JSON_ARRAY)
		return list_dir(p, path(p, "%s", "agents", ""), "");
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
		names_add(&l, &p->arena, brd_json_str(it.value, &p->arena));
	return l;
}

/* ---- an agent's files to one definition ---- */

static int read_text(
	struct project *p, const char *file, struct bread_str *ret, struct bread_err *err)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;
	ssize_t n;

	if (fd < 0)
		return 0; /* no file: no prompt */
	if (fstat(fd, &st) || st.st_size > PROMPT_MAX) {
		close(fd);
		return brd_fail(err, BREAD_E_TOO_LARGE, file,
			"the file is over 1 MiB; a prompt must be smaller");
	}
	text = brd_arena_alloc(&p->arena, (size_t)st.st_size + 1);
	n = read(fd, text, (size_t)st.st_size);
	close(fd);
	*ret = (struct bread_str){ text, n > 0 ? (size_t)n : 0 };
	if (!brd_utf8_ok(*ret))
		return brd_fail(
			err, BREAD_E_INVALID, file, "the prompt is not UTF-8; save it as such");
	return 0;
}

/* A tool's object, with the file's name as its name when it has none. */
static int read_tool(struct project *p, const char *file, const char *name, struct buf *out,
	struct bread_err *err)
{
	struct yaml_doc doc;
	struct bread_str body;
	struct jval v;
	struct buf b;
	int r = brd_yaml_load(&doc, &p->arena, file, err);

	if (r)
		return r;
	if (brd_json_type(doc.root) != JSON_OBJECT)
		return brd_fail(err, BREAD_E_INVALID, file,
			"a tool's file is a map: description, schema, command, …");
	body = brd_json_raw(doc.root);
	if (brd_json_type(brd_json_get(doc.root, "name")) != JSON_NONE) {
		r = brd_tool_check(doc.root, &doc, err);
		brd_buf_add(out, body);
		return r;
	}
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addf(&b, "{\"name\":\"%s\"%s%.*s", name, brd_json_count(doc.root) ? "," : "",
		(int)body.n - 1, body.p + 1);
	r = brd_json_parse(&p->arena, brd_arena_copy(&p->arena, brd_buf_str(&b)), 0, &v, NULL);
	if (!r)
		r = brd_tool_check(v, NULL, err);
	if (r)
		snprintf(err->where, sizeof(err->where), "%s", file);
	brd_buf_add(out, brd_buf_str(&b));
	brd_buf_fini(&b);
	return r;
}

static void told(struct project *p, const struct bread_err *err, project_fault *fault, void *arg)
{
	p->faults++;
	if (fault)
		fault(err, arg);
}

static int add_tools(struct project *p, const char *id, struct jval own, struct buf *out,
	project_fault *fault, void *arg, struct bread_err *err)
{
	struct names l = list_dir(p, path(p, "agents/%s/tools", id, ""), ".yaml");
	int r = 0;

	brd_buf_addz(out, ",\"tools\":[");
	for (struct json_iter it = brd_json_each(own); brd_json_next(&it);)
		brd_buf_addf(out, "%s%.*s", it.index ? "," : "", BRD_ARG(brd_json_raw(it.value)));
	for (size_t i = 0; i < l.n && !r; i++) {
		char *file = brd_arena_strz(
			&p->arena, brd_arena_printf(&p->arena, "%s/%s.yaml",
					   path(p, "agents/%s/tools", id, ""), l.v[i]));
		struct buf one;

		brd_buf_init(&one, BUF_NO_LIMIT);
		if (!brd_name_ok(brd_str(l.v[i])))
			r = brd_fail_as(err, BREAD_E_INVALID, "INVALID_NAME", file,
				"tool name \"%s\" must match /^[a-z][a-z0-9_]*$/ (lowercase "
				"snake_case, starting with a letter)",
				l.v[i]);
		else if (read_tool(p, file, l.v[i], &one, err))
			told(p, err, fault, arg);
		else
			brd_buf_addf(out, "%s%.*s", out->data[out->len - 1] == '[' ? "" : ",",
				(int)one.len, one.data);
		brd_buf_fini(&one);
	}
	free(l.v);
	brd_buf_addc(out, ']');
	return r;
}

/* The members of agent.yaml, but for tools and prompt, which are joined with the files'. */
static void add_members(struct jval root, struct buf *out)
{
	for (struct json_iter it = brd_json_each(root); brd_json_next(&it);) {
		if (brd_json_is(it.key, "tools") || brd_json_is(it.key, "prompt"))
			continue;
		if (out->len > 1)
			brd_buf_addc(out, ',');
		brd_buf_add(out, brd_json_raw(it.key));
		brd_buf_addc(out, ':');
		brd_buf_add(out, brd_json_raw(it.value));
	}
}

/* 1: told already, go on without it. */
static int load_agent(struct project *p, const char *id, struct bread *b, project_fault *fault,
	void *arg, struct bread_err *err)
{
	char *file = path(p, "agents/%s/agent.yaml", id, "");
	struct bread_str prompt = { 0 };
	struct yaml_doc doc;
	struct buf out;
	int r = brd_yaml_load(&doc, &p->arena, file, err);

	if (!r)
		r = brd_agent_check(doc.root, &doc, err);
	if (!r)
		r = read_text(p, path(p, "agents/%s/prompt.md", id, ""), &prompt, err);
	if (r) {
		told(p, err, fault, arg);
		return 1;
	}
	if (!prompt.n)
		prompt = brd_json_str(brd_json_get(doc.root, "prompt"), &p->arena);
	brd_buf_init(&out, BUF_NO_LIMIT);
	brd_buf_addc(&out, '{');
	add_members(doc.root, &out);
	brd_buf_addz(&out, ",\"prompt\":");
	brd_json_quote(&out, prompt);
	r = add_tools(p, id, brd_json_get(doc.root, "tools"), &out, fault, arg, err);
	brd_buf_addc(&out, '}');
	if (!r && bread_agent(b, id, brd_buf_str(&out), path(p, "agents/%s", id, ""), err)) {
		told(p, err, fault, arg);
		r = 1;
	}
	brd_buf_fini(&out);
	return r;
}

struct gone {
	struct project *p;
	struct names all;
};

static void collect(const struct bread_agent_info *a, void *arg)
{
	struct gone *g = arg;

	names_add(&g->all, &g->p->arena, a->id);
}

static void remove_gone(struct project *p, struct bread *b)
{
	struct gone g = { p, { 0 } };

	bread_agents(b, collect, &g);
	for (size_t i = 0; i < g.all.n; i++) {
		bool still = false;

		for (size_t j = 0; j < p->agent_count; j++)
			still = still || !strcmp(p->agents[j], g.all.v[i]);
		if (!still)
			bread_agent_remove(b, g.all.v[i]);
	}
	free(g.all.v);
}

int brd_project_agents(
	struct project *p, struct bread *b, project_fault *fault, void *arg, struct bread_err *err)
{
	struct names l = entrypoints(p);
	int r = 0;

	p->faults = 0;
	p->agent_count = 0;
	p->agents = brd_arena_array(&p->arena, l.n + 1, sizeof(char *));
	for (size_t i = 0; i < l.n && r >= 0; i++) {
		if (!brd_id_ok(brd_str(l.v[i]))) {
			r = brd_fail_as(err, BREAD_E_INVALID, "INVALID_NAME", "agents",
				"\"%s\" cannot be an agent's id; letters, digits, . _ : - are "
				"allowed",
				l.v[i]);
			break;
		}
		r = load_agent(p, l.v[i], b, fault, arg, err);
		if (r == 0)
			p->agents[p->agent_count++] = l.v[i];
	}
	free(l.v);
	if (r >= 0)
		remove_gone(p, b);
	return r < 0 ? r : 0;
}

/* SPDX-License-Identifier: MIT */
/* Loading a project's folder: bread.yaml, and an agent's files joined into one definition. A broken
 * agent or tool is told and left out; the rest is loaded. */
#include "project/compositions.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "run/def.h"
#include "server/internal.h"

#define PROMPT_MAX (1024 * 1024)

static void keep_first(const struct bread_err *err, void *arg)
{
	struct bread_err *first = arg;

	if (!first->code)
		*first = *err;
}

/* The listener reads its settings itself; here its faults still have a place. */
static int check_server(struct project *p, struct bread_err *err)
{
	struct bread_err first = { 0 };
	struct jval server = brd_json_get(p->doc.root, "server");

	if (brd_json_type(server) != JSON_OBJECT)
		return 0;
	brd_conf_check(brd_server_fields, brd_server_field_count, server, &p->doc, "server",
		keep_first, &first);
	if (first.code)
		*err = first;
	return first.code;
}

int brd_project_open(struct project *p, const char *dir, struct bread_err *err)
{
	char *file;
	int r;

	memset(p, 0, sizeof(*p));
	p->dir = brd_arena_strz(&p->arena, brd_str(dir));
	file = brd_project_path(p, "bread.yaml");
	if (access(file, F_OK))
		r = brd_fail(err, BREAD_E_NOT_FOUND, file,
			"there is no bread.yaml in %s; `bread init` makes a project",
			strcmp(dir, ".") ? dir : "this folder");
	else
		r = brd_yaml_load(&p->doc, &p->arena, file, err);
	if (!r)
		r = brd_instance_check(p->doc.root, &p->doc, err);
	if (!r)
		r = check_server(p, err);
	if (!r)
		r = brd_project_env(p, err);
	if (r)
		brd_arena_fini(&p->arena);
	return r;
}

void brd_project_close(struct project *p)
{
	brd_arena_fini(&p->arena);
}

/* ---- an agent's files to one definition ---- */

int brd_project_read_text(struct project *p, const char *file, const char *what,
	struct bread_str *ret, struct bread_err *err)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;
	ssize_t n;

	if (fd < 0)
		return 0; /* no file: no text */
	if (fstat(fd, &st) || st.st_size > PROMPT_MAX) {
		close(fd);
		return brd_fail(err, BREAD_E_TOO_LARGE, file,
			"the file is over 1 MiB; a %s must be smaller", what);
	}
	text = brd_arena_alloc(&p->arena, (size_t)st.st_size + 1);
	n = read(fd, text, (size_t)st.st_size);
	close(fd);
	*ret = (struct bread_str){ text, n > 0 ? (size_t)n : 0 };
	if (!brd_utf8_ok(*ret))
		return brd_fail(
			err, BREAD_E_INVALID, file, "the %s is not UTF-8; save it as such", what);
	return 0;
}

int brd_project_read_tool(struct project *p, const char *file, const char *name, struct buf *out,
	struct bread_err *err)
{
	struct bread_err first = { 0 };
	struct yaml_doc doc;
	struct bread_str body;
	int r = brd_yaml_load(&doc, &p->arena, file, err);

	if (r)
		return r;
	if (brd_json_type(doc.root) != JSON_OBJECT)
		return brd_fail(err, BREAD_E_INVALID, file,
			"a tool's file is a map: description, schema, command, …");
	brd_conf_check(brd_tool_file_fields(&p->arena), brd_tool_field_count, doc.root, &doc, "",
		keep_first, &first);
	if (first.code) {
		*err = first;
		return first.code;
	}
	body = brd_json_raw(doc.root);
	if (brd_json_type(brd_json_get(doc.root, "name")) != JSON_NONE)
		brd_buf_add(out, body);
	else
		brd_buf_addf(out, "{\"name\":\"%s\"%s%.*s", name,
			brd_json_count(doc.root) ? "," : "", (int)body.n - 1, body.p + 1);
	return 0;
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
	const char *dir = brd_project_path(p, "agents/%s/tools", id);
	struct names l = brd_list_dir(&p->arena, dir, ".yaml");
	int r = 0;

	brd_buf_addz(out, ",\"tools\":[");
	for (struct json_iter it = brd_json_each(own); brd_json_next(&it);)
		brd_buf_addf(out, "%s%.*s", it.index ? "," : "", BRD_ARG(brd_json_raw(it.value)));
	for (size_t i = 0; i < l.n && !r; i++) {
		char *file = brd_project_path(p, "agents/%s/tools/%s.yaml", id, l.v[i]);
		struct buf one;

		brd_buf_init(&one, BUF_NO_LIMIT);
		r = brd_project_check_tool(l.v[i], file, err);
		if (!r && brd_project_read_tool(p, file, l.v[i], &one, err))
			told(p, err, fault, arg);
		else if (!r)
			brd_buf_addf(out, "%s%.*s", out->data[out->len - 1] == '[' ? "" : ",",
				(int)one.len, one.data);
		brd_buf_fini(&one);
	}
	brd_buf_addc(out, ']');
	return r;
}

/* The members of agent.yaml, but for those that are joined with what files say. */
static void add_members(struct jval root, struct buf *out)
{
	for (struct json_iter it = brd_json_each(root); brd_json_next(&it);) {
		if (brd_json_is(it.key, "tools") || brd_json_is(it.key, "prompt") ||
			brd_json_is(it.key, "skills"))
			continue;
		if (out->len > 1)
			brd_buf_addc(out, ',');
		brd_buf_add(out, brd_json_raw(it.key));
		brd_buf_addc(out, ':');
		brd_buf_add(out, brd_json_raw(it.value));
	}
}

static void ignore(const struct bread_agent_info *a, void *arg)
{
}

int brd_project_read_agent(struct project *p, const char *id, struct buf *out, project_fault *fault,
	void *arg, struct bread_err *err)
{
	char *file = brd_project_path(p, "agents/%s/agent.yaml", id);
	struct bread_str prompt = { 0 };
	struct yaml_doc doc;
	int r = brd_yaml_load(&doc, &p->arena, file, err);

	if (!r)
		r = brd_agent_check(doc.root, &doc, err);
	if (!r)
		r = brd_project_read_text(
			p, brd_project_path(p, "agents/%s/prompt.md", id), "prompt", &prompt, err);
	if (r) {
		told(p, err, fault, arg);
		return 1;
	}
	if (!prompt.n)
		prompt = brd_json_str(brd_json_get(doc.root, "prompt"), &p->arena);
	brd_buf_addc(out, '{');
	add_members(doc.root, out);
	if (brd_json_type(brd_json_get(doc.root, "hooks")) == JSON_NONE &&
		!access(brd_project_path(p, "agents/%s/hooks.lua", id), R_OK))
		brd_buf_addz(out, ",\"hooks\":{\"lua\":\"hooks.lua\"}");
	brd_buf_addz(out, ",\"prompt\":");
	brd_json_quote(out, prompt);
	r = add_tools(p, id, brd_json_get(doc.root, "tools"), out, fault, arg, err);
	if (!r)
		r = brd_project_add_skills(
			p, id, brd_json_get(doc.root, "skills"), out, fault, arg, err);
	brd_buf_addc(out, '}');
	return r;
}

/* The file of the tool that "tools.N" of a definition is; NULL: it is none of a file. */
static char *tool_file(struct project *p, const char *id, struct bread_str json, const char *where)
{
	struct jval def, name;
	char *file;

	if (!brd_str_starts(brd_str(where), BRD_STR("tools.")) ||
		brd_json_parse(&p->arena, json, 0, &def, NULL))
		return NULL;
	name = brd_json_get(brd_json_path(def, where), "name");
	file = brd_project_path(
		p, "agents/%s/tools/%.*s.yaml", id, BRD_ARG(brd_json_str(name, &p->arena)));
	return access(file, F_OK) ? NULL : file;
}

void brd_project_place(
	struct project *p, const char *id, struct bread_str json, struct bread_err *err)
{
	char *file = tool_file(p, id, json, err->where);
	struct bread_err ignored;
	struct yaml_doc doc;

	if (!file && brd_yaml_load(&doc, &p->arena, brd_project_path(p, "agents/%s/agent.yaml", id),
			     &ignored))
		return;
	if (!file && !strcmp(err->where, "hooks") &&
		brd_json_type(brd_json_get(doc.root, "hooks")) == JSON_NONE)
		file = brd_project_path(p, "agents/%s/hooks.lua", id);
	if (!file && !brd_conf_place(err, &doc) && !strchr(err->where, '/'))
		file = (char *)doc.file;
	if (file)
		snprintf(err->where, sizeof(err->where), "%s", file);
}

/* 1: told already, go on without it, or with the definition that is there. */
static int load_agent(struct project *p, const char *id, struct bread *b, project_fault *fault,
	void *arg, struct bread_err *err)
{
	unsigned before = p->faults;
	struct buf out;
	int r;

	brd_buf_init(&out, BUF_NO_LIMIT);
	r = brd_project_read_agent(p, id, &out, fault, arg, err);
	/* a broken tool costs a new agent that tool; one that runs already stays as it was */
	if (!r && p->faults > before && !bread_agent_get(b, brd_str(id), ignore, NULL))
		r = 1;
	if (!r &&
		bread_agent(b, id, brd_buf_str(&out), brd_project_path(p, "agents/%s", id), err)) {
		brd_project_place(p, id, brd_buf_str(&out), err);
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

	brd_names_add(&g->all, &g->p->arena, a->id);
}

/* Agents that are listed no more; a broken one stays as it was. */
static void remove_gone(struct project *p, struct bread *b, const struct names *listed)
{
	struct gone g = { p, { 0 } };

	bread_agents(b, collect, &g);
	for (size_t i = 0; i < g.all.n; i++)
		if (!brd_names_have(listed, g.all.v[i]))
			bread_agent_remove(b, g.all.v[i]);
}

static int load_agents(struct project *p, const struct names *l, struct bread *b,
	project_fault *fault, void *arg, struct bread_err *err)
{
	int r = 0;

	p->faults = 0;
	p->agent_count = 0;
	p->agents = brd_arena_array(&p->arena, l->n + 1, sizeof(char *));
	for (size_t i = 0; i < l->n && r >= 0; i++) {
		r = load_agent(p, l->v[i], b, fault, arg, err);
		if (!r)
			p->agents[p->agent_count++] = l->v[i];
	}
	if (r >= 0)
		remove_gone(p, b, l);
	return r < 0 ? r : 0;
}

struct first_fault {
	struct bread_err *err; /* the first one; its code is 0 until there is one */
	project_fault *fault;  /* hears the others */
	void *arg;
};

static void hear_first(const struct bread_err *err, void *arg)
{
	struct first_fault *f = arg;

	if (!f->err->code)
		*f->err = *err;
	else if (f->fault)
		f->fault(err, f->arg);
}

/* All that makes the whole project wrong, before anything of it is registered. */
static int check_whole(struct project *p, const struct names *l, project_fault *fault, void *arg,
	struct bread_err *err)
{
	struct bread_err first = { 0 };
	struct first_fault f = { &first, fault, arg };
	struct refs refs;

	for (size_t i = 0; i < l->n; i++)
		if (brd_project_check_id(l->v[i], err))
			return err->code;
	brd_project_read_tasks(p, hear_first, &f);
	brd_refs_open(&refs, p, l, hear_first, &f);
	brd_refs_check_agents(&refs);
	brd_project_read_pipelines(p, &refs);
	if (first.code)
		*err = first;
	return first.code;
}

int brd_project_agents(
	struct project *p, struct bread *b, project_fault *fault, void *arg, struct bread_err *err)
{
	struct names l = brd_project_entrypoints(p);
	int r = check_whole(p, &l, fault, arg, err);

	if (!r)
		r = brd_project_define_tasks(p, b, err);
	if (!r)
		r = load_agents(p, &l, b, fault, arg, err);
	if (!r)
		r = brd_project_define_pipelines(p, b, err);
	return r;
}

/* SPDX-License-Identifier: MIT */
/* See check.h. Tables of fields find what is misspelt; the rest here is what one
 * file says of another: providers, tools' programs, scripts, schemas, evals. What
 * then still cannot be loaded is a fault, too. */
#include "project/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/err.h"
#include "base/schema.h"
#include "crumb/crumb.h"
#include "model/model.h"
#include "model/scripted/script.h"
#include "project/compositions.h"
#include "project/eval.h"
#include "run/def.h"
#include "run/task.h"
#include "server/internal.h"

struct check {
	struct project_checker *to;
	struct project *p;
	struct project_seen *agent; /* the one that is looked at; NULL: bread.yaml */
	struct refs refs;
};

static void fault(const struct bread_err *err, void *arg)
{
	struct check *c = arg;

	c->to->faults++;
	if (c->agent)
		c->agent->faults++;
	c->to->on_fault(err, c->to->arg);
}

static void fault_if(struct check *c, int r, const struct bread_err *err)
{
	if (r)
		fault(err, c);
}

#define FAULT_AT(c, doc, at, key, ...) \
	do { \
		struct bread_err fault_err = { 0 }; \
		brd_conf_fault(&fault_err, doc, at, key, __VA_ARGS__); \
		fault(&fault_err, c); \
	} while (0)

static bool load(struct check *c, struct yaml_doc *doc, const char *file)
{
	struct bread_err err = { 0 };
	int r = brd_yaml_load(doc, &c->p->arena, file, &err);

	c->to->files++;
	fault_if(c, r, &err);
	return !r;
}

/* ---- bread.yaml ---- */

static bool in_catalogue(struct bread_str word)
{
	size_t n;
	const struct provider_entry *all = brd_provider_catalogue(&n);

	for (size_t i = 0; i < n; i++)
		if (brd_str_is(word, all[i].name))
			return true;
	return false;
}

static void check_script(struct check *c, struct jval entry)
{
	char *file = brd_json_strz(brd_json_get(entry, "file"), &c->p->arena);
	struct jval own = brd_json_get(entry, "models");
	struct bread_err err = { 0 };
	struct yaml_doc doc;

	if (file)
		file = file[0] == '/' ? file : brd_project_path(c->p, "%s", file);
	if (file && load(c, &doc, file))
		fault_if(c, brd_script_check(brd_json_get(doc.root, "models"), file, &err), &err);
	if (brd_json_type(own) != JSON_NONE)
		fault_if(c, brd_script_check(own, c->p->doc.file, &err), &err);
}

static void check_providers(struct check *c, struct jval providers)
{
	for (struct json_iter it = brd_json_each(providers); brd_json_next(&it);) {
		struct bread_str name = brd_json_str(it.key, &c->p->arena), word = name;
		struct jval type = brd_json_get(it.value, "type");

		if (brd_json_type(type) == JSON_STRING)
			word = brd_json_str(type, &c->p->arena);
		if (brd_json_type(it.value) > JSON_NULL && brd_json_type(it.value) != JSON_OBJECT)
			FAULT_AT(c, &c->p->doc, it.value, "providers",
				"has an entry \"%.*s\" that is no map", BRD_ARG(name));
		else if (!in_catalogue(word))
			FAULT_AT(c, &c->p->doc, type.tok ? type : it.key, "providers",
				"has an entry of unknown type \"%.*s\"; see `bread provider list`",
				BRD_ARG(word));
		else if (brd_str_is(word, "scripted"))
			check_script(c, it.value);
	}
}

static void check_filter(struct check *c, struct jval drop)
{
	for (struct json_iter it = brd_json_each(drop); brd_json_next(&it);) {
		struct bread_str word = brd_json_str(it.value, &c->p->arena);

		if (brd_crumb_type(word) == CRUMB_TYPES)
			FAULT_AT(c, &c->p->doc, it.value, "crumbFilter.drop",
				"names \"%.*s\", which is no type of crumb", BRD_ARG(word));
	}
}

static void check_named(struct check *c, const char *key, const char *example)
{
	if (brd_json_type(brd_json_get(c->p->doc.root, key)) <= JSON_NULL)
		FAULT_AT(c, &c->p->doc, c->p->doc.root, key, "is missing; set `%s: %s`", key,
			example);
}

static bool check_main(struct check *c)
{
	struct yaml_doc *doc = &c->p->doc;
	struct jval root, server;

	if (!load(c, doc, brd_project_path(c->p, "bread.yaml")))
		return false;
	root = c->p->config = doc->root;
	brd_conf_check(brd_instance_fields, brd_instance_field_count, root, doc, "", fault, c);
	server = brd_json_get(root, "server");
	if (brd_json_type(server) == JSON_OBJECT)
		brd_conf_check(
			brd_server_fields, brd_server_field_count, server, doc, "server", fault, c);
	check_named(c, "store", "sqlite");
	check_named(c, "transport", "stream");
	check_providers(c, brd_json_get(root, "providers"));
	check_filter(c, brd_json_path(root, "crumbFilter.drop"));
	brd_project_check_scripts(c->p, fault, c);
	if (!c->to->faults)
		brd_project_check_parts(c->p, fault, c);
	return true;
}

/* ---- agents ---- */

static void check_schema(
	struct check *c, const struct yaml_doc *doc, struct jval v, const char *key)
{
	struct schema *s = NULL;
	struct bread_err err = { 0 };

	if (brd_json_type(v) != JSON_OBJECT && brd_json_type(v) != JSON_BOOL)
		return;
	if (brd_schema_new(&s, brd_json_raw(v), &err))
		FAULT_AT(c, doc, v, key, "is no JSON Schema: %s", err.text);
	brd_schema_unref(s);
}

/* A program as the shell would find it, but that relative ones start at dir. */
static bool program_there(const char *name, const char *dir, struct arena *a)
{
	struct bread_str rest = brd_str(getenv("PATH"));

	if (name[0] == '/')
		return access(name, X_OK) == 0;
	if (strchr(name, '/'))
		return access(brd_arena_printf(a, "%s/%s", dir, name).p, X_OK) == 0;
	while (rest.p) {
		struct bread_str part = brd_str_split(&rest, ':');

		if (access(brd_arena_printf(a, "%.*s/%s", BRD_ARG(part), name).p, X_OK) == 0)
			return true;
	}
	return false;
}

static void check_command(
	struct check *c, const struct yaml_doc *doc, struct jval v, const char *dir)
{
	struct arena *a = &c->p->arena;
	struct jval argv = brd_json_type(v) == JSON_OBJECT ? brd_json_get(v, "run") : v;
	struct jval program = brd_json_type(argv) == JSON_ARRAY ? brd_json_at(argv, 0) : argv;
	char *cwd = brd_json_strz(brd_json_get(v, "cwd"), a), *name = brd_json_strz(program, a);

	if (cwd)
		dir = cwd[0] == '/' ? cwd : brd_arena_printf(a, "%s/%s", dir, cwd).p;
	if (name && !program_there(name, dir, a))
		FAULT_AT(c, doc, program, "command",
			"names a program \"%s\" that is not there, or may not be run", name);
}

static void check_tool(
	struct check *c, const struct yaml_doc *doc, struct jval tool, const char *dir)
{
	static const char *const others[] = { "http", "lua", "plugin" };
	struct jval command = brd_json_get(tool, "command");
	size_t kinds = 0;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		kinds += brd_json_type(brd_json_get(tool, others[i])) != JSON_NONE;
	check_schema(c, doc, brd_json_get(tool, "schema"), "schema");
	if (brd_json_type(command) != JSON_NONE)
		check_command(c, doc, command, dir);
	else if (!kinds)
		FAULT_AT(c, doc, tool, "command",
			"is missing; a tool has `command:` (a program to run), `http:` (a URL to "
			"call) or `lua:` (a script)");
}

/* below: the folder of the file, "tools"; dir: where the program's path starts. */
static void check_tool_file(struct check *c, const char *dir, const char *below, const char *name)
{
	struct bread_err err = { 0 };
	char *file = brd_arena_strz(
		&c->p->arena, brd_arena_printf(&c->p->arena, "%s/%s/%s.yaml", dir, below, name));
	struct yaml_doc doc;

	fault_if(c, brd_project_check_tool(name, file, &err), &err);
	if (!load(c, &doc, file))
		return;
	if (!brd_conf_check(brd_tool_file_fields(&c->p->arena), brd_tool_field_count, doc.root,
		    &doc, "", fault, c))
		check_tool(c, &doc, doc.root, dir);
}

static void check_own_tools(
	struct check *c, const struct yaml_doc *doc, struct jval tools, const char *dir)
{
	for (struct json_iter it = brd_json_each(tools); brd_json_next(&it);) {
		char base[32];

		snprintf(base, sizeof(base), "tools.%zu", it.index);
		if (!brd_conf_check(
			    brd_tool_fields, brd_tool_field_count, it.value, doc, base, fault, c))
			check_tool(c, doc, it.value, dir);
	}
}

static struct bread_str check_provider(
	struct check *c, const struct yaml_doc *doc, struct jval provider)
{
	struct bread_str name = brd_json_str(provider, &c->p->arena);
	struct jval all = brd_json_get(c->p->doc.root, "providers");

	if (name.n && brd_json_type(brd_json_gets(all, name)) == JSON_NONE)
		FAULT_AT(c, doc, provider, "model.provider",
			"is \"%.*s\", which is not under `providers:` of bread.yaml",
			BRD_ARG(name));
	return name;
}

static void check_model(struct check *c, const struct yaml_doc *doc, struct jval model)
{
	struct project_seen *s = c->agent;

	s->provider = check_provider(c, doc, brd_json_get(model, "provider"));
	s->model = brd_json_str(brd_json_get(model, "model"), &c->p->arena);
}

static void check_tasks(struct check *c)
{
	brd_project_read_tasks(c->p, fault, c);
	for (size_t i = 0; i < c->p->task_count; i++) {
		struct yaml_doc doc; /* once more, for its places */
		struct bread_err ignored;

		if (!brd_yaml_load(&doc, &c->p->arena,
			    brd_project_path(c->p, "tasks/%s.yaml", c->p->tasks[i].name), &ignored))
			check_provider(c, &doc, brd_json_path(doc.root, "model.provider"));
	}
}

static void check_evals(struct check *c, const char *dir)
{
	struct arena *a = &c->p->arena;
	const char *folder = brd_arena_printf(a, "%s/evals", dir).p;
	struct names l = brd_list_dir(a, folder, ".yaml");

	for (size_t i = 0; i < l.n; i++) {
		struct bread_err err = { 0 };
		struct eval_suite s;
		int r = brd_eval_read(
			&s, brd_arena_printf(a, "%s/%s.yaml", folder, l.v[i]).p, &err);

		c->to->files++;
		fault_if(c, r, &err);
		if (!r)
			brd_eval_fini(&s);
	}
}

static void check_skills(struct check *c, const char *dir)
{
	struct arena *a = &c->p->arena;
	struct names l = brd_list_dir(a, brd_arena_printf(a, "%s/skills", dir).p, "");

	for (size_t i = 0; i < l.n; i++) {
		const char *skill = brd_arena_printf(a, "%s/skills/%s", dir, l.v[i]).p;
		const char *scripts = brd_arena_printf(a, "%s/scripts", skill).p;
		struct names tools = brd_list_dir(a, scripts, ".yaml");

		for (size_t j = 0; j < tools.n; j++)
			check_tool_file(c, skill, "scripts", tools.v[j]);
	}
}

static bool find_task(void *arg, struct bread_str name, struct arena *a, struct bread_str *ret_json,
	struct bread_str *ret_known)
{
	const struct project_def *t = brd_project_task(arg, name);

	*ret_known = BRD_STR("[]");
	if (!t)
		return false;
	*ret_json = brd_json_type(brd_json_get(t->at, "name")) != JSON_NONE
			    ? t->json
			    : brd_arena_printf(a, "{\"name\":\"%s\",%.*s", t->name,
				      (int)t->json.n - 1, t->json.p + 1);
	return true;
}

/* What the checks above do not know and loading refuses. */
static void try_load(struct check *c, const char *id, const char *dir)
{
	struct bread_err err = { 0 };
	const struct task_source tasks = { find_task, c->p };
	struct agent_def *d = NULL;
	struct bread_str json;
	struct buf out;
	int r;

	brd_buf_init(&out, BUF_NO_LIMIT);
	r = brd_project_read_agent(c->p, id, &out, fault, c, &err);
	if (!r)
		r = brd_tasks_inline(&json, id, brd_buf_str(&out), &tasks, &c->p->arena, &err);
	if (!r)
		r = brd_agent_def_new(&d, id, json, dir, &err);
	if (!r && brd_agent_def_collision(d))
		r = brd_fail_as(&err, BREAD_E_INVALID, "TOOL_NAME_COLLISION", dir,
			"two tools have the name \"%s\"", brd_agent_def_collision(d));
	if (r < 0) {
		brd_project_place(c->p, id, brd_buf_str(&out), &err);
		fault(&err, c);
	}
	brd_agent_def_unref(d);
	brd_buf_fini(&out);
}

/* A missing schema is a fault when it is loaded; who asked for agents says it his own way. */
static bool told_of(const struct check *c, const struct project_seen *s)
{
	return c->to->on_agent && s->needs_output_schema && !s->output_schema;
}

static void check_files(struct check *c, const char *dir, const struct yaml_doc *doc)
{
	struct names tools = brd_list_dir(
		&c->p->arena, brd_arena_printf(&c->p->arena, "%s/tools", dir).p, ".yaml");
	struct project_seen *s = c->agent;

	brd_conf_check(brd_agent_fields, brd_agent_field_count, doc->root, doc, "", fault, c);
	check_model(c, doc, brd_json_get(doc->root, "model"));
	s->input_schema = brd_json_type(brd_json_get(doc->root, "inputSchema")) != JSON_NONE;
	s->output_schema = brd_json_type(brd_json_get(doc->root, "outputSchema")) != JSON_NONE;
	s->needs_output_schema = brd_json_is(brd_json_path(doc->root, "output.format"), "json");
	check_schema(c, doc, brd_json_get(doc->root, "inputSchema"), "inputSchema");
	check_schema(c, doc, brd_json_get(doc->root, "outputSchema"), "outputSchema");
	check_own_tools(c, doc, brd_json_get(doc->root, "tools"), dir);
	for (size_t i = 0; i < tools.n; i++)
		check_tool_file(c, dir, "tools", tools.v[i]);
	check_skills(c, dir);
	check_evals(c, dir);
	brd_refs_check_agent(&c->refs, s->id);
	if (!s->faults && !told_of(c, s))
		try_load(c, s->id, dir);
}

static void check_agent(struct check *c, const char *id)
{
	struct project_seen seen = { .id = id };
	char *dir = brd_project_path(c->p, "agents/%s", id);
	struct bread_err err = { 0 };
	struct yaml_doc doc;

	c->agent = &seen;
	if (brd_project_check_id(id, &err))
		fault(&err, c);
	else if (load(c, &doc, brd_arena_printf(&c->p->arena, "%s/agent.yaml", dir).p))
		check_files(c, dir, &doc);
	c->agent = NULL;
	c->to->agents++;
	if (c->to->on_agent)
		c->to->on_agent(&seen, c->to->arg);
}

bool brd_project_check(struct project_checker *to, const char *dir)
{
	struct project p = { 0 };
	struct check c = { .to = to, .p = &p };

	to->faults = to->files = to->agents = 0;
	p.dir = brd_arena_strz(&p.arena, brd_str(dir));
	if (check_main(&c)) {
		struct names l = brd_project_entrypoints(&p);

		check_tasks(&c);
		brd_refs_open(&c.refs, &p, &l, fault, &c);
		c.refs.asked = true;
		for (size_t i = 0; i < l.n; i++)
			check_agent(&c, l.v[i]);
		brd_refs_check_circles(&c.refs);
		brd_project_read_pipelines(&p, &c.refs);
	}
	brd_arena_fini(&p.arena);
	return to->faults == 0;
}

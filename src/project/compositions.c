/* SPDX-License-Identifier: MIT */
/* See compositions.h. */
#include "project/compositions.h"
#include <string.h>
#include "base/err.h"
#include "base/schema.h"
#include "base/uuid.h"
#include "config/fault.h"
#include "run/task.h"

static void add(struct project *p, struct project_def **list, size_t *count, const char *name,
	struct jval v)
{
	struct project_def *more = brd_arena_array(&p->arena, *count + 1, sizeof(*more));

	if (*count)
		memcpy(more, *list, *count * sizeof(*more));
	more[(*count)++] = (struct project_def){ name, brd_json_raw(v), v };
	*list = more;
}

static const struct project_def *named(
	const struct project_def *list, size_t n, struct bread_str name)
{
	for (size_t i = 0; i < n; i++)
		if (brd_str_is(name, list[i].name))
			return &list[i];
	return NULL;
}

const struct project_def *brd_project_task(const struct project *p, struct bread_str name)
{
	return named(p->tasks, p->task_count, name);
}

/* ---- tasks ---- */

static bool schema_ok(
	const struct yaml_doc *doc, struct jval v, const char *key, conf_heard *heard, void *arg)
{
	struct schema *s = NULL;
	struct bread_err err = { 0 }, fault = { 0 };
	int r = brd_json_type(v) == JSON_NONE ? 0 : brd_schema_new(&s, brd_json_raw(v), &err);

	brd_schema_unref(s);
	if (!r)
		return true;
	brd_conf_fault(&fault, doc, v, key, "is no JSON Schema: %s", err.text);
	heard(&fault, arg);
	return false;
}

static bool task_ok(struct project *p, const struct yaml_doc *doc, const char *name,
	conf_heard *heard, void *arg)
{
	struct bread_err err = { 0 };
	struct jval own = brd_json_get(doc->root, "name");
	bool in, out;

	if (brd_conf_check(brd_named_file_fields(&p->arena, brd_task_fields, brd_task_field_count),
		    brd_task_field_count, doc->root, doc, "", heard, arg))
		return false;
	if (brd_json_type(own) != JSON_NONE && !brd_json_is(own, name)) {
		brd_conf_fault(&err, doc, own, "name",
			"is not the file's; rename one of them, or leave it out");
		heard(&err, arg);
		return false;
	}
	in = schema_ok(doc, brd_json_get(doc->root, "schema"), "schema", heard, arg);
	out = schema_ok(doc, brd_json_get(doc->root, "outputSchema"), "outputSchema", heard, arg);
	return in && out;
}

static bool read_task(struct project *p, const char *name, conf_heard *heard, void *arg)
{
	char *file = brd_project_path(p, "tasks/%s.yaml", name);
	struct bread_err err = { 0 };
	struct yaml_doc doc;
	int r = brd_project_check_name("task", name, file, &err);

	if (!r)
		r = brd_yaml_load(&doc, &p->arena, file, &err);
	if (r)
		heard(&err, arg);
	if (r || !task_ok(p, &doc, name, heard, arg))
		return false;
	add(p, &p->tasks, &p->task_count, name, doc.root);
	return true;
}

unsigned brd_project_read_tasks(struct project *p, conf_heard *heard, void *arg)
{
	struct names l = brd_list_dir(&p->arena, brd_project_path(p, "tasks"), ".yaml");
	unsigned faults = 0;

	p->task_count = 0;
	for (size_t i = 0; i < l.n; i++)
		faults += !read_task(p, l.v[i], heard, arg);
	return faults;
}

struct gone {
	struct project *p;
	const struct project_def *list;
	size_t count;
	struct names names;
};

static void collect_gone(struct bread_str name, struct bread_str json, void *arg)
{
	struct gone *g = arg;

	if (!named(g->list, g->count, name))
		brd_names_add(&g->names, &g->p->arena, name);
}

int brd_project_define_tasks(struct project *p, struct bread *b, struct bread_err *err)
{
	struct gone g = { p, p->tasks, p->task_count, { 0 } };
	int r = 0;

	for (size_t i = 0; !r && i < p->task_count; i++)
		r = bread_task(
			b, p->tasks[i].name, p->tasks[i].json, brd_project_path(p, "tasks"), err);
	bread_tasks(b, collect_gone, &g);
	for (size_t i = 0; !r && i < g.names.n; i++)
		bread_task_remove(b, g.names.v[i]);
	return r;
}

/* ---- pipelines ---- */

static void read_steps(struct project *p, struct refs *refs, const struct yaml_doc *doc,
	struct jval at, struct jval v, const char *id, const char *base)
{
	struct bread_err err = { 0 };
	struct step_list l;
	unsigned before = refs->faults;

	if (!brd_id_ok(brd_str(id)))
		brd_conf_fault(&err, doc, at, base,
			"cannot be a pipeline's id; letters, digits, . _ : - are allowed");
	else if (named(p->pipelines, p->pipeline_count, brd_str(id)))
		brd_conf_fault(&err, doc, at, base, "is there twice; take one away");
	if (err.code) {
		brd_refs_hear(&err, refs);
		return;
	}
	brd_pipeline_check(&l, v, doc, base, &p->arena, brd_refs_hear, refs);
	brd_refs_check_steps(refs, &l, doc, base);
	if (refs->asked)
		brd_refs_check_asked(refs, &l, doc, base);
	if (refs->faults == before)
		add(p, &p->pipelines, &p->pipeline_count, id, v);
}

static void read_file(struct project *p, struct refs *refs, const char *id)
{
	struct bread_err err = { 0 };
	struct yaml_doc doc;

	if (brd_yaml_load(&doc, &p->arena, brd_project_path(p, "pipelines/%s.yaml", id), &err))
		brd_refs_hear(&err, refs);
	else
		read_steps(p, refs, &doc, doc.root, doc.root, id, "");
}

void brd_project_read_pipelines(struct project *p, struct refs *refs)
{
	struct names l = brd_list_dir(&p->arena, brd_project_path(p, "pipelines"), ".yaml");
	struct jval own = brd_json_get(p->doc.root, "pipelines");

	p->pipeline_count = 0;
	for (struct json_iter it = brd_json_each(own); brd_json_next(&it);) {
		char *id = brd_json_strz(it.key, &p->arena);

		read_steps(p, refs, &p->doc, it.key, it.value, id,
			brd_arena_printf(&p->arena, "pipelines.%s", id).p);
	}
	for (size_t i = 0; i < l.n; i++)
		read_file(p, refs, l.v[i]);
}

int brd_project_define_pipelines(struct project *p, struct bread *b, struct bread_err *err)
{
	struct gone g = { p, p->pipelines, p->pipeline_count, { 0 } };
	int r = 0;

	for (size_t i = 0; !r && i < p->pipeline_count; i++)
		r = bread_pipeline(b, p->pipelines[i].name, p->pipelines[i].json, err);
	bread_pipelines(b, collect_gone, &g);
	for (size_t i = 0; !r && i < g.names.n; i++)
		bread_pipeline_remove(b, g.names.v[i]);
	return r;
}

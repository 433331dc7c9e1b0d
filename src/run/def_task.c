/* SPDX-License-Identifier: MIT */
/* Tasks: what tasks/NAME.yaml can say, and how agents get them.
 *
 * An agent names its tasks; before it becomes a definition the names are replaced by
 * what they stand for, so that its JSON is all that a run needs when it is taken up
 * later, by another process. */
#include <stdio.h>
#include "base/err.h"
#include "base/err_context.h"
#include "base/jsonw.h"
#include "run/def_impl.h"
#include "run/task.h"

struct task_conf {
	char *name, *description, *instructions, *dir;
	struct model_conf model;
	struct jval input, output, hooks;
	struct retry_conf retry;
};

const struct conf_field brd_task_fields[] = {
	{ .key = "name",
		.type = CONF_NAME,
		.offset = AT(task_conf, name),
		.required = true,
		.doc = "Lower-case snake_case; the model sees task_NAME. A file's name is the "
		       "default." },
	{ .key = "description",
		.type = CONF_STR,
		.offset = AT(task_conf, description),
		.dflt = "",
		.doc = "Tells an agent's model what it does and when to use it." },
	{ .key = "model",
		.type = CONF_GROUP,
		.offset = AT(task_conf, model),
		.required = true,
		GROUP(brd_model_fields),
		.doc = "Who answers." },
	{ .key = "instructions",
		.type = CONF_STR,
		.offset = AT(task_conf, instructions),
		.required = true,
		.doc = "What the model is told; the input follows." },
	{ .key = "schema",
		.type = CONF_JSON,
		.offset = AT(task_conf, input),
		.words = "object|bool",
		.doc = "JSON Schema of the input; default: an object." },
	{ .key = "outputSchema",
		.type = CONF_JSON,
		.offset = AT(task_conf, output),
		.words = "object|bool",
		.required = true,
		.doc = "JSON Schema of the output." },
	{ .key = "errorHandling",
		.type = CONF_GROUP,
		.offset = AT(task_conf, retry),
		GROUP(brd_handling_fields),
		.doc = "What to do when the model fails." },
	{ .key = "hooks",
		.type = CONF_JSON,
		.offset = AT(task_conf, hooks),
		.words = "object|array",
		.doc = "Hooks of its calls." },
	{ .key = "dir",
		.type = CONF_STR,
		.offset = AT(task_conf, dir),
		.doc = "Where paths in hooks start; default: the file's folder." },
};
const size_t brd_task_field_count = CONF_COUNT(brd_task_fields);

void brd_task_fini(struct task_def *t)
{
	brd_schema_unref(t->input);
	brd_schema_unref(t->output);
	brd_hook_set_unref(t->hook_set);
}

static int compile(struct task_def *t, const struct task_conf *c, struct bread_err *err)
{
	char what[160];
	int r;

	snprintf(what, sizeof(what), "the schema of task \"%.100s\"", t->name);
	r = brd_def_schema(&t->input, &t->input_text, c->input, what, err);
	snprintf(what, sizeof(what), "the outputSchema of task \"%.100s\"", t->name);
	if (!r)
		r = brd_def_schema(&t->output, &t->output_text, c->output, what, err);
	if (!t->input_text.n)
		t->input_text = BRD_STR(NO_ARGUMENTS);
	snprintf(what, sizeof(what), "task \"%.100s\"", t->name);
	return r ? r : brd_def_hooks(&t->hook_set, c->hooks, BREAD_HOOK_TASK, c->dir, what, err);
}

int brd_task_read(struct task_def *ret, struct jval v, struct arena *a, struct bread_err *err)
{
	struct task_conf c = { 0 };
	int r;

	memset(ret, 0, sizeof(*ret));
	r = brd_conf_read(brd_task_fields, brd_task_field_count, v, &c, NULL, "task", a, err);
	if (r)
		return r;
	*ret = (struct task_def){
		.name = c.name,
		.description = c.description,
		.provider = c.model.provider,
		.model = c.model.model,
		.settings = brd_def_object(c.model.settings),
		.provider_options = brd_def_object(c.model.options),
		.instructions = c.instructions,
		.retry = brd_def_retry(&c.retry),
		.dir = c.dir,
	};
	r = compile(ret, &c, err);
	if (r)
		brd_task_fini(ret);
	return r;
}

int brd_def_add_task(struct agent_def *d, struct jval v, struct bread_err *err)
{
	struct task_def *task = brd_arena_alloc(&d->arena, sizeof(*task));
	struct tool_def *t;
	int r;

	if (brd_json_type(v) == JSON_STRING)
		return brd_task_unknown(d->id, brd_json_str(v, &d->arena), BRD_STR("[]"), err);
	r = brd_task_read(task, v, &d->arena, err);
	if (r)
		return r;
	t = brd_def_tool_slot(d);
	t->kind = TOOL_TASK;
	t->task = task;
	t->name = task->name;
	t->leaf = brd_arena_strz(&d->arena, brd_arena_printf(&d->arena, "task_%s", task->name));
	t->permission =
		brd_arena_strz(&d->arena, brd_arena_printf(&d->arena, "task:%s", task->name));
	t->description = task->description;
	t->schema_text = task->input_text;
	t->schema = task->input ? brd_schema_ref(task->input) : NULL;
	t->retry = task->retry;
	d->tool_count++;
	return 0;
}

int brd_task_unknown(
	const char *agent_id, struct bread_str name, struct bread_str known, struct bread_err *err)
{
	struct err_context ctx;
	struct jsonw *w;

	brd_fail_as(err, BREAD_E_NOT_FOUND, "TASK_NOT_FOUND", "agent",
		"Agent \"%s\" references unknown task: \"%.*s\".", agent_id, BRD_ARG(name));
	w = brd_err_context(&ctx);
	brd_jw_kstr(w, "agentId", brd_str(agent_id));
	brd_jw_kstr(w, "taskId", name);
	brd_jw_kraw(w, "available", known);
	brd_err_context_end(&ctx, err);
	return BREAD_E_NOT_FOUND;
}

static int put_tasks(struct jsonw *w, struct jval names, const char *agent_id,
	const struct task_source *from, struct arena *a, struct bread_err *err)
{
	int r = 0;

	brd_jw_arr(w);
	for (struct json_iter it = brd_json_each(names); !r && brd_json_next(&it);) {
		struct bread_str name = brd_json_str(it.value, a), json = { 0 }, known = { 0 };

		if (brd_json_type(it.value) != JSON_STRING)
			json = brd_json_raw(it.value);
		else if (!from->find(from->arg, name, a, &json, &known))
			r = brd_task_unknown(agent_id, name, known, err);
		if (!r)
			brd_jw_raw(w, json);
	}
	brd_jw_end_arr(w);
	return r;
}

static bool names_tasks(struct jval list)
{
	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);)
		if (brd_json_type(it.value) == JSON_STRING)
			return true;
	return false;
}

int brd_tasks_inline(struct bread_str *ret, const char *agent_id, struct bread_str json,
	const struct task_source *from, struct arena *a, struct bread_err *err)
{
	struct jval root;
	struct buf out;
	struct jsonw w;
	int r = 0;

	*ret = json;
	/* what is no JSON is found, and said, by the definition's own reader */
	if (brd_json_parse(a, json, 0, &root, NULL) || !names_tasks(brd_json_get(root, "tasks")))
		return 0;
	brd_buf_init(&out, BUF_NO_LIMIT);
	w = brd_jsonw(&out);
	brd_jw_obj(&w);
	for (struct json_iter it = brd_json_each(root); !r && brd_json_next(&it);) {
		brd_jw_keys(&w, brd_json_str(it.key, a));
		if (brd_json_is(it.key, "tasks") && brd_json_type(it.value) == JSON_ARRAY)
			r = put_tasks(&w, it.value, agent_id, from, a, err);
		else
			brd_jw_raw(&w, brd_json_raw(it.value));
	}
	brd_jw_end_obj(&w);
	*ret = brd_arena_copy(a, brd_buf_str(&out));
	brd_buf_fini(&out);
	return r;
}

/* SPDX-License-Identifier: MIT */
/* The tools of a definition: an agent's own, scripts of a skill, those written in
 * C, ours, and questions to humans. They stand in the order in which the model is
 * offered them; brd_def_build decides it. */
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "run/def_impl.h"
#include "run/task.h"

struct tool_conf {
	char *name, *description;
	struct jval schema, answer, fallback, command, http, lua, plugin, hooks, source;
	bool streams, idempotent;
	int64_t timeout_ms, deadline_ms;
	struct retry_conf retry;
	struct conf_strs credentials;
};

const struct conf_field brd_human_fields[CONF_HUMAN_FIELDS] = {
	{ .key = "name",
		.type = CONF_NAME,
		.offset = AT(tool_conf, name),
		.required = true,
		.doc = "Lower-case snake_case; the model sees human_NAME." },
	{ .key = "description",
		.type = CONF_STR,
		.offset = AT(tool_conf, description),
		.doc = "Tells the model when to ask." },
	{ .key = "schema",
		.type = CONF_JSON,
		.offset = AT(tool_conf, schema),
		.words = "object|bool",
		.doc = "JSON Schema of the question; default: an object." },
	{ .key = "answer",
		.type = CONF_JSON,
		.offset = AT(tool_conf, answer),
		.words = "object|bool",
		.doc = "JSON Schema of the answer; another one is refused. Default: anything." },
	{ .key = "deadline",
		.type = CONF_TIME,
		.offset = AT(tool_conf, deadline_ms),
		.dflt = "0",
		.doc = "The answer must come within; 0: it may take for ever." },
	{ .key = "default",
		.type = CONF_JSON,
		.offset = AT(tool_conf, fallback),
		.doc = "The answer when none came within the deadline; without it the call "
		       "fails." },
};

const struct conf_field brd_tool_fields[] = {
	{ .key = "name",
		.type = CONF_NAME,
		.offset = AT(tool_conf, name),
		.required = true,
		.doc = "Lower-case snake_case; the model sees tool_NAME. A file's name is the "
		       "default." },
	{ .key = "description",
		.type = CONF_STR,
		.offset = AT(tool_conf, description),
		.dflt = "",
		.doc = "Tells the model what it does and when to use it." },
	{ .key = "schema",
		.type = CONF_JSON,
		.offset = AT(tool_conf, schema),
		.words = "object|bool",
		.doc = "JSON Schema of the arguments; default: an object." },
	{ .key = "command",
		.type = CONF_JSON,
		.offset = AT(tool_conf, command),
		.words = "array|string|object",
		.doc = "Runs a program: arguments on stdin, JSON lines on stdout." },
	{ .key = "http",
		.type = CONF_JSON,
		.offset = AT(tool_conf, http),
		.words = "object|string",
		.doc = "Calls a URL." },
	{ .key = "lua",
		.type = CONF_JSON,
		.offset = AT(tool_conf, lua),
		.words = "string|object",
		.doc = "Runs a script with a function run(args, context)." },
	{ .key = "plugin",
		.type = CONF_JSON,
		.offset = AT(tool_conf, plugin),
		.words = "string|object",
		.doc = "A tool of a shared object." },
	{ .key = "stream",
		.type = CONF_BOOL,
		.offset = AT(tool_conf, streams),
		.dflt = "false",
		.doc = "Each line it prints is shown on its way." },
	{ .key = "idempotent",
		.type = CONF_BOOL,
		.offset = AT(tool_conf, idempotent),
		.dflt = "false",
		.doc = "May run again when a crash left it without a result." },
	{ .key = "timeout",
		.type = CONF_TIME,
		.offset = AT(tool_conf, timeout_ms),
		.dflt = "0",
		.doc = "Longest time of one call; 0: limits.toolTime of bread.yaml." },
	{ .key = "errorHandling",
		.type = CONF_GROUP,
		.offset = AT(tool_conf, retry),
		GROUP(brd_handling_fields),
		.doc = "What to do when it fails." },
	{ .key = "credentials",
		.type = CONF_STRS,
		.offset = AT(tool_conf, credentials),
		.doc = "Names of the credentials that it may read; no others reach it." },
	{ .key = "credentialsFrom",
		.type = CONF_JSON,
		.offset = AT(tool_conf, source),
		.words = "string|object",
		.doc = "Where they are, instead of what `credentials` of bread.yaml says." },
	{ .key = "hooks",
		.type = CONF_JSON,
		.offset = AT(tool_conf, hooks),
		.words = "object|array",
		.doc = "Hooks of its calls." },
};
const size_t brd_tool_field_count = CONF_COUNT(brd_tool_fields);

struct tool_def *brd_def_tool_slot(struct agent_def *d)
{
	if (d->tool_count == d->tool_room) {
		size_t room = d->tool_room ? d->tool_room * 2 : 4;
		struct tool_def *more = brd_arena_array(&d->arena, room, sizeof(*more));

		if (d->tool_count)
			memcpy(more, d->tools, d->tool_count * sizeof(*more));
		d->tools = more;
		d->tool_room = room;
	}
	memset(&d->tools[d->tool_count], 0, sizeof(*d->tools));
	return &d->tools[d->tool_count];
}

void brd_def_tool_fini(struct tool_def *t)
{
	brd_schema_unref(t->schema);
	brd_schema_unref(t->answer);
	brd_tool_close(t->tool);
	brd_hook_set_unref(t->hook_set);
	if (t->task)
		brd_task_fini(t->task);
}

static char *text(struct agent_def *d, const char *fmt, const char *a, const char *b)
{
	return brd_arena_strz(&d->arena, brd_arena_printf(&d->arena, fmt, a, b));
}

static void name_tool(struct agent_def *d, struct tool_def *t, const char *name, const char *skill)
{
	t->name = brd_arena_strz(&d->arena, brd_str(name));
	if (skill) {
		t->leaf = text(d, "skill_%s_%s", skill, name);
		t->permission = text(d, "skill:%s/%s", skill, name);
	} else {
		t->leaf = text(d, "%s%s", "tool_", name);
		t->permission = text(d, "%s%s", "tool:", name);
	}
}

/* The schemas are compiled, the tool is opened; what is missing has its default. */
static int finish(struct agent_def *d, struct tool_def *t, const struct tool_conf *c, struct jval v,
	const char *dir, struct bread_err *err)
{
	struct bread_err cause;
	char what[160];
	int r;

	snprintf(what, sizeof(what), "the schema of tool \"%.100s\"", c->name);
	r = brd_def_schema(&t->schema, &t->schema_text, c->schema, what, err);
	if (r)
		return r;
	r = brd_tool_open(&t->tool, v, dir, &cause);
	if (r)
		return brd_fail(err, r, "tool", "tool \"%s\": %s", c->name, cause.text);
	if (!t->schema)
		t->schema_text = BRD_STR(NO_ARGUMENTS);
	snprintf(what, sizeof(what), "tool \"%.100s\"", c->name);
	return brd_def_hooks(&t->hook_set, c->hooks, BREAD_HOOK_TOOL, dir, what, err);
}

int brd_def_add_tool(struct agent_def *d, struct jval v, const char *skill, const char *dir,
	struct bread_err *err)
{
	struct tool_conf c = { 0 };
	struct tool_def *t = brd_def_tool_slot(d);
	int r = brd_conf_read(
		brd_tool_fields, brd_tool_field_count, v, &c, NULL, "tool", &d->arena, err);

	if (r)
		return r;
	name_tool(d, t, c.name, skill);
	t->description = c.description;
	t->streams = c.streams;
	t->idempotent = c.idempotent;
	t->timeout_ms = c.timeout_ms;
	t->retry = brd_def_retry(&c.retry);
	r = finish(d, t, &c, v, dir, err);
	t->credentials = brd_tool_credentials(t->tool);
	if (r)
		brd_def_tool_fini(t);
	else
		d->tool_count++;
	return r;
}

/* The place of a human tool: that of another one with its name, which it replaces. */
static struct tool_def *human_slot(struct agent_def *d, const char *leaf, bool *ret_new)
{
	struct tool_def *old = brd_agent_def_tool(d, brd_str(leaf));

	*ret_new = !old || old->kind != TOOL_HUMAN;
	if (*ret_new)
		return brd_def_tool_slot(d);
	brd_def_tool_fini(old);
	memset(old, 0, sizeof(*old));
	return old;
}

static int human_answer(struct tool_def *t, const struct tool_conf *c, struct bread_err *err)
{
	struct arena a = { 0 };
	struct schema_fault fault;
	char what[160];
	int r;

	snprintf(what, sizeof(what), "the schema of human tool \"%.100s\"", c->name);
	r = brd_def_schema(&t->schema, &t->schema_text, c->schema, what, err);
	snprintf(what, sizeof(what), "the answer's schema of human tool \"%.80s\"", c->name);
	if (!r)
		r = brd_def_schema(&t->answer, &t->answer_text, c->answer, what, err);
	if (r || brd_json_type(c->fallback) == JSON_NONE)
		return r;
	if (!c->deadline_ms)
		return brd_fail(err, BREAD_E_INVALID, "agent",
			"human tool \"%s\" has a default and no deadline; give it both or none",
			c->name);
	t->fallback = brd_json_raw(c->fallback);
	if (t->answer && !brd_schema_check(t->answer, c->fallback, &a, &fault))
		r = brd_fail(err, BREAD_E_INVALID, "agent",
			"the default of human tool \"%s\" does not fit its answer: %.*s", c->name,
			BRD_ARG(fault.text));
	brd_arena_fini(&a);
	return r;
}

int brd_def_add_human(struct agent_def *d, struct jval v, struct bread_err *err)
{
	struct tool_conf c = { 0 };
	struct tool_def *t;
	char *leaf;
	bool fresh;
	int r = brd_conf_read(
		brd_human_fields, CONF_HUMAN_FIELDS, v, &c, NULL, "humanTools", &d->arena, err);

	if (r)
		return r;
	leaf = text(d, "%s%s", "human_", c.name);
	t = human_slot(d, leaf, &fresh);
	t->kind = TOOL_HUMAN;
	t->name = c.name;
	t->leaf = leaf;
	t->description = c.description ? c.description : text(d, "%s%s", "Ask a human: ", c.name);
	t->deadline_ms = c.deadline_ms;
	r = human_answer(t, &c, err);
	if (!t->schema)
		t->schema_text = BRD_STR(NO_ARGUMENTS);
	if (r && fresh)
		brd_def_tool_fini(t);
	else if (fresh)
		d->tool_count++;
	return r;
}

int brd_def_add_callback(struct agent_def *d, const struct tool_def *from,
	const char *const *credentials, struct bread_err *err)
{
	struct tool_def *t = brd_def_tool_slot(d);
	bread_tool_fn *fn;
	void *arg;
	int r;

	if (!brd_tool_callback_of(from->tool, &fn, &arg))
		return 0;
	name_tool(d, t, from->name, NULL);
	t->description = text(d, "%s%s", from->description ? from->description : "", "");
	t->schema_text = from->schema_text.n ? brd_arena_copy(&d->arena, from->schema_text)
					     : BRD_STR(NO_ARGUMENTS);
	t->streams = true;
	r = brd_schema_new(&t->schema, t->schema_text, err);
	if (!r)
		r = brd_tool_open_callback(&t->tool, fn, arg);
	if (!r && credentials)
		r = brd_tool_with_credentials(&t->tool, credentials, NULL, err);
	t->credentials = brd_tool_credentials(t->tool);
	if (r)
		brd_def_tool_fini(t);
	else
		d->tool_count++;
	return r;
}

int brd_def_add_core(struct agent_def *d, const struct core_tool *list, struct bread_err *err)
{
	for (; list->name; list++) {
		struct tool_def *t = brd_def_tool_slot(d);
		int r;

		t->kind = TOOL_CORE;
		t->core = list;
		t->name = text(d, "%s%s", list->name, "");
		t->leaf = text(d, "%s%s", "core_", list->name);
		t->permission = text(d, "%s%s", "core:", list->name);
		t->description = text(d, "%s%s", list->description, "");
		t->schema_text = brd_str(list->schema);
		r = brd_schema_new(&t->schema, t->schema_text, err);
		if (r)
			return r;
		d->tool_count++;
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Definitions from JSON. The tables below are all that an agent's and a tool's
 * file can say; a fault names the key, and the place where the file is known. */
#include "run/def.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/uuid.h"
#include <stdio.h>
#include <stdlib.h>

struct model_conf {
	char *provider, *model;
	struct jval settings, options;
};

struct retry_conf {
	int64_t attempts, backoff_ms;
	double multiplier;
};

struct agent_conf {
	struct model_conf model;
	char *description;
	struct jval input_schema, output_schema;
	char *format;
	int64_t steps_max, max_ms;
	struct retry_conf retry;
	char *prompt;
	struct jval tools, humans;
};

struct tool_conf {
	char *name, *description;
	struct jval schema, command, http;
	bool streams, idempotent;
	int64_t timeout_ms;
	struct retry_conf retry;
};

#define AT(type, member) offsetof(struct type, member)

static const struct conf_field model_fields[] = {
	{ .key = "provider",
		.type = CONF_STR,
		.offset = AT(model_conf, provider),
		.required = true,
		.doc = "Name of the provider: a key of `providers` in bread.yaml." },
	{ .key = "model",
		.type = CONF_STR,
		.offset = AT(model_conf, model),
		.required = true,
		.doc = "The provider's name for the model." },
	{ .key = "settings",
		.type = CONF_JSON,
		.offset = AT(model_conf, settings),
		.words = "object",
		.doc = "temperature, maxOutputTokens, topP, reasoning and what else the provider "
		       "takes." },
	{ .key = "providerOptions",
		.type = CONF_JSON,
		.offset = AT(model_conf, options),
		.words = "object",
		.doc = "Merged into the provider's request body as it is." },
};

static const struct conf_field retry_fields[] = {
	{ .key = "attempts",
		.type = CONF_INT,
		.offset = AT(retry_conf, attempts),
		.dflt = "0",
		.max = 100,
		.doc = "All attempts, the first too; 0: no retry." },
	{ .key = "backoffMs",
		.type = CONF_TIME,
		.offset = AT(retry_conf, backoff_ms),
		.dflt = "500",
		.doc = "Wait before the second attempt." },
	{ .key = "backoffMultiplier",
		.type = CONF_NUM,
		.offset = AT(retry_conf, multiplier),
		.dflt = "2",
		.min = 1,
		.max = 100,
		.doc = "Each further wait is longer by this factor." },
};

static const struct conf_field handling_fields[] = {
	{ .key = "retry",
		.type = CONF_GROUP,
		.offset = 0,
		.sub = retry_fields,
		.sub_count = CONF_COUNT(retry_fields),
		.doc = "When and how often to try again." },
};

static const struct conf_field output_fields[] = {
	{ .key = "format",
		.type = CONF_STR,
		.offset = 0,
		.dflt = "text",
		.doc = "text, markdown, json (needs outputSchema), or the name of a custom format "
		       "(lines)." },
};

static const struct conf_field steps_fields[] = {
	{ .key = "max",
		.type = CONF_INT,
		.offset = 0,
		.dflt = "20",
		.min = 1,
		.max = 1000,
		.doc = "Model calls of one run at the most." },
};

#define GROUP(table) .sub = table, .sub_count = CONF_COUNT(table)

const struct conf_field brd_agent_fields[] = {
	{ .key = "model",
		.type = CONF_GROUP,
		.offset = AT(agent_conf, model),
		.required = true,
		GROUP(model_fields),
		.doc = "Who answers." },
	{ .key = "description",
		.type = CONF_STR,
		.offset = AT(agent_conf, description),
		.doc = "For people, and for other agents that may call this one." },
	{ .key = "inputSchema",
		.type = CONF_JSON,
		.offset = AT(agent_conf, input_schema),
		.words = "object|bool",
		.doc = "JSON Schema of the input; a run with another input is refused." },
	{ .key = "outputSchema",
		.type = CONF_JSON,
		.offset = AT(agent_conf, output_schema),
		.words = "object|bool",
		.doc = "JSON Schema of the output of format json." },
	{ .key = "output",
		.type = CONF_GROUP,
		.offset = AT(agent_conf, format),
		GROUP(output_fields),
		.doc = "Form of the output." },
	{ .key = "steps",
		.type = CONF_GROUP,
		.offset = AT(agent_conf, steps_max),
		GROUP(steps_fields),
		.doc = "Bounds of the loop of model and tools." },
	{ .key = "maxTime",
		.type = CONF_TIME,
		.offset = AT(agent_conf, max_ms),
		.dflt = "0",
		.doc = "Longest time of a run; 0: limits.runTime of bread.yaml." },
	{ .key = "errorHandling",
		.type = CONF_GROUP,
		.offset = AT(agent_conf, retry),
		GROUP(handling_fields),
		.doc = "What to do when the model fails." },
	{ .key = "prompt",
		.type = CONF_STR,
		.offset = AT(agent_conf, prompt),
		.doc = "The system prompt; prompt.md beside the file is the usual place." },
	{ .key = "tools",
		.type = CONF_JSON,
		.offset = AT(agent_conf, tools),
		.words = "array",
		.doc = "Tools, as in tools/NAME.yaml, each with its name." },
	{ .key = "humanTools",
		.type = CONF_JSON,
		.offset = AT(agent_conf, humans),
		.words = "array",
		.doc = "Questions to a human, each with name, schema and description." },
};
const size_t brd_agent_field_count = CONF_COUNT(brd_agent_fields);

static const struct conf_field human_fields[] = {
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
		GROUP(handling_fields),
		.doc = "What to do when it fails." },
};
const size_t brd_tool_field_count = CONF_COUNT(brd_tool_fields);

int brd_agent_check(struct jval v, const struct yaml_doc *doc, struct bread_err *err)
{
	struct arena a = { 0 };
	struct agent_conf c = { 0 };
	int r = brd_conf_read(brd_agent_fields, brd_agent_field_count, v, &c, doc, "", &a, err);

	brd_arena_fini(&a);
	return r;
}

int brd_tool_check(struct jval v, const struct yaml_doc *doc, struct bread_err *err)
{
	struct arena a = { 0 };
	struct tool_conf c = { 0 };
	int r = brd_conf_read(brd_tool_fields, brd_tool_field_count, v, &c, doc, "", &a, err);

	brd_arena_fini(&a);
	return r;
}

static struct retry_def to_retry(const struct retry_conf *c)
{
	return (struct retry_def){ c->attempts, c->backoff_ms, c->multiplier };
}

int64_t brd_retry_ms(const struct retry_def *d, int64_t attempts)
{
	double most = 3600 * 1000, ms = (double)d->backoff_ms;

	for (int64_t i = 1; i < attempts && ms < most; i++)
		ms *= d->multiplier;
	return (int64_t)((ms < most ? ms : most) + 0.5);
}

static int compile(struct schema **ret, struct bread_str *text, struct jval v, const char *what,
	struct bread_err *err)
{
	struct bread_err cause;
	int r;

	if (brd_json_type(v) == JSON_NONE)
		return 0;
	*text = brd_json_raw(v);
	r = brd_schema_new(ret, *text, &cause);
	return r ? brd_fail(err, r, "agent", "%s is not a JSON Schema: %s", what, cause.text) : 0;
}

static struct tool_def *tool_slot(struct agent_def *d)
{
	if (d->tool_count == d->tool_room) {
		size_t room = d->tool_room ? d->tool_room * 2 : 4;
		struct tool_def *more = brd_arena_array(&d->arena, room, sizeof(*more));

		if (d->tool_count)
			memcpy(more, d->tools, d->tool_count * sizeof(*more));
		d->tools = more;
		d->tool_room = room;
	}
	return &d->tools[d->tool_count];
}

static void name_tool(
	struct agent_def *d, struct tool_def *t, const char *name, const char *description)
{
	t->name = brd_arena_strz(&d->arena, brd_str(name));
	t->leaf = brd_arena_strz(&d->arena, brd_arena_printf(&d->arena, "tool_%s", name));
	t->description = brd_arena_strz(&d->arena, brd_str(description));
}

static int add_tool(struct agent_def *d, struct jval v, struct bread_err *err)
{
	struct tool_conf c = { 0 };
	struct tool_def *t = tool_slot(d);
	struct bread_err cause;
	char what[160];
	int r;

	memset(t, 0, sizeof(*t));
	r = brd_conf_read(
		brd_tool_fields, brd_tool_field_count, v, &c, NULL, "tool", &d->arena, err);
	if (r)
		return r;
	name_tool(d, t, c.name, c.description);
	t->streams = c.streams;
	t->idempotent = c.idempotent;
	t->timeout_ms = c.timeout_ms;
	t->retry = to_retry(&c.retry);
	snprintf(what, sizeof(what), "the schema of tool \"%s\"", c.name);
	r = compile(&t->schema, &t->schema_text, c.schema, what, err);
	if (r)
		return r;
	r = brd_tool_open(&t->tool, v, d->dir, &cause);
	if (r) {
		brd_schema_unref(t->schema);
		return brd_fail(err, r, "tool", "tool \"%s\": %s", c.name, cause.text);
	}
	if (!t->schema)
		t->schema_text = BRD_STR("{\"type\":\"object\",\"properties\":{}}");
	d->tool_count++;
	return 0;
}

static int add_human(struct agent_def *d, struct jval v, struct bread_err *err)
{
	struct tool_conf c = { 0 };
	struct tool_def *t = tool_slot(d);
	char what[160];
	int r;

	memset(t, 0, sizeof(*t));
	r = brd_conf_read(
		human_fields, CONF_COUNT(human_fields), v, &c, NULL, "humanTools", &d->arena, err);
	if (r)
		return r;
	t->kind = TOOL_HUMAN;
	t->name = brd_arena_strz(&d->arena, brd_str(c.name));
	t->leaf = brd_arena_strz(&d->arena, brd_arena_printf(&d->arena, "human_%s", c.name));
	t->description = c.description;
	if (!t->description)
		t->description = brd_arena_strz(
			&d->arena, brd_arena_printf(&d->arena, "Ask a human: %s", c.name));
	snprintf(what, sizeof(what), "the schema of human tool \"%s\"", c.name);
	r = compile(&t->schema, &t->schema_text, c.schema, what, err);
	if (r)
		return r;
	if (!t->schema)
		t->schema_text = BRD_STR("{\"type\":\"object\",\"properties\":{}}");
	d->tool_count++;
	return 0;
}

static void pick_format(struct agent_def *d, char *format)
{
	static const char *const names[] = { "text", "markdown", "json" };

	d->format = FORMAT_CUSTOM;
	d->format_name = format;
	for (int i = 0; i < 3; i++)
		if (!strcmp(format, names[i]))
			d->format = (enum output_format)i;
}

static void hash_text(struct agent_def *d)
{
	unsigned char sum[SHA256_LEN];
	struct sha256 sha;
	struct buf hex;

	brd_sha256_init(&sha);
	brd_sha256_add(&sha, (struct bread_str){ d->id, strlen(d->id) + 1 });
	brd_sha256_add(&sha, d->json);
	brd_sha256_end(&sha, sum);
	brd_buf_init(&hex, 128);
	brd_hex_add(&hex, sum, sizeof(sum));
	memcpy(d->hash, hex.data, 65);
	brd_buf_fini(&hex);
}

static struct bread_str raw_object(struct jval v)
{
	return brd_json_count(v) ? brd_json_raw(v) : (struct bread_str){ 0 };
}

static int fill(struct agent_def *d, struct jval root, struct bread_err *err)
{
	struct agent_conf c = { 0 };
	struct jval prompt = brd_json_get(root, "prompt");
	int r = brd_conf_read(
		brd_agent_fields, brd_agent_field_count, root, &c, NULL, "", &d->arena, err);

	if (r)
		return r;
	d->provider = c.model.provider;
	d->model = c.model.model;
	d->settings = raw_object(c.model.settings);
	d->provider_options = raw_object(c.model.options);
	d->prompt = brd_json_str(prompt, &d->arena);
	d->steps_max = c.steps_max;
	d->max_ms = c.max_ms;
	d->retry = to_retry(&c.retry);
	pick_format(d, c.format);
	if (d->format == FORMAT_JSON && brd_json_type(c.output_schema) == JSON_NONE)
		return brd_fail(err, BREAD_E_INVALID, "agent",
			"output.format is json, which needs an outputSchema; {} takes anything");
	r = compile(&d->input_schema, &d->input_text, c.input_schema, "inputSchema", err);
	if (!r)
		r = compile(
			&d->output_schema, &d->output_text, c.output_schema, "outputSchema", err);
	for (struct json_iter it = brd_json_each(c.tools); !r && brd_json_next(&it);)
		r = add_tool(d, it.value, err);
	for (struct json_iter it = brd_json_each(c.humans); !r && brd_json_next(&it);)
		r = add_human(d, it.value, err);
	return r;
}

static struct agent_def *blank(const char *id, struct bread_str json, const char *dir)
{
	struct agent_def *d = brd_alloc(sizeof(*d));

	atomic_init(&d->refs, 1);
	d->id = brd_arena_strz(&d->arena, brd_str(id));
	d->dir = dir ? brd_arena_strz(&d->arena, brd_str(dir)) : NULL;
	d->json = brd_arena_copy(&d->arena, json);
	hash_text(d);
	return d;
}

int brd_agent_def_new(struct agent_def **ret, const char *id, struct bread_str json,
	const char *dir, struct bread_err *err)
{
	struct agent_def *d;
	struct json_where where = { 0 };
	struct jval root;
	int r;

	if (!brd_id_ok(brd_str(id)))
		return brd_fail(err, BREAD_E_INVALID, "agent",
			"\"%.40s\" cannot be an agent's id; letters, digits, . _ : - are allowed, "
			"128 at most",
			id);
	d = blank(id, json, dir);
	r = brd_json_parse(&d->arena, d->json, 0, &root, &where);
	if (r)
		brd_fail(err, r, id, "the definition is not JSON: %s at byte %zu", where.what,
			where.at);
	else
		r = fill(d, root, err);
	if (r) {
		brd_agent_def_unref(d);
		return r;
	}
	*ret = d;
	return 0;
}

struct agent_def *brd_agent_def_ref(struct agent_def *d)
{
	atomic_fetch_add(&d->refs, 1);
	return d;
}

void brd_agent_def_unref(struct agent_def *d)
{
	if (!d || atomic_fetch_sub(&d->refs, 1) > 1)
		return;
	for (size_t i = 0; i < d->tool_count; i++) {
		brd_schema_unref(d->tools[i].schema);
		brd_tool_close(d->tools[i].tool);
	}
	brd_schema_unref(d->input_schema);
	brd_schema_unref(d->output_schema);
	brd_arena_fini(&d->arena);
	free(d);
}

static int add_callback(struct agent_def *d, const char *name, const char *description,
	struct bread_str schema, bread_tool_fn *fn, void *arg, struct bread_err *err)
{
	struct tool_def *t = tool_slot(d);
	int r;

	memset(t, 0, sizeof(*t));
	name_tool(d, t, name, description ? description : "");
	t->schema_text = schema.n ? brd_arena_copy(&d->arena, schema)
				  : BRD_STR("{\"type\":\"object\",\"properties\":{}}");
	t->streams = true;
	r = brd_schema_new(&t->schema, t->schema_text, err);
	if (r)
		return r;
	r = brd_tool_open_callback(&t->tool, fn, arg);
	if (r) {
		brd_schema_unref(t->schema);
		return r;
	}
	d->tool_count++;
	return 0;
}

int brd_agent_def_with_tool(struct agent_def **ret, const struct agent_def *d, const char *name,
	const char *description, struct bread_str schema, bread_tool_fn *fn, void *arg,
	struct bread_err *err)
{
	struct agent_def *copy;
	int r = brd_agent_def_new(&copy, d->id, d->json, d->dir, err);

	if (r)
		return r;
	/* tools written in C are not in the JSON: take over those of d, too */
	for (size_t i = copy->tool_count; !r && i < d->tool_count; i++) {
		const struct tool_def *t = &d->tools[i];
		bread_tool_fn *had;
		void *had_arg;

		if (brd_tool_callback_of(t->tool, &had, &had_arg))
			r = add_callback(
				copy, t->name, t->description, t->schema_text, had, had_arg, err);
	}
	if (!r)
		r = add_callback(copy, name, description, schema, fn, arg, err);
	if (r) {
		brd_agent_def_unref(copy);
		return r;
	}
	*ret = copy;
	return 0;
}

struct tool_def *brd_agent_def_tool(const struct agent_def *d, struct bread_str leaf)
{
	for (size_t i = 0; i < d->tool_count; i++)
		if (brd_str_is(leaf, d->tools[i].leaf))
			return &d->tools[i];
	return NULL;
}

const char *brd_agent_def_collision(const struct agent_def *d)
{
	for (size_t i = 0; i < d->tool_count; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcmp(d->tools[i].leaf, d->tools[j].leaf))
				return d->tools[i].leaf;
	return NULL;
}

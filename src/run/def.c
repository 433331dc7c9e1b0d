/* SPDX-License-Identifier: MIT */
/* Definitions from JSON: their life, and the order in which one is put together.
 *
 * A definition never changes; what looks like a change (a tool in C, a loaded skill)
 * is another one built of the same JSON. Faults name the key; files are checked by
 * the same tables before, with places. */
#include "run/def.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/uuid.h"
#include "run/def_impl.h"

struct retry_def brd_def_retry(const struct retry_conf *c)
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

int brd_def_schema(struct schema **ret, struct bread_str *text, struct jval v, const char *what,
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

int brd_def_hooks(struct hook_set **ret, struct jval v, enum bread_hook_scope home, const char *dir,
	const char *whose, struct bread_err *err)
{
	struct bread_err cause;
	int r = brd_hooks_open(ret, brd_def_object(v), home, dir, &cause);

	return r ? brd_fail(err, r, "agent", "hooks of %s: %s", whose, cause.text) : 0;
}

struct bread_str brd_def_object(struct jval v)
{
	return brd_json_count(v) ? brd_json_raw(v) : (struct bread_str){ 0 };
}

void brd_def_hash(const char *id, struct bread_str json, char ret[65])
{
	unsigned char sum[SHA256_LEN];
	struct sha256 sha;
	struct buf hex;

	brd_sha256_init(&sha);
	brd_sha256_add(&sha, (struct bread_str){ id, strlen(id) + 1 });
	brd_sha256_add(&sha, json);
	brd_sha256_end(&sha, sum);
	brd_buf_init(&hex, 128);
	brd_hex_add(&hex, sum, sizeof(sum));
	memcpy(ret, hex.data, 65);
	brd_buf_fini(&hex);
}

int brd_def_at(struct bread_err *err, int r, const char *key, size_t index)
{
	if (r && err && index == DEF_NO_INDEX)
		snprintf(err->where, sizeof(err->where), "%s", key);
	else if (r && err)
		snprintf(err->where, sizeof(err->where), "%s.%zu", key, index);
	return r;
}

/* ---- the parts, in their order ---- */

static void pick_format(struct agent_def *d, char *format)
{
	static const char *const names[] = { "text", "markdown", "json" };

	d->format = FORMAT_CUSTOM;
	d->format_name = format;
	for (int i = 0; i < 3; i++)
		if (!strcmp(format, names[i]))
			d->format = (enum output_format)i;
}

static int take_plain(
	struct agent_def *d, struct jval root, const struct agent_conf *c, struct bread_err *err)
{
	int r;

	d->provider = c->model.provider;
	d->model = c->model.model;
	d->settings = brd_def_object(c->model.settings);
	d->provider_options = brd_def_object(c->model.options);
	d->prompt = brd_json_str(brd_json_get(root, "prompt"), &d->arena);
	d->steps_max = c->steps_max;
	d->max_ms = c->max_ms;
	d->retry = brd_def_retry(&c->retry);
	d->prompt_tokens = c->knowledge.inject ? (size_t)c->knowledge.max_tokens : 0;
	pick_format(d, c->format);
	if (d->format == FORMAT_JSON && brd_json_type(c->output_schema) == JSON_NONE)
		return brd_fail(err, BREAD_E_INVALID, "output.format",
			"output.format is json, which needs an outputSchema; {} takes anything");
	r = brd_def_hooks(&d->hook_set, c->hooks, BREAD_HOOK_AGENT, d->dir, "the agent", err);
	if (r)
		return brd_def_at(err, r, "hooks", DEF_NO_INDEX);
	r = brd_def_schema(&d->input_schema, &d->input_text, c->input_schema, "inputSchema", err);
	if (r)
		return brd_def_at(err, r, "inputSchema", DEF_NO_INDEX);
	r = brd_def_schema(
		&d->output_schema, &d->output_text, c->output_schema, "outputSchema", err);
	return brd_def_at(err, r, "outputSchema", DEF_NO_INDEX);
}

static int take_callback(struct agent_def *d, const struct tool_def *t,
	const struct def_parts *parts, struct bread_err *err)
{
	bool reads = parts->reader && !strcmp(parts->reader, t->name);

	return brd_def_add_callback(d, t, reads ? parts->credentials : t->credentials, err);
}

static int take_callbacks(struct agent_def *d, const struct def_parts *parts, struct bread_err *err)
{
	int r = 0;

	for (size_t i = 0; parts->from && !r && i < parts->from->tool_count; i++)
		if (parts->from->tools[i].tool)
			r = take_callback(d, &parts->from->tools[i], parts, err);
	return r || !parts->more ? r : brd_def_add_callback(d, parts->more, NULL, err);
}

static bool there(struct jval root, const char *key)
{
	return brd_json_type(brd_json_get(root, key)) != JSON_NONE;
}

/* The order is the one in which the model is offered them. */
static int take_tools(struct agent_def *d, struct jval root, const struct agent_conf *c,
	const struct def_parts *parts, struct bread_err *err)
{
	int r = 0;

	for (struct json_iter it = brd_json_each(c->tools); !r && brd_json_next(&it);)
		r = brd_def_at(
			err, brd_def_add_tool(d, it.value, NULL, d->dir, err), "tools", it.index);
	if (!r)
		r = take_callbacks(d, parts, err);
	if (!r && there(root, "documents"))
		r = brd_def_add_core(d, brd_document_tools, err);
	if (!r && there(root, "knowledge"))
		r = brd_def_add_core(d, brd_knowledge_tools, err);
	for (struct json_iter it = brd_json_each(c->tasks); !r && brd_json_next(&it);)
		r = brd_def_add_task(d, it.value, err);
	if (!r && parts->skill.p)
		r = brd_def_take_skill(d, c->skills, parts->skill, err);
	if (!r && d->skill_count)
		r = brd_def_add_core(d, brd_skill_tools, err);
	if (!r && there(root, "supervisor"))
		r = brd_def_supervisor(d, &c->supervisor, err);
	if (!r && there(root, "loop"))
		r = brd_def_loop(d, &c->loop, err);
	return r;
}

/* Takes away what is not offered, and marks what asks first. */
static int permit(struct agent_def *d, const struct permission_conf *c, struct bread_err *err)
{
	struct permissions p;
	size_t kept = 0;
	int r = brd_permissions_parse(&p, &c->allow, &c->ask, &c->deny, &d->arena, err);

	if (r)
		return r;
	for (size_t i = 0; i < d->tool_count; i++) {
		struct tool_def *t = &d->tools[i];

		if (brd_permitted(&p, t->permission, &t->gated))
			d->tools[kept++] = *t;
		else
			brd_def_tool_fini(t);
	}
	d->tool_count = kept;
	return 0;
}

static void take_sections(struct agent_def *d)
{
	struct buf out;

	brd_buf_init(&out, BUF_NO_LIMIT);
	brd_def_skill_sections(d, &out);
	brd_def_roster_sections(d, &out);
	d->sections = brd_arena_copy(&d->arena, brd_buf_str(&out));
	brd_buf_fini(&out);
}

static int fill(
	struct agent_def *d, struct jval root, const struct def_parts *parts, struct bread_err *err)
{
	struct agent_conf c = { 0 };
	int r = brd_conf_read(
		brd_agent_fields, brd_agent_field_count, root, &c, NULL, "", &d->arena, err);

	if (!r)
		r = take_plain(d, root, &c, err);
	if (!r)
		r = brd_def_skills(d, c.skills, err);
	if (!r)
		r = take_tools(d, root, &c, parts, err);
	if (!r)
		r = permit(d, &c.permissions, err);
	for (struct json_iter it = brd_json_each(c.humans); !r && brd_json_next(&it);)
		r = brd_def_at(err, brd_def_add_human(d, it.value, err), "humanTools", it.index);
	/* an agent of the format json is offered no tools, so none are advertised */
	if (!r && d->format != FORMAT_JSON)
		take_sections(d);
	return r;
}

/* ---- their life ---- */

static struct agent_def *blank(const char *id, struct bread_str json, const char *dir)
{
	struct agent_def *d = brd_alloc(sizeof(*d));

	atomic_init(&d->refs, 1);
	d->id = brd_arena_strz(&d->arena, brd_str(id));
	d->dir = dir ? brd_arena_strz(&d->arena, brd_str(dir)) : NULL;
	d->json = brd_arena_copy(&d->arena, json);
	brd_def_hash(d->id, d->json, d->hash);
	return d;
}

int brd_def_build(struct agent_def **ret, const char *id, struct bread_str json, const char *dir,
	const struct def_parts *parts, struct bread_err *err)
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
		r = fill(d, root, parts, err);
	if (r) {
		brd_agent_def_unref(d);
		return r;
	}
	*ret = d;
	return 0;
}

int brd_agent_def_new(struct agent_def **ret, const char *id, struct bread_str json,
	const char *dir, struct bread_err *err)
{
	return brd_def_build(ret, id, json, dir, &(struct def_parts){ 0 }, err);
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
	for (size_t i = 0; i < d->tool_count; i++)
		brd_def_tool_fini(&d->tools[i]);
	brd_schema_unref(d->input_schema);
	brd_schema_unref(d->output_schema);
	brd_hook_set_unref(d->hook_set);
	brd_hook_set_unref(d->loop_hook_set);
	brd_arena_fini(&d->arena);
	free(d);
}

int brd_agent_def_with_tool(struct agent_def **ret, const struct agent_def *d, const char *name,
	const char *description, struct bread_str schema, bread_tool_fn *fn, void *arg,
	struct bread_err *err)
{
	struct tool_def more = {
		.name = (char *)name, .description = (char *)description, .schema_text = schema
	};
	int r = brd_tool_open_callback(&more.tool, fn, arg);

	if (!r)
		r = brd_def_build(ret, d->id, d->json, d->dir,
			&(struct def_parts){ .from = d, .more = &more }, err);
	brd_tool_close(more.tool);
	return r;
}

int brd_agent_def_with_credentials(struct agent_def **ret, const struct agent_def *d,
	const char *tool, const char *const *names, struct bread_err *err)
{
	bool found = false;

	for (size_t i = 0; i < d->tool_count; i++) {
		bread_tool_fn *fn;
		void *arg;

		found |= d->tools[i].tool && !strcmp(d->tools[i].name, tool) &&
			 brd_tool_callback_of(d->tools[i].tool, &fn, &arg);
	}
	if (!found)
		return brd_fail(err, BREAD_E_NOT_FOUND, "agent",
			"agent \"%s\" has no tool in C of the name \"%s\"", d->id, tool);
	return brd_def_build(ret, d->id, d->json, d->dir,
		&(struct def_parts){ .from = d, .reader = tool, .credentials = names }, err);
}

int brd_agent_def_with_skill(struct agent_def **ret, const struct agent_def *d, struct bread_str id,
	struct bread_err *err)
{
	return brd_def_build(ret, d->id, d->json, d->dir,
		&(struct def_parts){ .from = d, .skill = id.p ? id : BRD_STR("") }, err);
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

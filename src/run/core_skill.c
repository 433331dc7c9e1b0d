/* SPDX-License-Identifier: MIT */
/* core_load_skill: the model asks for a skill's instructions. Nothing is read: a
 * definition has its skills whole. */
#include "base/err.h"
#include "base/mem.h"
#include "run/core_call.h"
#include "run/skill.h"

static void put_scripts(struct jsonw *w, const struct skill_def *s)
{
	brd_jw_key(w, "scripts");
	brd_jw_arr(w);
	for (char **p = s->scripts; *p; p++)
		brd_jw_strz(w, *p);
	brd_jw_end_arr(w);
}

static void put_references(struct jsonw *w, const struct skill_def *s)
{
	brd_jw_key(w, "references");
	brd_jw_arr(w);
	for (size_t i = 0; i < s->reference_count; i++) {
		brd_jw_obj(w);
		brd_jw_kstr(w, "name", brd_str(s->references[i].name));
		brd_jw_kstr(w, "content", s->references[i].content);
		brd_jw_end_obj(w);
	}
	brd_jw_end_arr(w);
}

static void give(struct core_call *c, const struct skill_def *s)
{
	struct buf out;
	struct jsonw w;

	brd_buf_init(&out, BUF_NO_LIMIT);
	w = brd_jsonw(&out);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "name", brd_str(s->name));
	brd_jw_kstr(&w, "instructions", s->body);
	if (s->scripts)
		put_scripts(&w, s);
	if (s->reference_count)
		put_references(&w, s);
	brd_jw_end_obj(&w);
	brd_core_return(c, &out);
}

static void load(struct run_env *env, const struct agent_def *def, struct bread_tool_call *call)
{
	struct core_call *c = brd_core_begin(env, call);
	struct bread_str id = brd_core_arg(c, "skillId");
	const struct skill_def *s = brd_skill_find(def, id);
	struct bread_err err = { 0 };

	if (brd_skill_check_id(id, &err)) {
		c->call->error_context = brd_strdup(err.context);
		brd_core_fail(c, err.name, "%s", err.text);
	} else if (!s) {
		brd_core_fail(c, "SKILL_NOT_FOUND", "there is no skill \"%.*s\"", BRD_ARG(id));
	} else {
		give(c, s);
	}
}

const struct core_tool brd_skill_tools[] = {
	{ .name = "load_skill",
		.description = "Load the full instructions for one of the available skills by id.",
		.schema = "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":"
			  "\"object\",\"properties\":{\"skillId\":{\"type\":\"string\","
			  "\"description\":\"The id of the skill to load (its directory name)\"}},"
			  "\"required\":[\"skillId\"],\"additionalProperties\":false}",
		.start = load },
	{ 0 },
};

/* SPDX-License-Identifier: MIT */
/* The skills of a definition, and the sections of the prompt that come of them.
 *
 * A definition holds its skills whole, texts and references, so that a run that is
 * taken up later sees what it began with. Scripts are tools only in the definition
 * that is made for a run whose caller asked for the skill. */
#include <stdio.h>
#include "base/err.h"
#include "run/def_impl.h"
#include "run/skill.h"

struct skill_conf {
	char *id, *file, *dir;
	struct jval text, references, tools;
	struct conf_strs scripts;
};

static const struct conf_field skill_fields[] = {
	{ .key = "id",
		.type = CONF_NAME,
		.offset = AT(skill_conf, id),
		.required = true,
		.doc = "Its name: the folder's in a project." },
	{ .key = "text",
		.type = CONF_JSON,
		.offset = AT(skill_conf, text),
		.words = "string",
		.required = true,
		.doc = "SKILL.md." },
	{ .key = "file",
		.type = CONF_STR,
		.offset = AT(skill_conf, file),
		.doc = "Where that stands." },
	{ .key = "dir",
		.type = CONF_STR,
		.offset = AT(skill_conf, dir),
		.doc = "Where relative paths of its scripts start." },
	{ .key = "references",
		.type = CONF_JSON,
		.offset = AT(skill_conf, references),
		.words = "array",
		.doc = "Each with name and content." },
	{ .key = "scripts",
		.type = CONF_STRS,
		.offset = AT(skill_conf, scripts),
		.doc = "Files that the model is told of." },
	{ .key = "tools",
		.type = CONF_JSON,
		.offset = AT(skill_conf, tools),
		.words = "array",
		.doc = "Its scripts as tools, each with its name." },
};

static int take_references(
	struct agent_def *d, struct skill_def *s, struct jval list, struct bread_err *err)
{
	s->references =
		brd_arena_array(&d->arena, brd_json_count(list) + 1, sizeof(*s->references));
	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);) {
		struct jval content = brd_json_get(it.value, "content");
		char *name = brd_json_strz(brd_json_get(it.value, "name"), &d->arena);

		if (!name || brd_json_type(content) != JSON_STRING)
			return brd_fail(err, BREAD_E_INVALID, "agent",
				"skill \"%s\" has a reference that is not {name: text, content: "
				"text}",
				s->id);
		s->references[s->reference_count++] =
			(struct skill_reference){ name, brd_json_str(content, &d->arena) };
	}
	return 0;
}

static int add_skill(struct agent_def *d, struct jval v, struct bread_err *err)
{
	struct skill_def *s = &d->skills[d->skill_count];
	struct skill_conf c = { 0 };
	struct skill_text t;
	int r = brd_conf_read(
		skill_fields, CONF_COUNT(skill_fields), v, &c, NULL, "skills", &d->arena, err);

	if (r)
		return r;
	if (brd_skill_find(d, brd_str(c.id)))
		return brd_fail(err, BREAD_E_INVALID, "agent",
			"skill \"%s\" is there twice; take one away", c.id);
	brd_skill_parse(&t, brd_json_str(c.text, &d->arena));
	s->id = c.id;
	s->name = t.name.n ? brd_arena_strz(&d->arena, t.name) : c.id;
	s->description = brd_arena_strz(&d->arena, t.description);
	s->body = t.body;
	s->scripts = c.scripts.n ? c.scripts.v : NULL;
	/* one without a description is summed up by its name, or by where it stands */
	s->summary = t.description.n ? s->description : t.name.n || !c.file ? s->name : c.file;
	d->skill_count++;
	return take_references(d, s, c.references, err);
}

int brd_def_skills(struct agent_def *d, struct jval list, struct bread_err *err)
{
	int r = 0;

	d->skills = brd_arena_array(&d->arena, brd_json_count(list) + 1, sizeof(*d->skills));
	for (struct json_iter it = brd_json_each(list); !r && brd_json_next(&it);)
		r = brd_def_at(err, add_skill(d, it.value, err), "skills", it.index);
	return r;
}

static int add_scripts(struct agent_def *d, struct jval v, struct bread_err *err)
{
	const char *dir = brd_json_strz(brd_json_get(v, "dir"), &d->arena);
	int r = 0;

	for (struct json_iter it = brd_json_each(brd_json_get(v, "tools"));
		!r && brd_json_next(&it);)
		r = brd_def_add_tool(d, it.value, d->skill->id, dir ? dir : d->dir, err);
	return r;
}

int brd_def_take_skill(
	struct agent_def *d, struct jval list, struct bread_str id, struct bread_err *err)
{
	int r = brd_skill_check_id(id, err);

	if (r)
		return r;
	d->skill = brd_skill_find(d, id);
	for (struct json_iter it = brd_json_each(list); d->skill && brd_json_next(&it);)
		if (brd_json_iss(brd_json_get(it.value, "id"), id))
			return add_scripts(d, it.value, err);
	return brd_fail_as(err, BREAD_E_NOT_FOUND, "SKILL_NOT_FOUND", "skill",
		"Agent \"%s\" has no skill \"%.*s\"", d->id, BRD_ARG(id));
}

void brd_def_skill_sections(const struct agent_def *d, struct buf *out)
{
	if (!d->skill_count || !brd_agent_def_tool(d, BRD_STR("core_load_skill")))
		return;
	brd_buf_addz(out,
		"## Available Skills\nCall the `core_load_skill` tool with a `skillId` to load its "
		"full instructions before using it.");
	for (size_t i = 0; i < d->skill_count; i++)
		brd_buf_addf(out, "\n- %s: %s", d->skills[i].id, d->skills[i].summary);
}

static void put_part(struct buf *out, struct bread_str part)
{
	if (out->len && part.n)
		brd_buf_addz(out, "\n\n");
	brd_buf_add(out, part);
}

/* The prompt so far with the loaded skill behind it; blanks around the whole go. */
static void put_skill(const struct agent_def *d, struct buf *out)
{
	struct buf whole;

	brd_buf_init(&whole, BUF_NO_LIMIT);
	put_part(&whole, brd_buf_str(out));
	brd_buf_addz(&whole, whole.len ? "\n\n" : "");
	brd_skill_section(d->skill, &whole);
	brd_buf_clear(out);
	brd_buf_add(out, brd_str_trim(brd_buf_str(&whole)));
	brd_buf_fini(&whole);
}

void brd_agent_def_prompt(const struct agent_def *d, struct bread_str knowledge, struct buf *out)
{
	put_part(out, d->prompt);
	put_part(out, knowledge);
	if (d->skill)
		put_skill(d, out);
	put_part(out, d->sections);
}

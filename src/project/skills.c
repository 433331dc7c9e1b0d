/* SPDX-License-Identifier: MIT */
/* The skills of an agent: agents/ID/skills/NAME/ with SKILL.md, references/ (texts) and
 * scripts/ (files that the model is told of; those that end in .yaml are tools, as in
 * tools/, for runs that load the skill). One that is broken is told and left out. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "project/files.h"

struct skills {
	struct project *p;
	const char *agent;
	project_fault *fault;
	void *arg;
	struct bread_err *err;
};

static void told(struct skills *s)
{
	s->p->faults++;
	if (s->fault)
		s->fault(s->err, s->arg);
}

static char *path(struct skills *s, const char *id, const char *rest)
{
	return brd_project_path(
		s->p, "agents/%s/skills/%s%s%s", s->agent, id, *rest ? "/" : "", rest);
}

/* As others may use it, who stand elsewhere. */
static struct bread_str absolute(struct skills *s, const char *file)
{
	char whole[PATH_MAX];

	return realpath(file, whole) ? brd_arena_copy(&s->p->arena, brd_str(whole)) : brd_str(file);
}

static int put_references(struct skills *s, const char *id, struct jsonw *w)
{
	const char *dir = path(s, id, "references");
	struct names l = brd_list_dir(&s->p->arena, dir, "");
	int r = 0;

	brd_jw_key(w, "references");
	brd_jw_arr(w);
	for (size_t i = 0; !r && i < l.n; i++) {
		char *file = brd_project_path(
			s->p, "agents/%s/skills/%s/references/%s", s->agent, id, l.v[i]);
		struct bread_str text = { 0 };

		if (brd_is_dir(file))
			continue;
		r = brd_project_read_text(s->p, file, "reference", &text, s->err);
		brd_jw_obj(w);
		brd_jw_kstr(w, "name", brd_str(l.v[i]));
		brd_jw_kstr(w, "content", text);
		brd_jw_end_obj(w);
	}
	brd_jw_end_arr(w);
	return r;
}

static int put_tool(struct skills *s, const char *file, const char *name, struct jsonw *w)
{
	struct bread_str stem = brd_sub(brd_str(name), 0, strlen(name) - strlen(".yaml"));
	char *z = brd_arena_strz(&s->p->arena, stem);
	struct buf one;
	int r = brd_project_check_tool(z, file, s->err);

	if (r)
		return r;
	brd_buf_init(&one, BUF_NO_LIMIT);
	r = brd_project_read_tool(s->p, file, z, &one, s->err);
	if (!r)
		brd_jw_raw(w, brd_buf_str(&one));
	brd_buf_fini(&one);
	return r;
}

static int put_scripts(struct skills *s, const char *id, struct jsonw *w)
{
	struct names l = brd_list_dir(&s->p->arena, path(s, id, "scripts"), "");
	struct buf tools;
	struct jsonw t;
	int r = 0;

	brd_buf_init(&tools, BUF_NO_LIMIT);
	t = brd_jsonw(&tools);
	brd_jw_key(w, "scripts");
	brd_jw_arr(w);
	for (size_t i = 0; !r && i < l.n; i++) {
		char *file = brd_project_path(
			s->p, "agents/%s/skills/%s/scripts/%s", s->agent, id, l.v[i]);

		brd_jw_str(w, absolute(s, file));
		if (brd_str_ends(brd_str(l.v[i]), BRD_STR(".yaml")))
			r = put_tool(s, file, l.v[i], &t);
	}
	brd_jw_end_arr(w);
	brd_jw_key(w, "tools");
	brd_jw_raw(w, brd_arena_printf(&s->p->arena, "[%s]", tools.data));
	brd_buf_fini(&tools);
	return r;
}

static int put_skill(struct skills *s, const char *id, struct buf *out)
{
	char *file = path(s, id, "SKILL.md");
	struct jsonw w = brd_jsonw(out);
	struct bread_str text = { 0 };
	int r;

	if (access(file, F_OK))
		return brd_fail(s->err, BREAD_E_NOT_FOUND, file,
			"the skill has no SKILL.md; write it, or take the folder away");
	r = brd_project_read_text(s->p, file, "skill", &text, s->err);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "id", brd_str(id));
	brd_jw_kstr(&w, "file", absolute(s, file));
	brd_jw_kstr(&w, "dir", absolute(s, path(s, id, "")));
	brd_jw_kstr(&w, "text", text);
	if (!r)
		r = put_references(s, id, &w);
	if (!r)
		r = put_scripts(s, id, &w);
	brd_jw_end_obj(&w);
	return r;
}

/* A name that can be none is a fault of the whole. */
static int add_skill(struct skills *s, const char *id, struct buf *out)
{
	struct buf one;
	int r = brd_project_check_name("skill", id, path(s, id, ""), s->err);

	if (r)
		return r;
	brd_buf_init(&one, BUF_NO_LIMIT);
	if (put_skill(s, id, &one))
		told(s);
	else
		brd_buf_addf(out, "%s%s", out->data[out->len - 1] == '[' ? "" : ",", one.data);
	brd_buf_fini(&one);
	return 0;
}

int brd_project_add_skills(struct project *p, const char *id, struct jval own, struct buf *out,
	project_fault *fault, void *arg, struct bread_err *err)
{
	struct skills s = { p, id, fault, arg, err };
	struct names l = brd_list_dir(&p->arena, brd_project_path(p, "agents/%s/skills", id), "");
	int r = 0;

	if (!l.n && !brd_json_count(own))
		return 0;
	brd_buf_addz(out, ",\"skills\":[");
	for (struct json_iter it = brd_json_each(own); brd_json_next(&it);)
		brd_buf_addf(out, "%s%.*s", it.index ? "," : "", BRD_ARG(brd_json_raw(it.value)));
	for (size_t i = 0; !r && i < l.n; i++)
		if (brd_is_dir(path(&s, l.v[i], "")))
			r = add_skill(&s, l.v[i], out);
	brd_buf_addc(out, ']');
	return r;
}

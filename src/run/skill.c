/* SPDX-License-Identifier: MIT */
/* See skill.h. */
#include "run/skill.h"
#include <stdio.h>
#include "base/err.h"
#include "base/err_context.h"
#include "base/jsonw.h"
#include "base/uuid.h"

#define FENCE BRD_STR("---")

/* Cuts the line that *rest begins with; a CR at its end is not part of it. false: the text ends
 * without an end of line. */
static bool next_line(struct bread_str *rest, struct bread_str *ret)
{
	*ret = brd_str_split(rest, '\n');
	if (ret->n && ret->p[ret->n - 1] == '\r')
		ret->n--;
	return rest->p;
}

static struct bread_str unquoted(struct bread_str s)
{
	if (s.n && (s.p[0] == '"' || s.p[0] == '\''))
		s = brd_sub(s, 1, s.n - 1);
	if (s.n && (s.p[s.n - 1] == '"' || s.p[s.n - 1] == '\''))
		s.n--;
	return s;
}

static void take_line(struct skill_text *ret, struct bread_str line)
{
	struct bread_str value = line, key = brd_str_trim(brd_str_split(&value, ':'));

	if (!value.p)
		return;
	value = unquoted(brd_str_trim(value));
	if (brd_str_is(key, "name"))
		ret->name = value;
	else if (brd_str_is(key, "description"))
		ret->description = value;
}

/* The front matter of a trimmed text; false: it has none. */
static bool take_front(struct skill_text *ret, struct bread_str text)
{
	struct skill_text found = { 0 };
	struct bread_str rest = text, line;
	size_t lines = 0;

	if (!next_line(&rest, &line) || !brd_str_eq(line, FENCE))
		return false;
	while (next_line(&rest, &line)) {
		if (lines && brd_str_eq(line, FENCE)) {
			*ret = found;
			ret->body = rest;
			return true;
		}
		take_line(&found, line);
		lines++;
	}
	return false;
}

void brd_skill_parse(struct skill_text *ret, struct bread_str text)
{
	struct bread_str bom = BRD_STR("\xef\xbb\xbf");

	if (brd_str_starts(text, bom))
		text = brd_sub(text, bom.n, text.n - bom.n);
	memset(ret, 0, sizeof(*ret));
	if (!take_front(ret, brd_str_trim(text)))
		ret->body = text;
}

static void add_reference(const struct skill_reference *r, struct buf *out)
{
	brd_buf_addf(out, "\n\n### Reference: %s\n\n", r->name);
	brd_buf_add(out, r->content);
}

void brd_skill_section(const struct skill_def *s, struct buf *out)
{
	brd_buf_addf(out, "## Skill: %s\n\n", s->name);
	brd_buf_add(out, s->body);
	for (size_t i = 0; i < s->reference_count; i++)
		add_reference(&s->references[i], out);
}

int brd_skill_check_id(struct bread_str id, struct bread_err *err)
{
	struct bread_str shown = brd_sub(id, 0, brd_utf8_cut(id, 128));
	struct err_context ctx;
	struct jsonw *w;

	if (brd_name_ok(id))
		return 0;
	brd_fail_as(err, BREAD_E_INVALID, "INVALID_NAME", "skill",
		"skill name \"%.*s\" must match /^[a-z][a-z0-9_]*$/ (lowercase snake_case, "
		"starting "
		"with a letter)",
		BRD_ARG(shown));
	w = brd_err_context(&ctx);
	brd_jw_kstr(w, "kind", BRD_STR("skill"));
	brd_jw_kstr(w, "value", shown);
	brd_err_context_end(&ctx, err);
	return BREAD_E_INVALID;
}

const struct skill_def *brd_skill_find(const struct agent_def *d, struct bread_str id)
{
	for (size_t i = 0; i < d->skill_count; i++)
		if (brd_str_is(id, d->skills[i].id))
			return &d->skills[i];
	return NULL;
}

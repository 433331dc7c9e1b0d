/* SPDX-License-Identifier: MIT */
/* Reading a script and choosing an answer from it.
 *
 * The n-th entry of calls answers the n-th call; where there is none (or null),
 * the first rule under when that matches does. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/scripted/script.h"
#include <fcntl.h>
#include <stdio.h>
#include <pcre2.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/yaml.h"

#define MATCH_STEPS 100000 /* what a regex may cost on one text */

struct call_count {
	struct bread_str id;
	int64_t n;
};

static int compile_regex(
	struct rule *rule, struct script *s, const char *where, struct bread_err *err)
{
	struct jval v = brd_json_get(rule->match, "regex");
	struct bread_str re = brd_json_str(v, &s->arena);
	PCRE2_SIZE at;
	int code;

	if (brd_json_type(v) == JSON_NONE)
		return BREAD_OK;
	rule->regex = pcre2_compile((PCRE2_SPTR)re.p, re.n,
		PCRE2_UTF | PCRE2_DOTALL | PCRE2_MATCH_INVALID_UTF, &code, &at, NULL);
	if (!rule->regex)
		return brd_fail(err, BREAD_E_INVALID, where,
			"regex \"%.*s\" has a fault at character %zu", BRD_ARG(re), (size_t)at + 1);
	return BREAD_OK;
}

static int read_rules(struct scripted_model *m, struct jval when, struct script *s,
	const char *where, struct bread_err *err)
{
	int r = BREAD_OK;

	m->rules = brd_arena_array(&s->arena, brd_json_count(when), sizeof(*m->rules));
	for (struct json_iter it = brd_json_each(when); !r && brd_json_next(&it);) {
		struct rule *rule = &m->rules[m->rule_count++];

		rule->match = brd_json_get(it.value, "match");
		rule->answer = it.value;
		r = compile_regex(rule, s, where, err);
	}
	return r;
}

static int read_models(
	struct script *s, struct jval models, const char *where, struct bread_err *err)
{
	int r = brd_script_check(models, where, err);
	size_t n = s->model_count + brd_json_count(models);
	struct scripted_model *all = brd_arena_array(&s->arena, n, sizeof(*all));

	if (s->model_count)
		memcpy(all, s->models, s->model_count * sizeof(*all));
	s->models = all;
	for (struct json_iter it = brd_json_each(models); !r && brd_json_next(&it);) {
		struct scripted_model *m = &all[s->model_count++];

		m->id = brd_json_str(it.key, &s->arena);
		m->calls = brd_json_get(it.value, "calls");
		m->defaults = brd_json_get(it.value, "defaults");
		r = read_rules(m, brd_json_get(it.value, "when"), s, where, err);
	}
	return r;
}

/* file and record are relative to the project, whose folder the loader gives as "dir". */
static char *path_of(struct script *s, struct jval options, const char *key)
{
	char *file = brd_json_strz(brd_json_get(options, key), &s->arena);
	char *dir = brd_json_strz(brd_json_get(options, "dir"), &s->arena);

	if (!file || file[0] == '/' || !dir)
		return file;
	return (char *)brd_arena_printf(&s->arena, "%s/%s", dir, file).p;
}

static int read_file(struct script *s, const char *path, struct bread_err *err)
{
	struct yaml_doc doc;
	struct jval models;
	int r = brd_yaml_load(&doc, &s->arena, path, err);

	if (r)
		return r;
	models = brd_json_get(doc.root, "models");
	return read_models(s, models, path, err);
}

static int open_record(struct script *s, struct bread_err *err)
{
	if (!s->record)
		return BREAD_OK;
	s->record_fd = open(s->record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (s->record_fd < 0)
		return brd_fail(
			err, BREAD_E_INVALID, "model.scripted", "%s cannot be written", s->record);
	return BREAD_OK;
}

static int check_options(struct jval o, const char *where, struct arena *a, struct bread_err *err)
{
	for (struct json_iter it = brd_json_each(o); brd_json_next(&it);) {
		struct bread_str key = brd_json_str(it.key, a);

		if (!brd_str_is(key, "server") && !brd_str_is(key, "dir") &&
			!brd_str_is(key, "file") && !brd_str_is(key, "record") &&
			!brd_str_is(key, "models") && !brd_str_starts(key, BRD_STR("x-")))
			return brd_fail(err, BREAD_E_INVALID, where,
				"unknown key \"%.*s\"; a scripted provider has file, models and "
				"record",
				BRD_ARG(key));
	}
	return BREAD_OK;
}

int brd_script_load(
	struct script *s, struct bread_str name, struct bread_str options, struct bread_err *err)
{
	struct jval o = { 0 };
	const char *path;
	char where[128];
	int r;

	*s = (struct script){ .record_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };
	snprintf(
		where, sizeof(where), "providers.%.*s", (int)(name.n < 100 ? name.n : 100), name.p);
	r = brd_json_parse(&s->arena, brd_arena_copy(&s->arena, options), 0, &o, NULL);
	r = r ? brd_fail(err, BREAD_E_INVALID, where, "its options are not JSON")
	      : check_options(o, where, &s->arena, err);
	path = path_of(s, o, "file");
	if (!r && path)
		r = read_file(s, path, err);
	if (!r && brd_json_type(brd_json_get(o, "models")) != JSON_NONE)
		r = read_models(s, brd_json_get(o, "models"), where, err);
	s->record = path_of(s, o, "record");
	if (!r)
		r = open_record(s, err);
	if (r)
		brd_script_fini(s);
	return r;
}

void brd_script_fini(struct script *s)
{
	struct map_slot *slot;

	for (size_t i = 0; i < s->model_count; i++)
		for (size_t j = 0; j < s->models[i].rule_count; j++)
			pcre2_code_free(s->models[i].rules[j].regex);
	for (size_t at = 0; brd_map_next(&s->calls, &at, &slot);)
		free(slot->value);
	brd_map_fini(&s->calls);
	if (s->record_fd >= 0)
		close(s->record_fd);
	brd_arena_fini(&s->arena);
	*s = (struct script){ .record_fd = -1 };
}

/* The last of that name: what the entry says itself wins over its file. */
const struct scripted_model *brd_script_find(const struct script *s, struct bread_str id)
{
	const struct scripted_model *any = NULL;

	for (size_t i = s->model_count; i-- > 0;) {
		if (brd_str_eq(s->models[i].id, id))
			return &s->models[i];
		if (!any && brd_str_is(s->models[i].id, "*"))
			any = &s->models[i];
	}
	return any;
}

int64_t brd_script_count(struct script *s, struct bread_str id)
{
	struct call_count *c;
	int64_t n;

	pthread_mutex_lock(&s->lock);
	c = brd_map_get(&s->calls, id);
	if (!c) {
		c = brd_alloc(sizeof(*c) + id.n);
		memcpy(c + 1, id.p, id.n);
		c->id = (struct bread_str){ (char *)(c + 1), id.n };
		brd_map_put(&s->calls, c->id, c);
	}
	n = c->n++;
	pthread_mutex_unlock(&s->lock);
	return n;
}

static void add_capture(
	struct tmpl *t, struct capture *all, struct bread_str name, struct bread_str value)
{
	all[t->capture_count++] = (struct capture){ name, value };
}

/* Numbered groups, then the named ones. */
static void take_captures(
	struct tmpl *t, const pcre2_code *re, pcre2_match_data *md, struct bread_str text)
{
	PCRE2_SIZE *at = pcre2_get_ovector_pointer(md);
	uint32_t groups = pcre2_get_ovector_count(md), names, width;
	PCRE2_SPTR table;
	struct capture *all;

	pcre2_pattern_info(re, PCRE2_INFO_NAMECOUNT, &names);
	pcre2_pattern_info(re, PCRE2_INFO_NAMEENTRYSIZE, &width);
	pcre2_pattern_info(re, PCRE2_INFO_NAMETABLE, &table);
	all = brd_arena_array(t->a, groups + names, sizeof(*all));
	t->captures = all;
	t->capture_count = 0;
	for (uint32_t i = 0; i < groups; i++)
		if (at[2 * i] != PCRE2_UNSET)
			add_capture(t, all, brd_arena_printf(t->a, "%u", i),
				brd_sub(text, at[2 * i], at[2 * i + 1] - at[2 * i]));
	for (uint32_t i = 0; i < names; i++, table += width) {
		unsigned g = (unsigned)(table[0] << 8 | table[1]);

		if (at[2 * g] != PCRE2_UNSET)
			add_capture(t, all, brd_arena_copy(t->a, brd_str((const char *)table + 2)),
				brd_sub(text, at[2 * g], at[2 * g + 1] - at[2 * g]));
	}
}

static bool match_regex(const struct rule *rule, struct tmpl *t, struct bread_str text)
{
	pcre2_match_context *mc = pcre2_match_context_create(NULL);
	pcre2_match_data *md = pcre2_match_data_create_from_pattern(rule->regex, NULL);
	bool ok;

	pcre2_set_match_limit(mc, MATCH_STEPS);
	text = brd_arena_copy(t->a, text);
	ok = pcre2_match(rule->regex, (PCRE2_SPTR)text.p, text.n, 0, 0, md, mc) > 0;
	if (ok)
		take_captures(t, rule->regex, md, text);
	pcre2_match_data_free(md);
	pcre2_match_context_free(mc);
	return ok;
}

/* A string, or a list of strings of which one must do. */
static bool any_of(struct jval v, struct bread_str text, struct arena *a,
	bool (*fits)(struct bread_str text, struct bread_str wanted))
{
	if (brd_json_type(v) == JSON_STRING)
		return fits(text, brd_json_str(v, a));
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
		if (fits(text, brd_json_str(it.value, a)))
			return true;
	return false;
}

static bool contains(struct bread_str text, struct bread_str wanted)
{
	return brd_str_find(text, wanted) >= 0;
}

static bool match_fields(const struct bread_part *result, struct jval fields, struct arena *a)
{
	struct jval v;

	if (!result)
		return false;
	v = brd_result_json(result, a);
	for (struct json_iter it = brd_json_each(fields); brd_json_next(&it);)
		if (!brd_json_equal(brd_json_path(v, brd_json_strz(it.key, a)), it.value))
			return false;
	return true;
}

static bool match_role(struct jval role, const struct bread_model_request *req)
{
	static const char *const names[] = { "user", "assistant", "tool" };

	if (!req->message_count)
		return brd_json_is(role, "none");
	return brd_json_is(role, names[req->messages[req->message_count - 1].role]);
}

static bool match_count(struct jval match, size_t count)
{
	int64_t n = (int64_t)count;

	return brd_json_int_or(brd_json_get(match, "count"), n) == n &&
	       brd_json_int_or(brd_json_get(match, "min_count"), n) <= n &&
	       brd_json_int_or(brd_json_get(match, "max_count"), n) >= n;
}

static bool match_result(struct jval match, struct tmpl *t)
{
	struct jval failed = brd_json_get(match, "failed"), tool = brd_json_get(match, "tool");
	struct jval fields = brd_json_get(match, "json");
	size_t n = brd_result_count(t->req);
	const struct bread_part *last = n ? brd_last_result(t->req, n - 1) : NULL;

	if (brd_json_type(failed) != JSON_NONE &&
		(!last || brd_json_bool(failed, false) != (last->failed != 0)))
		return false;
	if (brd_json_type(tool) != JSON_NONE && !brd_result_of(t->req, brd_json_str(tool, t->a)))
		return false;
	return brd_json_type(fields) == JSON_NONE || match_fields(last, fields, t->a);
}

static bool matches(const struct rule *rule, struct tmpl *t)
{
	struct jval m = rule->match, role = brd_json_get(m, "role");
	struct jval has = brd_json_get(m, "contains"), equals = brd_json_get(m, "equals");
	struct bread_str text;

	if (brd_json_type(m) == JSON_NONE)
		return true;
	if (brd_json_type(role) != JSON_NONE && !match_role(role, t->req))
		return false;
	if (!match_count(m, t->req->message_count) || !match_result(m, t))
		return false;
	if (brd_json_int_or(brd_json_get(m, "call"), t->call) != t->call)
		return false;
	text = brd_last_text(t->req, t->a);
	if (brd_json_type(has) != JSON_NONE && !any_of(has, text, t->a, contains))
		return false;
	if (brd_json_type(equals) != JSON_NONE && !any_of(equals, text, t->a, brd_str_eq))
		return false;
	return !rule->regex || match_regex(rule, t, text);
}

struct jval brd_script_choose(const struct scripted_model *m, struct tmpl *t)
{
	struct jval v = brd_json_at(m->calls, (size_t)t->call);

	if (brd_json_type(v) == JSON_OBJECT)
		return v;
	for (size_t i = 0; i < m->rule_count; i++)
		if (matches(&m->rules[i], t))
			return m->rules[i].answer;
	return (struct jval){ 0 };
}

/* SPDX-License-Identifier: MIT */
/* From bread.yaml to a configured instance. Relative paths in it start at the
 * project's folder, wherever the process stands. */
#include <stdio.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "bread/project.h"
#include "config/fault.h"
#include "project/files.h"

/* key: value, with dir in front when it is a relative path. */
static void put_path(
	struct project *p, struct jsonw *w, const char *key, struct jval v, const char *dflt)
{
	struct bread_str path =
		brd_json_type(v) == JSON_STRING ? brd_json_str(v, &p->arena) : brd_str(dflt);

	if (path.n && path.p[0] != '/' && path.p[0] != ':')
		path = brd_arena_printf(&p->arena, "%s/%.*s", p->dir, BRD_ARG(path));
	if (path.n)
		brd_jw_kstr(w, key, path);
}

/* Whoever reads it will say so. */
static bool wrong_path(struct jval v)
{
	return brd_json_type(v) != JSON_NONE && brd_json_type(v) != JSON_STRING;
}

/* An entry such as `store: sqlite` or `store: {type: sqlite, …}`; its path starts at the project.
 */
static void put_entry(
	struct project *p, struct jsonw *w, struct jval v, const char *key, const char *dflt)
{
	brd_jw_obj(w);
	if (brd_json_type(v) == JSON_STRING) {
		brd_jw_key(w, "type");
		brd_jw_raw(w, brd_json_raw(v));
	}
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
		if (!brd_json_is(it.key, key)) {
			brd_jw_keys(w, brd_json_str(it.key, &p->arena));
			brd_jw_raw(w, brd_json_raw(it.value));
		}
	if (wrong_path(brd_json_get(v, key))) {
		brd_jw_key(w, key);
		brd_jw_raw(w, brd_json_raw(brd_json_get(v, key)));
	} else {
		put_path(p, w, key, brd_json_get(v, key), dflt);
	}
	brd_jw_end_obj(w);
}

/* Scripted providers and decision hosts name files: key is what tells them where these are. */
static void put_scripted(
	struct project *p, struct jsonw *w, struct jval v, const char *key, const char *dflt)
{
	brd_jw_obj(w);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		struct jval type = brd_json_get(it.value, "type");

		brd_jw_keys(w, brd_json_str(it.key, &p->arena));
		if (brd_json_is(type, "scripted") ||
			(brd_json_type(type) == JSON_NONE && brd_json_is(it.key, "scripted")))
			put_entry(p, w, it.value, key, dflt);
		else
			brd_jw_raw(w, brd_json_raw(it.value));
	}
	brd_jw_end_obj(w);
}

/* A file by its name, or an object that names it. */
static void put_file(struct project *p, struct jsonw *w, const char *name, struct jval v)
{
	if (brd_json_type(v) == JSON_STRING) {
		put_path(p, w, name, v, NULL);
		return;
	}
	brd_jw_key(w, name);
	if (brd_json_type(v) == JSON_OBJECT)
		put_entry(p, w, v, "file", NULL);
	else
		brd_jw_raw(w, brd_json_raw(v));
}

/* {lua: FILE, plugin: FILE} of hooks and formats. */
static void put_kinds(struct project *p, struct jsonw *w, struct jval v)
{
	brd_jw_obj(w);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		const char *kind = brd_json_is(it.key, "lua") ? "lua" : "plugin";

		if (brd_json_is(it.key, kind)) {
			put_file(p, w, kind, it.value);
			continue;
		}
		brd_jw_keys(w, brd_json_str(it.key, &p->arena)); /* its reader will complain */
		brd_jw_raw(w, brd_json_raw(it.value));
	}
	brd_jw_end_obj(w);
}

static void put_formats(struct project *p, struct jsonw *w, struct jval v)
{
	brd_jw_obj(w);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		brd_jw_keys(w, brd_json_str(it.key, &p->arena));
		if (brd_json_type(it.value) == JSON_OBJECT)
			put_kinds(p, w, it.value);
		else
			brd_jw_raw(w, brd_json_raw(it.value));
	}
	brd_jw_end_obj(w);
}

/* Each becomes an object, which is what a name is short for. */
static void put_plugins(struct project *p, struct jsonw *w, struct jval v)
{
	brd_jw_arr(w);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		if (brd_json_type(it.value) == JSON_STRING) {
			brd_jw_obj(w);
			put_path(p, w, "file", it.value, NULL);
			brd_jw_end_obj(w);
		} else if (brd_json_type(it.value) == JSON_OBJECT) {
			put_entry(p, w, it.value, "file", NULL);
		} else {
			brd_jw_raw(w, brd_json_raw(it.value));
		}
	}
	brd_jw_end_arr(w);
}

static void put_member(struct project *p, struct jsonw *w, struct jval key, struct jval v)
{
	bool entry = brd_json_type(v) == JSON_STRING || brd_json_type(v) == JSON_OBJECT;

	brd_jw_keys(w, brd_json_str(key, &p->arena));
	if (brd_json_is(key, "store") && entry)
		put_entry(p, w, v, "path", "bread.db");
	else if (brd_json_is(key, "blobStore") && entry)
		put_entry(p, w, v, "dir", NULL);
	else if (brd_json_is(key, "providers") && brd_json_type(v) == JSON_OBJECT)
		put_scripted(p, w, v, "dir", ".");
	else if (brd_json_is(key, "decisions") && brd_json_type(v) == JSON_OBJECT)
		put_scripted(p, w, v, "record", NULL);
	else if (brd_json_is(key, "hooks"))
		put_kinds(p, w, v);
	else if (brd_json_is(key, "formats"))
		put_formats(p, w, v);
	else if (brd_json_is(key, "plugins"))
		put_plugins(p, w, v);
	else if (brd_json_is(key, "credentials") && brd_json_type(v) == JSON_OBJECT)
		put_entry(p, w, v, "path", NULL);
	else if (brd_json_is(key, "documents") && brd_json_type(v) == JSON_OBJECT)
		put_entry(p, w, v, "root", ".");
	else
		brd_jw_raw(w, brd_json_raw(v));
}

int brd_project_configure(struct project *p, struct bread *b, struct bread_err *err)
{
	struct buf out;
	struct jsonw w;
	struct bread_str json = brd_json_raw(p->config);
	int r;

	if (!strcmp(p->dir, ".") || !json.n)
		return bread_configure(b, json.n ? json : BRD_STR("{}"), err);
	brd_buf_init(&out, BUF_NO_LIMIT);
	w = brd_jsonw(&out);
	brd_jw_obj(&w);
	for (struct json_iter it = brd_json_each(p->config); brd_json_next(&it);)
		put_member(p, &w, it.key, it.value);
	if (brd_json_type(brd_json_get(p->config, "documents")) <= JSON_NULL) {
		brd_jw_key(&w, "documents");
		put_entry(p, &w, (struct jval){ 0 }, "root", ".");
	}
	brd_jw_end_obj(&w);
	r = bread_configure(b, brd_buf_str(&out), err);
	brd_buf_fini(&out);
	return r;
}

/* What came from the environment has no place in the file. */
static const struct yaml_doc *places_of(const struct project *p)
{
	return brd_json_raw(p->config).p == brd_json_raw(p->doc.root).p ? &p->doc : NULL;
}

static int check_log_keys(
	struct jval log, const struct yaml_doc *doc, struct arena *a, struct bread_err *err)
{
	for (struct json_iter it = brd_json_each(log); brd_json_next(&it);)
		if (!brd_json_is(it.key, "level") && !brd_json_is(it.key, "json"))
			return brd_conf_fault(err, doc, it.key, "log",
				"has a key %.*s that is not known; level and json are",
				BRD_ARG(brd_yaml_show(brd_json_str(it.key, a), a)));
	return 0;
}

int brd_project_log(
	const struct project *p, enum log_level *level, bool *json, struct bread_err *err)
{
	struct arena a = { 0 };
	struct jval log = brd_json_get(p->config, "log");
	struct jval word = brd_json_get(log, "level"), lines = brd_json_get(log, "json");
	const struct yaml_doc *doc = places_of(p);
	int r = check_log_keys(log, doc, &a, err);

	*level = LOG_INFO;
	*json = brd_json_bool(lines, false);
	if (!r && brd_json_type(word) != JSON_NONE &&
		!brd_log_level_named(brd_json_str(word, &a), level))
		r = brd_conf_fault(err, doc, word, "log.level",
			"is no level; there are trace, debug, info, warn and error");
	if (!r && brd_json_type(lines) != JSON_NONE && brd_json_type(lines) != JSON_BOOL)
		r = brd_conf_fault(err, doc, lines, "log.json", "is not true or false");
	brd_arena_fini(&a);
	return r;
}

void brd_project_place_main(const struct project *p, struct bread_err *err)
{
	/* a store that cannot be opened is no fault of the file */
	if (err->code == BREAD_E_INVALID && places_of(p) &&
		!brd_str_starts(brd_str(err->where), BRD_STR("store.")))
		brd_conf_place(err, &p->doc);
}

struct bread_str brd_project_part(const struct project *p, const char *key)
{
	return brd_json_raw(brd_json_get(p->config, key));
}

static void log_fault(const struct bread_err *err, void *arg)
{
	log_error("project.load", "%s: %s", err->where, err->text);
}

int bread_load(struct bread *b, const char *dir, struct bread_err *err)
{
	struct bread_err own = { 0 };
	struct project p;
	int r;

	if (!err)
		err = &own;
	r = brd_project_open(&p, dir, err);
	if (r)
		return r;
	r = brd_project_configure(&p, b, err);
	if (!r)
		r = brd_project_agents(&p, b, log_fault, NULL, err);
	brd_project_close(&p);
	return r;
}

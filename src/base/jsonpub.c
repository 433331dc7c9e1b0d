/* SPDX-License-Identifier: MIT */
/* The public face of the JSON reader. */
#include <stdlib.h>
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "bread/json.h"

struct bread_json {
	struct arena arena;
	struct jval root;
};

static void explain(
	struct bread_str text, int code, const struct json_where *where, struct bread_err *err)
{
	const char *name = "JSON_SYNTAX", *what = where->what;

	if (code == BREAD_E_TOO_LARGE) {
		name = "JSON_TOO_LARGE";
	} else if (!brd_utf8_ok(text)) {
		name = "JSON_NOT_UTF8";
		what = "the text is not UTF-8";
	}
	brd_fail_as(err, code, name, "json", "%s at byte %zu", what, where->at);
}

struct bread_json *bread_json_read(struct bread_str text, struct bread_err *err)
{
	struct bread_json *j = brd_alloc(sizeof(*j));
	struct json_where where = { 0 };
	int r = brd_json_parse(&j->arena, text, 0, &j->root, &where);

	if (r) {
		if (err)
			explain(text, r, &where, err);
		bread_json_free(j);
		return NULL;
	}
	return j;
}

struct bread_json *bread_json_new(struct bread_str text)
{
	return bread_json_read(text, NULL);
}

void bread_json_free(struct bread_json *j)
{
	if (!j)
		return;
	brd_arena_fini(&j->arena);
	free(j);
}

static struct jval at(const struct bread_json *j, const char *path)
{
	if (!j)
		return (struct jval){ 0 };
	return path[0] ? brd_json_path(j->root, path) : j->root;
}

enum bread_json_type bread_json_type(const struct bread_json *j, const char *path)
{
	return (enum bread_json_type)brd_json_type(at(j, path));
}

struct bread_str bread_json_raw(const struct bread_json *j, const char *path)
{
	return brd_json_raw(at(j, path));
}

struct bread_str bread_json_string(struct bread_json *j, const char *path)
{
	struct jval v = at(j, path);

	if (brd_json_type(v) != JSON_STRING)
		return (struct bread_str){ 0 };
	return brd_json_str(v, &j->arena);
}

struct bread_str bread_json_other(struct bread_json *j, const char *path, enum bread_json_type type)
{
	struct jval v = at(j, path);

	if (brd_json_type(v) != JSON_OBJECT)
		return (struct bread_str){ 0 };
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
		if (brd_json_type(it.value) != (enum json_type)type)
			return brd_json_str(it.key, &j->arena);
	return (struct bread_str){ 0 };
}

double bread_json_number(const struct bread_json *j, const char *path, double dflt)
{
	return brd_json_num(at(j, path), dflt);
}

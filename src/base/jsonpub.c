/* SPDX-License-Identifier: MIT */
/* The public face of the JSON reader. */
#include <stdlib.h>
#include "base/json.h"
#include "base/mem.h"
#include "bread/json.h"

struct bread_json {
	struct arena arena;
	struct jval root;
};

struct bread_json *bread_json_new(struct bread_str text)
{
	struct bread_json *j = brd_alloc(sizeof(*j));

	if (brd_json_parse(&j->arena, text, 0, &j->root, NULL)) {
		bread_json_free(j);
		return NULL;
	}
	return j;
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

double bread_json_number(const struct bread_json *j, const char *path, double dflt)
{
	return brd_json_num(at(j, path), dflt);
}

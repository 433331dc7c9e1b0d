/* SPDX-License-Identifier: MIT */
/* See files.h. Folders are read in the order of their names, so that two
 * machines load a project alike. */
#include "project/files.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/err.h"
#include "base/uuid.h"
#include "run/def.h"

void brd_names_add(struct names *l, struct arena *a, struct bread_str s)
{
	if (l->n == l->room) {
		size_t room = l->room ? l->room * 2 : 16;
		char **more = brd_arena_array(a, room, sizeof(*more));

		if (l->n)
			memcpy(more, l->v, l->n * sizeof(*more));
		l->v = more;
		l->room = room;
	}
	l->v[l->n++] = brd_arena_strz(a, s);
}

bool brd_names_have(const struct names *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], name))
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names brd_list_dir(struct arena *a, const char *dir, const char *suffix)
{
	struct names l = { 0 };
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		struct bread_str name = brd_str(e->d_name), end = brd_str(suffix);

		if (name.p[0] != '.' && brd_str_ends(name, end))
			brd_names_add(&l, a, brd_sub(name, 0, name.n - end.n));
	}
	if (d)
		closedir(d);
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_name);
	return l;
}

bool brd_is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int brd_project_check_id(const char *id, struct bread_err *err)
{
	if (brd_id_ok(brd_str(id)))
		return 0;
	return brd_fail_as(err, BREAD_E_INVALID, "INVALID_NAME", "agents",
		"\"%s\" cannot be an agent's id; letters, digits, . _ : - are allowed", id);
}

int brd_project_check_name(
	const char *kind, const char *name, const char *file, struct bread_err *err)
{
	if (brd_name_ok(brd_str(name)))
		return 0;
	return brd_fail_as(err, BREAD_E_INVALID, "INVALID_NAME", file,
		"%s name \"%s\" must match /^[a-z][a-z0-9_]*$/ (lowercase snake_case, starting "
		"with a letter)",
		kind, name);
}

int brd_project_check_tool(const char *name, const char *file, struct bread_err *err)
{
	return brd_project_check_name("tool", name, file, err);
}

char *brd_project_path(struct project *p, const char *fmt, ...)
{
	struct buf b;
	char rel[1024];
	va_list ap;
	char *path;

	va_start(ap, fmt);
	vsnprintf(rel, sizeof(rel), fmt, ap);
	va_end(ap);
	if (!strcmp(p->dir, "."))
		return brd_arena_strz(&p->arena, brd_str(rel));
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addf(&b, "%s/%s", p->dir, rel);
	path = brd_arena_strz(&p->arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return path;
}

struct names brd_project_entrypoints(struct project *p)
{
	struct jval v = brd_json_get(p->config, "entrypoints");
	struct names found, l = { 0 };

	if (brd_json_type(v) == JSON_ARRAY) {
		for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
			brd_names_add(&l, &p->arena, brd_json_str(it.value, &p->arena));
		return l;
	}
	found = brd_list_dir(&p->arena, brd_project_path(p, "agents"), "");
	for (size_t i = 0; i < found.n; i++)
		if (brd_is_dir(brd_project_path(p, "agents/%s", found.v[i])))
			brd_names_add(&l, &p->arena, brd_str(found.v[i]));
	return l;
}

const struct conf_field *brd_named_file_fields(
	struct arena *a, const struct conf_field *fields, size_t n)
{
	struct conf_field *copy = brd_arena_array(a, n, sizeof(*copy));

	memcpy(copy, fields, n * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		if (!strcmp(copy[i].key, "name"))
			copy[i].required = false;
	return copy;
}

const struct conf_field *brd_tool_file_fields(struct arena *a)
{
	return brd_named_file_fields(a, brd_tool_fields, brd_tool_field_count);
}

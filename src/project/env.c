/* SPDX-License-Identifier: MIT */
/* What the environment says instead of bread.yaml: BREAD_SERVER_PORT for
 * server.port. The tables give the names and the checks; the outcome is the
 * document once more, with those values in it, so that whoever reads it sees one
 * configuration. The command line's options come after it. */
#include <stdlib.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "config/conf_value.h"
#include "project/files.h"
#include "server/internal.h"

struct overlay {
	struct arena *arena;
	struct jsonw w;
};

struct table {
	const struct conf_field *fields;
	size_t count;
	const char *base;
};

static struct table server_table(void)
{
	return (struct table){ brd_server_fields, brd_server_field_count, "server" };
}

static const char *value_of(const char *key)
{
	const char *v;
	struct buf name;

	brd_buf_init(&name, BUF_NO_LIMIT);
	brd_conf_env_name(key, &name);
	v = getenv(name.data);
	brd_buf_fini(&name);
	return v && *v ? v : NULL;
}

/* The keys below one: a group's, and those of `server`, which has a table of its own. */
static bool below(const struct conf_field *f, char *key, struct table *ret)
{
	if (f->type == CONF_GROUP)
		*ret = (struct table){ f->sub, f->sub_count, key };
	else if (!strcmp(key, "server"))
		*ret = server_table();
	else
		return false;
	return true;
}

static bool any_set(struct overlay *o, const struct table *t)
{
	for (size_t i = 0; i < t->count; i++) {
		char *key = brd_conf_key(t->base, t->fields[i].key, o->arena);
		struct table sub;

		if (value_of(key) || (below(&t->fields[i], key, &sub) && any_set(o, &sub)))
			return true;
	}
	return false;
}

/* The text as the field's type is written in JSON; it was checked before. */
static void put_value(struct overlay *o, const struct conf_field *f, const char *text)
{
	struct bread_str rest = brd_str(text);

	if (f->type == CONF_STRS && text[0] != '[') {
		brd_jw_arr(&o->w);
		while (rest.p)
			brd_jw_str(&o->w, brd_str_trim(brd_str_split(&rest, ',')));
		brd_jw_end_arr(&o->w);
	} else if (f->type != CONF_STR && f->type != CONF_ID && f->type != CONF_NAME &&
		   brd_json_ok(rest, 0)) {
		brd_jw_raw(&o->w, rest);
	} else {
		brd_jw_str(&o->w, rest);
	}
}

static void put_object(struct overlay *o, struct jval obj, const struct table *t);

static void put_field(struct overlay *o, struct jval obj, const struct conf_field *f, char *key)
{
	struct jval had = brd_json_get(obj, f->key);
	const char *text = value_of(key);
	struct table sub;
	bool inner = below(f, key, &sub) && any_set(o, &sub);

	if (brd_json_type(had) == JSON_NONE && !text && !inner)
		return;
	brd_jw_key(&o->w, f->key);
	if (text && !inner)
		put_value(o, f, text);
	else if (inner)
		put_object(o, had, &sub);
	else
		brd_jw_raw(&o->w, brd_json_raw(had));
}

/* The object with what the environment says; keys that no table knows stay. */
static void put_object(struct overlay *o, struct jval obj, const struct table *t)
{
	brd_jw_obj(&o->w);
	for (struct json_iter it = brd_json_each(obj); brd_json_next(&it);) {
		bool known = false;

		for (size_t i = 0; i < t->count; i++)
			known = known || brd_json_is(it.key, t->fields[i].key);
		if (known)
			continue;
		brd_jw_keys(&o->w, brd_json_str(it.key, o->arena));
		brd_jw_raw(&o->w, brd_json_raw(it.value));
	}
	for (size_t i = 0; i < t->count; i++)
		put_field(o, obj, &t->fields[i], brd_conf_key(t->base, t->fields[i].key, o->arena));
	brd_jw_end_obj(&o->w);
}

/* Values that do not fit are named by their variables. */
static int check(const struct table *t, struct bread_err *err)
{
	struct arena a = { 0 };
	void *nowhere = brd_arena_alloc(&a, brd_conf_span(t->fields, t->count));
	int r = brd_conf_env(t->fields, t->count, nowhere, t->base, &a, err);

	brd_arena_fini(&a);
	return r;
}

int brd_project_env(struct project *p, struct bread_err *err)
{
	struct table all = { brd_instance_fields, brd_instance_field_count, "" };
	struct table server = server_table();
	struct overlay o = { .arena = &p->arena };
	struct buf out;
	int r = 0;

	p->config = p->doc.root;
	if (!any_set(&o, &all))
		return 0;
	r = check(&all, err);
	if (!r)
		r = check(&server, err);
	if (r)
		return r;
	brd_buf_init(&out, BUF_NO_LIMIT);
	o.w = brd_jsonw(&out);
	put_object(&o, p->doc.root, &all);
	r = brd_json_parse(
		&p->arena, brd_arena_copy(&p->arena, brd_buf_str(&out)), 0, &p->config, NULL);
	brd_buf_fini(&out);
	return r ? brd_fail(err, r, "environment", "its values make no configuration") : 0;
}

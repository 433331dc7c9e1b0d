/* SPDX-License-Identifier: MIT */
/* What bread.yaml says of parts that are opened when the instance starts. They are opened here,
 * too, but for what would leave something behind (the store's file, a record of calls) and for
 * keys, which the machine that looks need not have. */
#include <stdio.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "model/model.h"
#include "project/files.h"
#include "server/internal.h"

struct parts {
	struct project *p;
	conf_heard *heard;
	void *arg;
};

static void tell(struct bread_err *err, void *arg)
{
	struct parts *c = arg;

	const char *file = c->p->doc.file;

	if (!brd_conf_place(err, &c->p->doc) && !strchr(err->where, '/') &&
		!brd_str_starts(brd_str(err->where), brd_str(file)))
		snprintf(err->where, sizeof(err->where), "%s", file);
	c->heard(err, c->arg);
}

/* An entry as it is opened here: of scripted answers, which are looked at by themselves, its keys
 * alone; with a key, if it names none. */
static struct jval entry_to_try(struct project *p, struct jval entry, bool scripted)
{
	struct jval v = { 0 };
	struct buf out;
	struct jsonw w;

	brd_buf_init(&out, BUF_NO_LIMIT);
	w = brd_jsonw(&out);
	brd_jw_obj(&w);
	for (struct json_iter it = brd_json_each(entry); brd_json_next(&it);) {
		if (scripted && (brd_json_is(it.key, "file") || brd_json_is(it.key, "models") ||
					brd_json_is(it.key, "record")))
			continue;
		brd_jw_keys(&w, brd_json_str(it.key, &p->arena));
		brd_jw_raw(&w, brd_json_raw(it.value));
	}
	if (!scripted && brd_json_type(brd_json_get(entry, "apiKey")) == JSON_NONE)
		brd_jw_kstr(&w, "apiKey", BRD_STR("none"));
	brd_jw_end_obj(&w);
	brd_json_parse(&p->arena, brd_arena_copy(&p->arena, brd_buf_str(&out)), 0, &v, NULL);
	brd_buf_fini(&out);
	return v;
}

static void try_provider(struct parts *c, struct bread_str name, struct jval entry)
{
	struct jval type = brd_json_get(entry, "type");
	bool scripted = brd_json_type(type) == JSON_NONE ? brd_str_is(name, "scripted")
							 : brd_json_is(type, "scripted");
	struct bread_model *m = NULL;
	struct bread_err err = { 0 };

	if (!brd_model_open(&m, name, entry_to_try(c->p, entry, scripted), &err)) {
		brd_model_close(m);
	} else if (strcmp(err.name, "PROVIDER_NOT_CONFIGURED")) {
		snprintf(err.where, sizeof(err.where), "providers.%.*s", BRD_ARG(name));
		tell(&err, c);
	}
}

static void try_ingress(struct parts *c, struct jval list)
{
	struct bread_err err = { 0 };

	if (brd_json_type(list) != JSON_NONE && brd_server_check_ingress(list, &err))
		tell(&err, c);
}

static void try_instance(struct parts *c)
{
	struct bread_err err = { 0 };
	struct bread *b;

	if (bread_new(&b, &err) || brd_project_configure(c->p, b, &err))
		tell(&err, c);
	else
		brd_instance_try(b, tell, c);
	bread_free(b);
}

static void try_log(struct parts *c)
{
	struct bread_err err = { 0 };
	enum log_level level;
	bool json;

	if (brd_project_log(c->p, &level, &json, &err))
		tell(&err, c);
}

void brd_project_check_parts(struct project *p, conf_heard *heard, void *arg)
{
	struct parts c = { p, heard, arg };
	struct bread_err err = { 0 };

	for (struct json_iter it = brd_json_each(brd_json_get(p->config, "providers"));
		brd_json_next(&it);)
		try_provider(&c, brd_json_str(it.key, &p->arena), it.value);
	if (brd_instance_check(p->doc.root, &p->doc, &err)) /* the rest of it is told by now */
		heard(&err, arg);
	try_instance(&c);
	try_ingress(&c, brd_json_get(p->config, "ingress"));
	try_log(&c);
}

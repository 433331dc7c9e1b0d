/* SPDX-License-Identifier: MIT */
/* What bread.yaml may say, and the parts that are opened from it. Nothing that
 * matters has a silent default: a store, a transport and each agent's provider
 * must be named (docs/configuration.md). */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "instance/internal.h"
#include "model/model.h"

#define AT(member) offsetof(struct instance_conf, member)
#define LIMIT(member) \
	(offsetof(struct instance_conf, limits.member) - offsetof(struct instance_conf, limits))

static const struct conf_field concurrency_fields[] = {
	{ .key = "max",
		.type = CONF_INT,
		.offset = 0,
		.dflt = "0",
		.max = 1e9,
		.doc = "Runs at the same time; one more is refused with CONCURRENCY_LIMIT. 0: no "
		       "cap." },
};

static const struct conf_field limit_fields[] = {
	{ .key = "runTime",
		.type = CONF_TIME,
		.offset = LIMIT(run_ms),
		.dflt = "1h",
		.doc = "Longest time of a run; then it is cancelled with RUN_TIMEOUT. 0: none." },
	{ .key = "toolTime",
		.type = CONF_TIME,
		.offset = LIMIT(tool_ms),
		.dflt = "10m",
		.doc = "Longest time of a tool call. 0: none." },
	{ .key = "firstByte",
		.type = CONF_TIME,
		.offset = LIMIT(first_byte_ms),
		.dflt = "60s",
		.doc = "Until a model's first event." },
	{ .key = "silence",
		.type = CONF_TIME,
		.offset = LIMIT(silence_ms),
		.dflt = "120s",
		.doc = "Between two events of a model." },
	{ .key = "depth",
		.type = CONF_INT,
		.offset = LIMIT(depth),
		.dflt = "8",
		.max = 1000,
		.doc = "Runs below each other at the most, the first counted. 0: any number." },
	{ .key = "treeSteps",
		.type = CONF_INT,
		.offset = LIMIT(tree_steps),
		.dflt = "0",
		.max = 1e9,
		.doc = "Model calls of a run and all that it starts, together. 0: any number." },
	{ .key = "treeTokens",
		.type = CONF_INT,
		.offset = LIMIT(tree_tokens),
		.dflt = "0",
		.max = 1e15,
		.doc = "Tokens of a run and all that it starts, together. 0: any number." },
};

static const struct conf_field document_fields[] = {
	{ .key = "root",
		.type = CONF_STR,
		.offset = offsetof(struct instance_conf, documents.root) - AT(documents),
		.doc = "Folder of the files; nothing outside is read. Default: the project's." },
	{ .key = "allowPrivate",
		.type = CONF_BOOL,
		.offset = offsetof(struct instance_conf, documents.allow_private) - AT(documents),
		.dflt = "false",
		.doc = "URLs may lead to addresses that are not public." },
};

#define GROUP(table) .sub = table, .sub_count = CONF_COUNT(table)

const struct conf_field brd_instance_fields[] = {
	{ .key = "store",
		.type = CONF_JSON,
		.offset = AT(store),
		.words = "string|object",
		.doc = "Where runs and sessions are kept: sqlite (path, sync) or memory." },
	{ .key = "transport",
		.type = CONF_JSON,
		.offset = AT(transport),
		.words = "string|object",
		.doc = "How crumbs reach viewers: stream (in this process) or stdout." },
	{ .key = "providers",
		.type = CONF_JSON,
		.offset = AT(providers),
		.words = "object",
		.doc = "Model providers by name: a type, or a name of the catalogue." },
	{ .key = "decisions",
		.type = CONF_JSON,
		.offset = AT(decisions),
		.words = "object",
		.doc = "Decision hosts by name: a type, or an object with one." },
	{ .key = "credentials",
		.type = CONF_JSON,
		.offset = AT(credentials),
		.words = "string|object",
		.doc = "Where tools' secrets are: env (prefix), file (path), vault (address, "
		       "mount, "
		       "token). Default: env." },
	{ .key = "documents",
		.type = CONF_GROUP,
		.offset = AT(documents),
		GROUP(document_fields),
		.doc = "What core_doc_load may read." },
	{ .key = "blobStore",
		.type = CONF_JSON,
		.offset = AT(blob),
		.words = "string|object",
		.doc = "Where files go that models make: fs (dir, url)." },
	{ .key = "crumbFilter",
		.type = CONF_JSON,
		.offset = AT(crumb_filter),
		.words = "object",
		.doc = "drop: types of crumbs that passive viewers do not get." },
	{ .key = "pipelines",
		.type = CONF_JSON,
		.offset = AT(pipelines),
		.words = "object",
		.doc = "Compositions by name: lists of steps." },
	{ .key = "hooks",
		.type = CONF_JSON,
		.offset = AT(hooks),
		.words = "object",
		.doc = "Hooks of all runs: lua or plugin." },
	{ .key = "plugins",
		.type = CONF_JSON,
		.offset = AT(plugins),
		.words = "array",
		.doc = "Shared objects whose hooks and formats are used: files, or objects with "
		       "file and options." },
	{ .key = "formats",
		.type = CONF_JSON,
		.offset = AT(formats),
		.words = "object",
		.doc = "Output formats by name, each with lua." },
	{ .key = "concurrency",
		.type = CONF_GROUP,
		.offset = AT(concurrency),
		GROUP(concurrency_fields),
		.doc = "Bounds on how much happens at once." },
	{ .key = "limits",
		.type = CONF_GROUP,
		.offset = AT(limits),
		GROUP(limit_fields),
		.doc = "Bounds on how long things take, and on what a tree of runs may use." },
	{ .key = "entrypoints",
		.type = CONF_JSON,
		.offset = AT(entrypoints),
		.words = "array",
		.doc = "Agents to load: folders below agents/. Default: all of them." },
	{ .key = "ingress",
		.type = CONF_JSON,
		.offset = AT(ingress),
		.words = "string|array",
		.doc = "How callers reach it: http-chunked, http-sse; the first one answers who "
		       "accepts anything." },
	{ .key = "server",
		.type = CONF_JSON,
		.offset = AT(server),
		.words = "object",
		.doc = "The listener." },
	{ .key = "log",
		.type = CONF_JSON,
		.offset = AT(log),
		.words = "object",
		.doc = "level, json." },
};
const size_t brd_instance_field_count = CONF_COUNT(brd_instance_fields);

int brd_instance_check(struct jval v, const struct yaml_doc *doc, struct bread_err *err)
{
	struct arena a = { 0 };
	struct instance_conf c = { 0 };
	int r = brd_conf_read(
		brd_instance_fields, brd_instance_field_count, v, &c, doc, "", &a, err);

	if (!r)
		r = brd_instance_check_decisions(v, doc, err);
	brd_arena_fini(&a);
	return r;
}

int bread_configure(struct bread *b, struct bread_str json, struct bread_err *err)
{
	struct bread_str text = brd_arena_copy(&b->arena, json);
	struct json_where where = { 0 };
	struct jval v;
	int r;

	if (b->started)
		return brd_fail(err, BREAD_E_INVALID, "bread",
			"the instance is running; configure it before bread_start");
	r = brd_json_parse(&b->arena, text, 0, &v, &where);
	if (r)
		return brd_fail(err, r, "bread", "the configuration is not JSON: %s at byte %zu",
			where.what, where.at);
	return brd_conf_read(brd_instance_fields, brd_instance_field_count, v, &b->conf, NULL, "",
		&b->arena, err);
}

/* What an object says beside its type and path: the options of the part itself. */
static struct bread_str other_keys(struct jval v, struct arena *a)
{
	struct buf b;
	struct jsonw w;

	w = brd_jw_begin(&b);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		if (brd_json_is(it.key, "type") || brd_json_is(it.key, "path"))
			continue;
		brd_jw_keys(&w, brd_json_str(it.key, a));
		brd_jw_raw(&w, brd_json_raw(it.value));
	}
	return brd_jw_finish(&w, a);
}

/* "sqlite", or {"type":"sqlite","path":"./x.db",…}: the word and where it is. */
static bool typed(struct jval v, struct arena *a, struct bread_str *word, struct bread_str *url,
	struct bread_str *options)
{
	if (brd_json_type(v) == JSON_OBJECT) {
		*word = brd_json_str(brd_json_get(v, "type"), a);
		*url = brd_json_str(brd_json_get(v, "path"), a);
		*options = other_keys(v, a);
	} else {
		*word = brd_json_str(v, a);
	}
	return word->n;
}

static bool path_ok(struct jval store)
{
	enum json_type t = brd_json_type(brd_json_get(store, "path"));

	return t == JSON_NONE || t == JSON_STRING;
}

static int open_store(struct bread *b, struct bread_err *err)
{
	struct bread_str word = { 0 }, url = { 0 }, options = { 0 };

	if (b->store_ops)
		return brd_store_open_ops(
			&b->store, b->store_ops, b->store_url, b->store_options, err);
	if (!path_ok(b->conf.store))
		return brd_fail(
			err, BREAD_E_INVALID, "store", "store.path must be the name of a file");
	if (!typed(b->conf.store, &b->arena, &word, &url, &options))
		return brd_fail_as(err, BREAD_E_INVALID, "STORE_NOT_CONFIGURED", "bread.yaml",
			"no store is configured; set `store: sqlite` (or memory) in bread.yaml");
	return brd_store_open(&b->store, word, url.n ? url : BRD_STR("bread.db"), options, err);
}

static int check_transport(struct bread *b, struct bread_err *err)
{
	struct bread_str word = { 0 }, url = { 0 }, options = { 0 };

	if (!typed(b->conf.transport, &b->arena, &word, &url, &options))
		return brd_fail_as(err, BREAD_E_INVALID, "TRANSPORT_NOT_CONFIGURED", "transport",
			"no transport is configured; set `transport: stream` in bread.yaml");
	if (!brd_str_is(word, "stream") && !brd_str_is(word, "stdout"))
		return brd_fail(err, BREAD_E_INVALID, "transport",
			"transport \"%.*s\" is not known; stream and stdout are", BRD_ARG(word));
	return 0;
}

static int check_blob(struct bread *b, struct bread_err *err)
{
	struct bread_str word = { 0 }, url, options;

	if (brd_json_type(b->conf.blob) <= JSON_NULL)
		return 0;
	typed(b->conf.blob, &b->arena, &word, &url, &options);
	if (!brd_str_is(word, bread_blob_fs.name))
		return brd_fail(err, BREAD_E_INVALID, "blobStore",
			"blobStore \"%.*s\" is not known; fs is", BRD_ARG(word));
	return 0;
}

static int open_blob(struct bread *b, struct bread_err *err)
{
	const struct bread_blob_ops *ops = &bread_blob_fs;
	struct bread_str word = { 0 }, url = { 0 }, options = BRD_STR("{}");
	int r = check_blob(b, err);

	if (r || brd_json_type(b->conf.blob) <= JSON_NULL)
		return r;
	typed(b->conf.blob, &b->arena, &word, &url, &options);
	b->blob = brd_alloc(ops->size);
	b->blob->ops = ops;
	r = ops->open(b->blob, options, err);
	if (r) {
		free(b->blob);
		b->blob = NULL;
	}
	b->env.blob = b->blob;
	return r;
}

static int check_filter(struct bread *b, struct bread_err *err)
{
	struct jval drop = brd_json_get(b->conf.crumb_filter, "drop");

	for (struct json_iter it = brd_json_each(b->conf.crumb_filter); brd_json_next(&it);)
		if (!brd_json_is(it.key, "drop"))
			return brd_fail(err, BREAD_E_INVALID, "crumbFilter",
				"crumbFilter.%.*s is not known; drop is",
				BRD_ARG(brd_json_str(it.key, &b->arena)));
	if (brd_json_type(drop) != JSON_NONE && brd_json_type(drop) != JSON_ARRAY)
		return brd_fail(err, BREAD_E_INVALID, "crumbFilter",
			"crumbFilter.drop must be a list of types of crumbs");
	return 0;
}

static int open_filter(struct bread *b, struct bread_err *err)
{
	int r = check_filter(b, err);

	if (r)
		return r;
	for (struct json_iter it = brd_json_each(brd_json_get(b->conf.crumb_filter, "drop"));
		brd_json_next(&it);) {
		struct bread_str name = brd_json_str(it.value, &b->arena);
		enum crumb_type t = brd_crumb_type(name);

		if (t == CRUMB_TYPES)
			return brd_fail(err, BREAD_E_INVALID, "crumbFilter",
				"crumbFilter.drop names \"%.*s\", which is no type of crumb",
				BRD_ARG(name));
		b->env.filtered[t] = true;
	}
	return 0;
}

static int open_providers(struct bread *b, struct bread_err *err)
{
	for (struct json_iter it = brd_json_each(b->conf.providers); brd_json_next(&it);) {
		struct bread_str name = brd_json_str(it.key, &b->arena);
		struct provider *p = brd_alloc(sizeof(*p));
		int r = brd_model_open(&p->model, name, it.value, err);

		if (r) {
			free(p);
			return r;
		}
		p->name = brd_strndup(name);
		brd_list_push(&b->providers, &p->link);
	}
	return 0;
}

int brd_instance_open_store(struct bread *b, struct bread_err *err)
{
	int r = open_store(b, err);

	b->env.store = b->store;
	return r;
}

static int open_core(struct bread *b, struct bread_err *err)
{
	struct core_conf *c = &b->env.core;

	c->documents_root = b->conf.documents.root;
	c->documents_private = b->conf.documents.allow_private;
	if (brd_json_type(b->conf.credentials) == JSON_NONE)
		return 0;
	return brd_credentials_open(&c->credentials, b->conf.credentials, NULL, err);
}

int brd_instance_open_parts(struct bread *b, struct bread_err *err)
{
	int r = check_transport(b, err);

	if (!r)
		r = open_filter(b, err);
	if (!r)
		r = brd_instance_open_pipelines(b, err);
	if (!r)
		r = open_providers(b, err);
	if (!r)
		r = brd_instance_open_decisions(b, err);
	if (!r)
		r = brd_hooks_configure(b, err);
	if (!r)
		r = open_blob(b, err);
	if (!r)
		r = brd_instance_open_store(b, err);
	if (!r)
		r = open_core(b, err);
	b->env.run_ms = b->conf.limits.run_ms;
	b->env.tool_ms = b->conf.limits.tool_ms;
	b->env.first_byte_ms = b->conf.limits.first_byte_ms;
	b->env.silence_ms = b->conf.limits.silence_ms;
	b->env.depth_max = b->conf.limits.depth;
	b->env.tree_steps = b->conf.limits.tree_steps;
	b->env.tree_tokens = b->conf.limits.tree_tokens;
	return r;
}

static int try_store(struct bread *b, struct bread_err *err)
{
	struct bread_str word = { 0 }, url = { 0 }, options = { 0 };

	if (!path_ok(b->conf.store) || !typed(b->conf.store, &b->arena, &word, &url, &options))
		return open_store(b, err); /* which is refused */
	return brd_store_check(word, options, err);
}

void brd_instance_try(struct bread *b, void (*heard)(struct bread_err *err, void *arg), void *arg)
{
	static int (*const parts[])(struct bread * b, struct bread_err * err) = { check_transport,
		check_filter, check_blob, try_store, open_core };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct bread_err err = { 0 };

		if (parts[i](b, &err))
			heard(&err, arg);
	}
}

void brd_instance_close_parts(struct bread *b)
{
	brd_store_close(b->store);
	b->store = NULL;
	brd_credentials_unref(b->env.core.credentials);
	b->env.core.credentials = NULL;
	if (b->blob) {
		b->blob->ops->close(b->blob);
		free(b->blob);
		b->blob = NULL;
	}
}

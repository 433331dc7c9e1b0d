/* SPDX-License-Identifier: MIT */
/* bread dev: serves the project and takes up changes of its files. Runs go on with
 * the definition that they began with; a broken file is reported, and what was
 * there stays. What cannot change in a running instance says so. */
#include "base/jsonw.h"
#include "cli/watch.h"
#include "model/model.h"

struct dev {
	struct bread *b;
	struct project *p; /* as it was started */
	struct watch *watch;
	bool trouble; /* in this reload */
};

static void on_fault(const struct bread_err *err, void *arg)
{
	struct dev *d = arg;

	d->trouble = true;
	cli_error("%s: %s", err->where, err->text);
}

/* ---- what a restart is needed for ---- */

static void compare_key(struct dev *d, const struct project *now, struct jval key)
{
	struct arena a = { 0 };
	char *name = brd_json_strz(key, &a);

	if (strcmp(name, "entrypoints") && !brd_json_equal(brd_json_get(d->p->doc.root, name),
						   brd_json_get(now->doc.root, name)))
		cli_error("bread.yaml: %s has changed; restart `bread dev` to use it", name);
	brd_arena_fini(&a);
}

static void compare(struct dev *d, const struct project *now)
{
	for (struct json_iter it = brd_json_each(now->doc.root); brd_json_next(&it);)
		compare_key(d, now, it.key);
	for (struct json_iter it = brd_json_each(d->p->doc.root); brd_json_next(&it);)
		if (brd_json_type(brd_json_gets(
			    now->doc.root, brd_json_str(it.key, &d->p->arena))) == JSON_NONE)
			compare_key(d, now, it.key);
}

/* A scripted provider's file was read at start. */
static bool is_script(const struct project *p, const char *path)
{
	for (struct json_iter it = brd_json_each(brd_json_get(p->doc.root, "providers"));
		brd_json_next(&it);)
		if (brd_json_is(brd_json_get(it.value, "file"), path))
			return true;
	return false;
}

/* ---- reloading ---- */

static void reload(struct dev *d)
{
	struct project now;
	struct bread_err err = { 0 };

	d->trouble = false;
	if (brd_project_open(&now, ".", &err)) {
		cli_error("%s: %s", err.where, err.text);
		cli_error("What was there stays.");
		return;
	}
	compare(d, &now);
	if (brd_project_agents(&now, d->b, on_fault, d, &err))
		on_fault(&err, d);
	if (d->trouble)
		cli_error("What is broken stays as it was.");
	else
		cli_say("%zu agent(s) loaded", now.agent_count);
	brd_project_close(&now);
}

static void on_changed(const char *const *paths, size_t n, void *arg)
{
	struct dev *d = arg;

	for (size_t i = 0; i < n; i++) {
		cli_say("Changed: %s", paths[i]);
		if (is_script(d->p, paths[i]))
			cli_error("%s is read at start; restart `bread dev` to use it", paths[i]);
	}
	cli_say("Reloading...");
	reload(d);
}

/* ---- serving ---- */

struct example {
	char id[BREAD_RUN_ID_MAX];
	bool string;
};

static void take_first(const struct bread_agent_info *a, void *arg)
{
	struct example *e = arg;
	struct arena arena = { 0 };
	struct jval v;

	if (e->id[0])
		return;
	snprintf(e->id, sizeof(e->id), "%.*s", BRD_ARG(a->id));
	e->string = true;
	if (a->input_schema.n && !brd_json_parse(&arena, a->input_schema, 0, &v, NULL))
		e->string = !brd_json_is(brd_json_get(v, "type"), "object");
	brd_arena_fini(&arena);
}

static void on_ready(struct bread *b, const char *url, void *arg)
{
	struct dev *d = arg;
	struct example e = { "", true };

	d->watch = cli_watch_new(b, on_changed, d);
	bread_agents(b, take_first, &e);
	if (e.id[0] && url)
		cli_say("Try: curl -N %s/agents/%s/run -H 'Content-Type: application/json' "
			"-d '{\"input\":%s}'",
			url, e.id, e.string ? "\"hi\"" : "{}");
}

static void on_end(void *arg)
{
	struct dev *d = arg;

	cli_watch_free(d->watch);
}

static int run(struct cli_args *a)
{
	struct project p;
	struct dev d = { .p = &p };
	struct cli_server_hooks hooks = { on_ready, on_end, &d };
	int r = cli_load(a, &p, &d.b);

	if (r)
		return r;
	r = cli_serve(a, &p, d.b, &hooks);
	cli_close(&p, d.b);
	return r;
}

const struct cli_command cli_dev = {
	.name = "dev",
	.usage = "",
	.doc = "Serves the project and takes up changes of its files.",
	.options = cli_serve_options,
	.run = run,
};

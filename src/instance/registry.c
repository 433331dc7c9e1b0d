/* SPDX-License-Identifier: MIT */
/* What is registered: agents, providers, formats, listeners. */
#include <stdlib.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "instance/internal.h"
#include "model/model.h"

static struct registered *find(struct bread *b, struct bread_str id)
{
	brd_list_each(l, &b->agents) {
		struct registered *g = brd_list_of(l, struct registered, link);

		if (brd_str_is(id, g->def->id))
			return g;
	}
	return NULL;
}

struct agent_def *brd_registry_agent(struct bread *b, struct bread_str id)
{
	struct registered *g;
	struct agent_def *d = NULL;

	pthread_mutex_lock(&b->lock);
	g = find(b, id);
	if (g)
		d = brd_agent_def_ref(g->def);
	pthread_mutex_unlock(&b->lock);
	return d;
}

/* Takes the reference. */
static void put(struct bread *b, struct agent_def *d)
{
	struct registered *g;
	struct agent_def *old = NULL;

	pthread_mutex_lock(&b->lock);
	g = find(b, brd_str(d->id));
	if (g) {
		old = g->def;
	} else {
		g = brd_alloc(sizeof(*g));
		brd_list_push(&b->agents, &g->link);
	}
	g->def = d;
	pthread_mutex_unlock(&b->lock);
	brd_agent_def_unref(old);
}

int bread_agent(struct bread *b, const char *id, struct bread_str json, const char *dir,
	struct bread_err *err)
{
	struct arena a = { 0 };
	struct agent_def *d;
	int r = brd_registry_inline_tasks(b, &json, id, json, &a, err);

	if (!r)
		r = brd_agent_def_new(&d, id, json, dir, err);
	if (!r)
		put(b, d);
	brd_arena_fini(&a);
	return r;
}

int bread_agent_remove(struct bread *b, const char *id)
{
	struct registered *g;

	pthread_mutex_lock(&b->lock);
	g = find(b, brd_str(id));
	if (g)
		brd_list_remove(&g->link);
	pthread_mutex_unlock(&b->lock);
	if (!g)
		return BREAD_E_NOT_FOUND;
	brd_agent_def_unref(g->def);
	free(g);
	return 0;
}

int bread_agent_tool(struct bread *b, const char *agent_id, const char *name,
	const char *description, struct bread_str schema, bread_tool_fn *fn, void *arg,
	struct bread_err *err)
{
	struct agent_def *d = brd_registry_agent(b, brd_str(agent_id)), *more;
	int r;

	if (!d)
		return brd_fail_as(err, BREAD_E_NOT_FOUND, "AGENT_NOT_FOUND", "bread",
			"Agent not found: \"%s\"; define it before its tools", agent_id);
	r = brd_agent_def_with_tool(&more, d, name, description, schema, fn, arg, err);
	brd_agent_def_unref(d);
	if (!r)
		put(b, more);
	return r;
}

int bread_agent_tool_credentials(struct bread *b, const char *agent_id, const char *tool,
	const char *const *names, struct bread_err *err)
{
	struct agent_def *d = brd_registry_agent(b, brd_str(agent_id)), *more;
	int r;

	if (!d)
		return brd_fail_as(err, BREAD_E_NOT_FOUND, "AGENT_NOT_FOUND", "bread",
			"Agent not found: \"%s\"; define it before its tools", agent_id);
	r = brd_agent_def_with_credentials(&more, d, tool, names, err);
	brd_agent_def_unref(d);
	if (!r)
		put(b, more);
	return r;
}

int bread_format(
	struct bread *b, const char *name, bread_format_fn *fn, void *arg, struct bread_err *err)
{
	struct format *f = brd_alloc(sizeof(*f));

	f->name = brd_strdup(name);
	f->fn = fn;
	f->arg = arg;
	pthread_mutex_lock(&b->lock);
	brd_list_push_front(&b->formats, &f->link);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

int bread_provider(struct bread *b, const char *name, const struct bread_model_ops *ops,
	struct bread_str options, struct bread_err *err)
{
	struct provider *p = brd_alloc(sizeof(*p));
	int r = brd_model_open_ops(&p->model, ops, brd_str(name), options, err);

	if (r) {
		free(p);
		return r;
	}
	p->name = brd_strdup(name);
	pthread_mutex_lock(&b->lock);
	brd_list_push_front(&b->providers, &p->link);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

void bread_listen(
	struct bread *b, void (*on_crumb)(const struct bread_crumb *c, void *arg), void *arg)
{
	struct listener *l = brd_alloc(sizeof(*l));

	l->on_crumb = on_crumb;
	l->arg = arg;
	brd_list_push(&b->listeners, &l->link);
}

static void describe(const struct agent_def *d, struct bread_agent_info *ret)
{
	static const char *const names[] = { "text", "markdown", "json" };

	*ret = (struct bread_agent_info){
		.id = brd_str(d->id),
		.provider = brd_str(d->provider),
		.model = brd_str(d->model),
		.settings = d->settings,
		.provider_options = d->provider_options,
		.format = brd_str(d->format == FORMAT_CUSTOM ? d->format_name : names[d->format]),
		.custom_format = d->format == FORMAT_CUSTOM,
		.input_schema = d->input_text,
		.output_schema = d->output_text,
	};
}

void bread_agents(
	struct bread *b, void (*fn)(const struct bread_agent_info *a, void *arg), void *arg)
{
	struct bread_agent_info info;

	pthread_mutex_lock(&b->lock);
	brd_list_each(l, &b->agents) {
		describe(brd_list_of(l, struct registered, link)->def, &info);
		fn(&info, arg);
	}
	pthread_mutex_unlock(&b->lock);
}

int bread_agent_get(struct bread *b, struct bread_str id,
	void (*fn)(const struct bread_agent_info *a, void *arg), void *arg)
{
	struct agent_def *d = brd_registry_agent(b, id);
	struct bread_agent_info info;

	if (!d)
		return BREAD_E_NOT_FOUND;
	describe(d, &info);
	fn(&info, arg);
	brd_agent_def_unref(d);
	return 0;
}

/* ---- what runs look up ---- */

static struct bread_model *provider_of(void *arg, const char *name, struct buf *known)
{
	struct bread *b = arg;
	struct bread_model *m = NULL;

	pthread_mutex_lock(&b->lock);
	brd_list_each(l, &b->providers) {
		struct provider *p = brd_list_of(l, struct provider, link);

		if (!m && !strcmp(p->name, name))
			m = p->model;
		brd_buf_addf(known, "%s%s", known->len ? ", " : "", p->name);
	}
	pthread_mutex_unlock(&b->lock);
	return m;
}

struct bread_model *brd_registry_provider(struct bread *b, struct bread_str name)
{
	struct bread_model *m = NULL;

	pthread_mutex_lock(&b->lock);
	brd_list_each(l, &b->providers) {
		struct provider *p = brd_list_of(l, struct provider, link);

		if (!m && brd_str_is(name, p->name))
			m = p->model;
	}
	pthread_mutex_unlock(&b->lock);
	return m;
}

static struct agent_def *definition_of(void *arg, struct bread_str id, struct bread_str hash)
{
	struct agent_def *d = brd_registry_agent(arg, id);

	if (d && (!hash.n || brd_str_is(hash, d->hash)))
		return d;
	brd_agent_def_unref(d);
	return NULL;
}

/* The built-in custom format: lines, trimmed, empty ones dropped. */
static void format_lines(struct bread_str text, struct buf *out)
{
	struct jsonw w = brd_jsonw(out);

	brd_jw_arr(&w);
	while (text.p) {
		struct bread_str line = brd_str_trim(brd_str_split(&text, '\n'));

		if (line.n)
			brd_jw_str(&w, line);
	}
	brd_jw_end_arr(&w);
}

static bool apply(
	const struct format *f, struct bread_str text, struct buf *out, const char **ret_error)
{
	char *json = f->fn(text, ret_error, f->arg);
	bool ok = json && brd_json_ok(brd_str(json), 0);

	if (json && !ok)
		*ret_error = "the custom format did not give JSON";
	if (ok)
		brd_buf_addz(out, json);
	free(json);
	return ok;
}

static struct format *find_format(struct bread *b, const char *name)
{
	struct format *found = NULL;

	pthread_mutex_lock(&b->lock);
	brd_list_each(l, &b->formats) {
		struct format *f = brd_list_of(l, struct format, link);

		if (!found && !strcmp(f->name, name))
			found = f;
	}
	pthread_mutex_unlock(&b->lock);
	return found;
}

/* Of C, or one of ours: at once. */
static bool reshape(const struct format *found, const char *name, struct bread_str text,
	struct buf *out, const char **ret_error)
{
	if (found)
		return apply(found, text, out, ret_error);
	if (!strcmp(name, "lines")) {
		format_lines(text, out);
		return true;
	}
	*ret_error = "the agent's output.format is not known; text, markdown, json and lines are";
	return false;
}

static void format_start(void *arg, const char *name, struct format_call *call)
{
	struct format *found = find_format(arg, name);
	const char *why = "the format failed";
	struct bread_err err = { 0 };
	int r = BREAD_OK;
	struct buf out;

	if (found && found->lua) {
		brd_format_lua_start(found->lua, call);
		return;
	}
	brd_buf_init(&out, BUF_NO_LIMIT);
	bread_op_begin(&call->op, NULL, NULL);
	if (reshape(found, name, call->text, &out, &why))
		call->json = brd_buf_take(&out, &call->json_len);
	else
		r = brd_fail(&err, BREAD_E_UPSTREAM, "format", "%s", why);
	brd_buf_fini(&out);
	bread_op_end(&call->op, r, &err);
}

static void on_crumb(void *arg, const struct crumb *c)
{
	struct bread *b = arg;
	struct bread_crumb view;

	if (brd_list_empty(&b->listeners))
		return;
	brd_crumb_view(c, &view);
	brd_list_each(l, &b->listeners) {
		struct listener *li = brd_list_of(l, struct listener, link);

		li->on_crumb(&view, li->arg);
	}
}

static void interrupt(void *arg, struct bread_str run_id)
{
	brd_cancel_ask(arg, run_id);
}

void brd_registry_env(struct bread *b)
{
	b->env.provider = provider_of;
	b->env.definition = definition_of;
	b->env.format_start = format_start;
	b->env.hooks = &b->hooks;
	b->env.on_crumb = on_crumb;
	b->env.interrupt = interrupt;
	b->env.claim = brd_active_claim;
	b->env.unclaim = brd_active_unclaim;
	b->env.up = brd_active_up;
	b->env.wake = brd_active_wake;
	b->env.on_gone = brd_active_gone;
	b->env.arg = b;
}

void brd_registry_fini(struct bread *b)
{
	for (struct list *l; (l = brd_list_pop(&b->agents));) {
		struct registered *g = brd_list_of(l, struct registered, link);

		brd_agent_def_unref(g->def);
		free(g);
	}
	for (struct list *l; (l = brd_list_pop(&b->providers));) {
		struct provider *p = brd_list_of(l, struct provider, link);

		brd_model_close(p->model);
		free(p->name);
		free(p);
	}
	for (struct list *l; (l = brd_list_pop(&b->formats));) {
		struct format *f = brd_list_of(l, struct format, link);

		brd_format_lua_close(f->lua);
		free(f->name);
		free(f);
	}
	for (struct list *l; (l = brd_list_pop(&b->listeners));)
		free(brd_list_of(l, struct listener, link));
	brd_hooks_fini(b);
}

/* SPDX-License-Identifier: MIT */
/* Tasks and pipelines by name.
 *
 * Agents get the tasks that they name when they are defined: their definition holds
 * all of them from then on. So a task comes before its agents, and a task that is
 * defined anew reaches them when they are, too. */
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "instance/internal.h"
#include "run/task.h"

struct named_task {
	struct list link;
	char *name, *json;
};

struct named_pipeline {
	struct list link;
	struct pipeline_def *def;
};

/* ---- tasks ---- */

static struct named_task *task_named(struct bread *b, struct bread_str name)
{
	brd_list_each(l, &b->tasks) {
		struct named_task *t = brd_list_of(l, struct named_task, link);

		if (brd_str_is(name, t->name))
			return t;
	}
	return NULL;
}

static void list_tasks(struct bread *b, struct jsonw *w)
{
	brd_jw_arr(w);
	brd_list_each(l, &b->tasks)
		brd_jw_strz(w, brd_list_of(l, struct named_task, link)->name);
	brd_jw_end_arr(w);
}

bool brd_registry_task(void *arg, struct bread_str name, struct arena *a,
	struct bread_str *ret_json, struct bread_str *ret_known)
{
	struct bread *b = arg;
	struct named_task *t;
	struct buf known;
	struct jsonw w;

	brd_buf_init(&known, BUF_NO_LIMIT);
	w = brd_jsonw(&known);
	pthread_mutex_lock(&b->lock);
	t = task_named(b, name);
	if (t)
		*ret_json = brd_arena_copy(a, brd_str(t->json));
	list_tasks(b, &w);
	pthread_mutex_unlock(&b->lock);
	*ret_known = brd_arena_copy(a, brd_buf_str(&known));
	brd_buf_fini(&known);
	return t;
}

int brd_registry_inline_tasks(struct bread *b, struct bread_str *ret, const char *agent_id,
	struct bread_str json, struct arena *a, struct bread_err *err)
{
	const struct task_source from = { brd_registry_task, b };

	return brd_tasks_inline(ret, agent_id, json, &from, a, err);
}

/* The task's object with its name and its folder in it. */
static void whole_task(
	struct buf *out, const char *name, struct jval root, const char *dir, struct arena *a)
{
	struct jsonw w = brd_jsonw(out);

	brd_jw_obj(&w);
	brd_jw_kstr(&w, "name", brd_str(name));
	for (struct json_iter it = brd_json_each(root); brd_json_next(&it);) {
		if (brd_json_is(it.key, "name") || (dir && brd_json_is(it.key, "dir")))
			continue;
		brd_jw_keys(&w, brd_json_str(it.key, a));
		brd_jw_raw(&w, brd_json_raw(it.value));
	}
	if (dir)
		brd_jw_kstr(&w, "dir", brd_str(dir));
	brd_jw_end_obj(&w);
}

static int read_task(struct buf *out, const char *name, struct bread_str json, const char *dir,
	struct arena *a, struct bread_err *err)
{
	struct json_where where = { 0 };
	struct task_def checked;
	struct jval root;
	int r = brd_json_parse(a, json, 0, &root, &where);

	if (r || brd_json_type(root) != JSON_OBJECT)
		return brd_fail(err, BREAD_E_INVALID, "task",
			"task \"%s\" is no JSON object: %s at byte %zu", name,
			r ? where.what : "an object was expected", where.at);
	whole_task(out, name, root, dir, a);
	r = brd_json_parse(a, brd_buf_str(out), 0, &root, NULL);
	if (!r)
		r = brd_task_read(&checked, root, a, err);
	if (!r)
		brd_task_fini(&checked);
	return r;
}

static void put_task(struct bread *b, const char *name, char *json)
{
	struct named_task *t;

	pthread_mutex_lock(&b->lock);
	t = task_named(b, brd_str(name));
	if (!t) {
		t = brd_alloc(sizeof(*t));
		t->name = brd_strdup(name);
		brd_list_push(&b->tasks, &t->link);
	}
	free(t->json);
	t->json = json;
	pthread_mutex_unlock(&b->lock);
}

int bread_task(struct bread *b, const char *name, struct bread_str json, const char *dir,
	struct bread_err *err)
{
	struct arena a = { 0 };
	struct buf out;
	int r;

	brd_buf_init(&out, BUF_NO_LIMIT);
	r = read_task(&out, name, json, dir, &a, err);
	if (!r)
		put_task(b, name, brd_buf_take(&out, NULL));
	brd_buf_fini(&out);
	brd_arena_fini(&a);
	return r;
}

static void task_free(struct named_task *t)
{
	free(t->name);
	free(t->json);
	free(t);
}

int bread_task_remove(struct bread *b, const char *name)
{
	struct named_task *t;

	pthread_mutex_lock(&b->lock);
	t = task_named(b, brd_str(name));
	if (t)
		brd_list_remove(&t->link);
	pthread_mutex_unlock(&b->lock);
	if (!t)
		return BREAD_E_NOT_FOUND;
	task_free(t);
	return 0;
}

void bread_tasks(struct bread *b,
	void (*fn)(struct bread_str name, struct bread_str json, void *arg), void *arg)
{
	pthread_mutex_lock(&b->lock);
	brd_list_each(l, &b->tasks) {
		struct named_task *t = brd_list_of(l, struct named_task, link);

		fn(brd_str(t->name), brd_str(t->json), arg);
	}
	pthread_mutex_unlock(&b->lock);
}

/* ---- pipelines ---- */

static struct named_pipeline *pipeline_named(struct bread *b, struct bread_str id)
{
	brd_list_each(l, &b->pipelines) {
		struct named_pipeline *p = brd_list_of(l, struct named_pipeline, link);

		if (brd_str_is(id, p->def->id))
			return p;
	}
	return NULL;
}

struct pipeline_def *brd_registry_pipeline(struct bread *b, struct bread_str id)
{
	struct named_pipeline *p;
	struct pipeline_def *d = NULL;

	pthread_mutex_lock(&b->lock);
	p = pipeline_named(b, id);
	if (p)
		d = brd_pipeline_def_ref(p->def);
	pthread_mutex_unlock(&b->lock);
	return d;
}

/* Takes the reference. over: also in the place of one of that id. */
static void put_pipeline(struct bread *b, struct pipeline_def *d, bool over)
{
	struct named_pipeline *p;

	pthread_mutex_lock(&b->lock);
	p = pipeline_named(b, brd_str(d->id));
	if (!p) {
		p = brd_alloc(sizeof(*p));
		brd_list_push(&b->pipelines, &p->link);
	}
	if (!p->def || over) {
		struct pipeline_def *old = p->def;

		p->def = d;
		d = old;
	}
	pthread_mutex_unlock(&b->lock);
	brd_pipeline_def_unref(d);
}

int bread_pipeline(struct bread *b, const char *id, struct bread_str json, struct bread_err *err)
{
	struct pipeline_def *d;
	int r = brd_pipeline_def_new(&d, id, json, err);

	if (!r)
		put_pipeline(b, d, true);
	return r;
}

int bread_pipeline_remove(struct bread *b, const char *id)
{
	struct named_pipeline *p;

	pthread_mutex_lock(&b->lock);
	p = pipeline_named(b, brd_str(id));
	if (p)
		brd_list_remove(&p->link);
	pthread_mutex_unlock(&b->lock);
	if (!p)
		return BREAD_E_NOT_FOUND;
	brd_pipeline_def_unref(p->def);
	free(p);
	return 0;
}

void bread_pipelines(struct bread *b,
	void (*fn)(struct bread_str id, struct bread_str json, void *arg), void *arg)
{
	pthread_mutex_lock(&b->lock);
	brd_list_each(l, &b->pipelines) {
		struct pipeline_def *d = brd_list_of(l, struct named_pipeline, link)->def;

		fn(brd_str(d->id), d->json, arg);
	}
	pthread_mutex_unlock(&b->lock);
}

int brd_instance_open_pipelines(struct bread *b, struct bread_err *err)
{
	for (struct json_iter it = brd_json_each(b->conf.pipelines); brd_json_next(&it);) {
		struct pipeline_def *d;
		int r = brd_pipeline_def_new(
			&d, brd_json_strz(it.key, &b->arena), brd_json_raw(it.value), err);

		if (r)
			return r;
		put_pipeline(b, d, false);
	}
	return 0;
}

void brd_compositions_fini(struct bread *b)
{
	for (struct list *l; (l = brd_list_pop(&b->tasks));)
		task_free(brd_list_of(l, struct named_task, link));
	for (struct list *l; (l = brd_list_pop(&b->pipelines));) {
		struct named_pipeline *p = brd_list_of(l, struct named_pipeline, link);

		brd_pipeline_def_unref(p->def);
		free(p);
	}
}

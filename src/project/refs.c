/* SPDX-License-Identifier: MIT */
/* See refs.h. A circle of delegation is allowed when one of its agents may be entered
 * again; so those are taken out of the graph first, and what is left may have none. */
#include "project/refs.h"
#include <stdio.h>
#include "base/err.h"
#include "config/fault.h"
#include "run/permission.h"

void brd_refs_hear(const struct bread_err *err, void *refs)
{
	struct refs *r = refs;

	r->faults++;
	r->heard(err, r->arg);
}

#define FAULT(r, doc, at, key, named, ...) \
	do { \
		struct bread_err fault_err = { 0 }; \
		brd_conf_fault(&fault_err, doc, at, key, __VA_ARGS__); \
		snprintf(fault_err.name, sizeof(fault_err.name), "%s", named); \
		brd_refs_hear(&fault_err, r); \
	} while (0)

static struct ref_agent *find(const struct refs *r, struct bread_str id)
{
	for (size_t i = 0; i < r->count; i++)
		if (brd_str_is(id, r->agents[i].id))
			return &r->agents[i];
	return NULL;
}

void brd_refs_open(
	struct refs *r, struct project *p, const struct names *listed, conf_heard *heard, void *arg)
{
	*r = (struct refs){ .p = p, .heard = heard, .arg = arg };
	r->agents = brd_arena_array(&p->arena, listed->n + 1, sizeof(*r->agents));
	for (size_t i = 0; i < listed->n; i++) {
		struct ref_agent *a = &r->agents[r->count++];
		struct bread_err ignored;

		a->id = listed->v[i];
		if (brd_yaml_load(&a->doc, &p->arena,
			    brd_project_path(p, "agents/%s/agent.yaml", a->id), &ignored))
			a->doc.root = (struct jval){ 0 };
		a->reenters =
			brd_json_bool(brd_json_path(a->doc.root, "supervisor.reenter"), false);
	}
}

static void check_known(struct refs *r, const struct yaml_doc *doc, struct jval at, const char *key)
{
	struct bread_str id = brd_json_str(at, &r->p->arena);

	if (brd_json_type(at) == JSON_STRING && !find(r, id))
		FAULT(r, doc, at, key, "AGENT_NOT_FOUND",
			"names an agent %.*s that is not there; make agents/%.*s, or take it away",
			BRD_ARG(brd_yaml_show(id, &r->p->arena)), BRD_ARG(id));
}

static const char *place(struct refs *r, const char *list, size_t i, const char *key)
{
	return brd_arena_printf(&r->p->arena, "%s.%zu%s", list, i, key).p;
}

static void check_selectors(struct refs *r, struct ref_agent *a, const char *key)
{
	struct jval list = brd_json_path(a->doc.root, key);

	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);) {
		struct bread_err err = { 0 };
		struct selector s;

		if (brd_json_type(it.value) == JSON_STRING &&
			brd_selector_parse(&s, brd_json_str(it.value, &r->p->arena), &err))
			FAULT(r, &a->doc, it.value, place(r, key, it.index, ""), err.name,
				"is wrong: %s", err.text);
	}
}

static void check_tasks(struct refs *r, struct ref_agent *a)
{
	struct jval list = brd_json_get(a->doc.root, "tasks");

	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);) {
		struct bread_str name = brd_json_str(it.value, &r->p->arena);

		if (brd_json_type(it.value) == JSON_STRING && !brd_project_task(r->p, name))
			FAULT(r, &a->doc, it.value, place(r, "tasks", it.index, ""),
				"TASK_NOT_FOUND",
				"names a task %.*s that is not there; make tasks/%.*s.yaml, or "
				"take it away",
				BRD_ARG(brd_yaml_show(name, &r->p->arena)), BRD_ARG(name));
	}
}

/* ---- who may run whom ---- */

struct edge {
	struct jval at; /* the other agent's id */
	const char *key;
};

/* The i-th agent that a may run; its roster first, then its pool. */
static bool edge_of(struct refs *r, const struct ref_agent *a, size_t i, struct edge *ret)
{
	struct jval roster = brd_json_path(a->doc.root, "supervisor.agents");
	struct jval pool = brd_json_path(a->doc.root, "loop.pool");
	size_t n = brd_json_type(roster) == JSON_ARRAY ? brd_json_count(roster) : 0;

	if (i < n) {
		ret->at = brd_json_get(brd_json_at(roster, i), "agentId");
		ret->key = place(r, "supervisor.agents", i, ".agentId");
		return true;
	}
	if (brd_json_type(pool) != JSON_ARRAY || i - n >= brd_json_count(pool))
		return false;
	ret->at = brd_json_at(pool, i - n);
	ret->key = place(r, "loop.pool", i - n, "");
	return true;
}

struct way { /* from the start of the search to an agent */
	const struct way *before;
	struct ref_agent *agent;
};

static void add_way(const struct way *w, const struct ref_agent *from, struct buf *out)
{
	if (w->agent != from)
		add_way(w->before, from, out);
	brd_buf_addf(out, "%s -> ", w->agent->id);
}

static void tell_circle(
	struct refs *r, const struct way *w, const struct ref_agent *back, const struct edge *e)
{
	struct buf ids;

	brd_buf_init(&ids, BUF_NO_LIMIT);
	add_way(w, back, &ids);
	FAULT(r, &w->agent->doc, e->at, e->key, "DELEGATION_CYCLE",
		"closes a circle: %.200s%s; take it away, or set `supervisor.reenter: true` for "
		"one that may be entered again",
		ids.data, back->id);
	brd_buf_fini(&ids);
}

static void search(struct refs *r, const struct way *w)
{
	struct edge e;

	w->agent->seen = 1;
	for (size_t i = 0; edge_of(r, w->agent, i, &e); i++) {
		struct ref_agent *to = find(r, brd_json_str(e.at, &r->p->arena));

		if (!to || to->reenters)
			continue;
		if (to->seen == 1)
			tell_circle(r, w, to, &e);
		else if (!to->seen)
			search(r, &(struct way){ w, to });
	}
	w->agent->seen = 2;
}

void brd_refs_check_agent(struct refs *r, const char *id)
{
	struct ref_agent *a = find(r, brd_str(id));
	struct edge e;

	if (!a)
		return;
	check_selectors(r, a, "permissions.allow");
	check_selectors(r, a, "permissions.ask");
	check_selectors(r, a, "permissions.deny");
	check_tasks(r, a);
	for (size_t i = 0; edge_of(r, a, i, &e); i++)
		check_known(r, &a->doc, e.at, e.key);
}

void brd_refs_check_agents(struct refs *r)
{
	for (size_t i = 0; i < r->count; i++)
		brd_refs_check_agent(r, r->agents[i].id);
	brd_refs_check_circles(r);
}

void brd_refs_check_circles(struct refs *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (!r->agents[i].seen && !r->agents[i].reenters)
			search(r, &(struct way){ NULL, &r->agents[i] });
}

/* ---- pipelines ---- */

struct steps {
	struct refs *refs;
	const struct yaml_doc *doc;
	const char *base;
};

static void check_step(const struct step_def *s, void *arg)
{
	struct steps *st = arg;

	if (s->agent_id)
		check_known(st->refs, st->doc, brd_json_get(s->at, "agentId"), st->base);
}

void brd_refs_check_steps(
	struct refs *r, const struct step_list *l, const struct yaml_doc *doc, const char *base)
{
	brd_pipeline_each(l, check_step, &(struct steps){ r, doc, base });
}

/* A skill of the step's agent: a folder, or an entry of its list. */
static bool has_skill(struct refs *r, const struct ref_agent *a, const char *skill)
{
	struct jval list = brd_json_get(a->doc.root, "skills");

	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);)
		if (brd_json_is(brd_json_get(it.value, "id"), skill))
			return true;
	return brd_is_dir(brd_project_path(r->p, "agents/%s/skills/%s", a->id, skill));
}

static void check_skill(struct steps *st, const struct step_def *s)
{
	const struct ref_agent *a = s->agent_id ? find(st->refs, brd_str(s->agent_id)) : NULL;

	if (a && s->skill && !has_skill(st->refs, a, s->skill))
		FAULT(st->refs, st->doc, brd_json_get(s->at, "skill"), st->base, "SKILL_NOT_FOUND",
			"asks for a skill %.*s that its agent has not; make agents/%s/skills/%s, "
			"or take it away",
			BRD_ARG(brd_yaml_show(brd_str(s->skill), &st->refs->p->arena)), a->id,
			s->skill);
}

static void check_asked(const struct step_def *s, void *arg)
{
	struct steps *st = arg;
	struct arena *a = &st->refs->p->arena;
	struct bread_str name = brd_str(s->provider);

	check_skill(st, s);
	if (s->kind == STEP_DECISION &&
		brd_json_type(brd_json_gets(
			brd_json_get(st->refs->p->doc.root, "decisions"), name)) == JSON_NONE)
		FAULT(st->refs, st->doc, brd_json_get(s->at, "provider"), st->base,
			"UNKNOWN_DECISION_PROVIDER",
			"asks a decision host %.*s, which is not under `decisions:` of bread.yaml",
			BRD_ARG(brd_yaml_show(name, a)));
}

void brd_refs_check_asked(
	struct refs *r, const struct step_list *l, const struct yaml_doc *doc, const char *base)
{
	brd_pipeline_each(l, check_asked, &(struct steps){ r, doc, base });
}

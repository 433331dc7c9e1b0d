/* SPDX-License-Identifier: MIT */
/* Pipelines from JSON.
 *
 * One parser for what a program gives and for what a file says: with a listener it
 * goes on behind a fault and tells all of them, without one the first ends it. A
 * step's keys are tables of fields, so a misspelt one is found like any other. */
#include "run/pipeline_def.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "run/def_impl.h"

struct parser {
	const struct yaml_doc *doc;
	struct arena *arena;
	conf_heard *heard; /* NULL: the first fault is kept */
	void *arg;
	struct bread_err *err;
	unsigned faults;
	size_t steps;
	unsigned side_by_side; /* how many parallel steps it is in */
};

struct agent_step {
	char *agent_id, *skill;
	int session;
	int64_t concurrency;
	char *type;
};

struct decision_step {
	char *type, *provider, *model;
	struct jval question;
};

struct list_step { /* parallel, branch */
	char *type, *on;
	struct jval steps, cases, otherwise;
};

struct case_conf {
	char *eq;
	struct jval steps;
};

#define TYPE_FIELD(s) \
	{ \
		.key = "type", .type = CONF_STR, .offset = AT(s, type), .required = true, \
		.doc = "agent, parallel, map, decision or branch." \
	}
#define AGENT_FIELDS \
	TYPE_FIELD(agent_step), \
		{ .key = "agentId", \
			.type = CONF_ID, \
			.offset = AT(agent_step, agent_id), \
			.required = true, \
			.doc = "The agent that runs." }, \
		{ .key = "skill", \
			.type = CONF_STR, \
			.offset = AT(agent_step, skill), \
			.doc = "A skill of the agent's, loaded for the run." }, \
	{ \
		.key = "session", .type = CONF_ENUM, .offset = AT(agent_step, session), \
		.words = "fresh|shared", .dflt = "fresh", \
		.doc = "shared: the pipeline's session, so that it sees what the others said." \
	}

static const struct conf_field agent_fields[] = { AGENT_FIELDS };

static const struct conf_field map_fields[] = {
	AGENT_FIELDS,
	{ .key = "concurrency",
		.type = CONF_INT,
		.offset = AT(agent_step, concurrency),
		.dflt = "1",
		.min = 1,
		.max = 1000,
		.doc = "Items that are worked on at the same time." },
};

static const struct conf_field parallel_fields[] = {
	TYPE_FIELD(list_step),
	{ .key = "steps",
		.type = CONF_JSON,
		.offset = AT(list_step, steps),
		.words = "array",
		.required = true,
		.doc = "Steps that run at the same time." },
};

static const struct conf_field decision_fields[] = {
	TYPE_FIELD(decision_step),
	{ .key = "provider",
		.type = CONF_STR,
		.offset = AT(decision_step, provider),
		.required = true,
		.doc = "A key of `decisions` in bread.yaml." },
	{ .key = "model",
		.type = CONF_STR,
		.offset = AT(decision_step, model),
		.doc = "The host's name for the model; hosts that have one of their own need "
		       "none." },
	{ .key = "question",
		.type = CONF_JSON,
		.offset = AT(decision_step, question),
		.words = "object",
		.required = true,
		.doc = "What is asked." },
};

static const struct conf_field branch_fields[] = {
	TYPE_FIELD(list_step),
	{ .key = "on",
		.type = CONF_STR,
		.offset = AT(list_step, on),
		.doc = "Path in dots of the text that is compared; none: the latest decision's "
		       "label." },
	{ .key = "cases",
		.type = CONF_JSON,
		.offset = AT(list_step, cases),
		.words = "array",
		.doc = "Arms: `eq` and `steps`." },
	{ .key = "default",
		.type = CONF_JSON,
		.offset = AT(list_step, otherwise),
		.words = "array",
		.doc = "The arm that runs when no case fits." },
};

static const struct conf_field case_fields[] = {
	{ .key = "eq",
		.type = CONF_STR,
		.offset = AT(case_conf, eq),
		.required = true,
		.doc = "The text that this arm is for." },
	{ .key = "steps",
		.type = CONF_JSON,
		.offset = AT(case_conf, steps),
		.words = "array",
		.required = true,
		.doc = "What runs then; none: the value goes through." },
};

/* ---- faults ---- */

static void hear(const struct bread_err *err, void *arg)
{
	struct parser *p = arg;

	if (!p->faults++ && p->err)
		*p->err = *err;
	if (p->heard)
		p->heard(err, p->arg);
}

__attribute__((format(printf, 5, 6))) static void fault(
	struct parser *p, const char *name, struct jval at, const char *base, const char *fmt, ...)
{
	struct bread_err err = { 0 };
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	brd_conf_fault(&err, p->doc, at, base, "%s", text);
	snprintf(err.name, sizeof(err.name), "%s", name);
	hear(&err, p);
}

/* A file's key may be long; what does not fit is cut. */
static const char *inside(struct parser *p, const char *base, const char *key, size_t index)
{
	return brd_arena_printf(
		p->arena, "%s%s%s%s%zu", base, *base ? "." : "", key, *key ? "." : "", index)
		.p;
}

static bool keys(struct parser *p, const struct conf_field *fields, size_t n, struct jval v,
	void *out, const char *base)
{
	struct bread_err err = { 0 };

	if (brd_conf_check(fields, n, v, p->doc, base, hear, p))
		return false;
	return !brd_conf_read(fields, n, v, out, p->doc, base, p->arena, &err);
}

/* ---- questions ---- */

static bool number_at(struct jval v, const char *key)
{
	return brd_json_type(brd_json_get(v, key)) == JSON_NUMBER;
}

static void check_options(struct parser *p, struct jval q, const char *base)
{
	struct jval options = brd_json_get(q, "options");

	if (brd_json_type(options) != JSON_ARRAY || !brd_json_count(options))
		fault(p, "", q, base, "needs `options`: a list of the choices there are");
	for (struct json_iter it = brd_json_each(options); brd_json_next(&it);)
		if (brd_json_type(it.value) != JSON_STRING)
			fault(p, "", it.value, base,
				"has an option that is no text; put it in quotes");
	if (brd_json_type(brd_json_get(q, "otherwise")) != JSON_STRING)
		fault(p, "", q, base,
			"needs `otherwise`: the label for an answer that is none of the options");
	if (brd_json_type(brd_json_get(q, "minConfidence")) != JSON_NONE &&
		!number_at(q, "minConfidence"))
		fault(p, "", brd_json_get(q, "minConfidence"), base,
			"has a `minConfidence` that is no number");
}

static void check_buckets(struct parser *p, struct jval q, const char *base)
{
	struct jval buckets = brd_json_get(q, "buckets");

	if (brd_json_type(buckets) != JSON_ARRAY || !brd_json_count(buckets))
		fault(p, "", q, base, "needs `buckets`: a list of {label, min, max}");
	for (struct json_iter it = brd_json_each(buckets); brd_json_next(&it);) {
		double min = brd_json_num(brd_json_get(it.value, "min"), 0),
		       max = brd_json_num(brd_json_get(it.value, "max"), 0);

		if (brd_json_type(brd_json_get(it.value, "label")) != JSON_STRING ||
			!number_at(it.value, "min") || !number_at(it.value, "max"))
			fault(p, "", it.value, base,
				"has a bucket that is not {label: text, min: number, max: number}");
		else if (min > max)
			fault(p, "", it.value, base,
				"has a bucket whose min is over its max; nothing falls into it");
	}
}

static void check_question(struct parser *p, struct step_def *s, const char *base)
{
	static const char *const types[] = { "choice", "score", "noul" };
	struct jval q = s->question, type = brd_json_get(q, "type");
	size_t t = 0;

	while (t < 3 && !brd_json_is(type, types[t]))
		t++;
	if (brd_json_type(brd_json_get(q, "text")) != JSON_STRING)
		fault(p, "", q, base, "needs `text`: what is asked");
	if (t == 3)
		fault(p, "", type.tok ? type : q, base,
			"needs a `type`: choice, score or noul (yes or no)");
	else if (t == BREAD_QUESTION_CHOICE)
		check_options(p, q, base);
	else
		check_buckets(p, q, base);
	s->question_type = t < 3 ? (enum bread_question)t : BREAD_QUESTION_CHOICE;
}

/* ---- steps ---- */

static struct step_list parse_list(
	struct parser *p, struct jval v, const char *base, const char *key, unsigned depth);

static bool parse_agent(struct parser *p, struct step_def *s, struct jval v, const char *base)
{
	struct agent_step c = { .concurrency = 1 };
	bool map = s->kind == STEP_MAP;

	if (!keys(p, map ? map_fields : agent_fields,
		    map ? CONF_COUNT(map_fields) : CONF_COUNT(agent_fields), v, &c, base))
		return false;
	s->agent_id = c.agent_id;
	s->skill = c.skill;
	s->shared_session = c.session == 1;
	s->concurrency = c.concurrency;
	if (s->shared_session && (p->side_by_side || (map && s->concurrency > 1)))
		fault(p, "", v, base,
			"shares the pipeline's session with runs at the same time, and a session "
			"has one at a time; say `session: fresh`");
	return true;
}

static bool parse_parallel(
	struct parser *p, struct step_def *s, struct jval v, const char *base, unsigned depth)
{
	struct list_step c = { 0 };
	struct step_list all;

	if (!keys(p, parallel_fields, CONF_COUNT(parallel_fields), v, &c, base))
		return false;
	p->side_by_side++;
	all = parse_list(p, c.steps, base, "steps", depth + 1);
	p->side_by_side--;
	s->slots = brd_arena_array(p->arena, all.count + 1, sizeof(*s->slots));
	s->slot_count = all.count;
	for (size_t i = 0; i < all.count; i++)
		s->slots[i] = (struct step_list){ &all.steps[i], 1 };
	return true;
}

static bool parse_decision(struct parser *p, struct step_def *s, struct jval v, const char *base)
{
	struct decision_step c = { 0 };

	if (!keys(p, decision_fields, CONF_COUNT(decision_fields), v, &c, base))
		return false;
	s->provider = c.provider;
	s->model = c.model;
	s->question = c.question;
	check_question(p, s, brd_arena_printf(p->arena, "%s.question", base).p);
	return true;
}

static void parse_cases(
	struct parser *p, struct step_def *s, struct jval cases, const char *base, unsigned depth)
{
	s->cases = brd_arena_array(p->arena, brd_json_count(cases) + 1, sizeof(*s->cases));
	for (struct json_iter it = brd_json_each(cases); brd_json_next(&it);) {
		const char *here = inside(p, base, "cases", it.index);
		struct case_conf c = { 0 };

		if (!keys(p, case_fields, CONF_COUNT(case_fields), it.value, &c, here))
			continue;
		s->cases[s->case_count].eq = brd_json_str(brd_json_get(it.value, "eq"), p->arena);
		s->cases[s->case_count++].steps = parse_list(p, c.steps, here, "steps", depth + 1);
	}
}

/* The parts of a path in dots: none may be empty. */
static bool path_ok(struct bread_str path)
{
	while (path.p)
		if (!brd_str_split(&path, '.').n)
			return false;
	return true;
}

static bool parse_branch(
	struct parser *p, struct step_def *s, struct jval v, const char *base, unsigned depth)
{
	struct list_step c = { 0 };

	if (!keys(p, branch_fields, CONF_COUNT(branch_fields), v, &c, base))
		return false;
	if (brd_json_type(c.otherwise) == JSON_NONE)
		fault(p, "PIPELINE_BRANCH_DEFAULT", v, base,
			"has no `default:`; give the arm that runs when no case fits, [] for none");
	s->on = brd_json_str(brd_json_get(v, "on"), p->arena);
	if (c.on && !path_ok(s->on))
		fault(p, "", brd_json_get(v, "on"), base,
			"has an `on` that is no path; it is names with dots between: "
			"customer.kind");
	parse_cases(p, s, c.cases, base, depth);
	s->has_default = brd_json_type(c.otherwise) == JSON_ARRAY;
	s->otherwise = parse_list(p, c.otherwise, base, "default", depth + 1);
	return true;
}

static bool kind_of(struct jval type, enum step_kind *ret)
{
	static const char *const names[] = { "agent", "parallel", "map", "decision", "branch" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (brd_json_is(type, names[i])) {
			*ret = (enum step_kind)i;
			return true;
		}
	return false;
}

static bool parse_step(
	struct parser *p, struct step_def *s, struct jval v, const char *base, unsigned depth)
{
	struct jval type = brd_json_get(v, "type");

	s->json = brd_json_raw(v);
	s->at = v;
	if (brd_json_type(v) != JSON_OBJECT || !kind_of(type, &s->kind)) {
		fault(p, "", type.tok ? type : v, base,
			"is a step of no known type; `type:` is agent, parallel, map, decision or "
			"branch");
		return false;
	}
	if (s->kind == STEP_AGENT || s->kind == STEP_MAP)
		return parse_agent(p, s, v, base);
	if (s->kind == STEP_DECISION)
		return parse_decision(p, s, v, base);
	return s->kind == STEP_PARALLEL ? parse_parallel(p, s, v, base, depth)
					: parse_branch(p, s, v, base, depth);
}

/* depth: how many steps it is inside of. */
static struct step_list parse_list(
	struct parser *p, struct jval v, const char *base, const char *key, unsigned depth)
{
	struct step_list l = { 0 };

	p->steps += brd_json_count(v);
	if (brd_json_type(v) != JSON_ARRAY)
		return l;
	if (depth >= STEP_DEPTH_MAX || p->steps > STEPS_MAX) {
		fault(p, "", v, base,
			"nests deeper than %d steps or has more than %d; make pipelines of its "
			"parts",
			STEP_DEPTH_MAX, STEPS_MAX);
		return l;
	}
	l.steps = brd_arena_array(p->arena, brd_json_count(v) + 1, sizeof(*l.steps));
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		memset(&l.steps[l.count], 0, sizeof(*l.steps));
		if (parse_step(
			    p, &l.steps[l.count], it.value, inside(p, base, key, it.index), depth))
			l.count++;
	}
	return l;
}

static struct step_list parse_all(struct parser *p, struct jval v, const char *base)
{
	if (brd_json_type(v) != JSON_ARRAY)
		fault(p, "", v, base, "is a pipeline, which is a list of steps");
	return parse_list(p, v, base, "", 0);
}

bool brd_pipeline_check(struct step_list *ret, struct jval v, const struct yaml_doc *doc,
	const char *base, struct arena *a, conf_heard *heard, void *arg)
{
	struct parser p = { .doc = doc, .arena = a, .heard = heard, .arg = arg };

	*ret = parse_all(&p, v, base);
	return !p.faults;
}

/* ---- definitions ---- */

static int fill(struct pipeline_def *d, struct bread_err *err)
{
	struct bread_err first = { 0 };
	struct parser p = { .arena = &d->arena, .err = &first };
	struct json_where where = { 0 };
	struct jval root;
	int r = brd_json_parse(&d->arena, d->json, 0, &root, &where);

	if (r)
		return brd_fail(err, r, "pipeline", "pipeline \"%s\" is not JSON: %s at byte %zu",
			d->id, where.what, where.at);
	d->steps = parse_all(&p, root, "");
	if (p.faults)
		return brd_fail_as(err, BREAD_E_INVALID, first.name, "pipeline",
			"pipeline \"%s\": step %s", d->id, first.text);
	return 0;
}

int brd_pipeline_def_new(
	struct pipeline_def **ret, const char *id, struct bread_str json, struct bread_err *err)
{
	struct pipeline_def *d;
	int r;

	if (!brd_id_ok(brd_str(id)))
		return brd_fail_as(err, BREAD_E_INVALID, "INVALID_ID", "pipeline",
			"\"%.40s\" cannot be a pipeline's id; letters, digits, . _ : - are "
			"allowed, 128 at most",
			id);
	d = brd_alloc(sizeof(*d));
	atomic_init(&d->refs, 1);
	d->id = brd_arena_strz(&d->arena, brd_str(id));
	d->json = brd_arena_copy(&d->arena, json);
	brd_def_hash(d->id, d->json, d->hash);
	r = fill(d, err);
	if (r)
		brd_pipeline_def_unref(d);
	else
		*ret = d;
	return r;
}

struct pipeline_def *brd_pipeline_def_ref(struct pipeline_def *d)
{
	atomic_fetch_add(&d->refs, 1);
	return d;
}

void brd_pipeline_def_unref(struct pipeline_def *d)
{
	if (!d || atomic_fetch_sub(&d->refs, 1) > 1)
		return;
	brd_arena_fini(&d->arena);
	free(d);
}

int brd_pipeline_def_of_agents(
	struct pipeline_def **ret, const char *id, const char *const *ids, struct bread_err *err)
{
	struct buf json;
	struct jsonw w;
	int r;

	brd_buf_init(&json, BUF_NO_LIMIT);
	w = brd_jsonw(&json);
	brd_jw_arr(&w);
	for (; *ids; ids++) {
		brd_jw_obj(&w);
		brd_jw_kstr(&w, "type", BRD_STR("agent"));
		brd_jw_kstr(&w, "agentId", brd_str(*ids));
		brd_jw_end_obj(&w);
	}
	brd_jw_end_arr(&w);
	r = brd_pipeline_def_new(ret, id, brd_buf_str(&json), err);
	brd_buf_fini(&json);
	return r;
}

void brd_pipeline_each(
	const struct step_list *l, void (*fn)(const struct step_def *s, void *arg), void *arg)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct step_def *s = &l->steps[i];

		fn(s, arg);
		for (size_t j = 0; j < s->slot_count; j++)
			brd_pipeline_each(&s->slots[j], fn, arg);
		for (size_t j = 0; j < s->case_count; j++)
			brd_pipeline_each(&s->cases[j].steps, fn, arg);
		brd_pipeline_each(&s->otherwise, fn, arg);
	}
}

/* SPDX-License-Identifier: MIT */
/* Checking a value: the entry, the walk over a node's groups, numbers, strings.
 *
 * A check first asks only yes or no; when the answer is no and the caller wants
 * to know why, it is made again with faults being told. So what fits, which is
 * nearly everything, pays nothing for explanations.
 *
 * Bounded: each node entered, member passed and byte matched takes from a number
 * of steps that grows with the instance and the schema, and nodes nest at most
 * SCHEMA_DEPTH deep. Past either the check gives up, which is a fault at once,
 * also inside of "not". */
#include "base/schema_check.h"
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"

#define STEPS_BASE 1000000
#define STEPS_MAX 20000000

bool brd_schema_give_up(struct schema_check *c, const struct schema_spot *at, const char *why)
{
	if (!c->stop && c->out) {
		c->told.have = false;
		c->tell = true;
		brd_schema_fault(c, at, "", "%s", why);
	}
	c->stop = true;
	c->tell = false;
	return false;
}

struct schema_marks brd_schema_marks_push(struct schema_check *c, size_t n)
{
	struct schema_marks m = { c->bits_used, (n + 63) / 64 };

	c->bits_used += m.words;
	if (c->bits_used > c->bits_cap) {
		c->bits_cap = c->bits_used * 2 + 16;
		c->bits = brd_realloc(c->bits, c->bits_cap * sizeof(*c->bits));
	}
	if (m.words)
		memset(c->bits + m.at, 0, m.words * sizeof(*c->bits));
	return m;
}

void brd_schema_marks_pop(
	struct schema_check *c, const struct schema_marks *m, const struct schema_marks *into)
{
	if (into)
		for (size_t i = 0; i < m->words; i++)
			c->bits[into->at + i] |= c->bits[m->at + i];
	c->bits_used = m->at;
}

void brd_schema_mark_all(struct schema_check *c, const struct schema_marks *m)
{
	if (m && m->words)
		memset(c->bits + m->at, 0xff, m->words * sizeof(*c->bits));
}

struct schema_decoded {
	const struct json_tok *tok; /* the key */
	struct bread_str str;
};

struct bread_str brd_schema_decode(struct schema_check *c, struct jval v)
{
	struct schema_decoded *d =
		brd_map_get(&c->decoded, (struct bread_str){ (const char *)&v.tok, sizeof(v.tok) });

	if (d)
		return d->str;
	d = brd_arena_alloc(&c->scratch, sizeof(*d));
	*d = (struct schema_decoded){ v.tok, brd_json_str(v, &c->scratch) };
	brd_map_put(&c->decoded, (struct bread_str){ (const char *)&d->tok, sizeof(d->tok) }, d);
	return d->str;
}

static bool value_equal(const struct schema_value *value, struct jval v, struct bread_str str)
{
	struct schema_decimal d;

	if (value->v.tok->type != v.tok->type)
		return false;
	switch (v.tok->type) {
	case JSON_STRING:
		return brd_str_eq(value->str, str);
	case JSON_NUMBER:
		d = brd_schema_decimal(schema_raw(v));
		return brd_schema_decimal_cmp(&value->num, &d) == 0;
	case JSON_BOOL:
		return value->v.tok->len == v.tok->len;
	case JSON_NULL:
		return true;
	default:
		return brd_json_equal(value->v, v);
	}
}

/* Steps that a comparison with value takes. */
static uint64_t effort(const struct schema_value *value, struct jval v, struct bread_str str)
{
	switch (v.tok->type) {
	case JSON_STRING:
		return 1 + (value->str.n == str.n ? str.n / 64 : 0);
	case JSON_NUMBER:
		return 1 + v.tok->len / 16;
	case JSON_ARRAY:
	case JSON_OBJECT:
		return value->v.tok->skip + value->v.tok->len / 64;
	default:
		return 1;
	}
}

static bool values_fit(struct schema_check *c, const struct schema_values *values, struct jval v,
	const struct schema_spot *at)
{
	struct bread_str str = { 0 };

	if (v.tok->type == JSON_STRING) {
		str = schema_decoded(c, v);
		if (values->by_str)
			return schema_charge(c, at, str.n / 16) && brd_map_get(values->by_str, str);
	}
	for (size_t i = 0; i < values->n; i++) {
		const struct schema_value *value = &values->list[i];

		if (!schema_charge(c, at, effort(value, v, str)))
			return false;
		if (value_equal(value, v, str))
			return true;
	}
	return false;
}

static bool fault_bound(struct schema_check *c, const struct schema_spot *at, int which,
	struct bread_str bound, struct jval v)
{
	static const char *const keywords[] = { "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum" };
	static const char *const words[] = { "at least", "at most", "more than", "less than" };

	return brd_schema_fault(c, at, keywords[which], "%s %.*s was expected, here is %.*s",
		words[which], BRD_ARG(bound), BRD_ARG(schema_raw(v)));
}

static bool bound_holds(int which, int cmp) /* cmp: of the value with the bound */
{
	switch (which) {
	case BOUND_MIN:
		return cmp >= 0;
	case BOUND_MAX:
		return cmp <= 0;
	case BOUND_ABOVE:
		return cmp > 0;
	default:
		return cmp < 0;
	}
}

static bool eval_number(struct schema_check *c, const struct schema_number *r, struct jval v,
	const struct schema_spot *at)
{
	struct schema_decimal d = brd_schema_decimal(schema_raw(v));

	for (int i = 0; i < BOUND_COUNT; i++)
		if (r->lexeme[i].p && !bound_holds(i, brd_schema_decimal_cmp(&d, &r->bound[i])))
			return fault_bound(c, at, i, r->lexeme[i], v);
	if (r->multiple && !brd_schema_multiple(schema_raw(v), r->multiple))
		return brd_schema_fault(c, at, "multipleOf",
			"a multiple of %.*s was expected, here is %.*s",
			BRD_ARG(r->multiple->lexeme), BRD_ARG(schema_raw(v)));
	return true;
}

/* Characters; a lone surrogate is one. */
static size_t characters(struct bread_str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

static bool fits_pattern(struct schema_check *c, const struct schema_regex *pattern,
	struct bread_str s, const struct schema_spot *at)
{
	enum schema_match match = brd_schema_match(&c->matcher, pattern, s, &c->steps);
	struct bread_str text = brd_schema_regex_text(pattern);

	if (match == SCHEMA_MATCH_GAVE_UP)
		return brd_schema_give_up(c, at, "the string takes the pattern too many steps");
	if (match == SCHEMA_MATCH_NO)
		return brd_schema_fault(c, at, "pattern",
			"the string does not match the pattern %.*s", (int)brd_utf8_cut(text, 200),
			text.p);
	return true;
}

static bool eval_string(struct schema_check *c, const struct schema_string *r, struct jval v,
	const struct schema_spot *at)
{
	struct bread_str s = schema_decoded(c, v);
	size_t n;

	if (!schema_charge(c, at, s.n / 64))
		return false;
	if (r->min > 0 || s.n > r->max) {
		n = characters(s);
		if (n < r->min)
			return brd_schema_fault(c, at, "minLength",
				"at least %ju characters were expected, here are %zu",
				(uintmax_t)r->min, n);
		if (n > r->max)
			return brd_schema_fault(c, at, "maxLength",
				"at most %ju characters were expected, here are %zu",
				(uintmax_t)r->max, n);
	}
	return !r->pattern || fits_pattern(c, r->pattern, s, at);
}

static bool type_fits(const struct schema_node *n, struct jval v)
{
	if (n->types >> v.tok->type & 1)
		return true;
	return (n->types & SCHEMA_INTEGER) && v.tok->type == JSON_NUMBER &&
	       brd_schema_integral(schema_raw(v));
}

/* The groups that look at one type of value only. */
static bool eval_typed(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	switch (v.tok->type) {
	case JSON_NUMBER:
		return !n->number || eval_number(c, n->number, v, at);
	case JSON_STRING:
		return !n->string || eval_string(c, n->string, v, at);
	case JSON_ARRAY:
		return !n->array || brd_schema_array(c, n->array, v, at, m);
	case JSON_OBJECT:
		return !n->object || brd_schema_object(c, n->object, v, at, m);
	default:
		return true;
	}
}

static bool eval_groups(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	if (!type_fits(n, v))
		return brd_schema_fault_type(c, at, n->types, v);
	if (n->constant && !values_fit(c, n->constant, v, at))
		return brd_schema_fault_values(c, at, "const", n->constant);
	if (n->choice && !values_fit(c, n->choice, v, at))
		return brd_schema_fault_values(c, at, "enum", n->choice);
	return eval_typed(c, n, v, at, m) && (!n->logic || brd_schema_logic(c, n, v, at, m));
}

/* With unevaluated*: a set of marks of its own, as what stands around the schema
 * is not seen by it. */
static bool eval_marked(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	bool container = v.tok->type == JSON_ARRAY || v.tok->type == JSON_OBJECT;
	struct schema_marks own;
	bool fits;

	if (!container)
		return eval_groups(c, n, v, at, m);
	own = brd_schema_marks_push(c, v.tok->count);
	fits = schema_charge(c, at, own.words) && eval_groups(c, n, v, at, &own) &&
	       brd_schema_unevaluated(c, n, v, at, &own);
	if (fits && m) {
		bool all = v.tok->type == JSON_ARRAY ? n->array && n->array->unevaluated
						     : n->object && n->object->unevaluated;

		if (all)
			brd_schema_mark_all(c, m);
	}
	brd_schema_marks_pop(c, &own, fits ? m : NULL);
	return fits;
}

/* Dynamic anchors of a resource hold from where it is entered to where it is left,
 * unless one from further out holds already. */
static void enter(struct schema_check *c, const struct schema_res *res)
{
	c->entered[res->index] = true;
	for (const struct schema_dynamic *d = res->dynamics; d; d = d->next)
		if (!c->bound[d->name])
			c->bound[d->name] = d->node;
}

static void leave(struct schema_check *c, const struct schema_res *res)
{
	c->entered[res->index] = false;
	for (const struct schema_dynamic *d = res->dynamics; d; d = d->next)
		if (c->bound[d->name] == d->node)
			c->bound[d->name] = NULL;
}

static bool eval_deep(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	bool entering = c->entered && n->res->dynamics && !c->entered[n->res->index];
	bool fits;

	if (entering)
		enter(c, n->res);
	if (n->unevaluated)
		fits = eval_marked(c, n, v, at, m);
	else
		fits = eval_groups(c, n, v, at, m);
	if (entering)
		leave(c, n->res);
	return fits && !c->stop;
}

bool brd_schema_eval(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	bool fits;

	if (n->always)
		return true;
	if (n->never)
		return brd_schema_fault(c, at, "false", "nothing is allowed here");
	if (c->stop || !schema_charge(c, at, v.tok->type == JSON_NUMBER ? 1 + v.tok->len / 16 : 1))
		return false;
	if (c->depth >= SCHEMA_DEPTH)
		return brd_schema_give_up(
			c, at, "references nest too deep; does one lead back to itself?");
	c->depth++;
	fits = eval_deep(c, n, v, at, m);
	c->depth--;
	return fits;
}

bool brd_schema_eval_quiet(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m)
{
	bool tell = c->tell, fits;

	c->tell = false;
	fits = brd_schema_eval(c, n, v, at, m);
	if (!c->stop)
		c->tell = tell;
	return fits;
}

static int64_t budget(const struct schema *s, struct jval v)
{
	uint64_t tokens = v.tok->skip + v.tok->len / 64;
	uint64_t steps = STEPS_BASE + tokens * (64 + (s->n_nodes < 10000 ? s->n_nodes : 10000));

	if (steps > STEPS_MAX)
		steps = STEPS_MAX;
	return (int64_t)(steps > tokens * 64 ? steps : tokens * 64);
}

static void check_fini(struct schema_check *c)
{
	brd_schema_matcher_free(c->matcher);
	brd_map_fini(&c->decoded);
	brd_arena_fini(&c->scratch);
	free(c->bits);
	free(c->entered);
	free(c->bound);
}

/* c->out: faults are told if tell says so, and giving up in any case. */
static bool run(struct schema_check *c, struct jval v, struct arena *out, bool tell)
{
	const struct schema *s = c->s;
	bool fits;

	*c = (struct schema_check){ .s = s, .steps = budget(s, v), .out = out, .tell = tell };
	if (s->has_dynamic) {
		c->entered = brd_array(s->n_res, sizeof(*c->entered));
		c->bound = brd_array(s->n_dynamic + 1, sizeof(*c->bound));
	}
	fits = brd_schema_eval(c, s->root, v, NULL, NULL) && !c->stop;
	check_fini(c);
	return fits;
}

bool brd_schema_check(
	const struct schema *s, struct jval v, struct arena *a, struct schema_fault *ret)
{
	static const struct schema_fault nothing = { { "", 0 }, { "", 0 },
		{ "there is no value", 17 } };
	static const struct schema_fault unclear = { { "", 0 }, { "", 0 },
		{ "the value does not fit", 22 } };
	struct schema_check c = { .s = s };

	if (!v.tok) {
		if (ret)
			*ret = nothing;
		return false;
	}
	if (run(&c, v, ret ? a : NULL, false))
		return true;
	if (!ret)
		return false;
	if (!c.stop)
		run(&c, v, a, true);
	*ret = c.told.have ? c.told.fault : unclear;
	return false;
}

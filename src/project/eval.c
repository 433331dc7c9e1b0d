/* SPDX-License-Identifier: MIT */
/* See eval.h. A regex may cost so many steps on one output; over that it does not match. A custom
 * scorer is a tool like an agent's, so that whatever can be a tool can judge. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "project/eval.h"
#include <pcre2.h>
#include <libgen.h>
#include <stdio.h>
#include "base/err.h"
#include "config/conf.h"
#include "tool/tool.h"

#define MATCH_STEPS 1000000
#define AT(type, member) offsetof(struct type, member)

struct suite_conf {
	char *agent;
	int type;
	struct jval cases;
};

#define TYPES "functional|prompt-injection|jailbreak|data-exfiltration"

static const struct conf_field suite_fields[] = {
	{ .key = "agent", .type = CONF_ID, .offset = AT(suite_conf, agent), .doc = "Whom to run." },
	{ .key = "type",
		.type = CONF_ENUM,
		.offset = AT(suite_conf, type),
		.words = TYPES,
		.dflt = "functional",
		.doc = "What is tried." },
	{ .key = "cases",
		.type = CONF_JSON,
		.offset = AT(suite_conf, cases),
		.words = "array",
		.required = true,
		.doc = "Inputs, and what their outputs must be like." },
};

static const struct conf_field case_fields[] = {
	{ .key = "name",
		.type = CONF_STR,
		.offset = AT(eval_case, name),
		.required = true,
		.doc = "Shown in the report." },
	{ .key = "input", .type = CONF_JSON, .offset = AT(eval_case, input), .doc = "Any value." },
	{ .key = "skill", .type = CONF_STR, .offset = AT(eval_case, skill), .doc = "A skill." },
	{ .key = "scorers",
		.type = CONF_JSON,
		.offset = AT(eval_case, scorer_list),
		.words = "array",
		.doc = "Who judges the output." },
};

static const struct conf_field scorer_fields[] = {
	{ .key = "type",
		.type = CONF_ENUM,
		.offset = AT(eval_scorer, type),
		.words = "exact|contains|regex|llmJudge|custom",
		.required = true,
		.doc = "How to judge." },
	{ .key = "name",
		.type = CONF_STR,
		.offset = AT(eval_scorer, name),
		.doc = "Shown in the report instead of its type." },
	{ .key = "expected",
		.type = CONF_STR,
		.offset = AT(eval_scorer, expected),
		.doc = "The text, or a part of it." },
	{ .key = "pattern",
		.type = CONF_STR,
		.offset = AT(eval_scorer, pattern),
		.doc = "A regular expression that must match somewhere." },
	{ .key = "criteria",
		.type = CONF_STR,
		.offset = AT(eval_scorer, criteria),
		.doc = "What a model judges the output by." },
	{ .key = "model",
		.type = CONF_STR,
		.offset = AT(eval_scorer, model),
		.doc = "PROVIDER/MODEL of the judge." },
	{ .key = "command",
		.type = CONF_JSON,
		.offset = AT(eval_scorer, command),
		.words = "array|string|object",
		.doc = "A program that judges, as a tool's." },
	{ .key = "http",
		.type = CONF_JSON,
		.offset = AT(eval_scorer, http),
		.words = "object|string",
		.doc = "A URL that judges, as a tool's." },
	{ .key = "timeout",
		.type = CONF_TIME,
		.offset = AT(eval_scorer, timeout_ms),
		.dflt = "60s",
		.min = 1,
		.max = 3600e3,
		.doc = "Longest time of llmJudge and custom." },
};

static char *word_at(int i, struct arena *a)
{
	struct bread_str rest = BRD_STR(TYPES), word = { 0 };

	for (; i >= 0; i--)
		word = brd_str_split(&rest, '|');
	return brd_arena_strz(a, word);
}

struct eval_reader {
	struct eval_suite *s;
	struct yaml_doc doc;
	char *dir; /* of the file */
	struct bread_err *err;
};

static int compile(struct eval_reader *rd, struct eval_scorer *sc, struct jval at, const char *base)
{
	struct bread_str re = brd_str(sc->pattern);
	PCRE2_SIZE offset;
	int code;

	sc->regex = pcre2_compile(
		(PCRE2_SPTR)re.p, re.n, PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &code, &offset, NULL);
	return sc->regex ? 0
			 : brd_conf_fault(rd->err, &rd->doc, brd_json_get(at, "pattern"), base,
				   "has a fault at character %zu", (size_t)offset + 1);
}

static int open_tool(
	struct eval_reader *rd, struct eval_scorer *sc, struct jval v, const char *base)
{
	struct bread_err why = { 0 };

	if (!brd_tool_open(&sc->tool, v, rd->dir, &why))
		return 0;
	return brd_conf_fault(rd->err, &rd->doc, v, base, "cannot judge: %s", why.text);
}

/* What a type cannot be without; NULL: nothing. */
static const char *missing_key(const struct eval_scorer *sc)
{
	switch (sc->type) {
	case SCORE_REGEX:
		return sc->pattern ? NULL : "pattern";
	case SCORE_JUDGE:
		return sc->criteria ? NULL : "criteria";
	case SCORE_CUSTOM:
		return NULL; /* open_tool says it */
	default:
		return sc->expected ? NULL : "expected";
	}
}

static int read_scorer(
	struct eval_reader *rd, struct eval_scorer *sc, struct jval v, const char *base)
{
	const char *missing;
	int r = brd_conf_read(scorer_fields, CONF_COUNT(scorer_fields), v, sc, &rd->doc, base,
		&rd->s->arena, rd->err);

	if (r)
		return r;
	missing = missing_key(sc);
	if (missing)
		return brd_conf_fault(rd->err, &rd->doc, v, base, "needs a key %s", missing);
	if (sc->type == SCORE_CUSTOM)
		return open_tool(rd, sc, v, base);
	return sc->type == SCORE_REGEX ? compile(rd, sc, v, base) : 0;
}

static int read_case(struct eval_reader *rd, struct eval_case *c, struct jval v, size_t nth)
{
	char base[64];
	int r;

	snprintf(base, sizeof(base), "cases.%zu", nth);
	r = brd_conf_read(
		case_fields, CONF_COUNT(case_fields), v, c, &rd->doc, base, &rd->s->arena, rd->err);
	if (r)
		return r;
	c->scorers = brd_arena_array(
		&rd->s->arena, brd_json_count(c->scorer_list) + 1, sizeof(*c->scorers));
	for (struct json_iter it = brd_json_each(c->scorer_list); !r && brd_json_next(&it);) {
		snprintf(base, sizeof(base), "cases.%zu.scorers.%zu", nth, it.index);
		r = read_scorer(rd, &c->scorers[c->scorer_count++], it.value, base);
	}
	return r;
}

int brd_eval_read(struct eval_suite *s, const char *file, struct bread_err *err)
{
	struct eval_reader rd = { .s = s, .err = err };
	struct suite_conf c = { 0 };
	int r;

	memset(s, 0, sizeof(*s));
	rd.dir = dirname(brd_arena_strz(&s->arena, brd_str(file)));
	r = brd_yaml_load(&rd.doc, &s->arena, file, err);
	if (!r)
		r = brd_conf_read(suite_fields, CONF_COUNT(suite_fields), rd.doc.root, &c, &rd.doc,
			"", &s->arena, err);
	s->agent = c.agent;
	s->cases = brd_arena_array(&s->arena, brd_json_count(c.cases) + 1, sizeof(*s->cases));
	for (struct json_iter it = brd_json_each(c.cases); !r && brd_json_next(&it);)
		r = read_case(&rd, &s->cases[s->case_count++], it.value, it.index);
	if (!r)
		s->type = word_at(c.type, &s->arena);
	else
		brd_eval_fini(s);
	return r;
}

void brd_eval_fini(struct eval_suite *s)
{
	for (size_t i = 0; i < s->case_count; i++)
		for (size_t j = 0; j < s->cases[i].scorer_count; j++) {
			pcre2_code_free(s->cases[i].scorers[j].regex);
			brd_tool_close(s->cases[i].scorers[j].tool);
		}
	brd_arena_fini(&s->arena);
	memset(s, 0, sizeof(*s));
}

/* ---- scoring ---- */

static bool matches(const struct eval_scorer *sc, struct bread_str text)
{
	pcre2_match_context *mc = pcre2_match_context_create(NULL);
	pcre2_match_data *md = pcre2_match_data_create(1, NULL);
	bool ok;

	pcre2_set_match_limit(mc, MATCH_STEPS);
	/* a match data of one pair is too small for groups: that is 0, and a match */
	ok = pcre2_match(sc->regex, (PCRE2_SPTR)text.p, text.n, 0, 0, md, mc) >= 0;
	pcre2_match_data_free(md);
	pcre2_match_context_free(mc);
	return ok;
}

static bool passes(const struct eval_scorer *sc, struct bread_str text)
{
	if (sc->type == SCORE_REGEX)
		return matches(sc, text);
	if (sc->type == SCORE_EXACT)
		return brd_str_is(text, sc->expected);
	return brd_str_find(text, brd_str(sc->expected)) >= 0;
}

static struct bread_str text_of(struct bread_str output, struct arena *a)
{
	struct bread_str text = BRD_STR("");
	struct jval v;
	struct buf b;

	if (!output.n || brd_json_parse(a, output, 0, &v, NULL))
		return text;
	if (brd_json_type(v) == JSON_STRING)
		return brd_arena_copy(a, brd_json_str(v, a));
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_compact(v, &b);
	text = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return text;
}

static int score_of(const struct eval_scorer *sc, const struct eval_shown *shown,
	const struct eval_judge *judge, double *ret_score, struct bread_err *err)
{
	if (sc->type == SCORE_JUDGE || sc->type == SCORE_CUSTOM)
		return judge->judge(judge->arg, sc, shown, ret_score, err);
	*ret_score = passes(sc, shown->text);
	return 0;
}

static const char *name_of(const struct eval_scorer *sc)
{
	static const char *const names[] = { "exact", "contains", "regex", "llmJudge", "custom" };

	return sc->name ? sc->name : names[sc->type];
}

void brd_eval_score(const struct eval_case *c, struct bread_str output,
	const struct eval_judge *judge, struct arena *a, struct eval_result *ret)
{
	struct eval_shown shown = { c, output, text_of(output, a) };
	double sum = 0, score;
	struct bread_err err = { 0 };
	struct buf b;
	int r = 0;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (size_t i = 0; i < c->scorer_count && !r; i++) {
		r = score_of(&c->scorers[i], &shown, judge, &score, &err);
		if (r)
			break;
		sum += score;
		brd_buf_addf(&b, "%s%s: %s", i ? ", " : "", name_of(&c->scorers[i]),
			score >= 1 ? "PASS" : "FAIL");
	}
	if (r) {
		brd_eval_failed(brd_arena_printf(a, "%s", err.text), a, ret);
	} else {
		*ret = (struct eval_result){
			.score = c->scorer_count ? sum / (double)c->scorer_count : 1,
			.details = brd_arena_copy(a, brd_buf_str(&b))
		};
		ret->passed = ret->score >= 1;
	}
	brd_buf_fini(&b);
}

void brd_eval_failed(struct bread_str message, struct arena *a, struct eval_result *ret)
{
	*ret = (struct eval_result){ .error = true,
		.details = brd_arena_printf(a, "Error: %.*s", BRD_ARG(message)) };
}

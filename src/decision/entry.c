/* SPDX-License-Identifier: MIT */
/* Entries under `decisions:`: which keys there are, and which of them a type has. Whatever is
 * wrong with one is found when it is read, with its place. */
#include "base/err.h"
#include "decision/internal.h"

#define AT(member) offsetof(struct decision_conf, member)

const struct conf_field brd_decision_fields[] = {
	{ .key = "type",
		.type = CONF_STR,
		.offset = AT(type),
		.doc = "scripted, model, or a host known by name; default: the entry's own name." },
	{ .key = "baseUrl",
		.type = CONF_STR,
		.offset = AT(base_url),
		.doc = "Where the host is, instead of what is known of it." },
	{ .key = "apiKey",
		.type = CONF_STR,
		.offset = AT(api_key),
		.doc = "Its key; better in the environment." },
	{ .key = "apiKeyEnv",
		.type = CONF_STR,
		.offset = AT(api_key_env),
		.doc = "The variable that has its key, instead of the host's own." },
	{ .key = "caFile",
		.type = CONF_STR,
		.offset = AT(ca_file),
		.doc = "PEM file of certificates to trust instead of the system's." },
	{ .key = "timeout",
		.type = CONF_TIME,
		.offset = AT(timeout_ms),
		.dflt = "60s",
		.min = 1,
		.max = 3600e3,
		.doc = "Longest time of a question." },
	{ .key = "answers",
		.type = CONF_JSON,
		.offset = AT(answers),
		.words = "array",
		.doc = "scripted: the n-th answers the n-th question; null: no answer." },
	{ .key = "questions",
		.type = CONF_JSON,
		.offset = AT(questions),
		.words = "object",
		.doc = "scripted: an answer, or a list of them, by the question's text." },
	{ .key = "record",
		.type = CONF_STR,
		.offset = AT(record),
		.doc = "scripted: a file that gets a line of JSON for each question." },
	{ .key = "provider",
		.type = CONF_STR,
		.offset = AT(provider),
		.doc = "model: a key of providers." },
	{ .key = "model",
		.type = CONF_STR,
		.offset = AT(model),
		.doc = "model: for steps that name none." },
	{ .key = "settings",
		.type = CONF_JSON,
		.offset = AT(settings),
		.words = "object",
		.doc = "model: as an agent's model.settings." },
};
const size_t brd_decision_field_count = CONF_COUNT(brd_decision_fields);

/* ---- entries ---- */

bool brd_decision_type(struct bread_str word, struct decision_type *ret)
{
	if (brd_str_is(word, "scripted"))
		*ret = (struct decision_type){ &brd_decision_scripted,
			" type answers questions record " };
	else if (brd_str_is(word, "model"))
		*ret = (struct decision_type){ &brd_decision_model,
			" type provider model settings timeout " };
	else if (brd_decision_host(word))
		*ret = (struct decision_type){ &brd_decision_systemone,
			" type baseUrl apiKey apiKeyEnv caFile timeout " };
	else
		return false;
	return true;
}

static struct bread_str type_word(struct bread_str name, struct jval entry, struct arena *a)
{
	struct jval type =
		brd_json_type(entry) == JSON_STRING ? entry : brd_json_get(entry, "type");

	return brd_json_type(type) == JSON_STRING ? brd_json_str(type, a) : name;
}

static char *base_name(struct bread_str name, struct arena *a)
{
	return brd_arena_strz(a,
		brd_arena_printf(a, "decisions.%.*s", (int)(name.n < 128 ? name.n : 128), name.p));
}

static int unknown_type(struct bread_str word, struct jval at, const struct yaml_doc *doc,
	const char *base, struct bread_err *err)
{
	struct buf known;
	int r;

	brd_buf_init(&known, 4096);
	brd_decision_hosts(&known);
	r = brd_conf_fault(err, doc, at, base,
		"is of the type \"%.*s\", which is not known; scripted, model, %s are",
		(int)(word.n < 64 ? word.n : 64), word.p, known.data);
	brd_buf_fini(&known);
	return r;
}

static bool has_key(const struct decision_type *t, struct bread_str key, struct arena *a)
{
	struct bread_str word = brd_arena_printf(a, " %.*s ", BRD_ARG(key));

	return brd_str_starts(key, BRD_STR("x-")) || brd_str_find(brd_str(t->keys), word) >= 0;
}

/* Keys that a type has not, and what it cannot be without. */
static int check_keys(const struct decision_conf *c, const struct decision_type *t,
	struct jval entry, const struct yaml_doc *doc, const char *base, struct arena *a,
	struct bread_err *err)
{
	for (struct json_iter it = brd_json_each(entry); brd_json_next(&it);) {
		struct bread_str key = brd_json_str(it.key, a);

		if (!has_key(t, key, a))
			return brd_conf_fault(err, doc, it.key, base,
				"has no key %.*s: it is of the type %s", BRD_ARG(key), c->type);
	}
	if (t->ops == &brd_decision_model && !c->provider)
		return brd_conf_fault(
			err, doc, entry, base, "needs a provider: a key of providers");
	if (t->ops == &brd_decision_scripted)
		return brd_scripted_check(c, doc, base, a, err);
	return 0;
}

int brd_decision_conf(struct decision_conf *c, struct bread_str name, struct jval entry,
	const struct yaml_doc *doc, struct arena *a, struct bread_err *err)
{
	const char *base = base_name(name, a);
	struct bread_str word = type_word(name, entry, a);
	struct jval none = { 0 }, obj = brd_json_type(entry) == JSON_OBJECT ? entry : none;
	struct decision_type t;
	int r;

	if (brd_json_type(entry) > JSON_NULL && brd_json_type(entry) != JSON_STRING &&
		brd_json_type(entry) != JSON_OBJECT)
		return brd_conf_fault(err, doc, entry, base,
			"is an object or the name of a type, not %s",
			brd_json_type_name(brd_json_type(entry)));
	r = brd_conf_read(brd_decision_fields, brd_decision_field_count, obj, c, doc, base, a, err);
	if (r)
		return r;
	c->type = brd_arena_strz(a, word);
	if (!brd_decision_type(word, &t))
		return unknown_type(word, entry, doc, base, err);
	return check_keys(c, &t, obj, doc, base, a, err);
}

int brd_decision_options(struct decision_conf *c, struct bread_str name, struct bread_str options,
	struct arena *a, struct bread_err *err)
{
	struct jval v;

	if (brd_json_parse(a, brd_arena_copy(a, options), 0, &v, NULL))
		return brd_fail(err, BREAD_E_INVALID, "decisions", "decisions.%.*s is no JSON",
			BRD_ARG(name));
	return brd_decision_conf(c, name, v, NULL, a, err);
}

int brd_decisions_check(struct jval registry, const struct yaml_doc *doc, struct bread_err *err)
{
	struct arena a = { 0 };
	int r = 0;

	for (struct json_iter it = brd_json_each(registry); !r && brd_json_next(&it);) {
		struct decision_conf c = { 0 };

		r = brd_decision_conf(&c, brd_json_str(it.key, &a), it.value, doc, &a, err);
	}
	brd_arena_fini(&a);
	return r;
}

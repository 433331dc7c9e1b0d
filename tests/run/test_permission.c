/* SPDX-License-Identifier: MIT */
/* Selectors and what they leave of an agent's tools, as recorded. */
#include <stdio.h>
#include "config/yaml.h"
#include "run/permission.h"
#include "test.h"

static struct arena arena;
static struct yaml_doc vectors;

static struct bread_str str(struct jval v, const char *key)
{
	return brd_json_str(brd_json_get(v, key), &arena);
}

static void check_parse(struct jval v)
{
	struct jval ok = brd_json_get(v, "ok");
	struct bread_err err = { 0 };
	struct selector s;
	int r = brd_selector_parse(&s, str(v, "selector"), &err);

	if (brd_json_type(ok) == JSON_OBJECT) {
		assert_int_equal(r, 0);
		assert_true(brd_str_eq(s.scope, str(ok, "scope")));
		assert_true(brd_str_eq(s.sub, str(ok, "sub")));
		assert_true(brd_str_eq(s.name, str(ok, "name")));
		return;
	}
	assert_int_equal(r, BREAD_E_INVALID);
	assert_string_equal(err.name, "INVALID_PERMISSION");
	assert_string_equal(err.text, brd_json_strz(brd_json_get(v, "error"), &arena));
	assert_non_null(strstr(err.context, "{\"selector\":"));
}

static void selectors_parse_as_recorded(void **state)
{
	struct jval list = brd_json_get(vectors.root, "parse_selector");

	assert_int_equal(brd_json_count(list), 38);
	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);)
		check_parse(it.value);
}

static bool listed(struct jval list, struct bread_str id)
{
	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);)
		if (brd_json_iss(it.value, id))
			return true;
	return false;
}

static void check_matches(struct jval v)
{
	struct jval names = brd_json_get(vectors.root, "names");
	struct selector s;

	assert_int_equal(brd_selector_parse(&s, str(v, "selector"), NULL), 0);
	for (struct json_iter it = brd_json_each(names); brd_json_next(&it);) {
		struct bread_str id = str(it.value, "perm_id");

		assert_int_equal(
			brd_selector_matches(&s, id), listed(brd_json_get(v, "matches"), id));
	}
}

static void selectors_match_as_recorded(void **state)
{
	struct jval list = brd_json_get(vectors.root, "match");

	assert_int_equal(brd_json_count(list), 9);
	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);)
		check_matches(it.value);
}

static struct conf_strs strings(struct jval list)
{
	struct conf_strs s = { brd_arena_array(&arena, brd_json_count(list) + 1, sizeof(char *)),
		0 };

	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);)
		s.v[s.n++] = brd_json_strz(it.value, &arena);
	return s;
}

static void check_resolve(struct jval v)
{
	struct jval names = brd_json_get(vectors.root, "names"), p = brd_json_get(v, "permissions");
	struct conf_strs allow = strings(brd_json_get(p, "allow")),
			 ask = strings(brd_json_get(p, "ask")),
			 deny = strings(brd_json_get(p, "deny"));
	struct permissions all;

	assert_int_equal(brd_permissions_parse(&all, &allow, &ask, &deny, &arena, NULL), 0);
	for (struct json_iter it = brd_json_each(names); brd_json_next(&it);) {
		struct bread_str id = str(it.value, "perm_id");
		bool human = brd_str_starts(id, BRD_STR("human:")), gated, offered;

		offered = brd_permitted(&all, human ? NULL : brd_arena_strz(&arena, id), &gated);
		assert_int_equal(offered, listed(brd_json_get(v, "allowed"), id));
		assert_int_equal(gated, listed(brd_json_get(v, "gated"), str(it.value, "leaf")));
	}
}

static void what_is_offered_is_as_recorded(void **state)
{
	struct jval list = brd_json_get(vectors.root, "resolve");

	assert_int_equal(brd_json_count(list), 10);
	for (struct json_iter it = brd_json_each(list); brd_json_next(&it);)
		check_resolve(it.value);
}

static bool match(const char *selector, const char *id)
{
	struct selector s;

	assert_int_equal(brd_selector_parse(&s, brd_str(selector), NULL), 0);
	return brd_selector_matches(&s, brd_str(id));
}

static void a_star_takes_any_run_of_word_characters(void **state)
{
	assert_true(match("tool:*", "tool:"));
	assert_true(match("tool:a*b*c", "tool:a_b_b_c"));
	assert_true(match("tool:a*a", "tool:aaa"));
	assert_false(match("tool:a*b", "tool:a_bc"));
	assert_false(match("tool:a*", "tool:a-b"));
	assert_false(match("skill:*/x", "skill:a/b/x"));
	assert_false(match("tool:*", "task:a"));
}

static void a_long_or_broken_selector_is_shown_cut(void **state)
{
	struct bread_err err = { 0 };
	struct selector s;
	char text[2000];

	memset(text, 'A', sizeof(text));
	memcpy(text, "tool:", 5);
	assert_int_equal(brd_selector_parse(&s, (struct bread_str){ text, sizeof(text) }, &err),
		BREAD_E_INVALID);
	assert_true(strlen(err.text) < 300);
	assert_true(brd_json_ok(brd_str(err.context), 0));
}

static int set_up(void **state)
{
	return brd_yaml_load(&vectors, &arena, getenv("VECTORS"), NULL);
}

static int tear_down(void **state)
{
	brd_arena_fini(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selectors_parse_as_recorded),
		cmocka_unit_test(selectors_match_as_recorded),
		cmocka_unit_test(what_is_offered_is_as_recorded),
		cmocka_unit_test(a_star_takes_any_run_of_word_characters),
		cmocka_unit_test(a_long_or_broken_selector_is_shown_cut),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

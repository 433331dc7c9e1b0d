/* SPDX-License-Identifier: MIT */
/* JSON Schema beyond the official suite: what faults say, what is refused, defaults,
 * limits. */
#include "test.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/schema.h"
#include "base/str.h"

static struct arena a;

static int fini_arena(void **state)
{
	brd_arena_fini(&a);
	return 0;
}

static struct schema *compile(const char *text)
{
	struct bread_err err = { 0 };
	struct schema *s = NULL;

	if (brd_schema_new(&s, brd_str(text), &err))
		fail_msg("%s: %s", text, err.text);
	return s;
}

static struct jval parse(const char *text)
{
	struct jval v = { 0 };

	assert_int_equal(brd_json_parse(&a, brd_str(text), 0, &v, NULL), 0);
	return v;
}

static bool fits(const char *schema, const char *value)
{
	struct schema *s = compile(schema);
	bool r = brd_schema_check(s, parse(value), &a, NULL);

	brd_schema_unref(s);
	return r;
}

/* The first fault as "place keyword: text". */
static const char *fault(const char *schema, const char *value)
{
	struct schema *s = compile(schema);
	struct schema_fault f;
	const char *z = "none";

	if (!brd_schema_check(s, parse(value), &a, &f))
		z = brd_arena_printf(
			&a, "%.*s %.*s: %.*s", BRD_ARG(f.at), BRD_ARG(f.keyword), BRD_ARG(f.text))
			    .p;
	brd_schema_unref(s);
	return z;
}

/* Why a schema is refused. */
static const char *refusal(const char *schema)
{
	struct bread_err err = { 0 };
	struct schema *s = NULL;

	if (brd_schema_new(&s, brd_str(schema), &err) == 0) {
		brd_schema_unref(s);
		return "none";
	}
	assert_int_equal(err.code, BREAD_E_INVALID);
	return brd_arena_printf(&a, "%s", err.text).p;
}

static const char *filled(const char *schema, const char *value)
{
	struct schema *s = compile(schema);
	struct bread_str raw = brd_json_raw(brd_schema_defaults(s, parse(value), &a));

	raw = brd_arena_copy(&a, raw);
	brd_schema_unref(s);
	return raw.p;
}

static void a_fault_names_its_place(void **state)
{
	const char *s = "{\"properties\":{\"a/b~c\":{\"items\":{\"type\":\"integer\"}}}}";

	assert_string_equal(fault(s, "{\"a/b~c\":[1,2,\"x\"]}"),
		"/a~1b~0c/2 type: an integer was expected, here is a string");
	assert_string_equal(fault(s, "{\"a/b~c\":[1.5]}"),
		"/a~1b~0c/0 type: an integer was expected, here is 1.5");
}

static void a_fault_names_what_was_expected(void **state)
{
	assert_string_equal(fault("{\"type\":[\"string\",\"null\",\"integer\"]}", "true"),
		" type: null, a string or an integer was expected, here is a boolean");
	assert_string_equal(fault("{\"enum\":[\"a\",\"b\",3]}", "\"c\""),
		" enum: \"a\", \"b\" or 3 was expected");
	assert_string_equal(fault("{\"const\":{\"a\":1}}", "{}"), " const: {\"a\":1} was expected");
	assert_string_equal(fault("{\"exclusiveMinimum\":1e2}", "99.5"),
		" exclusiveMinimum: more than 1e2 was expected, here is 99.5");
	assert_string_equal(fault("{\"multipleOf\":0.25}", "0.3"),
		" multipleOf: a multiple of 0.25 was expected, here is 0.3");
	assert_string_equal(fault("{\"minLength\":3}", "\"\\ud83d\\ude00\\u00e9\""),
		" minLength: at least 3 characters were expected, here are 2");
	assert_string_equal(fault("{\"pattern\":\"^a+$\"}", "\"b\""),
		" pattern: the string does not match the pattern ^a+$");
	assert_string_equal(
		fault("{\"uniqueItems\":true}", "[1,{\"a\":1,\"b\":2},{\"b\":2.0,\"a\":1e0}]"),
		" uniqueItems: members must differ, but numbers 1 and 2 (from 0) are equal");
	assert_string_equal(fault("{\"properties\":{\"a\":false}}", "{\"a\":1}"),
		"/a false: nothing is allowed here");
}

static void a_fault_on_a_property_names_it(void **state)
{
	const char *s = "{\"properties\":{\"path\":{},\"mode\":{}},\"required\":[\"path\"],"
			"\"additionalProperties\":false}";

	assert_string_equal(fault(s, "{}"), " required: the property \"path\" is missing");
	assert_string_equal(fault(s, "{\"path\":1,\"mdoe\":2}"),
		" additionalProperties: the property \"mdoe\" "
		"is not allowed; did you mean \"mode\"?");
	assert_string_equal(fault(s, "{\"path\":1,\"zzzzz\":2}"),
		" additionalProperties: the property \"zzzzz\" is not allowed; allowed are "
		"\"path\", "
		"\"mode\"");
	assert_string_equal(fault("{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}"),
		" propertyNames: the name \"abc\" is not allowed: at most 2 characters were "
		"expected, "
		"here are 3");
	assert_string_equal(fault("{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}"),
		" dependentRequired: the property \"b\" is missing, which \"a\" needs beside it");
}

static void alternatives_are_explained_by_the_nearest(void **state)
{
	const char *s =
		"{\"anyOf\":["
		"{\"properties\":{\"kind\":{\"const\":\"a\"},\"x\":{\"type\":\"number\"}}},"
		"{\"properties\":{\"kind\":{\"const\":\"b\"},\"y\":{\"type\":\"number\"}}}]}";

	assert_string_equal(fault(s, "{\"kind\":\"b\",\"y\":\"1\"}"),
		"/y type: a number was expected, here is a string");
	assert_string_equal(fault("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "3"),
		" anyOf: none of the 2 alternatives fits: a string was expected, here is a number; "
		"or "
		"null was expected, here is a number");
	assert_string_equal(
		fault("{\"oneOf\":[{\"minimum\":1},{\"type\":\"string\"},{\"minimum\":2}]}", "3"),
		" oneOf: only one of the 3 alternatives may fit, but numbers 1 and 3 do");
}

static void a_bad_schema_is_refused_with_its_place(void **state)
{
	assert_string_equal(refusal("{\"properties\":{\"a\":{\"minimum\":\"3\"}}}"),
		"at /properties/a/minimum: minimum must be of type number, here is string");
	assert_string_equal(refusal("{\"$defs\":{\"x\":{\"type\":\"text\"}}}"),
		"at /$defs/x/type: \"text\" is no type; there are null, boolean, integer, number, "
		"string, "
		"array, object");
	assert_string_equal(refusal("{\"items\":{\"$ref\":\"#/$defs/no\"}}"),
		"at /items/$ref: there is nothing at /$defs/no");
	assert_string_equal(refusal("{\"$ref\":\"http://example.com/x\"}"),
		"at /$ref: nothing is known at \"http://example.com/x\"; put that schema under "
		"$defs, or "
		"correct the reference");
	assert_string_equal(
		refusal("3"), "at the top: a schema is an object, true or false; here is number");
	assert_non_null(
		strstr(refusal("{\"pattern\":\"(\"}"), "at /pattern: not a regular expression: "));
	assert_non_null(strstr(refusal("{\"a\":"), "not JSON: "));
	assert_non_null(strstr(refusal("{\"items\":[{}]}"), "prefixItems"));
	assert_non_null(strstr(refusal("{\"$schema\":\"http://example.com/mine\"}"), "not known"));
	assert_non_null(strstr(refusal("{\"multipleOf\":0}"), "greater than 0"));
	assert_non_null(strstr(refusal("{\"maxItems\":-1}"), "must not be negative"));
	assert_non_null(strstr(refusal("{\"maxItems\":1.5}"), "whole number"));
	assert_non_null(strstr(refusal("{\"allOf\":[]}"), "must have a schema in it"));
	assert_non_null(strstr(refusal("{\"$anchor\":\"1a\"}"), "anchor"));
	assert_non_null(strstr(refusal("{\"$id\":\"a#b\"}"), "fragment"));
}

static void numbers_are_compared_by_value(void **state)
{
	assert_true(fits("{\"multipleOf\":0.01}", "4.35"));
	assert_true(fits("{\"multipleOf\":0.01}", "1234567890123456789.07"));
	assert_false(fits("{\"multipleOf\":0.01}", "0.075"));
	assert_true(fits("{\"multipleOf\":1e-300}", "1e300"));
	assert_false(fits("{\"multipleOf\":3}", "1e400"));
	assert_true(fits("{\"multipleOf\":3}", "3e400"));
	assert_false(fits("{\"const\":9007199254740993}", "9007199254740992"));
	assert_true(fits("{\"const\":1.0}", "10e-1"));
	assert_true(fits("{\"enum\":[-0.0]}", "0"));
	assert_true(fits("{\"maximum\":99999999999999999999.5}", "99999999999999999999.49"));
	assert_false(fits("{\"maximum\":99999999999999999999.5}", "99999999999999999999.51"));
	assert_true(fits("{\"minimum\":-1e-400}", "-1e-401"));
	assert_true(fits("{\"type\":\"integer\"}", "1.50e1"));
	assert_false(fits("{\"type\":\"integer\"}", "1.55e1"));
	assert_true(fits("{\"exclusiveMaximum\":0}", "-0.0001"));
	assert_false(fits("{\"exclusiveMaximum\":0}", "-0"));
}

static void patterns_follow_ecma(void **state)
{
	assert_true(fits("{\"pattern\":\"^\\\\s$\"}", "\"\\u3000\""));
	assert_false(fits("{\"pattern\":\"^\\\\S$\"}", "\"\\ufeff\""));
	assert_true(fits("{\"pattern\":\"^[\\\\s\\\\S]$\"}", "\"\\n\""));
	assert_false(fits("{\"pattern\":\"^\\\\w$\"}", "\"\\u00e9\""));
	assert_true(fits("{\"pattern\":\"^\\\\p{Uppercase_Letter}$\"}", "\"\\u00c9\""));
	assert_true(fits("{\"pattern\":\"^[[]$\"}", "\"[\""));
	assert_false(fits("{\"pattern\":\"a$\"}", "\"a\\n\""));
	assert_true(fits("{\"pattern\":\"^.$\"}", "\"\\ud83d\\ude00\""));
	assert_true(fits("{\"pattern\":\"^[\\\\ud83d\\\\ude00]$\"}", "\"\\ud83d\\ude00\""));
	assert_true(fits("{\"pattern\":\"^\\\\u0041\\\\x42$\"}", "\"AB\""));
	assert_true(fits("{\"pattern\":\"b$\"}", "\"\\ud800b\"")); /* a lone surrogate */
}

static void older_drafts_are_understood(void **state)
{
#define SEVEN "{\"$schema\":\"http://json-schema.org/draft-07/schema#\","
	assert_false(fits(
		SEVEN "\"items\":[{\"type\":\"string\"}],\"additionalItems\":false}", "[\"a\",1]"));
	assert_true(fits(SEVEN "\"items\":[{\"type\":\"string\"}]}", "[\"a\",1]"));
	assert_false(fits(SEVEN "\"dependencies\":{\"a\":[\"b\"]}}", "{\"a\":1}"));
	assert_true(fits("{\"dependencies\":{\"a\":[\"b\"]}}", "{\"a\":1}"));
	assert_false(fits(SEVEN "\"minimum\":1,\"exclusiveMinimum\":true}", "1"));
	assert_false(fits(SEVEN
		"\"definitions\":{\"a\":{\"type\":\"null\"}},\"$ref\":\"#/definitions/a\"}",
		"1"));
#undef SEVEN
}

static void defaults_fill_what_is_missing(void **state)
{
	assert_string_equal(
		filled("{\"properties\":{\"a\":{\"default\":1},\"b\":{\"default\":{\"c\":[]}}}}",
			"{\"b\": 2}"),
		"{\"b\":2,\"a\":1}");
	assert_string_equal(filled("{\"properties\":{\"a\":{\"default\":1}}}", "{ \"a\" : 0 }"),
		"{ \"a\" : 0 }");
	assert_string_equal(filled("{\"properties\":{\"a\":{\"default\":1}}}", "[]"), "[]");
}

static void defaults_reach_inside(void **state)
{
	assert_string_equal(
		filled("{\"properties\":{\"o\":{\"properties\":{\"x\":{\"default\":null}}}}}",
			"{\"o\":{}}"),
		"{\"o\":{\"x\":null}}");
	assert_string_equal(
		filled("{\"items\":{\"$ref\":\"#/$defs/t\"},\"$defs\":{\"t\":{\"allOf\":["
		       "{\"properties\":{\"q\\\"\":{\"$ref\":\"#/$defs/d\"}}}]},"
		       "\"d\":{\"default\":\"\\u00e9\"}}}",
			"[{},{\"q\\\"\":1}]"),
		"[{\"q\\\"\":\"\\u00e9\"},{\"q\\\"\":1}]");
}

static void a_default_is_taken_as_it_is(void **state)
{
	assert_string_equal(
		filled("{\"properties\":{\"a\":{\"$ref\":\"#\",\"default\":{}}}}", "{}"),
		"{\"a\":{}}");
	assert_string_equal(filled("{\"allOf\":[{\"properties\":{\"a\":{\"default\":1}}},"
				   "{\"properties\":{\"a\":{\"default\":2}}}]}",
				    "{}"),
		"{\"a\":1}");
	assert_string_equal(
		filled("{\"anyOf\":[{\"properties\":{\"a\":{\"default\":1}}}]}", "{}"), "{}");
}

static void a_reference_to_itself_ends(void **state)
{
	assert_non_null(strstr(fault("{\"$ref\":\"#\"}", "1"), "nest too deep"));
	assert_non_null(strstr(fault("{\"not\":{\"$ref\":\"#\"}}", "1"), "nest too deep"));
	assert_non_null(strstr(
		fault("{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}", "1"), "nest too deep"));
}

/* Each level tries the next one twice: 2^40 without a limit. */
static void branching_without_end_is_given_up(void **state)
{
	struct buf b;
	struct schema *s;
	struct schema_fault f;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addz(&b, "{\"$ref\":\"#/$defs/0\",\"$defs\":{");
	for (int i = 0; i < 40; i++)
		brd_buf_addf(&b,
			"\"%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":\"#/$defs/%d\"}]},",
			i, i + 1, i + 1);
	brd_buf_addz(&b, "\"40\":{\"type\":\"string\"}}}");
	s = compile(b.data);
	assert_false(brd_schema_check(s, parse("1"), &a, &f));
	assert_non_null(strstr(f.text.p, "too many steps"));
	brd_schema_unref(s);
	brd_buf_fini(&b);
}

static void a_hostile_pattern_is_given_up(void **state)
{
	struct buf b;

	skip_under_valgrind();
	assert_non_null(strstr(
		fault("{\"pattern\":\"^(a+)+$\"}", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\""),
		"too many steps"));
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addc(&b, '"');
	for (int i = 0; i < 1000000; i++)
		brd_buf_addc(&b, 'a');
	brd_buf_addc(&b, '"');
	assert_non_null(strstr(fault("{\"pattern\":\"a*[bc]\"}", b.data), "too many steps"));
	assert_non_null(strstr(fault("{\"pattern\":\"xyz\"}", b.data), "does not match"));
	assert_true(fits("{\"pattern\":\"^[a-z]+$\"}", b.data));
	brd_buf_fini(&b);
}

static void an_honest_pattern_may_backtrack_along_a_long_text(void **state)
{
	struct buf b;

	skip_under_valgrind();
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addc(&b, '"');
	for (int i = 0; i < 10000; i++)
		brd_buf_addz(&b, "word ");
	brd_buf_addz(&b, "end\"");
	assert_true(fits("{\"pattern\":\"^(?:\\\\w+\\\\s?|-)*$\"}", b.data));
	assert_true(fits("{\"pattern\":\"(?:d|e| )+end$\"}", b.data));
	brd_buf_fini(&b);
}

static void many_members_are_compared_quickly(void **state)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addc(&b, '[');
	for (int i = 0; i < 50000; i++)
		brd_buf_addf(&b, "{\"id\":%d,\"name\":\"n\"},", i);
	brd_buf_addz(&b, "{\"name\":\"n\",\"id\":49999.0}]");
	assert_non_null(strstr(fault("{\"uniqueItems\":true}", b.data), "numbers 49999 and 50000"));
	brd_buf_fini(&b);
}

static void large_tables_find_their_properties(void **state)
{
	struct buf s, v;

	brd_buf_init(&s, BUF_NO_LIMIT);
	brd_buf_init(&v, BUF_NO_LIMIT);
	brd_buf_addz(&s,
		"{\"additionalProperties\":false,\"required\":[\"p7\",\"p199\"],\"properties\":{");
	brd_buf_addz(&v, "{\"p3\":true");
	for (int i = 0; i < 200; i++)
		brd_buf_addf(&s, "%s\"p%d\":{\"type\":\"integer\"}", i ? "," : "", i);
	for (int i = 199; i > 10; i--)
		brd_buf_addf(&v, ",\"p%d\":%d", i, i);
	brd_buf_addz(&s, "}}");
	brd_buf_addz(&v, "}");
	assert_string_equal(
		fault(s.data, v.data), "/p3 type: an integer was expected, here is a boolean");
	memcpy(v.data + 6, "3333", 4);
	assert_string_equal(fault(s.data, v.data), " required: the property \"p7\" is missing");
	brd_buf_fini(&s);
	brd_buf_fini(&v);
}

static void a_repeated_key_is_checked_each_time(void **state)
{
	assert_false(
		fits("{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":1,\"a\":\"x\"}"));
	assert_false(fits("{\"minProperties\":2}", "{\"a\":1,\"a\":2}"));
	assert_true(fits("{\"maxProperties\":1}", "{\"a\":1,\"\\u0061\":2}"));
	assert_false(fits("{\"uniqueItems\":true}", "[1,2,3,4,5,6,7,{\"a\":2},{\"a\":1,\"a\":2}]"));
}

static void it_is_shared(void **state)
{
	struct schema *s = compile(" {\"type\" : \"null\"}");

	assert_ptr_equal(brd_schema_ref(s), s);
	brd_schema_unref(s);
	assert_true(brd_schema_check(s, parse("null"), &a, NULL));
	brd_schema_unref(s);
	brd_schema_unref(NULL);
}

static void no_value_does_not_fit(void **state)
{
	struct schema *s = compile("true");
	struct schema_fault f;

	assert_false(brd_schema_check(s, (struct jval){ 0 }, &a, &f));
	assert_str(f.text, "there is no value");
	brd_schema_unref(s);
}

static struct bread_str no_formats(struct bread_str uri, void *arg)
{
	return BRD_STR("{\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/"
		       "format-assertion\":"
		       "true}}");
}

static void a_vocabulary_that_is_not_known_is_refused(void **state)
{
	struct bread_err err = { 0 };
	struct schema *s = NULL;

	assert_int_equal(
		brd_schema_new_with(&s, BRD_STR("{\"$schema\":\"x:y\"}"), no_formats, NULL, &err),
		BREAD_E_INVALID);
	assert_non_null(strstr(err.text, "format-assertion"));
}

static void *check_often(void *arg)
{
	struct schema *s = arg;
	struct arena own = { 0 };
	struct jval v;
	size_t good = 0;

	brd_json_parse(&own, BRD_STR("{\"a\":[\"xy\",{\"a\":[]}]}"), 0, &v, NULL);
	for (int i = 0; i < 2000; i++)
		good += brd_schema_check(s, v, &own, NULL);
	brd_arena_fini(&own);
	return (void *)good;
}

static void threads_may_share_a_schema(void **state)
{
	struct schema *s =
		compile("{\"$dynamicAnchor\":\"m\",\"properties\":{\"a\":{\"items\":{\"anyOf\":["
			"{\"pattern\":\"^x\",\"type\":\"string\"},{\"$dynamicRef\":\"#m\"}]}}},"
			"\"unevaluatedProperties\":false}");
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, check_often, s), 0);
	for (int i = 0; i < 4; i++) {
		void *good;

		pthread_join(threads[i], &good);
		assert_int_equal((size_t)good, 2000);
	}
	brd_schema_unref(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_names_its_place),
		cmocka_unit_test(a_fault_names_what_was_expected),
		cmocka_unit_test(a_fault_on_a_property_names_it),
		cmocka_unit_test(alternatives_are_explained_by_the_nearest),
		cmocka_unit_test(a_bad_schema_is_refused_with_its_place),
		cmocka_unit_test(numbers_are_compared_by_value),
		cmocka_unit_test(patterns_follow_ecma),
		cmocka_unit_test(older_drafts_are_understood),
		cmocka_unit_test(defaults_fill_what_is_missing),
		cmocka_unit_test(defaults_reach_inside),
		cmocka_unit_test(a_default_is_taken_as_it_is),
		cmocka_unit_test(a_reference_to_itself_ends),
		cmocka_unit_test(branching_without_end_is_given_up),
		cmocka_unit_test(a_hostile_pattern_is_given_up),
		cmocka_unit_test(an_honest_pattern_may_backtrack_along_a_long_text),
		cmocka_unit_test(many_members_are_compared_quickly),
		cmocka_unit_test(large_tables_find_their_properties),
		cmocka_unit_test(a_repeated_key_is_checked_each_time),
		cmocka_unit_test(it_is_shared),
		cmocka_unit_test(no_value_does_not_fit),
		cmocka_unit_test(a_vocabulary_that_is_not_known_is_refused),
		cmocka_unit_test(threads_may_share_a_schema),
	};

	return cmocka_run_group_tests(tests, NULL, fini_arena);
}

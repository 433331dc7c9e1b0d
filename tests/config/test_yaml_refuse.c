/* SPDX-License-Identifier: MIT */
/* What a file must not do is refused, with place and remedy. */
#include <stdio.h>
#include <stdlib.h>
#include "test.h"
#include "base/str.h"
#include "config/yaml.h"

static struct arena arena;

static int fini(void **state)
{
	brd_arena_fini(&arena);
	return 0;
}

static void fails_n(const char *text, size_t n, int code, const char *where, const char *want)
{
	struct bread_err err = { 0 };
	struct yaml_doc d;
	int r = brd_yaml_parse(&d, &arena, "t.yaml", (struct bread_str){ text, n }, &err);

	if (r != code || strcmp(err.where, where) != 0 || !strstr(err.text, want))
		fail_msg("%d, %s: %s", r, err.where, err.text);
	assert_int_equal(brd_json_type(d.root) == JSON_NONE, code != 0);
}

static void fails(const char *text, const char *where, const char *want)
{
	fails_n(text, strlen(text), BREAD_E_INVALID, where, want);
}

static void too_large(const char *text, const char *where, const char *want)
{
	fails_n(text, strlen(text), BREAD_E_TOO_LARGE, where, want);
}

static void keys_that_are_given_twice(void **state)
{
	fails("a: 1\nb: 2\na: 3\n", "t.yaml:3:1",
		"the key \"a\" is given twice; line 1 has it already");
	fails("x: {a: 1, 'a': 2}\n", "t.yaml:1:11", "the key \"a\" is given twice");
	fails("{\"a\":1,\n\"\\u0061\":2}", "t.yaml:2:1", "the key \"a\" is given twice");
}

static void merge_keys(void **state)
{
	fails("a: &a {x: 1}\nb:\n  <<: *a\n", "t.yaml:3:3",
		"merge keys (<<) are not part of YAML 1.2; write the keys out");
}

static void tags_that_nobody_knows(void **state)
{
	fails("a: !python/object:os.system x\n", "t.yaml:1:4",
		"the tag \"!python/object:os.system\" is not known; only !!str");
	fails("a: !!binary eA==\n", "t.yaml:1:4", "the tag \"binary\" is not known");
	fails("a: !!set {x}\n", "t.yaml:1:4", "the tag \"set\" is not known");
	fails("a: !!map [x]\n", "t.yaml:1:4", "the tag \"map\"");
	fails("!!str a: 1\n!!int 2: 1\n", "t.yaml:2:1", "the key \"2\" has a tag");
}

static void tags_that_do_not_fit(void **state)
{
	fails("a: !!int x\n", "t.yaml:1:4", "the tag !!int does not fit \"x\"");
	fails("a: !!int 1.5\n", "t.yaml:1:4", "the tag !!int does not fit \"1.5\"");
	fails("a: !!bool yes\n", "t.yaml:1:4", "the tag !!bool does not fit \"yes\"");
	fails("a: !!null x\n", "t.yaml:1:4", "the tag !!null does not fit \"x\"");
}

static void a_second_document(void **state)
{
	fails("a: 1\n---\nb: 2\n", "t.yaml:2:1", "a second document begins here; a file holds one");
}

static void numbers_that_are_none(void **state)
{
	fails("a: .inf\n", "t.yaml:1:4", ".inf is not a number that JSON can say");
	fails("a:\n  - -.INF\n", "t.yaml:2:5", "-.INF is not a number that JSON can say");
	fails("a: .nan\n", "t.yaml:1:4", ".nan is not a number that JSON can say");
	fails("a: 0xFFFFFFFFFFFFFFFFF\n", "t.yaml:1:4", "does not fit into 64 bits");
}

static void bytes_that_are_no_utf8(void **state)
{
	fails("a: 1\nbc: x\xffy\n", "t.yaml:2:6", "the byte 0xFF is not UTF-8");
	fails("\xc3\xa9: \xc0\x80\n", "t.yaml:1:4", "the byte 0xC0 is not UTF-8");
	fails("a: \xed\xa0\x80\n", "t.yaml:1:4", "not UTF-8");
	fails("a: \xf0\x9f\x98", "t.yaml:1:4", "not UTF-8");
}

static void control_characters_and_nul(void **state)
{
	fails("a: 1\nb: x\x01y\n", "t.yaml:2:5", "control characters are not allowed");
	fails_n("a: 1\nb: x\0y\n", 11, BREAD_E_INVALID, "t.yaml:2:5",
		"control characters are not allowed; use an escape (\"\\x00\") in double quotes");
}

static void nesting_over_the_limit(void **state)
{
	char text[400];

	memset(text, '[', 200);
	memset(text + 200, ']', 200);
	fails_n(text, 400, BREAD_E_TOO_LARGE, "t.yaml:1:65",
		"lists and mappings nest deeper than 64 here");
	fails_n(text + 136, 128, BREAD_OK, "", "");
}

static void a_tower_of_aliases(void **state)
{
	too_large("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
		  "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
		  "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
		"t.yaml:5:8", "there are more than 10000 values here");
}

static void aliases_that_nest_too_deep(void **state)
{
	char text[4000];
	size_t n = (size_t)sprintf(text, "a0: &a0 []\n");

	for (int i = 1; i < 70; i++)
		n += (size_t)sprintf(text + n, "a%d: &a%d [*a%d]\n", i, i, i - 1);
	fails_n(text, n, BREAD_E_TOO_LARGE, "t.yaml:64:12",
		"lists and mappings nest deeper than 64 with what *a62 stands for");
}

static void aliases_of_long_texts(void **state)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addz(&b, "a: &a ");
	for (int i = 0; i < 3000000; i++)
		brd_buf_addc(&b, 'x');
	brd_buf_addz(&b, "\nb: [*a, *a, *a, *a,\n*a, *a]\n");
	fails_n(b.data, b.len, BREAD_E_TOO_LARGE, "t.yaml:3:1", "there are more than 16 MiB here");
	brd_buf_fini(&b);
}

static void too_many_values(void **state)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (int i = 0; i < 10000; i++)
		brd_buf_addz(&b, "- 1\n");
	fails_n(b.data, b.len, BREAD_E_TOO_LARGE, "t.yaml:10000:3", "more than 10000 values");
	fails_n(b.data, b.len - 4, BREAD_OK, "", "");
	brd_buf_fini(&b);
}

static void files_over_the_limit(void **state)
{
	size_t n = ((size_t)4 << 20) + 1;
	char *text = malloc(n);

	memset(text, ' ', n);
	fails_n(text, n, BREAD_E_TOO_LARGE, "t.yaml", "the file is over 4 MiB");
	free(text);
}

static void anchors_that_are_misused(void **state)
{
	fails("a: *b\nb: &b 1\n", "t.yaml:1:4", "*b has no anchor &b before it");
	fails("a: &a [*a]\n", "t.yaml:1:8", "*a stands inside what &a names");
	fails("a: &a x\n*a : 1\n", "t.yaml:2:1", "*a stands for a key; write the key out");
	fails("&a a: 1\nb: *a\n", "t.yaml:1:1", "the key \"a\" has an anchor; only values may");
}

static void keys_that_are_no_texts(void **state)
{
	fails("? [a]\n: 1\n", "t.yaml:1:3", "a key must be a text, not a list or a mapping");
	fails("? {a: 1}\n: 2\n", "t.yaml:1:3", "a key must be a text");
	fails("? \n: 1\n", "t.yaml:1:2", "a key is missing before the colon");
}

static void faults_of_the_form_say_what_to_do(void **state)
{
	fails("a:\n\t- 1\n", "t.yaml:2:1", "a tab cannot indent");
	fails("a: b: c\n", "t.yaml:1:5", "a text with a colon and a blank inside needs quotes");
	fails("a: [1,\nb: 2\n", "t.yaml:3:1",
		"while parsing a flow sequence that begins on line 1");
	fails("a: 1\nbc\n", "t.yaml:3:1", "a key ends in a colon and a blank");
	fails("{\"a\": 1,,}", "t.yaml:1:9", "");
}

static void variables_that_are_not_set(void **state)
{
	unsetenv("T_NOT");
	fails("a: 1\nkey: ${T_NOT}\n", "t.yaml:2:6", "the environment variable T_NOT is not set");
	fails("{\"key\":\n\"${T_NOT}\"}", "t.yaml:2:1",
		"the environment variable T_NOT is not set");
}

static void files_that_are_not_there(void **state)
{
	struct bread_err err = { 0 };
	struct yaml_doc d;

	assert_int_equal(brd_yaml_load(&d, &arena, "no/such.yaml", &err), BREAD_E_NOT_FOUND);
	assert_string_equal(err.where, "no/such.yaml");
	assert_string_equal(err.text, "cannot be read: no such file or directory");
	assert_int_equal(brd_yaml_load(&d, &arena, "/", &err), BREAD_E_INVALID);
	assert_string_equal(err.text, "cannot be read: is a directory");
}

static void of_a_long_path_the_end_is_kept(void **state)
{
	struct bread_err err = { 0 };
	char path[400];
	struct yaml_doc d;

	memset(path, 'p', sizeof(path));
	strcpy(path + 300, "/agents/a/agent.yaml");
	assert_int_equal(
		brd_yaml_parse(&d, &arena, path, BRD_STR("a: .inf"), &err), BREAD_E_INVALID);
	assert_true(brd_str_starts(brd_str(err.where), BRD_STR("...ppp")));
	assert_true(brd_str_ends(brd_str(err.where), BRD_STR("/agents/a/agent.yaml:1:4")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_that_are_given_twice),
		cmocka_unit_test(merge_keys),
		cmocka_unit_test(tags_that_nobody_knows),
		cmocka_unit_test(tags_that_do_not_fit),
		cmocka_unit_test(a_second_document),
		cmocka_unit_test(numbers_that_are_none),
		cmocka_unit_test(bytes_that_are_no_utf8),
		cmocka_unit_test(control_characters_and_nul),
		cmocka_unit_test(nesting_over_the_limit),
		cmocka_unit_test(a_tower_of_aliases),
		cmocka_unit_test(aliases_that_nest_too_deep),
		cmocka_unit_test(aliases_of_long_texts),
		cmocka_unit_test(too_many_values),
		cmocka_unit_test(files_over_the_limit),
		cmocka_unit_test(anchors_that_are_misused),
		cmocka_unit_test(keys_that_are_no_texts),
		cmocka_unit_test(faults_of_the_form_say_what_to_do),
		cmocka_unit_test(variables_that_are_not_set),
		cmocka_unit_test(files_that_are_not_there),
		cmocka_unit_test(of_a_long_path_the_end_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, fini);
}

/* SPDX-License-Identifier: MIT */
/* YAML becomes JSON text with a place for each value; JSON passes as it is. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "test.h"
#include "base/str.h"
#include "config/yaml.h"

static struct arena arena;

static int fini(void **state)
{
	brd_arena_fini(&arena);
	return 0;
}

static struct yaml_doc parse(const char *text)
{
	struct bread_err err = { 0 };
	struct yaml_doc d;

	if (brd_yaml_parse(&d, &arena, "t.yaml", brd_str(text), &err) < 0)
		fail_msg("%s: %s", err.where, err.text);
	return d;
}

static void gives(const char *yaml, const char *json)
{
	struct yaml_doc d = parse(yaml);

	if (!brd_str_is(d.json, json))
		fail_msg("%s gives %.*s", yaml, BRD_ARG(d.json));
}

static void place_is(struct yaml_doc *d, struct jval v, unsigned line, unsigned column)
{
	struct yaml_place p = brd_yaml_place(d, v);

	assert_int_equal(p.line, line);
	assert_int_equal(p.column, column);
}

static void mappings_lists_and_scalars_become_json(void **state)
{
	gives("a: 1\nb: [x, 'y', \"z\\n\"]\nc:\n  - d: ~\n    e: true\n  - {}\n",
		"{\"a\":1,\"b\":[\"x\",\"y\",\"z\\n\"],\"c\":[{\"d\":null,\"e\":true},{}]}");
	gives("- - a\n  - b\n-\n", "[[\"a\",\"b\"],null]");
	gives("just a text", "\"just a text\"");
	gives("12", "12");
}

static void keys_are_texts(void **state)
{
	gives("1: a\ntrue: b\n'null': c\n", "{\"1\":\"a\",\"true\":\"b\",\"null\":\"c\"}");
	gives("'': a\n\"<<\": b\n", "{\"\":\"a\",\"<<\":\"b\"}");
}

static void quotes_and_blocks_make_texts(void **state)
{
	gives("a: '12'\nb: \"true\"\nc: |\n  1\nd: >-\n  2\n  3\n",
		"{\"a\":\"12\",\"b\":\"true\",\"c\":\"1\\n\",\"d\":\"2 3\"}");
}

static void core_tags_set_the_type(void **state)
{
	gives("[!!str 12, !!int '12', !!float 1, !!bool 'true', !!null '', ! 12, !!str ]",
		"[\"12\",12,1,true,null,\"12\",\"\"]");
	gives("!!map {a: !!seq [1]}", "{\"a\":[1]}");
}

static void empty_documents_have_no_root(void **state)
{
	static const char *const empty[] = { "", "\n\n", "# only a comment\n", "---\n",
		"---\n...\n", "\xef\xbb\xbf" };

	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		struct yaml_doc d = parse(empty[i]);

		assert_int_equal(brd_json_type(d.root), JSON_NONE);
		place_is(&d, d.root, 0, 0);
	}
	assert_int_equal(brd_json_type(parse("~").root), JSON_NULL);
}

static void every_value_and_key_has_its_place(void **state)
{
	struct yaml_doc d =
		parse("# head\nserver:\n  port: 80\n  h\xc3\xb6st: \"x\"\nlist: [a,  b]\n");
	struct json_iter it = brd_json_each(d.root);

	place_is(&d, d.root, 2, 1);
	brd_json_next(&it);
	place_is(&d, it.key, 2, 1);
	place_is(&d, it.value, 3, 3);
	place_is(&d, brd_json_path(d.root, "server.port"), 3, 9);
	place_is(&d, brd_json_path(d.root, "server.h\xc3\xb6st"), 4, 9);
	place_is(&d, brd_json_path(d.root, "list.1"), 5, 12);
}

static void a_value_of_another_document_has_no_place(void **state)
{
	struct yaml_doc a = parse("a: 1"), b = parse("a: 1");

	place_is(&a, b.root, 0, 0);
	place_is(&a, (struct jval){ 0 }, 0, 0);
	assert_int_equal(brd_yaml_place(NULL, a.root).line, 0);
}

static void aliases_repeat_what_their_anchor_names(void **state)
{
	struct yaml_doc d = parse("a: &x {k: [1, &y two]}\nb: *x\nc: [*y, *x]\n");

	assert_str(d.json, "{\"a\":{\"k\":[1,\"two\"]},\"b\":{\"k\":[1,\"two\"]},"
			   "\"c\":[\"two\",{\"k\":[1,\"two\"]}]}");
	/* a fault inside is mended where the text stands */
	place_is(&d, brd_json_path(d.root, "b.k.0"), 1, 12);
	place_is(&d, brd_json_path(d.root, "c.1.k.1"), 1, 15);
	gives("[&a 1, *a, &a 2, *a]", "[1,1,2,2]");
	gives("[&a , *a]", "[null,null]");
}

static void variables_are_typed_after_they_were_put_in(void **state)
{
	setenv("T_PORT", "8080", 1);
	setenv("T_TEXT", "a: b # \"c", 1);
	setenv("T_EMPTY", "", 1);
	gives("port: ${T_PORT}\nquoted: \"${T_PORT}\"\nsingle: '${T_PORT}'\n",
		"{\"port\":8080,\"quoted\":\"8080\",\"single\":\"8080\"}");
	gives("a: ${T_TEXT}\n", "{\"a\":\"a: b # \\\"c\"}");
	gives("a: ${T_EMPTY}\nb: ${T_NOT:-}\nc: ${T_NOT:-no}\n",
		"{\"a\":\"\",\"b\":\"\",\"c\":\"no\"}");
	gives("a: |\n  ${T_PORT}\n", "{\"a\":\"${T_PORT}\\n\"}");
	gives("{\"a\": \"x${T_PORT}\"}", "{\"a\":\"x8080\"}");
}

static void json_passes_with_its_lexemes(void **state)
{
	gives("{\"a\" : 1.50,\t\"b\":[1e5,-0.0],\"c\":\"\\u00e9\\/\",\"d\":null}",
		"{\"a\":1.50,\"b\":[1e5,-0.0],\"c\":\"\xc3\xa9/\",\"d\":null}");
	gives("{\"a\":\"\\ud83d\\ude00\"}", "{\"a\":\"\xf0\x9f\x98\x80\"}");
	gives(" []\n", "[]");
}

static void json_has_places_too(void **state)
{
	struct yaml_doc d = parse("{\n\t\"a\": [1,\r\n  {\"\xc3\xa9\": 2}]\n}\n");

	place_is(&d, d.root, 1, 1);
	place_is(&d, brd_json_path(d.root, "a"), 2, 7);
	place_is(&d, brd_json_path(d.root, "a.1.\xc3\xa9"), 3, 9);
}

static void a_long_key_in_json_is_taken(void **state)
{
	static char text[3000], want[3000];

	memset(text, 'k', sizeof(text));
	memcpy(text, "{\"", 2);
	strcpy(text + 2000, "\":1}");
	strcpy(want, text);
	gives(text, want);
}

static void windows_line_ends_and_a_byte_order_mark_are_taken(void **state)
{
	struct yaml_doc d = parse("\xef\xbb\xbf"
				  "a: 1\r\nb: 2\r\n");

	assert_str(d.json, "{\"a\":1,\"b\":2}");
	place_is(&d, brd_json_get(d.root, "b"), 2, 4);
}

static void a_file_is_loaded(void **state)
{
	char path[] = "conf-XXXXXX";
	int fd = mkstemp(path);
	struct bread_err err = { 0 };
	struct yaml_doc d;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a: 1\n", 5), 5);
	close(fd);
	assert_int_equal(brd_yaml_load(&d, &arena, path, &err), 0);
	unlink(path);
	assert_str(d.json, "{\"a\":1}");
	assert_string_equal(d.file, path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mappings_lists_and_scalars_become_json),
		cmocka_unit_test(keys_are_texts),
		cmocka_unit_test(quotes_and_blocks_make_texts),
		cmocka_unit_test(core_tags_set_the_type),
		cmocka_unit_test(empty_documents_have_no_root),
		cmocka_unit_test(every_value_and_key_has_its_place),
		cmocka_unit_test(a_value_of_another_document_has_no_place),
		cmocka_unit_test(aliases_repeat_what_their_anchor_names),
		cmocka_unit_test(variables_are_typed_after_they_were_put_in),
		cmocka_unit_test(json_passes_with_its_lexemes),
		cmocka_unit_test(json_has_places_too),
		cmocka_unit_test(a_long_key_in_json_is_taken),
		cmocka_unit_test(windows_line_ends_and_a_byte_order_mark_are_taken),
		cmocka_unit_test(a_file_is_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, fini);
}

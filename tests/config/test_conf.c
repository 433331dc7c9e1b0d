/* SPDX-License-Identifier: MIT */
/* Objects become structs; unknown, missing and misplaced keys are named with
 * their place and with what was probably meant. */
#include "test.h"
#include "base/str.h"
#include "config/sample.h"

static struct arena arena;
static struct sample sample;
static struct bread_err err;

static int fini(void **state)
{
	brd_arena_fini(&arena);
	return 0;
}

static int read_as(const struct conf_field *fields, size_t n, const char *text)
{
	struct yaml_doc d;

	memset(&sample, 0, sizeof(sample));
	memset(&err, 0, sizeof(err));
	if (brd_yaml_parse(&d, &arena, "bread.yaml", brd_str(text), &err) < 0)
		fail_msg("%s: %s", err.where, err.text);
	return brd_conf_read(fields, n, d.root, &sample, &d, "", &arena, &err);
}

static void reads(const char *text)
{
	if (read_as(SAMPLE, text) < 0)
		fail_msg("%s: %s", err.where, err.text);
}

static void fails(const char *text, const char *where, const char *want)
{
	int r = read_as(SAMPLE, text);

	if (r != BREAD_E_INVALID || strcmp(err.where, where) != 0 || strcmp(err.text, want) != 0)
		fail_msg("%d, %s: %s", r, err.where, err.text);
}

static void a_whole_file_is_read(void **state)
{
	reads("id: A.b-1\nname: rye\non: true\nsteps: 7\nratio: 1\ntitle: Hello\nmode: fast\n"
	      "timeout: 2min\nschema: {type: object}\nany: ~\ntags: [x, y, z]\n"
	      "server:\n  port: 0\n  maxBodyBytes: 64k\n  tls: {cert: a.pem, strict: false}\n");
	assert_string_equal(sample.id, "A.b-1");
	assert_string_equal(sample.name, "rye");
	assert_true(sample.on);
	assert_int_equal(sample.steps, 7);
	assert_true(sample.ratio == 1.0);
	assert_string_equal(sample.title, "Hello");
	assert_int_equal(sample.mode, MODE_FAST);
	assert_int_equal(sample.timeout, 120000);
	assert_true(brd_json_is(brd_json_get(sample.schema, "type"), "object"));
	assert_int_equal(brd_json_type(sample.any), JSON_NULL);
	assert_int_equal(sample.tags.n, 3);
	assert_string_equal(sample.tags.v[2], "z");
	assert_int_equal(sample.server.port, 0);
	assert_int_equal(sample.server.body, 65536);
	assert_string_equal(sample.server.tls.cert, "a.pem");
	assert_false(sample.server.tls.strict);
}

static void check_defaults(void)
{
	assert_null(sample.id);
	assert_string_equal(sample.name, "wheat");
	assert_false(sample.on);
	assert_int_equal(sample.steps, 20);
	assert_true(sample.ratio == 0.5);
	assert_null(sample.title);
	assert_int_equal(sample.mode, MODE_AUTO);
	assert_int_equal(sample.timeout, 15000);
	assert_int_equal(brd_json_type(sample.schema), JSON_NONE);
	assert_int_equal(brd_json_type(sample.any), JSON_ARRAY);
	assert_int_equal(sample.tags.n, 2);
	assert_string_equal(sample.tags.v[0], "a");
	assert_string_equal(sample.tags.v[1], "b");
	assert_int_equal(sample.server.port, 8080);
	assert_int_equal(sample.server.body, 1 << 20);
	assert_null(sample.server.tls.cert);
	assert_true(sample.server.tls.strict);
}

static void what_is_not_given_has_its_default(void **state)
{
	reads("");
	check_defaults();
	reads("{}");
	check_defaults();
	reads("server:\n");
	check_defaults();
	memset(&sample, 0, sizeof(sample));
	assert_int_equal(
		brd_conf_read(SAMPLE, (struct jval){ 0 }, &sample, NULL, "", &arena, &err), 0);
	check_defaults();
}

static void an_unknown_key_is_named_with_the_nearest(void **state)
{
	fails("id: a\nserver:\n  port: 1\n  prot: 2\n", "bread.yaml:4:3",
		"server.prot is not known; did you mean server.port?");
	fails("stpes: 1\n", "bread.yaml:1:1", "stpes is not known; did you mean steps?");
	fails("server: {max_body_bytes: 1}\n", "bread.yaml:1:10",
		"server.max_body_bytes is not known; did you mean server.maxBodyBytes?");
	fails("server: {tls: {cert: a, Strict: true}}\n", "bread.yaml:1:25",
		"server.tls.Strict is not known; did you mean server.tls.strict?");
}

static void a_key_in_the_wrong_group_is_shown_the_right_one(void **state)
{
	fails("maxBodyBytes: 1\n", "bread.yaml:1:1",
		"maxBodyBytes is not known; did you mean server.maxBodyBytes?");
	fails("cert: x\n", "bread.yaml:1:1", "cert is not known; did you mean server.tls.cert?");
}

static void a_key_like_no_other_gets_the_list(void **state)
{
	fails("server:\n  colour: red\n", "bread.yaml:2:3",
		"server.colour is not known; the keys here are port, maxBodyBytes, tls");
	fails("server:\n  \"a\\nb\": 1\n", "bread.yaml:2:3",
		"server.\"a\\nb\" is not known; the keys here are port, maxBodyBytes, tls");
	fails("\"\": 1\n", "bread.yaml:1:1",
		"\"\" is not known; the keys here are id, name, on, steps, ratio, title, mode, "
		"timeout, "
		"schema, any, tags, server");
}

static void keys_that_begin_with_x_are_the_users_own(void **state)
{
	reads("x-note: {any: thing}\nserver: {x-: 1, port: 3}\n");
	assert_int_equal(sample.server.port, 3);
}

static void a_required_key_is_missed(void **state)
{
	static const struct conf_field fields[] = {
		{ "id", CONF_ID, 0, .required = true, .doc = "Who it is." },
	};

	fails("server:\n  tls:\n    strict: true\n", "bread.yaml:3:5",
		"server.tls.cert is missing");
	assert_int_equal(read_as(fields, 1, "x-a: 1\n"), BREAD_E_INVALID);
	assert_string_equal(err.where, "bread.yaml:1:1");
	assert_string_equal(err.text, "id is missing (Who it is.)");
	assert_int_equal(read_as(fields, 1, "# nothing\n"), BREAD_E_INVALID);
	assert_string_equal(err.where, "bread.yaml");
}

static void a_required_group_is_missed(void **state)
{
	static const struct conf_field fields[] = {
		{ "tls", CONF_GROUP, 0, .required = true, .sub = sample_tls_fields,
			.sub_count = 2 },
	};

	assert_int_equal(read_as(fields, 1, "{}"), BREAD_E_INVALID);
	assert_string_equal(err.text, "tls is missing");
	assert_int_equal(read_as(fields, 1, "tls:\n"), BREAD_E_INVALID);
	assert_string_equal(err.text, "tls.cert is missing");
}

static void a_group_must_be_a_mapping(void **state)
{
	fails("server: 8080\n", "bread.yaml:1:9",
		"server is a number; a mapping of keys is expected");
	fails("server:\n  - port: 1\n", "bread.yaml:2:3",
		"server is a list; a mapping of keys is expected");
	fails("- a\n", "bread.yaml:1:1", "the document is a list; a mapping of keys is expected");
	fails("hello\n", "bread.yaml:1:1",
		"the document is a text of 5 bytes; a mapping of keys is expected");
}

static void objects_without_a_document_have_no_place(void **state)
{
	struct jval v;

	assert_int_equal(brd_json_parse(&arena, BRD_STR("{\"port\":-1}"), 0, &v, NULL), 0);
	assert_int_equal(brd_conf_read(sample_server_fields, CONF_COUNT(sample_server_fields), v,
				 &sample.server, NULL, "server", &arena, &err),
		BREAD_E_INVALID);
	assert_string_equal(err.where, "configuration");
	assert_string_equal(
		err.text, "server.port is -1; a whole number from 0 to 65535 is expected");
}

static void a_fault_can_be_told_by_the_caller(void **state)
{
	struct yaml_doc d;

	assert_int_equal(brd_yaml_parse(&d, &arena, "a.yaml", BRD_STR("tools:\n  - x\n"), &err), 0);
	assert_int_equal(brd_conf_fault(&err, &d, brd_json_path(d.root, "tools.0"), "tools.0",
				 "names no tool; there are %d", 3),
		BREAD_E_INVALID);
	assert_string_equal(err.where, "a.yaml:2:5");
	assert_string_equal(err.text, "tools.0 names no tool; there are 3");
}

static void long_keys_are_cut_in_messages(void **state)
{
	char text[3000];

	memset(text, 'k', sizeof(text));
	strcpy(text + 900, ": 1\n");
	assert_int_equal(read_as(SAMPLE, text), BREAD_E_INVALID);
	assert_true(brd_str_starts(brd_str(err.text), BRD_STR("\"kkkk")));
	assert_non_null(strstr(err.text, "k...\" is not known; the keys here are id"));
}

static void the_reference_has_a_line_a_field(void **state)
{
	struct buf b;

	brd_buf_init(&b, 100000);
	brd_conf_reference(SAMPLE, "", true, &b);
	assert_non_null(strstr(b.data, "- `server.port`: a whole number from 0 to 65535; default "
				       "`8080`; `BREAD_SERVER_PORT`. "
				       "Port to listen on; 0 takes a free one and prints it.\n"));
	assert_non_null(
		strstr(b.data, "- `server.maxBodyBytes`: a size such as 65536, 64k or 1MiB from "
			       "1KiB to 16MiB; default `1MiB`; `BREAD_SERVER_MAX_BODY_BYTES`.\n"));
	assert_non_null(strstr(
		b.data, "- `server.tls.cert`: a text; required; `BREAD_SERVER_TLS_CERT`.\n"));
	assert_non_null(
		strstr(b.data, "- `mode`: slow, fast or auto; default `auto`; `BREAD_MODE`.\n"));
	brd_buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_file_is_read),
		cmocka_unit_test(what_is_not_given_has_its_default),
		cmocka_unit_test(an_unknown_key_is_named_with_the_nearest),
		cmocka_unit_test(a_key_in_the_wrong_group_is_shown_the_right_one),
		cmocka_unit_test(a_key_like_no_other_gets_the_list),
		cmocka_unit_test(keys_that_begin_with_x_are_the_users_own),
		cmocka_unit_test(a_required_key_is_missed),
		cmocka_unit_test(a_required_group_is_missed),
		cmocka_unit_test(a_group_must_be_a_mapping),
		cmocka_unit_test(objects_without_a_document_have_no_place),
		cmocka_unit_test(a_fault_can_be_told_by_the_caller),
		cmocka_unit_test(long_keys_are_cut_in_messages),
		cmocka_unit_test(the_reference_has_a_line_a_field),
	};

	return cmocka_run_group_tests(tests, NULL, fini);
}

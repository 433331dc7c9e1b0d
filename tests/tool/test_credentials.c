/* SPDX-License-Identifier: MIT */
/* Where credentials come from, which of them a tool gets, and that none gets out. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tooltest.h"
#include "../net/peer.h"

static struct loop *loop;
static struct peer peer;
static char request[4096];
static char dir[] = "/tmp/bread-cred-XXXXXX";

static void answer(int conn, const char *status, const char *body)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
		strlen(body), body);
	peer_send(conn, text);
}

/* A vault, and a tool's server that says what it was sent. */
static void serve(struct peer *p, int conn)
{
	char *auth, body[512];

	if (!peer_read(p, conn, request, sizeof(request)))
		return;
	auth = strstr(request, "Authorization: ");
	if (strstr(request, "GET /v1/kv/data/API_KEY ") &&
		strstr(request, "X-Vault-Token: root\r\n"))
		answer(conn, "200 OK", "{\"data\":{\"data\":{\"API_KEY\":\"from the vault\"}}}");
	else if (auth && strstr(request, "POST /tool ")) {
		snprintf(body, sizeof(body), "{\"auth\":\"%.*s\"}", (int)strcspn(auth, "\r"), auth);
		answer(conn, "200 OK", body);
	} else
		answer(conn, "404 Not Found", "{}");
}

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* ---- sources ---- */

static void on_asked(struct bread_op *op)
{
	*(bool *)op->arg = true;
}

static const char *const two[] = { "API_KEY", "OTHER", NULL };

static void ask(struct credential_ask *a, const char *source, const char *const *names)
{
	struct arena arena = { 0 };
	struct credentials *c = NULL;
	struct bread_err err = { 0 };
	struct jval v = { 0 };
	bool ended = false;

	if (source)
		assert_int_equal(brd_json_parse(&arena, brd_str(source), 0, &v, NULL), 0);
	if (brd_credentials_open(&c, v, dir, &err))
		fail_msg("%s", err.text);
	*a = (struct credential_ask){ .loop = loop, .names = names };
	bread_op_init(&a->op, loop, on_asked, &ended);
	brd_credentials_ask(c, a);
	while (!ended)
		brd_loop_turn(loop, 1000);
	brd_credentials_unref(c);
	brd_arena_fini(&arena);
}

static void check(const char *source, const char *first, const char *second)
{
	struct credential_ask a;

	ask(&a, source, two);
	assert_int_equal(a.op.code, BREAD_OK);
	assert_int_equal(a.count, 2);
	if (first)
		assert_string_equal(a.values[0], first);
	else
		assert_null(a.values[0]);
	if (second)
		assert_string_equal(a.values[1], second);
	else
		assert_null(a.values[1]);
	brd_credential_ask_fini(&a);
}

static void the_environment_is_the_default(void **state)
{
	setenv("API_KEY", "of the environment", 1);
	setenv("MY_OTHER", "prefixed", 1);
	unsetenv("OTHER");
	check(NULL, "of the environment", NULL);
	check("\"env\"", "of the environment", NULL);
	check("{\"type\":\"env\",\"prefix\":\"MY_\"}", NULL, "prefixed");
}

static void a_folder_has_a_file_a_name(void **state)
{
	put("API_KEY", "in a file\n");
	check("{\"type\":\"file\",\"path\":\".\"}", "in a file", NULL);
	put("API_KEY", "rotated");
	check("{\"type\":\"file\",\"path\":\".\"}", "rotated", NULL);
}

static void a_file_has_names_and_texts(void **state)
{
	put("all.yaml", "API_KEY: in yaml\nOTHER: 12345\n");
	check("{\"type\":\"file\",\"path\":\"all.yaml\"}", "in yaml", "12345");
}

static void a_name_leads_out_of_no_folder(void **state)
{
	static const char *const names[] = { "../etc/passwd", NULL };
	struct credential_ask a;

	ask(&a, "{\"type\":\"file\",\"path\":\".\"}", names);
	assert_int_equal(a.op.code, BREAD_E_INVALID);
	assert_string_equal(a.op.err.name, "INVALID_CREDENTIAL_NAME");
	brd_credential_ask_fini(&a);
}

static void a_source_that_is_not_there_is_a_failure(void **state)
{
	struct credential_ask a;

	ask(&a, "{\"type\":\"file\",\"path\":\"nowhere\"}", two);
	assert_int_equal(a.op.code, BREAD_E_UPSTREAM);
	brd_credential_ask_fini(&a);
	ask(&a, "{\"type\":\"vault\",\"address\":\"http://127.0.0.1:1\",\"token\":\"t\"}", two);
	assert_int_equal(a.op.code, BREAD_E_UPSTREAM);
	brd_credential_ask_fini(&a);
}

static void a_vault_is_asked_for_each_name(void **state)
{
	char source[256];

	snprintf(source, sizeof(source),
		"{\"type\":\"vault\",\"address\":\"http://127.0.0.1:%d/\",\"token\":\"root\","
		"\"mount\":\"kv\"}",
		peer.port);
	check(source, "from the vault", NULL);
}

static void refused_source(const char *source, const char *name, const char *context)
{
	struct arena a = { 0 };
	struct credentials *c;
	struct bread_err err = { 0 };
	struct jval v;

	assert_int_equal(brd_json_parse(&a, brd_str(source), 0, &v, NULL), 0);
	assert_int_equal(brd_credentials_open(&c, v, NULL, &err), BREAD_E_INVALID);
	assert_string_equal(err.name, name);
	assert_string_equal(err.context, context);
	brd_arena_fini(&a);
}

static void wrong_sources_are_refused(void **state)
{
	refused_source("\"keyring\"", "", "");
	refused_source("{\"type\":\"file\"}", "", "");
	refused_source("{\"type\":\"vault\"}", "PROVIDER_NOT_CONFIGURED", "");
	refused_source("{\"type\":\"vault\",\"address\":\"http://x\",\"token\":\"t\",\"mount\":"
		       "\"a/b\"}",
		"INVALID_VAULT_MOUNT", "{\"kind\":\"vault mount\",\"value\":\"a/b\"}");
}

/* ---- what tools get ---- */

static void a_program_gets_what_it_declares_and_no_more(void **state)
{
	struct called c;

	setenv("API_KEY", "short", 1);
	setenv("SECOND", "two", 1);
	call_tool(&c, loop, "{\"credentials\":[\"SECOND\"],\"command\":[\"sh\",\"-c\",\"echo 1\"]}",
		"{}");
	called_fini(&c);
	call_tool(&c, loop,
		"{\"credentials\":[\"API_KEY\",\"GONE\"],\"command\":[\"sh\",\"-c\","
		"\"echo \\\\\\\"$API_KEY,$SECOND,$GONE,$BREAD_CREDENTIALS\\\\\\\"\"]}",
		"{}");
	assert_str(result_of(&c), "\"short,,,API_KEY,GONE\"");
	called_fini(&c);
}

static void a_value_gets_out_in_no_form(void **state)
{
	struct called c;

	setenv("API_KEY", "very \"secret\"", 1);
	call_tool(&c, loop,
		"{\"credentials\":[\"API_KEY\"],\"command\":[\"sh\",\"-c\",\"echo "
		"'{\\\"a\\\":\\\"x very \\\\\\\"secret\\\\\\\"\\\"}'\"]}",
		"{}");
	assert_str(result_of(&c), "{\"a\":\"x [API_KEY]\"}");
	assert_str(brd_buf_str(&c.partials), "{\"a\":\"x [API_KEY]\"}\n");
	called_fini(&c);
	call_tool(&c, loop,
		"{\"credentials\":[\"API_KEY\"],\"command\":[\"sh\",\"-c\","
		"\"echo bad $API_KEY >&2; exit 1\"]}",
		"{}");
	assert_int_equal(c.call.op.code, BREAD_E_UPSTREAM);
	assert_string_equal(c.call.error_text, "bad [API_KEY]");
	called_fini(&c);
	setenv("API_KEY", "1234567890", 1);
	call_tool(&c, loop,
		"{\"credentials\":[\"API_KEY\"],\"command\":[\"sh\",\"-c\",\"echo $API_KEY\"]}",
		"{}");
	assert_str(result_of(&c), "\"[credential]\"");
	called_fini(&c);
}

static void call_http(struct called *c, const char *credential)
{
	char def[512];

	snprintf(def, sizeof(def),
		"{\"credentials\":[\"API_KEY\",\"GONE\"],\"http\":{\"url\":\"http://127.0.0.1:%d/"
		"tool\",\"allowPrivate\":true,\"headers\":{\"Authorization\":\"Bearer "
		"{{credential.%s}}\"}}}",
		peer.port, credential);
	call_tool(c, loop, def, "{}");
}

static void a_header_may_have_one_in_it(void **state)
{
	struct called c;

	setenv("API_KEY", "k", 1);
	call_http(&c, "API_KEY");
	assert_str(result_of(&c), "{\"auth\":\"Authorization: Bearer k\"}");
	called_fini(&c);
	call_http(&c, "GONE");
	assert_int_equal(c.call.op.code, BREAD_E_UPSTREAM);
	assert_string_equal(c.call.op.err.text, "there is no credential \"GONE\"");
	called_fini(&c);
	setenv("API_KEY", "a\nB: c", 1);
	call_http(&c, "API_KEY");
	assert_int_equal(c.call.op.code, BREAD_E_UPSTREAM);
	assert_null(strstr(c.call.op.err.text, "B: c"));
	called_fini(&c);
}

static void refused_tool(const char *def, const char *says)
{
	struct arena a = { 0 };
	struct bread_tool *t;
	struct bread_err err = { 0 };
	struct jval v;

	assert_int_equal(brd_json_parse(&a, brd_str(def), 0, &v, NULL), 0);
	assert_int_equal(brd_tool_open(&t, v, NULL, &err), BREAD_E_INVALID);
	assert_non_null(strstr(err.text, says));
	brd_arena_fini(&a);
}

static void a_template_must_be_declared(void **state)
{
	refused_tool("{\"http\":{\"url\":\"http://x\",\"headers\":{\"A\":\"{{credential.K}}\"}}}",
		"{{credential.K}}");
	refused_tool("{\"credentials\":[\"a b\"],\"command\":[\"true\"]}", "credential name");
}

static void a_tool_may_have_a_source_of_its_own(void **state)
{
	char def[256];
	struct called c;

	put("mine", "own");
	snprintf(def, sizeof(def),
		"{\"credentials\":[\"mine\"],\"credentialsFrom\":{\"type\":\"file\",\"path\":\"%"
		"s\"}"
		",\"command\":[\"sh\",\"-c\",\"echo \\\\\\\"$mine\\\\\\\"\"]}",
		dir);
	call_tool(&c, loop, def, "{}");
	assert_str(result_of(&c), "\"own\"");
	called_fini(&c);
}

/* ---- in C ---- */

static void read_both(struct bread_tool_call *call, void *arg)
{
	struct bread_str key, other;

	assert_int_equal(bread_tool_credential(call, "API_KEY", &key), 0);
	assert_str(key, "in C");
	if (bread_tool_credential(call, "OTHER", &other))
		bread_tool_fail(call, NULL, NULL);
	else
		bread_tool_return_text(call, other);
}

static void call_both(struct called *c, const char *const *names)
{
	assert_int_equal(brd_tool_open_callback(&c->tool, read_both, NULL), 0);
	assert_int_equal(brd_tool_with_credentials(&c->tool, names, NULL, NULL), 0);
	begin_call(c, loop, "{}");
	await_call(c, loop);
}

static void a_function_reads_what_is_declared(void **state)
{
	static const char *const one[] = { "API_KEY", NULL };
	struct called c;

	setenv("API_KEY", "in C", 1);
	setenv("OTHER", "also", 1);
	call_both(&c, two);
	assert_str(result_of(&c), "\"also\"");
	called_fini(&c);
	call_both(&c, one);
	assert_string_equal(c.call.error_code, "CREDENTIAL_NOT_DECLARED");
	assert_string_equal(c.call.error_text,
		"credential \"OTHER\" was not declared in this tool's `credentials` array");
	assert_string_equal(c.call.error_context, "{\"name\":\"OTHER\",\"allowed\":[\"API_KEY\"]}");
	called_fini(&c);
}

static void a_failing_source_is_the_tools_failure(void **state)
{
	struct called c;

	call_tool(&c, loop,
		"{\"credentials\":[\"K\"],\"credentialsFrom\":{\"type\":\"file\",\"path\":"
		"\"/nowhere\"},\"command\":[\"true\"]}",
		"{}");
	assert_int_equal(c.call.op.code, BREAD_E_UPSTREAM);
	assert_non_null(strstr(c.call.error_text, "is not there"));
	called_fini(&c);
}

static void a_call_may_be_cancelled_while_it_asks(void **state)
{
	struct called c;
	struct arena a = { 0 };
	struct jval v;

	assert_int_equal(
		brd_json_parse(&a,
			BRD_STR("{\"credentials\":[\"K\"],\"command\":[\"sleep\",\"10\"]}"), 0, &v,
			NULL),
		0);
	assert_int_equal(brd_tool_open(&c.tool, v, NULL, NULL), 0);
	begin_call(&c, loop, "{}");
	bread_op_cancel(&c.call.op);
	await_call(&c, loop);
	assert_int_equal(c.call.op.code, BREAD_E_CANCELED);
	called_fini(&c);
	brd_arena_fini(&a);
}

static int set_up(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_environment_is_the_default),
		cmocka_unit_test(a_folder_has_a_file_a_name),
		cmocka_unit_test(a_file_has_names_and_texts),
		cmocka_unit_test(a_name_leads_out_of_no_folder),
		cmocka_unit_test(a_source_that_is_not_there_is_a_failure),
		cmocka_unit_test(a_vault_is_asked_for_each_name),
		cmocka_unit_test(wrong_sources_are_refused),
		cmocka_unit_test(a_program_gets_what_it_declares_and_no_more),
		cmocka_unit_test(a_value_gets_out_in_no_form),
		cmocka_unit_test(a_header_may_have_one_in_it),
		cmocka_unit_test(a_template_must_be_declared),
		cmocka_unit_test(a_tool_may_have_a_source_of_its_own),
		cmocka_unit_test(a_function_reads_what_is_declared),
		cmocka_unit_test(a_failing_source_is_the_tools_failure),
		cmocka_unit_test(a_call_may_be_cancelled_while_it_asks),
	};
	struct bread_err err;
	int r;

	if (brd_loop_new(&loop, &err))
		return 1;
	peer_start(&peer, serve);
	r = cmocka_run_group_tests(tests, set_up, tear_down);
	brd_loop_free(loop);
	peer_stop(&peer);
	return r;
}

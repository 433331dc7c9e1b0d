/* SPDX-License-Identifier: MIT */
/* Our own tools: what they store and find, and what core_doc_load may not read. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../net/peer.h"
#include "base/json.h"
#include "run/run.h"
#include "test.h"

static struct loop *loop;
static struct run_env env;
static struct peer peer;
static char dir[] = "/tmp/bread-core-XXXXXX";
static char root[64];

struct asked {
	struct bread_tool_call call;
	struct arena arena;
	struct jval result;
	bool ended;
};

static void on_end(struct bread_op *op)
{
	((struct asked *)op->arg)->ended = true;
}

static const struct core_tool *tool_named(const char *name)
{
	const struct core_tool *const lists[] = { brd_knowledge_tools, brd_document_tools,
		brd_skill_tools };

	for (size_t i = 0; i < 3; i++)
		for (const struct core_tool *t = lists[i]; t->name; t++)
			if (!strcmp(t->name, name))
				return t;
	fail_msg("no tool %s", name);
	return NULL;
}

static void begin(struct asked *q, const struct agent_def *d, const char *name, const char *args)
{
	memset(q, 0, sizeof(*q));
	q->call = (struct bread_tool_call){ .agent_id = BRD_STR("a"),
		.session_id = BRD_STR("s"),
		.args = brd_str(args),
		.loop = loop };
	bread_op_init(&q->call.op, loop, on_end, q);
	tool_named(name)->start(&env, d, &q->call);
}

static void await(struct asked *q)
{
	while (!q->ended)
		brd_loop_turn(loop, 1000);
	if (q->call.result)
		assert_int_equal(brd_json_parse(&q->arena,
					 (struct bread_str){ q->call.result, q->call.result_len },
					 0, &q->result, NULL),
			0);
}

static void ask(struct asked *q, const char *name, const char *args)
{
	begin(q, NULL, name, args);
	await(q);
}

static void asked_fini(struct asked *q)
{
	free(q->call.result);
	free(q->call.error_code);
	free(q->call.error_text);
	free(q->call.error_context);
	brd_arena_fini(&q->arena);
}

static void gives(const char *name, const char *args, const char *json)
{
	struct asked q;

	ask(&q, name, args);
	assert_int_equal(q.call.op.code, BREAD_OK);
	assert_string_equal(q.call.result, json);
	asked_fini(&q);
}

static void fails(const char *name, const char *args, const char *says)
{
	struct asked q;

	ask(&q, name, args);
	assert_int_equal(q.call.op.code, BREAD_E_UPSTREAM);
	if (!strstr(q.call.error_text, says))
		fail_msg("%s", q.call.error_text);
	asked_fini(&q);
}

/* ---- knowledge ---- */

static void what_is_stored_is_found_and_forgotten(void **state)
{
	struct asked stored, found;
	char args[128], *id;

	ask(&stored, "kg_store", "{\"label\":\"rye\",\"data\":{ \"kind\" : \"flour\" }}");
	assert_true(brd_json_is(brd_json_get(stored.result, "label"), "rye"));
	id = brd_json_strz(brd_json_get(stored.result, "id"), &stored.arena);
	assert_int_equal(strlen(id), UUID_LEN);
	ask(&found, "kg_query", "{\"query\":\"RY\"}");
	assert_int_equal(brd_json_count(found.result), 1);
	assert_true(brd_json_is(brd_json_path(found.result, "0.id"), id));
	assert_str(brd_json_raw(brd_json_path(found.result, "0.data")), "{\"kind\":\"flour\"}");
	asked_fini(&found);
	snprintf(args, sizeof(args), "{\"id\":\"%s\"}", id);
	gives("kg_forget", args, "{\"deleted\":true}");
	gives("kg_forget", args, "{\"deleted\":false}");
	gives("kg_query", "{\"query\":\"rye\"}", "[]");
	asked_fini(&stored);
}

static void a_relation_to_nothing_is_told(void **state)
{
	struct asked q;

	ask(&q, "kg_store", "{\"label\":\"x\",\"relatesTo\":{\"id\":\"no\",\"relation\":\"is\"}}");
	assert_int_equal(q.call.op.code, BREAD_OK);
	assert_int_equal(brd_json_type(brd_json_get(q.result, "related")), JSON_BOOL);
	asked_fini(&q);
}

static void the_section_is_cut_between_characters(void **state)
{
	struct bread_knowledge_row rows[] = {
		{ .label = BRD_STR("rye"), .data = BRD_STR("{\"kind\":\"flour\",\"n\":1}") },
		{ .label = BRD_STR("\xc3\xa9t\xc3\xa9"), .data = BRD_STR("{}") },
	};
	struct bread_read r = { .count = 2 };
	struct buf b;

	r.knowledge = rows;
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_knowledge_section(&r, 100, &b);
	assert_string_equal(b.data, "## Knowledge Graph Context\n- rye (kind: flour, n: 1)\n- "
				    "\xc3\xa9t\xc3\xa9");
	brd_buf_clear(&b);
	brd_knowledge_section(&r, 14, &b); /* 56 characters; é is one */
	assert_string_equal(b.data, "## Knowledge Graph Context\n- rye (kind: flour, n: 1)\n- "
				    "\xc3\xa9");
	brd_buf_clear(&b);
	r.count = 0;
	brd_knowledge_section(&r, 100, &b);
	assert_int_equal(b.len, 0);
	brd_buf_fini(&b);
}

/* ---- documents ---- */

static void documents_are_kept_and_read(void **state)
{
	struct asked q, found;
	char args[128], *id;

	ask(&q, "doc_ingest", "{\"title\":\"Rye\",\"content\":\"rye needs acid\"}");
	id = brd_json_strz(brd_json_get(q.result, "id"), &q.arena);
	ask(&found, "doc_search", "{\"query\":\"ACID\"}");
	assert_int_equal(brd_json_count(found.result), 1);
	assert_int_equal(brd_json_type(brd_json_path(found.result, "0.source")), JSON_NULL);
	asked_fini(&found);
	snprintf(args, sizeof(args), "{\"id\":\"%s\"}", id);
	gives("doc_read", args, "{\"title\":\"Rye\",\"content\":\"rye needs acid\"}");
	gives("doc_read", "{\"id\":\"nope\"}", "{\"error\":\"Document not found\"}");
	asked_fini(&q);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void a_file_below_the_root_is_loaded(void **state)
{
	struct asked q;

	ask(&q, "doc_load", "{\"source\":\"note.txt\"}");
	assert_int_equal(q.call.op.code, BREAD_OK);
	assert_true(brd_json_is(brd_json_get(q.result, "title"), "note.txt"));
	assert_int_equal(brd_json_int_or(brd_json_get(q.result, "length"), 0), 7);
	asked_fini(&q);
	ask(&q, "doc_load", "{\"source\":\"./sub/../note.txt\",\"title\":\"T\"}");
	assert_true(brd_json_is(brd_json_get(q.result, "title"), "T"));
	asked_fini(&q);
}

static void nothing_outside_of_the_root_is_read(void **state)
{
	fails("doc_load", "{\"source\":\"../secret.txt\"}", "outside");
	fails("doc_load", "{\"source\":\"/etc/passwd\"}", "outside");
	fails("doc_load", "{\"source\":\"link\"}", "outside");
	fails("doc_load", "{\"source\":\"up/secret.txt\"}", "outside");
	fails("doc_load", "{\"source\":\"missing.txt\"}",
		"ENOENT: no such file or directory, open 'missing.txt'");
	fails("doc_load", "{\"source\":\"sub\"}", "no file that may be read");
	fails("doc_load", "{\"source\":\"pipe\"}", "no file that may be read");
	fails("doc_load", "{\"source\":\"bad.txt\"}", "UTF-8");
	fails("doc_load", "{\"source\":\"\"}", "no file that may be read");
}

static void serve(struct peer *p, int conn)
{
	char request[1024];

	if (!peer_read(p, conn, request, sizeof(request)))
		return;
	if (strstr(request, "GET /page "))
		peer_send(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: "
				"close\r\n\r\nhello");
	else
		peer_send(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: "
				"close\r\n\r\n");
}

static void a_url_goes_past_the_guard(void **state)
{
	char args[128];
	struct asked q;

	snprintf(args, sizeof(args), "{\"source\":\"http://127.0.0.1:%d/page\"}", peer.port);
	ask(&q, "doc_load", args);
	assert_int_equal(q.call.op.code, BREAD_E_UPSTREAM);
	assert_int_equal(atomic_load(&peer.conns), 0);
	asked_fini(&q);
	fails("doc_load", "{\"source\":\"file:///etc/passwd\"}", "http");
	env.core.documents_private = true;
	ask(&q, "doc_load", args);
	assert_int_equal(q.call.op.code, BREAD_OK);
	assert_int_equal(brd_json_int_or(brd_json_get(q.result, "length"), 0), 5);
	asked_fini(&q);
	snprintf(args, sizeof(args), "{\"source\":\"http://127.0.0.1:%d/gone\"}", peer.port);
	fails("doc_load", args, "404");
	env.core.documents_private = false;
}

static void a_call_may_be_cancelled(void **state)
{
	struct asked q;

	begin(&q, NULL, "doc_load", "{\"source\":\"note.txt\"}");
	bread_op_cancel(&q.call.op);
	await(&q);
	assert_true(q.call.op.code == BREAD_E_CANCELED || q.call.op.code == BREAD_OK);
	asked_fini(&q);
}

/* ---- skills ---- */

static void a_skill_is_given_whole(void **state)
{
	struct agent_def *d;
	struct asked q;

	assert_int_equal(
		brd_agent_def_new(&d, "a",
			BRD_STR("{\"model\":{\"provider\":\"p\",\"model\":\"m\"},\"skills\":[{"
				"\"id\":\"r\",\"text\":\"---\\nname: Deep\\n---\\nCite.\","
				"\"scripts\":[\"/x/cite.yaml\"],\"references\":[{\"name\":"
				"\"tips\",\"content\":\"Use it.\"}]},{\"id\":\"p\",\"text\":"
				"\"Plain.\\n\"}]}"),
			NULL, NULL),
		0);
	begin(&q, d, "load_skill", "{\"skillId\":\"r\"}");
	await(&q);
	assert_string_equal(q.call.result,
		"{\"name\":\"Deep\",\"instructions\":\"Cite.\",\"scripts\":[\"/x/cite.yaml\"],"
		"\"references\":[{\"name\":\"tips\",\"content\":\"Use it.\"}]}");
	asked_fini(&q);
	begin(&q, d, "load_skill", "{\"skillId\":\"p\"}");
	await(&q);
	assert_string_equal(q.call.result, "{\"name\":\"p\",\"instructions\":\"Plain.\\n\"}");
	asked_fini(&q);
	begin(&q, d, "load_skill", "{\"skillId\":\"../x\"}");
	await(&q);
	assert_string_equal(q.call.error_code, "INVALID_NAME");
	asked_fini(&q);
	brd_agent_def_unref(d);
}

static int set_up(void **state)
{
	char path[128];

	if (!mkdtemp(dir))
		return -1;
	snprintf(root, sizeof(root), "%s/root", dir);
	mkdir(root, 0777);
	snprintf(path, sizeof(path), "%s/secret.txt", dir);
	put(path, "secret");
	snprintf(path, sizeof(path), "%s/note.txt", root);
	put(path, "rye \xf0\x9f\x8d\x9e!");
	snprintf(path, sizeof(path), "%s/bad.txt", root);
	put(path, "\xff");
	snprintf(path, sizeof(path), "%s/sub", root);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/link", root);
	if (symlink("../secret.txt", path))
		return -1;
	snprintf(path, sizeof(path), "%s/up", root);
	if (symlink("..", path))
		return -1;
	snprintf(path, sizeof(path), "%s/pipe", root);
	return mkfifo(path, 0666);
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
		cmocka_unit_test(what_is_stored_is_found_and_forgotten),
		cmocka_unit_test(a_relation_to_nothing_is_told),
		cmocka_unit_test(the_section_is_cut_between_characters),
		cmocka_unit_test(documents_are_kept_and_read),
		cmocka_unit_test(a_file_below_the_root_is_loaded),
		cmocka_unit_test(nothing_outside_of_the_root_is_read),
		cmocka_unit_test(a_url_goes_past_the_guard),
		cmocka_unit_test(a_call_may_be_cancelled),
		cmocka_unit_test(a_skill_is_given_whole),
	};
	struct bread_err err;
	int r;

	if (brd_loop_new(&loop, &err) ||
		brd_store_open(&env.store, BRD_STR("memory"), (struct bread_str){ 0 },
			(struct bread_str){ 0 }, &err))
		return 1;
	env.core.documents_root = root;
	peer_start(&peer, serve);
	r = cmocka_run_group_tests(tests, set_up, tear_down);
	brd_store_close(env.store);
	brd_loop_free(loop);
	peer_stop(&peer);
	return r;
}

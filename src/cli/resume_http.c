/* SPDX-License-Identifier: MIT */
/* bread resume --server URL: the same over HTTP, from a machine that has neither project nor store.
 *
 * The checkpoint is read, the answer posted, and the stream that comes back is shown; the run's row
 * says how it ended. A connection that breaks leaves the run as it is: the server goes on with it.
 */
#include <stdlib.h>
#include "base/clock.h"
#include "base/json.h"
#include "base/uuid.h"
#include "cli/cli.h"
#include "net/client.h"
#include "net/sse.h"
#include "net/url.h"
#include "store/store.h"

#define ANSWER_MAX ((size_t)64 << 20)
#define LOOK_MS 200

struct remote {
	struct loop *loop;
	const char *server;
	struct arena *arena;
	struct bread_checkpoint_row row;
	struct cli_speech speech;
};

/* One request. */
struct exchange {
	struct bread_op op;
	bool done;
	struct buf body;
	struct line_reader *lines; /* instead of body */
	int status;
};

static bool on_data(void *arg, struct bread_str bytes)
{
	struct exchange *x = arg;

	if (x->lines)
		return brd_lines_feed(x->lines, bytes);
	brd_buf_add(&x->body, bytes);
	return !x->body.bad;
}

static void on_end(struct bread_op *op)
{
	((struct exchange *)op->arg)->done = true;
}

/* 0, or an exit status: what the server refused is said. */
static int ask(struct remote *r, const char *method, struct bread_str path, struct bread_str body,
	struct exchange *x)
{
	static const char *const headers[] = { "Content-Type: application/json",
		"Accept: application/x-ndjson", NULL };
	struct http_call_spec spec = { .method = method,
		.url = brd_arena_printf(r->arena, "%s%.*s", r->server, BRD_ARG(path)).p,
		.headers = headers,
		.body = body,
		.on_data = on_data,
		.arg = x };
	struct http_call *call;

	brd_buf_init(&x->body, ANSWER_MAX);
	bread_op_init(&x->op, r->loop, on_end, x);
	call = brd_http_call_start(brd_http_client_of(r->loop), &spec, &x->op);
	while (!x->done)
		brd_loop_turn(r->loop, -1);
	x->status = brd_http_call_status(call);
	brd_http_call_free(call);
	if (x->op.code == BREAD_OK)
		return 0;
	cli_error("%s: %s", r->server, x->op.err.text);
	return EXIT_UNREACHABLE;
}

/* Its JSON in the arena; else an exit status. */
static int get(struct remote *r, struct bread_str path, const char *what, struct jval *ret)
{
	struct exchange x = { 0 };
	struct bread_str empty = { 0 };
	int status = ask(r, "GET", path, empty, &x);

	*ret = (struct jval){ 0 };
	if (!status && x.status == 404) {
		cli_error("%s", what);
		status = EXIT_FAILED;
	} else if (!status &&
		   (x.status != 200 ||
			   brd_json_parse(r->arena, brd_arena_copy(r->arena, brd_buf_str(&x.body)),
				   0, ret, NULL))) {
		cli_error("%s answered with status %d", r->server, x.status);
		status = EXIT_UNREACHABLE;
	}
	brd_buf_fini(&x.body);
	return status;
}

static struct bread_checkpoint_row row_of(struct remote *r, struct jval v)
{
	struct arena *a = r->arena;

	return (struct bread_checkpoint_row){
		.id = brd_json_str(brd_json_get(v, "checkpointId"), a),
		.agent_id = brd_json_str(brd_json_get(v, "agentId"), a),
		.run_id = brd_json_str(brd_json_get(v, "runId"), a),
		.root_id = brd_json_str(brd_json_get(v, "rootRunId"), a),
		.session_id = brd_json_str(brd_json_get(v, "sessionId"), a),
		.tool_name = brd_json_str(brd_json_get(v, "toolName"), a),
		.kind = brd_json_str(brd_json_get(v, "kind"), a),
		.schema = brd_json_raw(brd_json_get(v, "args")),
		.answer_schema = brd_json_raw(brd_json_get(v, "answerSchema")),
		.fallback = brd_json_raw(brd_json_get(v, "default")),
		.deadline = brd_json_int_or(brd_json_get(v, "deadline"), 0),
		.created_at = brd_json_int_or(brd_json_get(v, "createdAt"), 0),
	};
}

/* ---- the stream ---- */

static void on_line(void *arg, struct bread_str line)
{
	struct remote *r = arg;
	struct arena a = { 0 };
	struct jval v, crumb;

	if (line.n && !brd_json_parse(&a, line, 0, &v, NULL)) {
		crumb = brd_json_get(v, "crumb");
		if (brd_json_is(brd_json_get(crumb, "type"), "text:delta") &&
			brd_json_is(brd_json_get(crumb, "runId"), r->speech.run.id))
			cli_speech_text(&r->speech, brd_json_str(brd_json_get(crumb, "delta"), &a));
	}
	brd_arena_fini(&a);
}

/* A refusal is one object, with a status or as the only line of the stream. */
static bool refused(struct remote *r, const struct exchange *x, struct bread_str text)
{
	struct arena a = { 0 };
	struct bread_str message = { 0 };
	struct jval v;

	if (!brd_json_parse(&a, text, 0, &v, NULL))
		message = brd_json_str(brd_json_path(v, "error.message"), &a);
	if (x->status != 200)
		cli_error("%.*s", BRD_ARG(message.n ? message : BRD_STR("the answer was refused")));
	brd_arena_fini(&a);
	return x->status != 200;
}

struct first_line { /* of the stream; all of a refusal */
	struct remote *remote;
	struct buf text;
};

static void on_first(void *arg, struct bread_str line)
{
	struct first_line *f = arg;

	if (f->text.len == 0)
		brd_buf_add(&f->text, line);
	on_line(f->remote, line);
}

static int post(struct remote *r, struct bread_str answer)
{
	struct bread_str path = brd_arena_printf(r->arena, "/resume/%.*s", BRD_ARG(r->row.id));
	struct bread_str body = brd_arena_printf(r->arena, "{\"response\":%.*s}", BRD_ARG(answer));
	struct first_line first = { .remote = r };
	struct line_reader lines;
	struct exchange x = { .lines = &lines };
	int status;

	brd_buf_init(&first.text, ANSWER_MAX);
	brd_lines_init(&lines, ANSWER_MAX, on_first, &first);
	status = ask(r, "POST", path, body, &x);
	if (!status)
		brd_lines_finish(&lines);
	if (!status && refused(r, &x, brd_buf_str(&first.text)))
		status = EXIT_FAILED;
	brd_lines_fini(&lines);
	brd_buf_fini(&first.text);
	brd_buf_fini(&x.body);
	return status;
}

/* ---- how it ended ---- */

static void pause_a_little(struct remote *r)
{
	int64_t end = brd_clock_mono() + LOOK_MS;

	while (brd_clock_mono() < end)
		brd_loop_turn(r->loop, LOOK_MS);
}

/* Reads its row until it is at rest. */
static int look(struct remote *r)
{
	struct cli_run *run = &r->speech.run;
	struct bread_str path = brd_arena_printf(r->arena, "/runs/%s", run->id);
	struct jval v, error;
	int status, named;

	for (;; pause_a_little(r)) {
		status = get(r, path, "the run is gone", &v);
		named = brd_run_status_named(brd_json_str(brd_json_get(v, "status"), r->arena));
		if (status || named < 0)
			return status ? status : EXIT_UNREACHABLE;
		if (named != BREAD_RUN_RUNNING && named != BREAD_RUN_QUEUED)
			break;
	}
	error = brd_json_get(v, "error");
	run->status = (enum bread_run_status)named;
	run->output = brd_json_raw(brd_json_get(v, "output"));
	run->error_code = brd_json_str(brd_json_get(error, "code"), r->arena);
	run->error_message = brd_json_str(brd_json_get(error, "message"), r->arena);
	return 0;
}

static int say_questions(struct remote *r)
{
	struct bread_str path = brd_arena_printf(r->arena, "/checkpoints?run=%s", r->speech.run.id);
	struct bread_checkpoint_row *rows;
	struct jval v;
	int status = get(r, path, "the run is gone", &v);

	if (status)
		return status;
	rows = brd_arena_array(r->arena, brd_json_count(v) + 1, sizeof(*rows));
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
		rows[it.index] = row_of(r, it.value);
	cli_speech_waits(&r->speech, rows, brd_json_count(v));
	return EXIT_WAITING;
}

static int end(struct remote *r)
{
	int status = look(r);

	if (status)
		return status;
	cli_speech_output(&r->speech);
	return r->speech.run.status == BREAD_RUN_SUSPENDED ? say_questions(r)
							   : cli_run_status(&r->speech.run);
}

static int resume(struct cli_args *a, struct remote *r)
{
	struct bread_str id = brd_str(a->words[0]), answer;
	struct jval v;
	int status = EXIT_FAILED;

	if (brd_id_ok(id))
		status = get(r, brd_arena_printf(r->arena, "/checkpoints/%.*s", BRD_ARG(id)),
			"Checkpoint not found or already answered", &v);
	else
		cli_error("\"%s\" is no id of a checkpoint", a->words[0]);
	if (status)
		return status;
	r->row = row_of(r, v);
	snprintf(r->speech.run.id, sizeof(r->speech.run.id), "%.*s", BRD_ARG(r->row.root_id));
	status = cli_take_answer(a, &r->row, &answer);
	if (!status)
		status = post(r, answer);
	return status ? status : end(r);
}

int cli_resume_at(struct cli_args *a, const char *server)
{
	struct remote r = { .server = server, .arena = &a->arena };
	struct bread_str url = brd_str(server);
	struct bread_err err;
	int status;

	while (url.n && url.p[url.n - 1] == '/')
		url.n--;
	r.server = brd_arena_strz(&a->arena, url);
	r.speech.json = cli_on(a, "json");
	if (brd_url_check(url, &err)) {
		cli_error("--server is \"%s\": %s", server, err.text);
		return EXIT_USAGE;
	}
	if (brd_loop_new(&r.loop, &err))
		return cli_fail(&err);
	status = resume(a, &r);
	brd_loop_free(r.loop);
	return status;
}

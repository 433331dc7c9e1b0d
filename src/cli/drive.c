/* SPDX-License-Identifier: MIT */
/* Commands that wait: the instance is turned on this thread until what they wait
 * for has happened. */
#include <stdio.h>
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "store/store.h"

#define ELSEWHERE_MS 200

void cli_wait(struct bread *b, const bool *done)
{
	while (!*done)
		bread_turn(b, -1);
}

void cli_done(struct bread_op *op)
{
	*(bool *)op->arg = true;
}

enum bread_code cli_ask(struct bread *b, struct bread_read *r)
{
	bool done = false;

	bread_op_init(&r->op, bread_here(b), cli_done, &done);
	bread_read(b, r);
	cli_wait(b, &done);
	return r->op.code;
}

/* ---- one run ---- */

static void hear(const struct bread_crumb *c, void *arg)
{
	struct cli_run *r = arg;

	if (r->on_crumb && !r->ended && brd_str_is(c->run_id, r->id))
		r->on_crumb(c, r->arg);
}

void cli_run_init(struct cli_run *r, struct bread *b)
{
	*r = (struct cli_run){ .b = b };
	bread_listen(b, hear, r);
}

void cli_run_fini(struct cli_run *r)
{
	brd_arena_fini(&r->arena);
}

static void on_end(const struct bread_outcome *o, void *arg)
{
	struct cli_run *r = arg;

	r->status = o->status;
	r->output = brd_arena_copy(&r->arena, o->output);
	r->error_code = brd_arena_copy(&r->arena, o->error_code);
	r->error_message = brd_arena_copy(&r->arena, o->error_message);
	r->ended = true;
}

static void on_cancelled(struct bread_op *op)
{
	((struct cli_run *)op->arg)->cancelling = false;
}

static void on_signal(void *arg)
{
	struct cli_run *r = arg;

	if (r->ended && r->status != BREAD_RUN_RUNNING)
		return;
	r->cancelling = true;
	bread_op_init(&r->cancel, bread_here(r->b), on_cancelled, r);
	bread_cancel(r->b, brd_str(r->id), &r->was, &r->cancel);
}

int cli_run_status(const struct cli_run *r)
{
	switch (r->status) {
	case BREAD_RUN_COMPLETED:
		return EXIT_DONE;
	case BREAD_RUN_SUSPENDED:
		return EXIT_WAITING;
	case BREAD_RUN_CANCELLED:
		return EXIT_CANCELLED;
	default:
		return brd_str_is(r->error_code, "STORE_FAILED") ? EXIT_UNREACHABLE : EXIT_FAILED;
	}
}

/* ---- a run that another process has ---- */

static void take_row(struct cli_run *r, const struct bread_run_row *row)
{
	struct jval error;

	r->status = row->status;
	r->output = brd_arena_copy(&r->arena, row->output);
	if (!brd_json_parse(&r->arena, brd_arena_copy(&r->arena, row->error), 0, &error, NULL)) {
		r->error_code = brd_json_str(brd_json_get(error, "code"), &r->arena);
		r->error_message = brd_json_str(brd_json_get(error, "message"), &r->arena);
	}
}

/* Its row tells how it ends. false: not yet. */
static bool look(struct cli_run *r)
{
	struct bread_read q = { .kind = BREAD_READ_RUN, .key = brd_str(r->id) };
	const struct bread_run_row *row;
	bool over;

	if (cli_ask(r->b, &q) || !q.count) {
		bread_read_fini(&q);
		return true;
	}
	row = q.runs;
	over = brd_run_ended(row->status) || (row->status == BREAD_RUN_SUSPENDED && !row->wake);
	if (over)
		take_row(r, row);
	bread_read_fini(&q);
	return over;
}

static void wait_elsewhere(struct cli_run *r)
{
	int64_t next;

	while (!look(r))
		for (next = brd_clock_mono() + ELSEWHERE_MS; brd_clock_mono() < next;)
			bread_turn(r->b, ELSEWHERE_MS);
	while (r->cancelling)
		bread_turn(r->b, -1);
}

static int wait_end(struct cli_run *r)
{
	struct cli_signals signals;

	cli_signals_open(&signals, r->b, on_signal, r);
	while (!r->ended || r->cancelling)
		bread_turn(r->b, -1);
	if (r->status == BREAD_RUN_RUNNING)
		wait_elsewhere(r);
	cli_signals_close(&signals, r->b);
	return cli_run_status(r);
}

static void forget(struct cli_run *r)
{
	brd_arena_fini(&r->arena);
	r->output = r->error_code = r->error_message = (struct bread_str){ 0 };
	r->status = BREAD_RUN_FAILED;
	r->ended = r->cancelling = false;
}

int cli_run(struct cli_run *r, struct bread_run_request req)
{
	struct bread_err err = { 0 };

	forget(r);
	r->id[0] = 0;
	req.ingress = "cli";
	req.on_end = on_end;
	req.arg = r;
	if (bread_run(r->b, &req, r->id, &err))
		return cli_fail(&err);
	return wait_end(r);
}

static void on_claimed(
	struct bread_str run_id, int64_t after, const struct bread_err *err, void *arg)
{
	struct cli_run *r = arg;

	if (!err) {
		snprintf(r->id, sizeof(r->id), "%.*s", BRD_ARG(run_id));
		return;
	}
	r->error_code = brd_arena_copy(&r->arena, brd_str(err->name));
	r->error_message = brd_arena_copy(&r->arena, brd_str(err->text));
	r->ended = true;
}

int cli_resume(struct cli_run *r, struct bread_str checkpoint, struct bread_str response)
{
	struct bread_resume_request req = { .checkpoint_id = checkpoint,
		.response = response,
		.on_claimed = on_claimed,
		.on_end = on_end,
		.arg = r };

	forget(r);
	bread_resume(r->b, &req);
	return wait_end(r);
}

void cli_run_explain(const struct cli_run *r)
{
	if (r->status == BREAD_RUN_FAILED || r->status == BREAD_RUN_CANCELLED)
		cli_error("%.*s", BRD_ARG(r->error_message));
}

/* ---- agents ---- */

static void wants_string(const struct bread_agent_info *a, void *arg)
{
	struct arena arena = { 0 };
	struct jval schema, type;
	bool *string = arg;

	*string = true;
	if (a->input_schema.n && !brd_json_parse(&arena, a->input_schema, 0, &schema, NULL)) {
		type = brd_json_get(schema, "type");
		*string = brd_json_type(type) == JSON_NONE || brd_json_is(type, "string");
	}
	brd_arena_fini(&arena);
}

struct bread_str cli_input(
	struct bread *b, const char *agent, struct bread_str text, struct arena *a)
{
	bool string = true;

	bread_agent_get(b, brd_str(agent), wants_string, &string);
	if (!string && brd_json_ok(text, 0))
		return text;
	return cli_quote(text, a);
}

static void add_id(const struct bread_agent_info *a, void *arg)
{
	struct buf *b = arg;

	brd_buf_addf(b, "%s%.*s", b->len ? ", " : "", BRD_ARG(a->id));
}

static void ignore(const struct bread_agent_info *a, void *arg)
{
}

int cli_agent_known(struct bread *b, const char *agent)
{
	struct buf names;

	if (!bread_agent_get(b, brd_str(agent), ignore, NULL))
		return 0;
	brd_buf_init(&names, BUF_NO_LIMIT);
	bread_agents(b, add_id, &names);
	cli_error("Agent \"%s\" not found. Available: %s", agent, names.len ? names.data : "none");
	brd_buf_fini(&names);
	return EXIT_FAILED;
}

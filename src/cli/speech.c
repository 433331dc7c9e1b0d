/* SPDX-License-Identifier: MIT */
/* A run that is followed by a command: its text goes to standard output as it comes; with --json
 * only the output does, as one line of JSON. Where it stops at a human, what it waits for is said.
 */
#include "base/jsonw.h"
#include "cli/cli.h"

void cli_speech_text(struct cli_speech *s, struct bread_str delta)
{
	if (s->json)
		return;
	s->spoke = true;
	cli_text(stdout, delta);
	fflush(stdout);
}

static void show(struct cli_speech *s, const struct bread_crumb *c, struct jval v, struct arena *a)
{
	struct bread_str name = brd_json_str(brd_json_get(v, "toolName"), a);

	if (brd_str_is(c->type, "text:delta"))
		cli_speech_text(s, brd_json_str(brd_json_get(v, "delta"), a));
	else if (brd_str_is(c->type, "agent:attempt:void") && s->spoke && !s->json)
		cli_error("the attempt broke off; what was printed so far does not count");
	else if (s->trace && brd_str_is(c->type, "tool:call"))
		cli_dim(stderr, "↳ %.*s(%.*s)", BRD_ARG(name),
			BRD_ARG(brd_json_raw(brd_json_get(v, "args"))));
	else if (s->trace && brd_str_is(c->type, "tool:error"))
		cli_dim(stderr, "↳ %.*s failed: %.*s", BRD_ARG(name),
			BRD_ARG(brd_json_str(brd_json_path(v, "error.message"), a)));
}

static void on_crumb(const struct bread_crumb *c, void *arg)
{
	struct arena a = { 0 };
	struct jval v;

	if (!brd_json_parse(&a, c->json, 0, &v, NULL))
		show(arg, c, v, &a);
	brd_arena_fini(&a);
}

void cli_speech_init(struct cli_speech *s, struct cli_args *a, struct bread *b)
{
	*s = (struct cli_speech){ .json = cli_on(a, "json"), .trace = cli_on(a, "trace") };
	cli_run_init(&s->run, b);
	s->run.on_crumb = on_crumb;
	s->run.arg = s;
}

void cli_speech_output(struct cli_speech *s)
{
	struct cli_run *r = &s->run;
	struct arena a = { 0 };
	struct jval v;

	if (r->status == BREAD_RUN_COMPLETED && s->json)
		printf("%.*s\n", BRD_ARG(r->output.n ? r->output : BRD_STR("null")));
	else if (r->status == BREAD_RUN_COMPLETED && !s->spoke &&
		 !brd_json_parse(&a, r->output, 0, &v, NULL))
		cli_text(stdout, brd_json_type(v) == JSON_STRING ? brd_json_str(v, &a) : r->output);
	if (!s->json && (s->spoke || r->status == BREAD_RUN_COMPLETED))
		fputc('\n', stdout);
	brd_arena_fini(&a);
	fflush(stdout);
	cli_run_explain(r);
}

/* ---- what it waits for ---- */

static void say_one(const struct bread_checkpoint_row *c)
{
	bool approval = brd_str_is(c->kind, "approval");

	cli_error("Agent \"%.*s\" requires human %s via tool \"%.*s\"; answer with: bread resume "
		  "%.*s",
		BRD_ARG(c->agent_id), approval ? "approval" : "input", BRD_ARG(c->tool_name),
		BRD_ARG(c->id));
}

static void print_waiting(const char *run_id, const struct bread_checkpoint_row *rows, size_t n)
{
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "status", BRD_STR("suspended"));
	brd_jw_kstr(&w, "runId", brd_str(run_id));
	brd_jw_key(&w, "checkpoints");
	brd_jw_arr(&w);
	for (size_t i = 0; i < n; i++)
		if (cli_for_somebody(&rows[i]))
			cli_put_question(&w, &rows[i]);
	brd_jw_end_arr(&w);
	brd_jw_end_obj(&w);
	puts(b.data);
	brd_buf_fini(&b);
}

void cli_speech_waits(const struct cli_speech *s, const struct bread_checkpoint_row *rows, size_t n)
{
	if (s->json)
		print_waiting(s->run.id, rows, n);
	for (size_t i = 0; !s->json && i < n; i++)
		if (cli_for_somebody(&rows[i]))
			say_one(&rows[i]);
}

static void explain_waiting(struct cli_speech *s)
{
	struct bread_read q = { 0 };

	if (cli_questions(s->run.b, brd_str(s->run.id), &q)) {
		cli_fail(&q.op.err);
		return;
	}
	cli_speech_waits(s, q.checkpoints, q.count);
	bread_read_fini(&q);
}

int cli_speech_end(struct cli_speech *s, int status)
{
	if (s->run.ended)
		cli_speech_output(s);
	if (status == EXIT_WAITING)
		explain_waiting(s);
	bread_stop(s->run.b, 0);
	cli_run_fini(&s->run);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* bread invoke: one run. Its text goes to standard output as it comes; with --json
 * only the output does, as one line of JSON. */
#include <stdlib.h>
#include <unistd.h>
#include "base/json.h"
#include "cli/cli.h"

#define INPUT_MAX ((size_t)16 * 1024 * 1024)

static const struct cli_option options[] = {
	{ .name = "session",
		.letter = 's',
		.value = "ID",
		.doc = "goes on with that session, or begins it" },
	{ .name = "skill", .value = "NAME", .doc = "runs with that skill" },
	{ .name = "json", .doc = "prints the output alone, as one line of JSON" },
	{ .name = "trace", .doc = "shows tool calls on standard error" },
	{ 0 },
};

struct invoke {
	struct cli_run run;
	bool json, trace;
	bool spoke;          /* some of its text was printed */
	char waits_for[128]; /* the human tool that it stopped at */
};

static void on_text(struct invoke *in, struct bread_str delta)
{
	if (in->json)
		return;
	in->spoke = true;
	cli_text(stdout, delta);
	fflush(stdout);
}

static void show(struct invoke *in, const struct bread_crumb *c, struct jval v, struct arena *a)
{
	struct bread_str name = brd_json_str(brd_json_get(v, "toolName"), a);

	if (brd_str_is(c->type, "text:delta"))
		on_text(in, brd_json_str(brd_json_get(v, "delta"), a));
	else if (brd_str_is(c->type, "human:required"))
		snprintf(in->waits_for, sizeof(in->waits_for), "%.*s", BRD_ARG(name));
	else if (brd_str_is(c->type, "agent:attempt:void") && in->spoke && !in->json)
		cli_error("the attempt broke off; what was printed so far does not count");
	else if (in->trace && brd_str_is(c->type, "tool:call"))
		cli_dim(stderr, "↳ %.*s(%.*s)", BRD_ARG(name),
			BRD_ARG(brd_json_raw(brd_json_get(v, "args"))));
	else if (in->trace && brd_str_is(c->type, "tool:error"))
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

/* The argument, or standard input without blanks at its ends; false: there is none. */
static bool read_input(struct cli_args *a, struct bread_str *ret)
{
	struct buf b;
	char chunk[65536];
	size_t n;

	if (a->word_count > 1) {
		*ret = brd_str(a->words[1]);
		return true;
	}
	if (isatty(STDIN_FILENO))
		return false;
	brd_buf_init(&b, INPUT_MAX);
	while ((n = fread(chunk, 1, sizeof(chunk), stdin)) > 0)
		brd_buf_addn(&b, chunk, n);
	if (b.bad)
		cli_error("The input is over 16 MiB.");
	*ret = b.bad ? (struct bread_str){ 0 }
		     : brd_str_trim(brd_arena_copy(&a->arena, brd_buf_str(&b)));
	brd_buf_fini(&b);
	return ret->n > 0;
}

static void print_output(struct invoke *in)
{
	struct cli_run *r = &in->run;
	struct arena a = { 0 };
	struct jval v;

	if (r->status == BREAD_RUN_COMPLETED && in->json) {
		struct bread_str out = r->output.n ? r->output : BRD_STR("null");

		printf("%.*s\n", BRD_ARG(out));
		return;
	}
	if (r->status == BREAD_RUN_COMPLETED && !in->spoke &&
		!brd_json_parse(&a, r->output, 0, &v, NULL))
		cli_text(stdout, brd_json_type(v) == JSON_STRING ? brd_json_str(v, &a) : r->output);
	if (!in->json && (in->spoke || r->status == BREAD_RUN_COMPLETED))
		fputc('\n', stdout);
	brd_arena_fini(&a);
}

static int invoke(struct cli_args *a, struct bread *b, struct bread_str input)
{
	struct bread_run_request req = { .agent_id = brd_str(a->words[0]),
		.input = cli_input(b, a->words[0], input, &a->arena),
		.session_id = brd_str(cli_value(a, "session")),
		.skill = brd_str(cli_value(a, "skill")) };
	struct invoke in = { .json = cli_on(a, "json"), .trace = cli_on(a, "trace") };
	int r;

	cli_run_init(&in.run, b);
	in.run.on_crumb = on_crumb;
	in.run.arg = &in;
	r = cli_run(&in.run, req);
	if (in.run.ended) {
		print_output(&in);
		fflush(stdout);
		cli_run_explain(&in.run);
	}
	if (r == EXIT_WAITING)
		cli_error("Agent \"%s\" requires human input via tool \"%s\". `invoke` is "
			  "non-interactive — use `bread chat` instead.",
			a->words[0], in.waits_for);
	bread_stop(b, 0);
	cli_run_fini(&in.run);
	return r;
}

static int run(struct cli_args *a)
{
	struct bread_str input;
	struct project p;
	struct bread *b;
	bool trace;
	int r;

	if (!read_input(a, &input)) {
		cli_error("No input provided. Pass it as an argument or pipe it via stdin.");
		return EXIT_USAGE;
	}
	r = cli_load(a, &p, &b);
	if (r)
		return r;
	if (cli_terminal_wanted(&p, &trace))
		cli_terminal(b, trace);
	r = cli_agent_known(b, a->words[0]);
	if (!r)
		r = cli_go(b);
	if (!r)
		r = invoke(a, b, input);
	cli_close(&p, b);
	return r;
}

const struct cli_command cli_invoke = {
	.name = "invoke",
	.usage = "AGENT [INPUT]",
	.doc = "Runs an agent once.",
	.detail = "Without INPUT, standard input is read. Ctrl-C cancels the run.",
	.options = options,
	.words_min = 1,
	.words_max = 2,
	.run = run,
};

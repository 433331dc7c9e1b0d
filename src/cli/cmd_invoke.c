/* SPDX-License-Identifier: MIT */
/* bread invoke: one run of an agent or a pipeline. */
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
	{ .name = "pipeline", .doc = "NAME is a pipeline, also if an agent has that name" },
	{ .name = "skill", .value = "NAME", .doc = "runs with that skill" },
	{ .name = "json", .doc = "prints the output alone, as one line of JSON" },
	{ .name = "trace", .doc = "shows tool calls on standard error" },
	{ 0 },
};

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

struct named {
	struct bread_str id;
	bool found;
	struct buf names;
};

static void on_pipeline(struct bread_str id, struct bread_str json, void *arg)
{
	struct named *n = arg;

	n->found = n->found || brd_str_eq(n->id, id);
	brd_buf_addf(&n->names, "%s%.*s", n->names.len ? ", " : "", BRD_ARG(id));
}

static void ignore(const struct bread_agent_info *i, void *arg)
{
}

/* An agent of that name, else a pipeline. 0, or an exit status. */
static int find(struct cli_args *a, struct bread *b, bool *ret_pipeline)
{
	struct named n = { .id = brd_str(a->words[0]) };
	bool asked = cli_on(a, "pipeline");
	int r = 0;

	brd_buf_init(&n.names, BUF_NO_LIMIT);
	bread_pipelines(b, on_pipeline, &n);
	*ret_pipeline = n.found && (asked || bread_agent_get(b, n.id, ignore, NULL));
	if (asked && !n.found) {
		cli_error("Pipeline \"%s\" not found. Available: %s", a->words[0],
			n.names.len ? n.names.data : "none");
		r = EXIT_FAILED;
	} else if (!*ret_pipeline) {
		r = cli_agent_known(b, a->words[0]);
		if (r && n.names.len)
			cli_error("Pipelines: %s", n.names.data);
	}
	brd_buf_fini(&n.names);
	return r;
}

static int invoke(struct cli_args *a, struct bread *b, struct bread_str input, bool pipeline)
{
	struct bread_run_request req = { 0 };
	struct cli_speech s;

	if (pipeline) {
		req.pipeline_id = brd_str(a->words[0]);
		req.input = brd_json_ok(input, 0) ? input : cli_quote(input, &a->arena);
	} else {
		req.agent_id = brd_str(a->words[0]);
		req.input = cli_input(b, a->words[0], input, &a->arena);
		req.session_id = brd_str(cli_value(a, "session"));
		req.skill = brd_str(cli_value(a, "skill"));
	}
	cli_speech_init(&s, a, b);
	return cli_speech_end(&s, cli_run(&s.run, req));
}

static int run(struct cli_args *a)
{
	struct bread_str input;
	struct project p;
	struct bread *b;
	bool trace, pipeline = false;
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
	r = cli_go(&p, b); /* pipelines of the configuration are there from then on */
	if (!r)
		r = find(a, b, &pipeline);
	if (!r)
		r = invoke(a, b, input, pipeline);
	cli_close(&p, b);
	return r;
}

const struct cli_command cli_invoke = {
	.name = "invoke",
	.usage = "NAME [INPUT]",
	.doc = "Runs an agent or a pipeline once.",
	.detail = "Without INPUT, standard input is read. Ctrl-C cancels the run. One that stops "
		  "at a "
		  "human\nends with status 3 and says the checkpoint; with --json as {\"status\":"
		  "\"suspended\",\n\"runId\",\"checkpoints\"}.",
	.options = options,
	.words_min = 1,
	.words_max = 2,
	.run = run,
};

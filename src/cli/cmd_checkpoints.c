/* SPDX-License-Identifier: MIT */
/* bread checkpoints: who is asked what, beside a server that may be running. */
#include "base/jsonw.h"
#include "cli/cli.h"

static void print_json(const struct bread_checkpoint_row *c, bool indent)
{
	struct arena a = { 0 };
	struct buf b, laid;
	struct jsonw w;
	struct jval v;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_init(&laid, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	cli_put_question(&w, c);
	if (indent && !brd_json_parse(&a, brd_buf_str(&b), 0, &v, NULL))
		brd_json_indent(v, &laid);
	puts(laid.len ? laid.data : b.data);
	brd_buf_fini(&laid);
	brd_buf_fini(&b);
	brd_arena_fini(&a);
}

static void print_row(const struct bread_checkpoint_row *c)
{
	char time[CLI_TIME];

	printf("%.*s  %s  %.*s  %.*s  %.*s\n", BRD_ARG(c->id), cli_time(c->created_at, time),
		BRD_ARG(c->agent_id), BRD_ARG(c->tool_name),
		BRD_ARG(c->kind.n ? c->kind : BRD_STR("-")));
}

/* ---- list ---- */

static int list(struct cli_args *a, struct bread *b)
{
	struct bread_read q = { .filter = { .agent_id = brd_str(cli_value(a, "agent")),
					.session_id = brd_str(cli_value(a, "session")) } };
	int r = 0;

	q.limit = 10000;
	if (cli_questions(b, brd_str(cli_value(a, "run")), &q))
		r = cli_fail(&q.op.err);
	for (size_t i = 0; !r && i < q.count; i++) {
		if (!cli_for_somebody(&q.checkpoints[i]))
			continue;
		if (cli_on(a, "json"))
			print_json(&q.checkpoints[i], false);
		else
			print_row(&q.checkpoints[i]);
	}
	bread_read_fini(&q);
	return r;
}

static int run_list(struct cli_args *a)
{
	struct project p;
	struct bread *b;
	int r = cli_look(a, &p, &b);

	if (r)
		return r;
	r = list(a, b);
	cli_close(&p, b);
	return r;
}

/* ---- show ---- */

static int run_show(struct cli_args *a)
{
	struct bread_read q = { .kind = BREAD_READ_CHECKPOINT, .key = brd_str(a->words[0]) };
	struct project p;
	struct bread *b;
	int r = cli_look(a, &p, &b);

	if (r)
		return r;
	if (cli_ask(b, &q)) {
		r = cli_fail(&q.op.err);
	} else if (!q.count) {
		cli_error("Checkpoint not found or already answered: %s", a->words[0]);
		r = EXIT_FAILED;
	} else {
		print_json(&q.checkpoints[0], !cli_on(a, "json"));
	}
	bread_read_fini(&q);
	cli_close(&p, b);
	return r;
}

static const struct cli_option list_options[] = {
	{ .name = "run", .value = "ID", .doc = "only of that run; of a root: of its whole tree" },
	{ .name = "session", .letter = 's', .value = "ID", .doc = "only in that session" },
	{ .name = "agent", .value = "ID", .doc = "only of that agent" },
	{ .name = "json", .doc = "one JSON object a line" },
	{ 0 },
};

static const struct cli_option show_options[] = {
	{ .name = "json", .doc = "on one line" },
	{ 0 },
};

const struct cli_command cli_checkpoints_list = {
	.name = "checkpoints list",
	.usage = "",
	.doc = "Lists what waits for a human, the oldest first.",
	.options = list_options,
	.run = run_list,
};

const struct cli_command cli_checkpoints_show = {
	.name = "checkpoints show",
	.usage = "ID",
	.doc = "Shows a checkpoint as JSON.",
	.options = show_options,
	.words_min = 1,
	.words_max = 1,
	.run = run_show,
};

/* SPDX-License-Identifier: MIT */
/* bread resume: answers a checkpoint over the store, and follows the tree of runs to its end or to
 * its next question. No server is needed; if one has the tree, it goes on there and is waited for.
 * Without an answer on the command line the person is asked for it. */
#include <stdlib.h>
#include "base/json.h"
#include "cli/cli.h"
#include "cli/line.h"

#define ANSWER_MAX ((size_t)16 * 1024 * 1024)

static int read_stdin(struct cli_args *a, struct bread_str *ret)
{
	struct buf b;
	char chunk[65536];
	size_t n;
	bool bad;

	brd_buf_init(&b, ANSWER_MAX);
	while ((n = fread(chunk, 1, sizeof(chunk), stdin)) > 0)
		brd_buf_addn(&b, chunk, n);
	bad = b.bad;
	if (bad)
		cli_error("The answer is over 16 MiB.");
	else
		*ret = brd_arena_copy(&a->arena, brd_buf_str(&b));
	brd_buf_fini(&b);
	return bad ? EXIT_USAGE : 0;
}

static int ask(struct cli_args *a, const struct bread_checkpoint_row *c, struct bread_str *ret)
{
	struct cli_lines *l = cli_lines_new();
	bool given = cli_form(l, c, NULL, &a->arena, ret);

	cli_lines_free(l);
	return given ? 0 : EXIT_WAITING;
}

int cli_take_answer(struct cli_args *a, const struct bread_checkpoint_row *c, struct bread_str *ret)
{
	struct bread_str text = brd_str(a->word_count > 1 ? a->words[1] : NULL);
	int r = 0;

	if (a->word_count < 2)
		return ask(a, c, ret);
	if (brd_str_is(text, "-"))
		r = read_stdin(a, &text);
	if (r)
		return r;
	*ret = cli_answer(c, text, &a->arena);
	if (cli_answer_is_one(c, *ret, &a->arena))
		return 0;
	cli_error("An approval is answered with y or n, and a reason behind it if you like; the "
		  "checkpoint waits for another answer.");
	return EXIT_USAGE;
}

static int resume(struct cli_args *a, struct bread *b)
{
	struct bread_str id = brd_str(a->words[0]), answer = { 0 };
	struct bread_read q = { .kind = BREAD_READ_CHECKPOINT, .key = id };
	struct cli_speech s;
	int r = 0;

	if (cli_ask(b, &q))
		r = cli_fail(&q.op.err);
	else if (q.count) /* else it is refused, with the reason */
		r = cli_take_answer(a, &q.checkpoints[0], &answer);
	if (!r) {
		cli_speech_init(&s, a, b);
		r = cli_speech_end(&s, cli_resume(&s.run, id, answer));
	}
	bread_read_fini(&q);
	return r;
}

static int run(struct cli_args *a)
{
	struct project p;
	struct bread *b;
	bool trace;
	int r;

	if (cli_value(a, "server"))
		return cli_resume_at(a, cli_value(a, "server"));
	r = cli_load(a, &p, &b);
	if (r)
		return r;
	if (cli_terminal_wanted(&p, &trace))
		cli_terminal(b, trace);
	r = cli_go(&p, b);
	if (!r)
		r = resume(a, b);
	cli_close(&p, b);
	return r;
}

static const struct cli_option options[] = {
	{ .name = "json", .doc = "prints the output alone, as one line of JSON" },
	{ .name = "server",
		.value = "URL",
		.doc = "asks that server instead of the project's store" },
	{ .name = "trace", .doc = "shows tool calls on standard error" },
	{ 0 },
};

const struct cli_command cli_resume_command = {
	.name = "resume",
	.usage = "CHECKPOINT [ANSWER]",
	.doc = "Answers a run that waits for a human, and follows it.",
	.detail = "ANSWER is JSON, or a text; for an approval y or n, with a reason behind it if "
		  "wanted; -\nreads it from standard input. Without it you are asked. The exit "
		  "status "
		  "is the run's: 0\ndone, 1 failed, 3 it waits again, 4 cancelled.",
	.options = options,
	.words_min = 1,
	.words_max = 2,
	.run = run,
};

/* SPDX-License-Identifier: MIT */
/* bread chat: a conversation in one session. What the agent says goes to standard
 * output, all else to standard error. Where a run waits for a human, the human is
 * asked here. */
#include <stdlib.h>
#include "base/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cli/cli.h"
#include "cli/line.h"

struct chat {
	struct bread *b;
	const char *agent;
	struct bread_str session, skill;
	struct cli_lines *lines;
	struct cli_run run;
	bool said_error; /* the terminal has shown why the run failed */
};

static void on_crumb(const struct bread_crumb *c, void *arg)
{
	struct chat *chat = arg;

	if (brd_str_is(c->type, "agent:error"))
		chat->said_error = true;
}

/* The oldest question of the run and of those below it; NULL: there is none. */
static const struct bread_checkpoint_row *first_question(const struct bread_read *q)
{
	for (size_t i = 0; i < q->count; i++)
		if (cli_for_somebody(&q->checkpoints[i]))
			return &q->checkpoints[i];
	return NULL;
}

/* Asks until the run waits no more. false: the input has ended. */
static bool ask_human(struct chat *c, int *status)
{
	bool more = true;

	while (more && *status == EXIT_WAITING) {
		struct bread_read q = { 0 };
		const struct bread_checkpoint_row *row = NULL;
		struct arena a = { 0 };
		struct bread_str answer;

		if (!cli_questions(c->b, brd_str(c->run.id), &q))
			row = first_question(&q);
		more = row && cli_form(c->lines, row, c->agent, &a, &answer);
		if (more)
			*status = cli_resume(&c->run, row->id, answer);
		bread_read_fini(&q);
		brd_arena_fini(&a);
	}
	return more;
}

/* What was said last ends its line; a failure is told, unless it was. */
static void say_end(struct chat *c)
{
	cli_terminal_line();
	if (c->run.ended && !c->said_error)
		cli_run_explain(&c->run);
}

/* One turn of the conversation. false: it is over. */
static bool turn(struct chat *c, const char *line, int *status)
{
	struct arena a = { 0 };
	struct bread_run_request req = { .agent_id = brd_str(c->agent),
		.input = cli_input(c->b, c->agent, brd_str(line), &a),
		.session_id = c->session,
		.skill = c->skill };
	bool more;

	c->said_error = false;
	*status = cli_run(&c->run, req);
	brd_arena_fini(&a);
	more = ask_human(c, status);
	say_end(c);
	return more;
}

/* The session may have a run of an earlier day that waits: that is asked first. false: the input
 * has ended. */
static bool take_up(struct chat *c, int *status)
{
	struct bread_read q = { .kind = BREAD_READ_RUNS,
		.limit = 1,
		.filter = { .session_id = c->session, .status = BREAD_RUN_SUSPENDED } };
	bool more = true;

	if (!cli_ask(c->b, &q) && q.count) {
		snprintf(c->run.id, sizeof(c->run.id), "%.*s",
			BRD_ARG(q.runs->root_id.n ? q.runs->root_id : q.runs->id));
		*status = EXIT_WAITING;
	}
	bread_read_fini(&q);
	if (*status == EXIT_WAITING) {
		more = ask_human(c, status);
		say_end(c);
	}
	return more;
}

static int converse(struct chat *c)
{
	int status = EXIT_DONE;
	const char *line;

	cli_dim(stderr, "session %.*s — talking to \"%s\". Type /exit or press Ctrl-D to quit.",
		BRD_ARG(c->session), c->agent);
	if (!take_up(c, &status))
		return EXIT_WAITING;
	while ((line = cli_lines_read(c->lines, "\nyou ▸ "))) {
		struct bread_str text = brd_str_trim(brd_str(line));

		if (brd_str_is(text, "/exit") || brd_str_is(text, "/quit"))
			break;
		if (text.n && !turn(c, line, &status))
			return EXIT_WAITING;
	}
	return EXIT_DONE;
}

/* ---- with whom ---- */

struct only {
	char id[BREAD_RUN_ID_MAX];
	size_t count;
};

static void take_only(const struct bread_agent_info *a, void *arg)
{
	struct only *o = arg;

	o->count++;
	snprintf(o->id, sizeof(o->id), "%.*s", BRD_ARG(a->id));
}

/* The agent that was named, or the only one. */
static int choose_agent(struct cli_args *a, struct chat *c)
{
	struct only only = { "", 0 };

	if (a->word_count) {
		c->agent = a->words[0];
		return cli_agent_known(c->b, c->agent);
	}
	bread_agents(c->b, take_only, &only);
	if (only.count != 1) {
		cli_error("%zu agents are loaded; say with which one to chat: bread chat AGENT",
			only.count);
		return EXIT_USAGE;
	}
	c->agent = brd_arena_strz(&a->arena, brd_str(only.id));
	return 0;
}

static int chat(struct cli_args *a, struct chat *c, const struct project *p)
{
	char fresh[UUID_LEN + 1];
	bool trace;
	int r = choose_agent(a, c);

	if (r)
		return r;
	cli_terminal_wanted(p, &trace);
	cli_terminal(c->b, trace);
	cli_terminal_lines();
	cli_run_init(&c->run, c->b);
	c->run.on_crumb = on_crumb;
	c->run.arg = c;
	r = cli_go(p, c->b);
	if (r)
		return r;
	brd_uuid7(fresh);
	c->session = brd_str(cli_value(a, "session") ? cli_value(a, "session") : fresh);
	c->skill = brd_str(cli_value(a, "skill"));
	c->lines = cli_lines_new();
	r = converse(c);
	cli_lines_free(c->lines);
	bread_stop(c->b, 0);
	return r;
}

static int run(struct cli_args *a)
{
	struct chat c = { 0 };
	struct project p;
	int r = cli_load(a, &p, &c.b);

	if (r)
		return r;
	r = chat(a, &c, &p);
	cli_run_fini(&c.run);
	cli_close(&p, c.b);
	return r;
}

static const struct cli_option options[] = {
	{ .name = "session",
		.letter = 's',
		.value = "ID",
		.doc = "goes on with that session, or begins it" },
	{ .name = "skill", .value = "NAME", .doc = "runs with that skill" },
	{ 0 },
};

const struct cli_command cli_chat = {
	.name = "chat",
	.usage = "[AGENT]",
	.doc = "Talks to an agent in one session.",
	.detail =
		"The agent need not be named when it is the only one. /exit, /quit or Ctrl-D end "
		"it;\nCtrl-C cancels the run that is going on. Where a run, or one below it, waits "
		"for a\nhuman, the human is asked, also for what a session left open on another "
		"day: field by\nfield if the answer is a simple object, else for a line of JSON or "
		"text; for an\napproval y or n, with a reason behind it if wanted.",
	.options = options,
	.words_max = 1,
	.run = run,
};

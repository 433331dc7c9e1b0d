/* SPDX-License-Identifier: MIT */
/* bread runs: a look into the store, beside a server that may be running. */
#include "base/jsonw.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "store/store.h"

static void add_run(struct buf *b, const struct bread_run_row *row)
{
	struct jsonw w = brd_jsonw(b);

	brd_jw_obj(&w);
	brd_jw_kstr(&w, "id", row->id);
	brd_jw_kstr(&w, "agentId", row->agent_id);
	brd_jw_kstr(&w, "sessionId", row->session_id);
	brd_jw_kstr(&w, "status", brd_str(brd_run_status_name(row->status)));
	if (row->parent_id.n)
		brd_jw_kstr(&w, "parentId", row->parent_id);
	brd_jw_kraw(&w, "tags", row->tags);
	brd_jw_kint(&w, "createdAt", row->created_at);
	if (row->started_at)
		brd_jw_kint(&w, "startedAt", row->started_at);
	if (row->ended_at)
		brd_jw_kint(&w, "endedAt", row->ended_at);
	brd_jw_kint(&w, "crumbs", row->head);
	brd_jw_kint(&w, "inputTokens", row->input_tokens);
	brd_jw_kint(&w, "outputTokens", row->output_tokens);
	brd_jw_kraw(&w, "input", row->input);
	brd_jw_kraw(&w, "output", row->output);
	brd_jw_kraw(&w, "files", row->files);
	brd_jw_kraw(&w, "error", row->error);
	brd_jw_end_obj(&w);
}

static void print_json(const struct bread_run_row *row, bool indent)
{
	struct arena a = { 0 };
	struct buf b, laid;
	struct jval v;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_init(&laid, BUF_NO_LIMIT);
	add_run(&b, row);
	if (indent && !brd_json_parse(&a, brd_buf_str(&b), 0, &v, NULL))
		brd_json_indent(v, &laid);
	puts(indent ? laid.data : b.data);
	brd_buf_fini(&laid);
	brd_buf_fini(&b);
	brd_arena_fini(&a);
}

static void print_row(const struct bread_run_row *row)
{
	char time[CLI_TIME];

	printf("%.*s  %-9s  %s  %.*s\n", BRD_ARG(row->id), brd_run_status_name(row->status),
		cli_time(row->created_at, time), BRD_ARG(row->agent_id));
}

/* ---- list ---- */

/* A page of them. What it has printed is taken from *left. */
static void print_page(struct cli_args *a, const struct bread_read *q, int64_t *left)
{
	for (size_t i = 0; i<q->count && * left> 0; i++) {
		if (q->runs[i].parent_id.n && !cli_on(a, "all"))
			continue;
		if (cli_on(a, "json"))
			print_json(&q->runs[i], false);
		else
			print_row(&q->runs[i]);
		--*left;
	}
}

static int list_runs(struct cli_args *a, struct bread *b, int status, int64_t left)
{
	char before[BREAD_RUN_ID_MAX] = "";
	bool more = true;
	int r = 0;

	while (!r && more && left > 0) {
		struct bread_read q = { .kind = BREAD_READ_RUNS,
			.limit = 500,
			.filter = { .agent_id = brd_str(cli_value(a, "agent")),
				.session_id = brd_str(cli_value(a, "session")),
				.before = brd_str(before),
				.status = status } };

		if (cli_ask(b, &q))
			r = cli_fail(&q.op.err);
		else
			print_page(a, &q, &left);
		more = !r && q.more && q.count;
		if (more)
			snprintf(before, sizeof(before), "%.*s", BRD_ARG(q.runs[q.count - 1].id));
		bread_read_fini(&q);
	}
	return r;
}

static int run_list(struct cli_args *a)
{
	const char *word = cli_value(a, "status");
	int status = word ? brd_run_status_named(brd_str(word)) : -1;
	struct project p;
	struct bread *b;
	int64_t limit;
	int r;

	if (word && status < 0) {
		cli_error("--status is \"%s\"; queued, running, suspended, completed, failed or "
			  "cancelled is expected",
			word);
		return EXIT_USAGE;
	}
	if (!cli_number(a, "limit", 1, INT64_MAX, 50, &limit))
		return EXIT_USAGE;
	r = cli_look(a, &p, &b);
	if (r)
		return r;
	r = list_runs(a, b, status, limit);
	cli_close(&p, b);
	return r;
}

/* ---- show ---- */

static int not_found(const char *id)
{
	cli_error("Run not found: %s", id);
	return EXIT_FAILED;
}

static void print_line(const struct bread_run_row *row)
{
	print_json(row, false);
}

static int show_tree(struct cli_args *a, struct bread *b, const struct bread_run_row *row)
{
	struct bread_read q = { .kind = BREAD_READ_TREE,
		.key = row->parent_id.n ? row->root_id : row->id,
		.limit = 10000 };
	int r = 0;

	if (cli_ask(b, &q))
		r = cli_fail(&q.op.err);
	else if (!cli_tree(q.runs, q.count, row->id, cli_on(a, "json") ? print_line : NULL))
		r = not_found(a->words[0]);
	bread_read_fini(&q);
	return r;
}

static int run_show(struct cli_args *a)
{
	struct bread_read q = { .kind = BREAD_READ_RUN, .key = brd_str(a->words[0]) };
	struct project p;
	struct bread *b;
	int r = cli_look(a, &p, &b);

	if (r)
		return r;
	if (cli_ask(b, &q))
		r = cli_fail(&q.op.err);
	else if (!q.count)
		r = not_found(a->words[0]);
	else if (cli_on(a, "tree"))
		r = show_tree(a, b, &q.runs[0]);
	else
		print_json(&q.runs[0], !cli_on(a, "json"));
	bread_read_fini(&q);
	cli_close(&p, b);
	return r;
}

/* ---- tail ---- */

struct tail {
	bool json, done, stopped;
	int status;
	enum bread_code code;
	struct bread_err err;
	bool line_open; /* text was printed, and no newline yet */
};

static void end_line(struct tail *t)
{
	if (t->line_open)
		fputc('\n', stdout);
	t->line_open = false;
}

static void show_text(struct tail *t, const struct bread_crumb *c, struct jval v, struct arena *a)
{
	struct bread_str name = brd_json_str(brd_json_get(v, "toolName"), a);

	if (brd_str_is(c->type, "text:delta")) {
		cli_text(stdout, brd_json_str(brd_json_get(v, "delta"), a));
		t->line_open = true;
		fflush(stdout);
	} else if (brd_str_is(c->type, "tool:call")) {
		cli_dim(stderr, "↳ %.*s(%.*s)", BRD_ARG(name),
			BRD_ARG(brd_json_raw(brd_json_get(v, "args"))));
	} else if (brd_str_is(c->type, "human:required")) {
		cli_dim(stderr, "↳ %.*s waits for a human", BRD_ARG(name));
	} else if (brd_str_is(c->type, "agent:error")) {
		end_line(t);
		cli_error("%.*s", BRD_ARG(brd_json_str(brd_json_path(v, "error.message"), a)));
	}
}

static void note_end(struct tail *t, const struct bread_crumb *c, struct jval v)
{
	if (!(c->flags & BREAD_CRUMB_TERMINAL))
		return;
	t->status = EXIT_DONE;
	if (brd_str_is(c->type, "agent:error"))
		t->status = brd_json_is(brd_json_path(v, "error.code"), "RUN_CANCELLED")
				    ? EXIT_CANCELLED
				    : EXIT_FAILED;
}

static void on_crumb(const struct bread_crumb *c, void *arg)
{
	struct tail *t = arg;
	struct arena a = { 0 };
	struct jval v;

	if (!brd_json_parse(&a, c->json, 0, &v, NULL)) {
		if (t->json)
			printf("%.*s\n", BRD_ARG(c->json));
		else
			show_text(t, c, v, &a);
		note_end(t, c, v);
	}
	fflush(stdout);
	brd_arena_fini(&a);
}

static void on_end(enum bread_code code, const struct bread_err *err, void *arg)
{
	struct tail *t = arg;

	t->code = code;
	if (err)
		t->err = *err;
	t->done = true;
}

static void on_signal(void *arg)
{
	((struct tail *)arg)->stopped = true;
}

static int tail(struct bread *b, const char *id, int64_t after, struct tail *t)
{
	struct bread_subscriber s = { .on_crumb = on_crumb, .on_end = on_end, .arg = t };
	struct bread_subscription *sub = bread_subscribe(b, brd_str(id), after, &s);
	struct cli_signals signals;

	cli_signals_open(&signals, b, on_signal, t);
	while (!t->done && !t->stopped)
		bread_turn(b, -1);
	if (!t->done)
		bread_unsubscribe(sub);
	cli_signals_close(&signals, b);
	end_line(t);
	if (!t->done)
		return EXIT_CANCELLED;
	if (t->code == BREAD_E_NOT_FOUND)
		return not_found(id);
	return t->code ? cli_fail(&t->err) : t->status;
}

static int run_tail(struct cli_args *a)
{
	struct tail t = { .json = cli_on(a, "json") };
	struct project p;
	struct bread *b;
	int64_t after;
	int r;

	if (!cli_number(a, "after", 0, INT64_MAX, 0, &after))
		return EXIT_USAGE;
	r = cli_look(a, &p, &b);
	if (r)
		return r;
	r = tail(b, a->words[0], after, &t);
	cli_close(&p, b);
	return r;
}

/* ---- cancel ---- */

static int cancel(struct bread *b, const char *id)
{
	enum bread_run_status status;
	struct bread_op op = { 0 };
	bool done = false;

	bread_op_init(&op, bread_here(b), cli_done, &done);
	bread_cancel(b, brd_str(id), &status, &op);
	cli_wait(b, &done);
	if (op.code == BREAD_E_NOT_FOUND)
		return not_found(id);
	if (op.code == BREAD_E_CONFLICT)
		cli_say("Run %s had ended before: %s", id, brd_run_status_name(status));
	else if (op.code == BREAD_OK)
		cli_say("Run %s is being cancelled", id);
	else
		return cli_fail(&op.err);
	return EXIT_DONE;
}

static int run_cancel(struct cli_args *a)
{
	struct project p;
	struct bread *b;
	int r = cli_look(a, &p, &b);

	if (r)
		return r;
	r = cancel(b, a->words[0]);
	bread_stop(b, 5000); /* a run that waited for a human is ended here */
	cli_close(&p, b);
	return r;
}

static const struct cli_option list_options[] = {
	{ .name = "agent", .value = "ID", .doc = "only runs of that agent" },
	{ .name = "session", .letter = 's', .value = "ID", .doc = "only runs in that session" },
	{ .name = "status",
		.value = "STATUS",
		.doc = "queued, running, suspended, completed, failed or cancelled" },
	{ .name = "all", .doc = "also those that others have started" },
	{ .name = "limit", .value = "N", .doc = "so many at the most (default 50)" },
	{ .name = "json", .doc = "one JSON object a line" },
	{ 0 },
};

static const struct cli_option show_options[] = {
	{ .name = "tree", .doc = "draws it with all that hangs on it; with --json one a line" },
	{ .name = "json", .doc = "on one line" },
	{ 0 },
};

static const struct cli_option tail_options[] = {
	{ .name = "after", .value = "SEQ", .doc = "from behind that crumb on (default 0)" },
	{ .name = "json", .doc = "whole crumbs, one a line" },
	{ 0 },
};

const struct cli_command cli_runs_list = {
	.name = "runs list",
	.usage = "",
	.doc = "Lists runs, the newest first.",
	.options = list_options,
	.run = run_list,
};

const struct cli_command cli_runs_show = {
	.name = "runs show",
	.usage = "ID",
	.doc = "Shows a run as JSON.",
	.options = show_options,
	.words_min = 1,
	.words_max = 1,
	.run = run_show,
};

const struct cli_command cli_runs_tail = {
	.name = "runs tail",
	.usage = "ID",
	.doc = "Follows a run until its end.",
	.detail = "The exit status is the run's: 0 done, 1 failed, 4 cancelled.",
	.options = tail_options,
	.words_min = 1,
	.words_max = 1,
	.run = run_tail,
};

const struct cli_command cli_runs_cancel = {
	.name = "runs cancel",
	.usage = "ID",
	.doc = "Cancels a run, whichever process has it.",
	.words_min = 1,
	.words_max = 1,
	.run = run_cancel,
};

/* SPDX-License-Identifier: MIT */
/* bread eval: runs agents on the cases of agents/ID/evals/NAME.yaml and judges their outputs.
 *
 * A report for people, or with --json a line for each file; --junit is written at the end,
 * whatever came of it. A signal cancels the run or the judge that is at work, and no case
 * follows. */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "cli/cli.h"
#include "project/files.h"
#include "project/judge.h"
#include "project/report.h"

#define DEPTH_MAX 8

static const struct cli_option options[] = {
	{ .name = "json", .doc = "prints a line of JSON for each file instead" },
	{ .name = "junit", .value = "FILE", .doc = "writes the results as JUnit's XML, too" },
	{ 0 },
};

struct evaluation {
	struct bread *b;
	struct cli_run run;
	struct arena arena;
	struct names files;
	struct eval_suite *suites; /* one a file that could be read */
	struct eval_report *reports;
	size_t count;
	size_t passed, failed;
	bool json, cancelled;
};

/* ---- finding files ---- */

static bool in_evals(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return !strcmp(slash ? slash + 1 : dir, "evals");
}

static void find_files(struct evaluation *e, const char *dir, bool all, int depth)
{
	struct names l = brd_list_dir(&e->arena, dir, "");

	for (size_t i = 0; i < l.n; i++) {
		const char *path = brd_arena_printf(&e->arena, "%s/%s", dir, l.v[i]).p;

		if (brd_is_dir(path) && depth < DEPTH_MAX)
			find_files(e, path, all, depth + 1);
		else if ((all || in_evals(dir)) && brd_str_ends(brd_str(path), BRD_STR(".yaml")))
			brd_names_add(&e->files, &e->arena, brd_str(path));
	}
}

/* PATH: a file, an agent's folder, or a folder of evals. */
static int find_all(struct evaluation *e, const char *path)
{
	struct bread_str p = brd_str(path ? path : "agents");

	while (p.n > 1 && p.p[p.n - 1] == '/')
		p.n--;
	path = brd_arena_strz(&e->arena, p);
	if (brd_is_dir(path))
		find_files(e, path, in_evals(path), 0);
	else if (!access(path, R_OK))
		brd_names_add(&e->files, &e->arena, p);
	else if (strcmp(path, "agents")) {
		cli_error("%s is not there", path);
		return EXIT_USAGE;
	}
	return 0;
}

/* agents/ID/evals/x.yaml: ID; NULL: the path does not say. */
static const char *agent_of(const char *file, struct arena *a)
{
	char *dir = dirname(brd_arena_strz(a, brd_str(file)));

	if (!in_evals(dir))
		return NULL;
	dir = dirname(brd_arena_strz(a, brd_str(dir)));
	return strcmp(dir, ".") ? basename(dir) : NULL;
}

/* ---- running ---- */

static void on_signal(void *arg)
{
	brd_judging_cancel(arg);
}

/* A scorer that takes time: the instance is turned until it has a score. */
static int judge(void *arg, const struct eval_scorer *s, const struct eval_shown *shown,
	double *ret_score, struct bread_err *err)
{
	struct evaluation *e = arg;
	struct cli_signals signals;
	struct judging j;
	int code;

	brd_judging_start(&j, e->b, s, shown);
	cli_signals_open(&signals, e->b, on_signal, &j);
	while (!j.ended)
		bread_turn(e->b, -1);
	cli_signals_close(&signals, e->b);
	*ret_score = j.score;
	*err = j.err;
	code = j.code;
	e->cancelled |= code == BREAD_E_CANCELED;
	brd_judging_fini(&j);
	return code;
}

/* A case that waits for a human is over: what it left in the store ends, too. */
static void give_up(struct evaluation *e)
{
	enum bread_run_status was;
	struct bread_op op;
	bool done = false;

	bread_op_init(&op, bread_here(e->b), cli_done, &done);
	bread_cancel(e->b, brd_str(e->run.id), &was, &op);
	cli_wait(e->b, &done);
}

static struct eval_result run_case(
	struct evaluation *e, const char *agent, const struct eval_case *c, struct arena *a)
{
	struct eval_result result;
	struct eval_judge judges = { judge, e };
	struct bread_run_request req = { .agent_id = brd_str(agent),
		.input = brd_json_raw(c->input),
		.skill = brd_str(c->skill) };
	int r = cli_run(&e->run, req);

	e->cancelled |= r == EXIT_CANCELLED;
	if (r == EXIT_DONE) {
		brd_eval_score(c, e->run.output, &judges, a, &result);
	} else if (!e->run.ended) {
		brd_eval_failed(BRD_STR("the run did not start"), a, &result);
	} else if (r == EXIT_WAITING) {
		brd_eval_failed(BRD_STR("the run waits for a human"), a, &result);
		give_up(e);
	} else {
		brd_eval_failed(e->run.error_message, a, &result);
	}
	return result;
}

static void show(const struct eval_report *r)
{
	bool colour = cli_colour(stdout);

	for (size_t i = 0; i < r->suite->case_count; i++) {
		const struct eval_result *got = &r->results[i];

		printf("  %s%s%s %s (score: %.2f)%s",
			colour ? got->passed ? "\033[32m" : "\033[31m" : "",
			got->passed ? "✓" : "✗", colour ? "\033[0m" : "", r->suite->cases[i].name,
			got->score, got->details.n ? " — " : "");
		cli_text(stdout, got->details);
		putchar('\n');
	}
	printf("  %zu/%zu passed\n", r->passed, r->suite->case_count);
}

static void show_json(const struct eval_report *r)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_report_json(&b, r);
	puts(b.data);
	fflush(stdout);
	brd_buf_fini(&b);
}

static void run_suite(
	struct evaluation *e, const char *agent, const char *file, const struct eval_suite *s)
{
	struct eval_report *r = &e->reports[e->count++];

	*r = (struct eval_report){ .agent = agent,
		.file = file,
		.suite = s,
		.started = brd_clock_wall(),
		.results = brd_arena_array(&e->arena, s->case_count + 1, sizeof(*r->results)) };
	if (!e->json)
		printf("\n[bread eval] Running: %s (%s)\n", agent, s->type);
	fflush(stdout);
	for (size_t i = 0; i < s->case_count; i++) {
		int64_t from = brd_clock_mono();

		if (e->cancelled) {
			brd_eval_failed(BRD_STR("cancelled"), &e->arena, &r->results[i]);
			continue;
		}
		r->results[i] = run_case(e, agent, &s->cases[i], &e->arena);
		r->results[i].ms = brd_clock_mono() - from;
		r->passed += r->results[i].passed;
	}
	if (e->json)
		show_json(r);
	else
		show(r);
	e->passed += r->passed;
	e->failed += s->case_count - r->passed;
}

static int run_file(struct evaluation *e, const char *file)
{
	struct eval_suite *s = &e->suites[e->count];
	struct bread_err err = { 0 };
	const char *agent;
	int r;

	if (brd_eval_read(s, file, &err))
		return cli_fail(&err);
	agent = s->agent ? s->agent : agent_of(file, &e->arena);
	if (!agent)
		cli_error("%s: says no `agent:`, and its place says none either", file);
	r = agent ? cli_agent_known(e->b, agent) : EXIT_FAILED;
	if (r)
		brd_eval_fini(s);
	else
		run_suite(e, agent, file, s);
	return r;
}

static int write_junit(const struct evaluation *e, const char *path)
{
	FILE *f = fopen(path, "w");
	bool ok = f != NULL;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_report_junit(&b, e->reports, e->count);
	if (f) {
		ok = fwrite(b.data, 1, b.len, f) == b.len;
		ok = !fclose(f) && ok;
	}
	brd_buf_fini(&b);
	if (!ok)
		cli_error("%s could not be written", path);
	return ok ? 0 : EXIT_FAILED;
}

static int run_files(struct evaluation *e, const char *junit)
{
	int r = 0, file;

	e->suites = brd_arena_array(&e->arena, e->files.n, sizeof(*e->suites));
	e->reports = brd_arena_array(&e->arena, e->files.n, sizeof(*e->reports));
	for (size_t i = 0; i < e->files.n && !e->cancelled; i++) {
		file = run_file(e, e->files.v[i]);
		r = r ? r : file;
	}
	if (!e->json)
		printf("\n[bread eval] Total: %zu passed, %zu failed\n", e->passed, e->failed);
	file = junit ? write_junit(e, junit) : 0;
	r = r ? r : file;
	for (size_t i = 0; i < e->count; i++)
		brd_eval_fini(&e->suites[i]);
	if (e->cancelled)
		return EXIT_CANCELLED;
	return r ? r : e->failed ? EXIT_FAILED : EXIT_DONE;
}

static int evaluate(struct cli_args *a, struct evaluation *e, const struct project *p)
{
	bool trace;
	int r = find_all(e, a->word_count ? a->words[0] : NULL);

	if (r)
		return r;
	e->json = cli_on(a, "json");
	if (!e->files.n) {
		if (!e->json)
			cli_say("No eval files found");
		return cli_value(a, "junit") ? write_junit(e, cli_value(a, "junit")) : EXIT_DONE;
	}
	if (cli_terminal_wanted(p, &trace) && !e->json)
		cli_terminal(e->b, trace);
	cli_run_init(&e->run, e->b);
	r = cli_go(p, e->b);
	if (!r)
		r = run_files(e, cli_value(a, "junit"));
	bread_stop(e->b, 0);
	cli_run_fini(&e->run);
	return r;
}

static int run(struct cli_args *a)
{
	struct evaluation e = { 0 };
	struct project p;
	int r = cli_load(a, &p, &e.b);

	if (r)
		return r;
	r = evaluate(a, &e, &p);
	cli_close(&p, e.b);
	brd_arena_fini(&e.arena);
	return r;
}

const struct cli_command cli_eval = {
	.name = "eval",
	.usage = "[PATH]",
	.doc = "Runs agents on the cases of agents/ID/evals and judges their outputs.",
	.detail = "PATH is a file, an agent's folder or a folder of evals. The exit status is 1 "
		  "when a "
		  "case failed. What a file may say is in docs/evals.md.",
	.options = options,
	.words_max = 1,
	.run = run,
};

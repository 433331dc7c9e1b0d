/* SPDX-License-Identifier: MIT */
/* bread eval: runs agents on the cases of agents/ID/evals/NAME.yaml and judges their outputs. */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "project/eval.h"
#include "project/files.h"

#define DEPTH_MAX 8

struct evaluation {
	struct bread *b;
	struct cli_run run;
	struct arena arena;
	struct names files;
	size_t passed, failed;
	bool cancelled;
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

static struct eval_result run_case(
	struct evaluation *e, const char *agent, const struct eval_case *c, struct arena *a)
{
	struct eval_result result = { 0 };
	struct bread_run_request req = { .agent_id = brd_str(agent),
		.input = brd_json_raw(c->input),
		.skill = brd_str(c->skill) };
	int r = cli_run(&e->run, req);

	if (r == EXIT_DONE) {
		brd_eval_score(c, e->run.output, a, &result);
		return result;
	}
	if (r == EXIT_CANCELLED)
		e->cancelled = true;
	result.details = BRD_STR("Error: the run did not start");
	if (e->run.ended && r == EXIT_WAITING)
		result.details = BRD_STR("Error: the run waits for a human");
	else if (e->run.ended)
		result.details = brd_arena_printf(a, "Error: %.*s", BRD_ARG(e->run.error_message));
	return result;
}

static void report(
	const struct eval_suite *s, const struct eval_result *results, size_t *ret_passed)
{
	bool colour = cli_colour(stdout);

	*ret_passed = 0;
	for (size_t i = 0; i < s->case_count; i++) {
		const struct eval_result *r = &results[i];

		printf("  %s%s%s %s (score: %.2f)%s",
			colour ? r->passed ? "\033[32m" : "\033[31m" : "", r->passed ? "✓" : "✗",
			colour ? "\033[0m" : "", s->cases[i].name, r->score,
			r->details.n ? " — " : "");
		cli_text(stdout, r->details);
		putchar('\n');
		*ret_passed += r->passed;
	}
	printf("  %zu/%zu passed\n", *ret_passed, s->case_count);
}

static void run_suite(struct evaluation *e, const char *agent, const struct eval_suite *s)
{
	struct eval_result *results =
		brd_arena_array(&e->arena, s->case_count + 1, sizeof(*results));
	size_t passed;

	printf("\n[bread eval] Running: %s (%s)\n", agent, s->type);
	fflush(stdout);
	for (size_t i = 0; i < s->case_count && !e->cancelled; i++)
		results[i] = run_case(e, agent, &s->cases[i], &e->arena);
	report(s, results, &passed);
	e->passed += passed;
	e->failed += s->case_count - passed;
}

static int run_file(struct evaluation *e, const char *file)
{
	struct bread_err err = { 0 };
	struct eval_suite s;
	const char *agent;
	int r;

	if (brd_eval_read(&s, file, &err))
		return cli_fail(&err);
	agent = s.agent ? s.agent : agent_of(file, &e->arena);
	if (!agent)
		cli_error("%s: says no `agent:`, and its place says none either", file);
	r = agent ? cli_agent_known(e->b, agent) : EXIT_FAILED;
	if (!r)
		run_suite(e, agent, &s);
	brd_eval_fini(&s);
	return r;
}

static int run_files(struct evaluation *e)
{
	int r = 0;

	for (size_t i = 0; i < e->files.n && !e->cancelled; i++) {
		int file = run_file(e, e->files.v[i]);

		r = r ? r : file;
	}
	printf("\n[bread eval] Total: %zu passed, %zu failed\n", e->passed, e->failed);
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
	if (!e->files.n) {
		cli_say("No eval files found");
		return EXIT_DONE;
	}
	if (cli_terminal_wanted(p, &trace))
		cli_terminal(e->b, trace);
	cli_run_init(&e->run, e->b);
	r = cli_go(e->b);
	if (!r)
		r = run_files(e);
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
	.words_max = 1,
	.run = run,
};

/* SPDX-License-Identifier: MIT */
/* Finding the project and loading it. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "cli/cli.h"

int cli_enter(struct cli_args *a)
{
	const char *dir = cli_value(a, "cwd");
	struct stat st;

	if (!dir)
		return 0;
	if (stat(dir, &st) || !S_ISDIR(st.st_mode)) {
		cli_error("--cwd directory does not exist: %s", dir);
		return EXIT_FAILED;
	}
	if (chdir(dir)) {
		cli_error("--cwd directory cannot be entered: %s", dir);
		return EXIT_FAILED;
	}
	return 0;
}

static void on_fault(const struct bread_err *err, void *arg)
{
	cli_error("%s: %s", err->where, err->text);
}

/* 0, or the fault is in *err. */
static int set_log(const struct project *p, struct bread_err *err)
{
	enum log_level level;
	bool json;
	int r = brd_project_log(p, &level, &json, err);

	if (r)
		return r;
	if (brd_json_type(brd_json_path(p->config, "log.level")) != JSON_NONE)
		brd_log_level(level);
	brd_log_json(json);
	return 0;
}

/* The project and a configured instance, without agents. */
static int open_project(struct cli_args *a, struct project *p, struct bread **ret)
{
	struct bread_err err = { 0 };
	int r = cli_enter(a);

	*ret = NULL;
	if (r)
		return r;
	if (brd_project_open(p, ".", &err))
		return cli_fail(&err);
	r = set_log(p, &err);
	if (!r)
		r = bread_new(ret, &err);
	if (!r)
		r = brd_project_configure(p, *ret, &err);
	if (!r)
		return 0;
	cli_close(p, *ret);
	*ret = NULL;
	return cli_fail(&err);
}

/* What a step after that gave: all is closed again when it is an error. */
static int opened(struct project *p, struct bread **b, int r, const struct bread_err *err)
{
	if (!r)
		return 0;
	cli_close(p, *b);
	*b = NULL;
	return cli_fail(err);
}

void cli_close(struct project *p, struct bread *b)
{
	bread_free(b);
	brd_project_close(p);
}

int cli_load(struct cli_args *a, struct project *p, struct bread **ret)
{
	struct bread_err err = { 0 };
	int r = open_project(a, p, ret);

	return r ? r : opened(p, ret, brd_project_agents(p, *ret, on_fault, NULL, &err), &err);
}

int cli_fail_start(const struct project *p, struct bread_err *err)
{
	brd_project_place_main(p, err);
	return cli_fail(err);
}

int cli_go(const struct project *p, struct bread *b)
{
	struct bread_err err = { 0 };

	brd_instance_alone(b);
	return bread_start(b, &err) ? cli_fail_start(p, &err) : 0;
}

int cli_look(struct cli_args *a, struct project *p, struct bread **ret)
{
	struct bread_err err = { 0 };
	int r = open_project(a, p, ret);

	return r ? r : opened(p, ret, brd_instance_look(*ret, &err), &err);
}

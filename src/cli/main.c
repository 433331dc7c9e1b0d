/* SPDX-License-Identifier: MIT */
/* bread: finds the command and runs it. */
#include <errno.h>
#include <string.h>
#include "cli/cli.h"

extern const struct cli_command cli_init, cli_build, cli_dev, cli_start, cli_invoke, cli_chat,
	cli_eval, cli_sessions_list, cli_sessions_show, cli_sessions_cleanup, cli_runs_list,
	cli_runs_show, cli_runs_tail, cli_runs_cancel, cli_config_check, cli_config_reference,
	cli_provider_list, cli_resume_command, cli_checkpoints_list, cli_checkpoints_show,
	cli_completion, cli_tables, cli_help_command;

const struct cli_command *const cli_commands[] = {
	&cli_init,
	&cli_build,
	&cli_dev,
	&cli_start,
	&cli_invoke,
	&cli_chat,
	&cli_resume_command,
	&cli_eval,
	&cli_sessions_list,
	&cli_sessions_show,
	&cli_sessions_cleanup,
	&cli_runs_list,
	&cli_runs_show,
	&cli_runs_tail,
	&cli_runs_cancel,
	&cli_checkpoints_list,
	&cli_checkpoints_show,
	&cli_config_check,
	&cli_config_reference,
	&cli_provider_list,
	&cli_completion,
	&cli_help_command,
	&cli_tables,
	NULL,
};

/* What must have been written and was not is a failure, whatever the command says. */
static int flushed(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		cli_error("standard output could not be written: %s", strerror(errno));
	return status ? status : EXIT_FAILED;
}

static bool is_any(const char *word, const char *a, const char *b)
{
	return !strcmp(word, a) || !strcmp(word, b);
}

static int say_help(const struct cli_args *a)
{
	cli_help(stdout, a->command);
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct cli_args a = { 0 };
	int status = EXIT_USAGE;

	if (argc > 1 && is_any(argv[1], "--version", "-V")) {
		printf("%s\n", bread_version());
		return flushed(EXIT_DONE);
	}
	if (argc > 1 && is_any(argv[1], "--help", "-h")) {
		cli_help(stdout, NULL);
		return flushed(EXIT_DONE);
	}
	if (cli_parse(&a, argc, argv))
		status = cli_on(&a, "help") ? say_help(&a) : a.command->run(&a);
	brd_arena_fini(&a.arena);
	return flushed(status);
}

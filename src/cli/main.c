/* SPDX-License-Identifier: MIT */
/* bread: finds the command and runs it. */
#include <stdio.h>
#include <stdlib.h>
#include "cli/cli.h"

extern const struct cli_command cli_start;

const struct cli_command *const cli_commands[] = {
	&cli_start,
	NULL,
};

int main(int argc, char **argv)
{
	struct cli_args a = { 0 };
	int status = EXIT_USAGE;

	if (cli_parse(&a, argc, argv))
		status = a.command->run(&a);
	brd_arena_fini(&a.arena);
	return status;
}

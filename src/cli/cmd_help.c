/* SPDX-License-Identifier: MIT */
/* bread help [COMMAND]: the same as --help. */
#include <stdio.h>
#include "cli/cli.h"

static int run(struct cli_args *a)
{
	const struct cli_command *c = NULL;
	char name[128];

	if (a->word_count) {
		snprintf(name, sizeof(name), "%s%s%s", a->words[0], a->word_count > 1 ? " " : "",
			a->word_count > 1 ? a->words[1] : "");
		c = cli_command_named(name);
		if (!c) {
			fprintf(stderr, "error: unknown command '%s'\n", name);
			return EXIT_USAGE;
		}
	}
	cli_help(stdout, c);
	return EXIT_DONE;
}

const struct cli_command cli_help_command = {
	.name = "help",
	.usage = "[COMMAND]",
	.doc = "Says what a command takes.",
	.words_max = 2,
	.run = run,
};

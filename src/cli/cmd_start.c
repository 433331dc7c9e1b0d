/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

static const struct cli_option options[] = {
	{ .name = "port",
		.letter = 'p',
		.value = "PORT",
		.doc = "port to listen on (default 3000; 0 takes a free one)" },
	{ .name = "host",
		.letter = 'H',
		.value = "HOST",
		.doc = "address to listen on (default localhost)" },
	{ .name = "idle-timeout",
		.value = "SECONDS",
		.doc = "closes kept-alive connections that are idle for so long" },
};

static int run(struct cli_args *a)
{
	struct project p;
	struct bread *b = NULL;
	int r = cli_load(a, &p, &b);

	if (r)
		return r;
	r = cli_serve(a, &p, b, NULL, NULL);
	bread_free(b);
	brd_project_close(&p);
	return r;
}

const struct cli_command cli_start = {
	.name = "start",
	.usage = "",
	.doc = "Serves the project.",
	.options = options,
	.option_count = sizeof(options) / sizeof(*options),
	.run = run,
};

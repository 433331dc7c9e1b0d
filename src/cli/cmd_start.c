/* SPDX-License-Identifier: MIT */
/* bread start: serves the project as it is. */
#include "cli/cli.h"

static int run(struct cli_args *a)
{
	struct project p;
	struct bread *b;
	int r = cli_load(a, &p, &b);

	if (r)
		return r;
	r = cli_serve(a, &p, b, NULL);
	cli_close(&p, b);
	return r;
}

const struct cli_command cli_start = {
	.name = "start",
	.usage = "",
	.doc = "Serves the project.",
	.detail = "SIGTERM or Ctrl-C drains: new runs are refused, running ones stop at their next "
		  "step\nand go on after the next start. A second signal ends it at once.",
	.options = cli_serve_options,
	.run = run,
};

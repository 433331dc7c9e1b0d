/* SPDX-License-Identifier: MIT */
/* bread config: the files of the project against the tables of fields, and the
 * tables themselves as a reference. */
#include "base/buf.h"
#include "cli/cli.h"
#include "decision/decision.h"
#include "project/check.h"
#include "run/def.h"
#include "run/task.h"
#include "server/internal.h"

static void on_fault(const struct bread_err *err, void *arg)
{
	fprintf(stderr, "%s: %s\n", err->where, err->text);
}

static int run_check(struct cli_args *a)
{
	struct project_checker c = { .on_fault = on_fault };
	int r = cli_enter(a);

	if (r)
		return r;
	if (!brd_project_check(&c, ".")) {
		cli_error("%u fault(s) in %u file(s)", c.faults, c.files);
		return EXIT_FAILED;
	}
	cli_say("%u file(s), %u agent(s): no faults", c.files, c.agents);
	return EXIT_DONE;
}

static int run_reference(struct cli_args *a)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addz(&b, "# bread.yaml\n\n");
	brd_conf_reference(brd_instance_fields, brd_instance_field_count, "", true, &b);
	brd_buf_addz(&b, "\n## server\n\n");
	brd_conf_reference(brd_server_fields, brd_server_field_count, "server", true, &b);
	brd_buf_addz(&b, "\n## decisions.NAME\n\n");
	brd_conf_reference(brd_decision_fields, brd_decision_field_count, "", false, &b);
	brd_buf_addz(&b, "\n# agents/ID/agent.yaml\n\n");
	brd_conf_reference(brd_agent_fields, brd_agent_field_count, "", false, &b);
	brd_buf_addz(&b, "\n# agents/ID/tools/NAME.yaml\n\n");
	brd_conf_reference(brd_tool_fields, brd_tool_field_count, "", false, &b);
	brd_buf_addz(&b, "\n# tasks/NAME.yaml\n\n");
	brd_conf_reference(brd_task_fields, brd_task_field_count, "", false, &b);
	fwrite(b.data, 1, b.len, stdout);
	brd_buf_fini(&b);
	return EXIT_DONE;
}

const struct cli_command cli_config_check = {
	.name = "config check",
	.usage = "",
	.doc = "Checks all files; names every fault with line and column.",
	.run = run_check,
};

const struct cli_command cli_config_reference = {
	.name = "config reference",
	.usage = "",
	.doc = "Prints what the files may say, as Markdown.",
	.run = run_reference,
};

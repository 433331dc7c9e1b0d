/* SPDX-License-Identifier: MIT */
/* bread build: is the project fit to be served? Stricter than loading: each agent
 * says what it takes and, for JSON, what it gives. */
#include "cli/cli.h"
#include "project/check.h"

struct building {
	unsigned faults; /* beside those of the check */
	unsigned agents;
};

static void on_fault(const struct bread_err *err, void *arg)
{
	cli_error("%s: %s", err->where, err->text);
}

static void miss(struct building *m, const char *id, const char *what)
{
	m->faults++;
	cli_error("Agent \"%s\" %s", id, what);
}

static void on_agent(const struct project_seen *s, void *arg)
{
	struct building *m = arg;
	unsigned before = m->faults;

	if (!s->input_schema && !s->faults)
		miss(m, s->id, "missing inputSchema");
	if (s->needs_output_schema && !s->output_schema && !s->faults)
		miss(m, s->id, "missing outputSchema");
	if ((!s->provider.n || !s->model.n) && !s->faults)
		miss(m, s->id, "has incomplete model config");
	m->agents++;
	if (!s->faults && m->faults == before)
		cli_say("✓ %s (%.*s/%.*s)", s->id, BRD_ARG(s->provider), BRD_ARG(s->model));
}

static int run(struct cli_args *a)
{
	struct building m = { 0 };
	struct project_checker c = { .on_fault = on_fault, .on_agent = on_agent, .arg = &m };
	int r = cli_enter(a);

	if (r)
		return r;
	cli_say("Building...");
	brd_project_check(&c, ".");
	m.faults += c.faults;
	if (m.faults) {
		cli_error("Build failed with %u error(s)", m.faults);
		return EXIT_FAILED;
	}
	cli_say("Build succeeded — %u agent(s)", m.agents);
	return EXIT_DONE;
}

const struct cli_command cli_build = {
	.name = "build",
	.usage = "",
	.doc = "Checks that the project can be served.",
	.detail = "Each agent needs an inputSchema, one of format json an outputSchema, too.",
	.run = run,
};

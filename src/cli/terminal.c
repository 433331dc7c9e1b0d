/* SPDX-License-Identifier: MIT */
/* The transport `stdout`: what runs say goes to standard output as it comes, after
 * "agent ▸ " at a run's first words. Tool calls (with trace), files and errors are
 * lines on standard error; reasoning is shown on a terminal alone.
 *
 * A listener at the choke point: it is called by every loop, so its state is
 * behind a lock. */
#include <pthread.h>
#include "base/json.h"
#include "base/uuid.h"
#include "cli/cli.h"

struct terminal {
	pthread_mutex_t lock;
	char run_id[UUID_MAX]; /* who spoke last */
	bool trace;
	bool lines; /* a line for each that speaks */
};

/* One a process, as standard output is. */
static struct terminal terminal = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void begin(struct terminal *t, struct bread_str run_id)
{
	if (brd_str_is(run_id, t->run_id))
		return;
	if (t->lines && t->run_id[0])
		fputc('\n', stdout);
	snprintf(t->run_id, sizeof(t->run_id), "%.*s", BRD_ARG(run_id));
	fputs("agent ▸ ", stdout);
}

static void say_reasoning(struct terminal *t, struct bread_str run_id, struct bread_str text)
{
	if (!cli_colour(stdout))
		return;
	begin(t, run_id);
	fputs("\033[2m", stdout);
	cli_text(stdout, text);
	fputs("\033[0m", stdout);
}

static void show(struct terminal *t, const struct bread_crumb *c, struct jval v, struct arena *a)
{
	struct bread_str delta = brd_json_str(brd_json_get(v, "delta"), a);
	struct bread_str name = brd_json_str(brd_json_get(v, "toolName"), a);
	struct bread_str error = brd_json_str(brd_json_path(v, "error.message"), a);

	if (brd_str_is(c->type, "text:delta")) {
		begin(t, c->run_id);
		cli_text(stdout, delta);
		fflush(stdout);
	} else if (brd_str_is(c->type, "reasoning:delta")) {
		say_reasoning(t, c->run_id, delta);
		fflush(stdout);
	} else if (brd_str_is(c->type, "tool:call") && t->trace) {
		cli_dim(stderr, "↳ %.*s(%.*s)", BRD_ARG(name),
			BRD_ARG(brd_json_raw(brd_json_get(v, "args"))));
	} else if (brd_str_is(c->type, "file:generated")) {
		cli_dim(stderr, "file %.*s", BRD_ARG(brd_json_str(brd_json_get(v, "uri"), a)));
	} else if (brd_str_is(c->type, "tool:error")) {
		cli_dim(stderr, "%.*s failed: %.*s", BRD_ARG(name), BRD_ARG(error));
	} else if (brd_str_is(c->type, "agent:error")) {
		cli_dim(stderr, "error: %.*s", BRD_ARG(error));
	} else if (brd_str_is(c->type, "agent:attempt:void")) {
		fputc('\n', stdout);
		cli_dim(stderr, "the attempt broke off; what it said does not count");
	}
}

static void on_crumb(const struct bread_crumb *c, void *arg)
{
	struct terminal *t = arg;
	struct arena a = { 0 };
	struct jval v;

	pthread_mutex_lock(&t->lock);
	if (!brd_json_parse(&a, c->json, 0, &v, NULL))
		show(t, c, v, &a);
	pthread_mutex_unlock(&t->lock);
	brd_arena_fini(&a);
}

void cli_terminal(struct bread *b, bool trace)
{
	terminal.trace = trace;
	bread_listen(b, on_crumb, &terminal);
}

void cli_terminal_lines(void)
{
	terminal.lines = true;
}

void cli_terminal_line(void)
{
	pthread_mutex_lock(&terminal.lock);
	terminal.run_id[0] = 0;
	pthread_mutex_unlock(&terminal.lock);
	fputc('\n', stdout);
	fflush(stdout);
}

bool cli_terminal_wanted(const struct project *p, bool *ret_trace)
{
	struct jval v = brd_json_get(p->config, "transport");

	*ret_trace = brd_json_bool(brd_json_get(v, "trace"), false);
	return brd_json_is(v, "stdout") || brd_json_is(brd_json_get(v, "type"), "stdout");
}

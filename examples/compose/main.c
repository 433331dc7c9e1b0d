/* SPDX-License-Identifier: MIT */
/* A composition inside a program: two agents, a tool and a pipeline are defined in
 * code; the second agent needs a human's yes, which the program asks for on its own
 * terminal. The stream of the whole tree is printed.
 *
 *   compose [yes|no]     without a word it asks on standard input */
#include <bread/instance.h>
#include <bread/json.h>
#include <stdio.h>
#include <string.h>

#define STR(z) ((struct bread_str){ (z), strlen(z) })
#define ARG(s) (int)(s).n, (s).p

/* What bread.yaml would say, and what the models do. */
static const char config[] =
	"{\"store\":\"memory\",\"transport\":\"stream\",\"providers\":{\"scripted\":{\"models\":{"
	"\"planner\":{\"when\":["
	"{\"match\":{\"role\":\"tool\"},\"stream\":[{\"text\":\"Sow {{result}} rows of "
	"{{input}}\"}]},"
	"{\"stream\":[{\"tool_call\":{\"name\":\"tool_rows\",\"args\":{\"of\":\"{{input}}\"}}}]}]},"
	"\"buyer\":{\"when\":["
	"{\"match\":{\"role\":\"tool\",\"contains\":\"true\"},\"stream\":[{\"text\":\"Bought.\"}]},"
	"{\"match\":{\"role\":\"tool\"},\"stream\":[{\"text\":\"Not bought.\"}]},"
	"{\"stream\":[{\"tool_call\":{\"name\":\"human_spend\",\"args\":{\"plan\":\"{{input}}\"}}}]"
	"}]}"
	"}}}}";

/* What agent.yaml would say. */
static const char planner[] = "{\"model\":{\"provider\":\"scripted\",\"model\":\"planner\"}}";
static const char buyer[] =
	"{\"model\":{\"provider\":\"scripted\",\"model\":\"buyer\"},\"humanTools\":[{\"name\":"
	"\"spend\",\"description\":\"Asks whether the seeds may be bought.\",\"schema\":{\"type\":"
	"\"object\",\"required\":[\"plan\"]},\"answer\":{\"type\":\"boolean\"}}]}";
static const char rows_schema[] = "{\"type\":\"object\",\"required\":[\"of\"]}";

/* The value of the first step is what the second one is given. */
static const char garden[] = "[{\"type\":\"agent\",\"agentId\":\"planner\"},"
			     "{\"type\":\"map\",\"agentId\":\"buyer\"}]";

struct program {
	struct bread *b;
	const char *said; /* "yes" or "no"; NULL: ask */
	char line[16];
	int failed;
};

/* ---- the tool ---- */

static void count_rows(struct bread_tool_call *call, void *arg)
{
	struct bread_str of = bread_tool_arg(call, "of");

	bread_tool_return(call, of.n > 4 ? STR("3") : STR("5"));
}

/* ---- the human ---- */

static void on_claimed(struct bread_str run, int64_t after, const struct bread_err *err, void *arg)
{
	struct program *p = arg;

	if (!err)
		return; /* the tree's stream goes on by itself */
	fprintf(stderr, "compose: %s\n", err->text);
	p->failed = 1;
	bread_quit(p->b);
}

/* Standard input is read at once, and the loop stands as long: a program with other things to do
 * would answer later. The checkpoint waits, also for another process if the store is on disk. */
static int may_buy(struct program *p, struct bread_str plan)
{
	fprintf(stderr, "May it be bought: \"%.*s\"? [yes/no] ", ARG(plan));
	if (!p->said)
		p->said = fgets(p->line, sizeof(p->line), stdin) ? p->line : "no";
	fprintf(stderr, "%s\n", p->said);
	return p->said[0] == 'y';
}

/* A run asks. What the question is about is in the arguments of the call. */
static void on_human(const struct bread_human *q, void *arg)
{
	struct program *p = arg;
	struct bread_json *args = bread_json_new(q->args);
	struct bread_resume_request r = {
		.checkpoint_id = q->checkpoint_id, .on_claimed = on_claimed, .arg = p
	};

	r.response = may_buy(p, bread_json_string(args, "plan")) ? STR("true") : STR("false");
	bread_resume(p->b, &r); /* copies what it is given */
	bread_json_free(args);
}

/* ---- the stream of the tree ---- */

static void on_crumb(const struct bread_crumb *c, void *arg)
{
	printf("%lld %.*s %.*s\n", (long long)c->tree_seq, ARG(c->path), ARG(c->json));
}

/* The last call: the pipeline has ended. */
static void on_end(enum bread_code code, const struct bread_err *err, void *arg)
{
	struct program *p = arg;

	if (code) {
		fprintf(stderr, "compose: %s\n", err->text);
		p->failed = 1;
	}
	bread_quit(p->b);
}

/* ---- putting it together ---- */

static int define(struct bread *b, struct bread_err *err)
{
	if (bread_configure(b, STR(config), err) ||
		bread_agent(b, "planner", STR(planner), NULL, err) ||
		bread_agent(b, "buyer", STR(buyer), NULL, err) ||
		bread_agent_tool(b, "planner", "rows", "Says how many rows there is room for",
			STR(rows_schema), count_rows, NULL, err))
		return err->code;
	return bread_pipeline(b, "garden", STR(garden), err);
}

static int begin(struct program *p, struct bread_err *err)
{
	struct bread_run_request run = { .pipeline_id = STR("garden"), .input = STR("\"beans\"") };
	struct bread_subscriber viewer = { on_crumb, on_end, p };
	char id[BREAD_RUN_ID_MAX];
	int r = bread_run(p->b, &run, id, err);

	if (!r)
		bread_subscribe_tree(p->b, STR(id), 0, &viewer);
	return r;
}

int main(int argc, char **argv)
{
	struct program p = { .said = argc > 1 ? argv[1] : NULL };
	struct bread_err err = { 0 };

	if (!bread_new(&p.b, &err))
		bread_on_human(p.b, on_human, &p);
	if (err.code || define(p.b, &err) || bread_start(p.b, &err) || begin(&p, &err)) {
		fprintf(stderr, "%s: %s\n", err.where, err.text);
		p.failed = 1;
	} else {
		bread_drive(p.b);
	}
	bread_free(p.b);
	return p.failed;
}

/* SPDX-License-Identifier: MIT */
/* bread inside a program: an agent with a tool written in C, one run, its crumbs. */
#include <bread/instance.h>
#include <stdio.h>
#include <string.h>

#define STR(z) ((struct bread_str){ (z), strlen(z) })

/* What bread.yaml and agent.yaml would say. The model first calls the tool, then speaks. */
static const char config[] =
	"{\"store\":\"memory\",\"transport\":\"stream\",\"providers\":{\"scripted\":{\"models\":{"
	"\"m\":{\"when\":[{\"match\":{\"role\":\"tool\"},\"stream\":[{\"text\":\"It is "
	"{{result}}.\"}]},"
	"{\"stream\":[{\"tool_call\":{\"name\":\"tool_measure\",\"args\":{\"at\":\"{{input}}\"}}}]}"
	"]}}}}}";
static const char agent[] = "{\"model\":{\"provider\":\"scripted\",\"model\":\"m\"}}";
static const char schema[] = "{\"type\":\"object\",\"required\":[\"at\"]}";

static void measure(struct bread_tool_call *call, void *arg)
{
	if (bread_tool_arg(call, "at").n)
		bread_tool_return(call, STR("21.5"));
	else
		bread_tool_fail(call, NULL, "say where");
}

static void on_crumb(const struct bread_crumb *c, void *arg)
{
	printf("%.*s\n", (int)c->json.n, c->json.p);
}

static void on_end(enum bread_code code, const struct bread_err *err, void *arg)
{
	bread_quit(arg); /* the last crumb was seen */
}

int main(void)
{
	struct bread *b = NULL;
	struct bread_err err = { 0 };
	struct bread_run_request run = { .agent_id = STR("weather"), .input = STR("\"here\"") };
	char id[BREAD_RUN_ID_MAX];

	if (bread_new(&b, &err) || bread_configure(b, STR(config), &err) ||
		bread_agent(b, "weather", STR(agent), NULL, &err) ||
		bread_agent_tool(b, "weather", "measure", "Measures the temperature somewhere",
			STR(schema), measure, NULL, &err) ||
		bread_start(b, &err) || bread_run(b, &run, id, &err)) {
		fprintf(stderr, "%s: %s\n", err.where, err.text);
	} else {
		struct bread_subscriber viewer = { on_crumb, on_end, b };

		bread_subscribe(b, STR(id), 0, &viewer);
		bread_drive(b);
	}
	bread_free(b);
	return err.code ? 1 : 0;
}

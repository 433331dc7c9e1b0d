/* SPDX-License-Identifier: MIT */
/* An agent with a tool in C, run inside this program; its crumbs are printed as they come. */
#include <bread/instance.h>
#include <bread/json.h>
#include <stdio.h>
#include <string.h>

static struct bread_str str(const char *s)
{
	return (struct bread_str){ s, strlen(s) };
}

static void add(struct bread_tool_call *call, void *arg)
{
	struct bread_json *args = bread_json_new(bread_tool_args(call));
	char sum[40];

	snprintf(sum, sizeof(sum), "%.17g",
		bread_json_number(args, "a", 0) + bread_json_number(args, "b", 0));
	bread_json_free(args);
	bread_tool_return(call, str(sum));
}

static void on_crumb(const struct bread_crumb *c, void *arg)
{
	printf("%.*s\n", (int)c->json.n, c->json.p);
}

static void on_end(enum bread_code code, const struct bread_err *err, void *arg)
{
	bread_quit(arg);
}

static const char config[] =
	"{\"store\":\"memory\",\"transport\":\"stream\",\"providers\":{"
	"\"scripted\":{\"models\":{\"adder\":{\"when\":[{\"match\":{\"role\":\"tool\"},"
	"\"stream\":[{\"text\":\"It is {{result}}.\"}]},{\"stream\":[{\"tool_call\":{\"id\":\"c1\","
	"\"name\":\"tool_add\",\"args\":{\"a\":2,\"b\":3}}}]}]}}}}}";
static const char agent[] = "{\"model\":{\"provider\":\"scripted\",\"model\":\"adder\"}}";

int main(void)
{
	struct bread_err err = { BREAD_OK };
	struct bread *b = NULL;
	char run[BREAD_RUN_ID_MAX];
	struct bread_run_request req = { .agent_id = str("calc"), .input = str("\"2 + 3?\"") };

	if (bread_new(&b, &err) || bread_configure(b, str(config), &err) ||
		bread_agent(b, "calc", str(agent), NULL, &err) ||
		bread_agent_tool(b, "calc", "add", "Adds a and b.", str("{\"type\":\"object\"}"),
			add, NULL, &err) ||
		bread_start(b, &err) || bread_run(b, &req, run, &err)) {
		fprintf(stderr, "%s: %s\n", err.where, err.text);
		bread_free(b);
		return 1;
	}
	bread_subscribe(b, str(run), 0, &(struct bread_subscriber){ on_crumb, on_end, b });
	bread_drive(b);
	bread_free(b);
}

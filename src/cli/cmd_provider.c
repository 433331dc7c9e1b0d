/* SPDX-License-Identifier: MIT */
/* bread provider list: the catalogue, and for each entry whether its key is there. */
#include <stdlib.h>
#include "base/jsonw.h"
#include "cli/cli.h"
#include "model/model.h"

static bool set(const char *name)
{
	const char *v = name ? getenv(name) : NULL;

	return v && *v;
}

/* The variable that holds its key: the one that is set, else the one to set; NULL: none. */
static const char *variable(const struct provider_entry *e)
{
	return !set(e->key_env) && set(e->alt_env) ? e->alt_env : e->key_env;
}

static const char *state(const struct provider_entry *e)
{
	if (set(variable(e)))
		return "set";
	return e->key_optional ? "not needed" : "not set";
}

static void print_json(const struct provider_entry *e)
{
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "name", brd_str(e->name));
	brd_jw_kstr(&w, "type", brd_str(e->type));
	if (e->base_url)
		brd_jw_kstr(&w, "baseUrl", brd_str(e->base_url));
	if (e->key_env)
		brd_jw_kstr(&w, "keyEnv", brd_str(variable(e)));
	brd_jw_kbool(&w, "keySet", set(variable(e)));
	brd_jw_kbool(&w, "keyOptional", e->key_optional);
	brd_jw_kstr(&w, "note", brd_str(e->note));
	brd_jw_end_obj(&w);
	puts(b.data);
	brd_buf_fini(&b);
}

static int run(struct cli_args *a)
{
	size_t n;
	const struct provider_entry *all = brd_provider_catalogue(&n);

	for (size_t i = 0; i < n; i++) {
		const struct provider_entry *e = &all[i];

		if (cli_on(a, "json"))
			print_json(e);
		else
			printf("%-20s %-10s %-28s %-10s %s\n", e->name, e->type,
				variable(e) ? variable(e) : "-", state(e), e->note);
	}
	return EXIT_DONE;
}

static const struct cli_option options[] = {
	{ .name = "json", .doc = "one JSON object a line" },
	{ 0 },
};

const struct cli_command cli_provider_list = {
	.name = "provider list",
	.usage = "",
	.doc = "Lists the model providers that are known by name.",
	.options = options,
	.run = run,
};

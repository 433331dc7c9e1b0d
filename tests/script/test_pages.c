/* SPDX-License-Identifier: MIT */
/* The Lua of the pages loads as what it is shown as: test_pages PAGE... */
#include <stdio.h>
#include "test.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "run/hooks.h"
#include "script/format.h"
#include "tool/tool.h"

static char **pages;

/* The text between ```lua and ```; *at goes on behind it. NULL: there is no more. */
static char *next_block(const char **at)
{
	const char *from = strstr(*at, "```lua\n"), *to;

	if (!from)
		return NULL;
	from += strlen("```lua\n");
	to = strstr(from, "```");
	assert_non_null(to);
	*at = to + 3;
	return brd_strndup((struct bread_str){ from, (size_t)(to - from) });
}

static int open_tool(struct bread_str options, struct bread_err *err)
{
	struct bread_tool *t = brd_alloc(bread_tool_lua.size);
	int r = bread_tool_lua.open(t, options, NULL, err);

	if (!r)
		bread_tool_lua.close(t);
	free(t);
	return r;
}

static int open_format(struct bread_str options, struct bread_err *err)
{
	struct format_lua *f;
	int r = brd_format_lua_open(&f, options, NULL, err);

	if (!r)
		brd_format_lua_close(f);
	return r;
}

static int open_hooks(struct bread_str options, struct bread_err *err)
{
	struct bread_hook *h;
	int r = brd_hook_open(&h, &bread_hook_lua, BREAD_HOOK_AGENT, options, NULL, err);

	if (!r)
		brd_hook_close(h);
	return r;
}

static void loads(const char *source)
{
	struct bread_err err = { 0 };
	struct buf options;
	int r;

	brd_buf_init(&options, BUF_NO_LIMIT);
	brd_buf_addz(&options, "{\"source\":");
	brd_json_quote(&options, brd_str(source));
	brd_buf_addc(&options, '}');
	if (strstr(source, "function run("))
		r = open_tool(brd_buf_str(&options), &err);
	else if (strstr(source, "function format("))
		r = open_format(brd_buf_str(&options), &err);
	else
		r = open_hooks(brd_buf_str(&options), &err);
	if (r)
		fail_msg("%s in:\n%s", err.text, source);
	brd_buf_fini(&options);
}

static void what_pages_show_loads(void **state)
{
	static char text[256 * 1024];
	unsigned blocks = 0;

	for (char **page = pages; *page; page++) {
		FILE *f = fopen(*page, "r");
		const char *at = text;
		char *block;

		assert_non_null(f);
		text[fread(text, 1, sizeof(text) - 1, f)] = 0;
		fclose(f);
		for (; (block = next_block(&at)); free(block), blocks++)
			loads(block);
	}
	assert_true(blocks >= 3);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_pages_show_loads) };

	pages = argv + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

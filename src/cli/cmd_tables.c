/* SPDX-License-Identifier: MIT */
/* bread tables: the tables of commands and of fields as JSON, from which the
 * manual pages are made (tools/man). Not shown by help. */
#include "base/jsonw.h"
#include "cli/cli.h"
#include "config/conf_value.h"
#include "run/def.h"
#include "run/task.h"
#include "server/internal.h"

static void kz(struct jsonw *w, const char *key, const char *z)
{
	brd_jw_kstr(w, key, brd_str(z));
}

static void put_options(struct jsonw *w, const struct cli_option *o)
{
	brd_jw_key(w, "options");
	brd_jw_arr(w);
	for (; o && o->name; o++) {
		char letter[2] = { o->letter, 0 };

		brd_jw_obj(w);
		kz(w, "name", o->name);
		kz(w, "letter", letter);
		kz(w, "value", o->value ? o->value : "");
		kz(w, "doc", o->doc);
		brd_jw_end_obj(w);
	}
	brd_jw_end_arr(w);
}

static void put_commands(struct jsonw *w)
{
	brd_jw_key(w, "commands");
	brd_jw_arr(w);
	for (const struct cli_command *const *c = cli_commands; *c; c++) {
		if ((*c)->hidden)
			continue;
		brd_jw_obj(w);
		kz(w, "name", (*c)->name);
		kz(w, "usage", (*c)->usage);
		kz(w, "doc", (*c)->doc);
		kz(w, "detail", (*c)->detail ? (*c)->detail : "");
		put_options(w, (*c)->options);
		brd_jw_end_obj(w);
	}
	brd_jw_end_arr(w);
}

static void put_field(struct jsonw *w, const struct conf_field *f, const char *key)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_jw_obj(w);
	kz(w, "key", key);
	brd_conf_expected(f, &b);
	brd_jw_kstr(w, "expected", brd_buf_str(&b));
	kz(w, "default", f->dflt ? f->dflt : "");
	brd_jw_kbool(w, "required", f->required);
	kz(w, "doc", f->doc ? f->doc : "");
	brd_jw_end_obj(w);
	brd_buf_fini(&b);
}

static void put_fields(
	struct jsonw *w, const struct conf_field *f, size_t n, const char *base, struct arena *a)
{
	for (size_t i = 0; i < n; i++) {
		char *key = brd_conf_key(base, f[i].key, a);

		if (f[i].type == CONF_GROUP)
			put_fields(w, f[i].sub, f[i].sub_count, key, a);
		else
			put_field(w, &f[i], key);
		if (f[i].type == CONF_JSON && f[i].sub)
			put_fields(w, f[i].sub, f[i].sub_count, brd_conf_key(key, "N", a), a);
	}
}

static void put_file(struct jsonw *w, const char *name, const struct conf_field *f, size_t n,
	const char *base, struct arena *a)
{
	brd_jw_key(w, name);
	brd_jw_arr(w);
	put_fields(w, f, n, base, a);
	brd_jw_end_arr(w);
}

static int run(struct cli_args *a)
{
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	put_commands(&w);
	put_options(&w, cli_everywhere);
	put_file(&w, "bread", brd_instance_fields, brd_instance_field_count, "", &a->arena);
	put_file(&w, "server", brd_server_fields, brd_server_field_count, "server", &a->arena);
	put_file(&w, "agent", brd_agent_fields, brd_agent_field_count, "", &a->arena);
	put_file(&w, "tool", brd_tool_fields, brd_tool_field_count, "", &a->arena);
	put_file(&w, "task", brd_task_fields, brd_task_field_count, "", &a->arena);
	brd_jw_end_obj(&w);
	puts(b.data);
	brd_buf_fini(&b);
	return EXIT_DONE;
}

const struct cli_command cli_tables = {
	.name = "tables",
	.usage = "",
	.doc = "Prints the tables of commands and keys as JSON.",
	.hidden = true,
	.run = run,
};

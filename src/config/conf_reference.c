/* SPDX-License-Identifier: MIT */
/* The reference page's lines, from the tables that the parser reads. */
#include "config/conf_value.h"

static void add_line(const struct conf_field *f, const char *key, bool env, struct buf *out)
{
	brd_buf_addf(out, "- `%s`: ", key);
	brd_conf_expected(f, out);
	if (f->required)
		brd_buf_addz(out, "; required");
	else if (f->dflt && *f->dflt)
		brd_buf_addf(out, "; default `%s`", f->dflt);
	if (env) {
		brd_buf_addz(out, "; `");
		brd_conf_env_name(key, out);
		brd_buf_addz(out, "`");
	}
	brd_buf_addc(out, '.');
	if (f->doc)
		brd_buf_addf(out, " %s", f->doc);
	brd_buf_addc(out, '\n');
}

void brd_conf_reference(
	const struct conf_field *fields, size_t n, const char *base, bool env, struct buf *out)
{
	struct arena a = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct conf_field *f = &fields[i];
		char *key = brd_conf_key(base, f->key, &a);

		if (f->type == CONF_GROUP)
			brd_conf_reference(f->sub, f->sub_count, key, env, out);
		else
			add_line(f, key, env, out);
		if (f->type == CONF_JSON && f->sub)
			brd_conf_reference(
				f->sub, f->sub_count, brd_conf_key(key, "N", &a), false, out);
	}
	brd_arena_fini(&a);
}

/* SPDX-License-Identifier: MIT */
/* Previews: what a stream shows of a crumb that is over its limit (contract C8).
 *
 * The members stay in their order; values that are large become the beginning of
 * their text. So what a client looks at first (type, ids, tool names) is whole,
 * and the rest is one request away. Relies on the JSON being a crumb's: an object,
 * seq last. What is none is replaced by a bare notice. */
#include "crumb/crumb.h"
#include <stdio.h>

#define PREVIEW_MAX (8 * 1024) /* of one value */

/* The longest prefix of a JSON string's inside that cuts neither an escape nor a character. */
static size_t cut_escaped(struct bread_str s, size_t max)
{
	size_t at = 0;

	while (at < s.n) {
		size_t n = 1;

		if (s.p[at] == '\\')
			n = at + 1 < s.n && s.p[at + 1] == 'u' ? 6 : 2;
		else if ((unsigned char)s.p[at] >= 0x80)
			n = brd_utf8_char(s.p + at, s.n - at, NULL);
		if (n == 0 || at + n > max || at + n > s.n)
			break;
		at += n;
	}
	return at;
}

static void add_cut(struct jsonw *w, struct jval v, size_t max)
{
	struct bread_str raw = brd_json_raw(v);

	if (raw.n <= max) {
		brd_jw_raw(w, raw);
	} else if (brd_json_type(v) == JSON_STRING) {
		struct bread_str inside = brd_sub(raw, 1, raw.n - 2);

		brd_jw_raw(w, BRD_STR("\""));
		brd_buf_add(w->b, brd_sub(inside, 0, cut_escaped(inside, max)));
		brd_buf_addc(w->b, '"');
	} else {
		brd_jw_str(w, brd_sub(raw, 0, brd_utf8_cut(raw, max / 2)));
	}
}

static void add_notice(struct jsonw *w, struct bread_str run_id, int64_t seq)
{
	char digits[24];

	brd_jw_kbool(w, "truncated", true);
	brd_jw_key(w, "ref");
	brd_jw_raw(w, BRD_STR("\"/runs/"));
	brd_buf_add(w->b, run_id); /* an id: nothing in it needs an escape */
	brd_buf_addz(w->b, "/crumbs/");
	brd_buf_addn(
		w->b, digits, (size_t)snprintf(digits, sizeof(digits), "%lld\"", (long long)seq));
	brd_jw_kint(w, "seq", seq);
}

void brd_crumb_preview(
	struct bread_str json, struct bread_str run_id, int64_t seq, size_t max, struct buf *out)
{
	size_t each = max / 16 < PREVIEW_MAX ? max / 16 : PREVIEW_MAX;
	struct jsonw w = brd_jsonw(out);
	struct arena a = { 0 };
	struct jval root = { 0 };

	brd_jw_obj(&w);
	if (brd_json_parse(&a, json, 0, &root, NULL) == 0) {
		struct json_iter it = brd_json_each(root);

		while (brd_json_next(&it)) {
			if (brd_json_type(it.key) != JSON_STRING || brd_json_is(it.key, "seq"))
				continue;
			brd_jw_raw(&w, brd_json_raw(it.key));
			brd_buf_addc(out, ':');
			w.comma = false;
			add_cut(&w, it.value, each);
		}
	}
	add_notice(&w, run_id, seq);
	brd_jw_end_obj(&w);
	brd_arena_fini(&a);
}

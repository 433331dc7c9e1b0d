/* SPDX-License-Identifier: MIT */
/* Matching of tags and texts. Text that is not JSON has no tags. */
#include "store/tags.h"
#include "base/json.h"
#include "base/str.h"

static bool tag_equals(struct jval tag, struct bread_str value, struct arena *scratch)
{
	if (brd_json_type(tag) == JSON_STRING)
		return brd_str_eq(brd_json_str(tag, scratch), value);
	return brd_str_eq(brd_json_raw(tag), value);
}

bool brd_tag_matches(
	struct arena *scratch, struct bread_str tags, struct bread_str key, struct bread_str value)
{
	struct jval all = { 0 }, tag;
	bool matches;

	if (tags.n)
		brd_json_parse(scratch, tags, 0, &all, NULL);
	tag = brd_json_gets(all, key);
	if (brd_json_type(tag) == JSON_NONE)
		matches = !value.p;
	else
		matches = value.p && tag_equals(tag, value, scratch);
	brd_arena_reset(scratch);
	return matches;
}

bool brd_tags_match_all(struct arena *scratch, struct bread_str tags, struct bread_str want)
{
	struct jval have = { 0 }, wanted = { 0 };
	bool matches = true;

	if (!want.n)
		return true;
	if (tags.n)
		brd_json_parse(scratch, tags, 0, &have, NULL);
	/* what nobody can read matches nothing: a cleanup must not take all */
	if (brd_json_parse(scratch, want, 0, &wanted, NULL) || brd_json_type(wanted) != JSON_OBJECT)
		matches = false;
	for (struct json_iter it = brd_json_each(wanted); matches && brd_json_next(&it);) {
		struct jval tag = brd_json_gets(have, brd_json_str(it.key, scratch));

		matches = brd_json_type(tag) != JSON_NONE && brd_json_equal(tag, it.value);
	}
	brd_arena_reset(scratch);
	return matches;
}

bool brd_text_has(struct bread_str text, struct bread_str part)
{
	for (size_t i = 0; i + part.n <= text.n; i++)
		if (brd_str_ieq(brd_sub(text, i, part.n), part))
			return true;
	return false;
}

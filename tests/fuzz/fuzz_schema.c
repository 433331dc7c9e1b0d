/* SPDX-License-Identifier: MIT */
/* The first line as a schema, the rest as a value: whatever they are, compiling and
 * checking end, a refusal has a text, and defaults leave a value that is JSON. */
#include "base/err.h"
#include "base/schema.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct schema *s, struct jval v, struct arena *a)
{
	struct schema_fault fault = { 0 };
	bool fits = brd_schema_check(s, v, a, &fault);
	struct jval filled = brd_schema_defaults(s, v, a);

	brd_assert(fits || (fault.text.n > 0 && fault.at.p && fault.keyword.p));
	brd_assert(brd_json_ok(brd_json_raw(filled), 0));
	brd_schema_check(s, filled, a, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bread_str rest = { (const char *)data, size };
	struct bread_str text = brd_str_split(&rest, '\n');
	struct bread_err err = { 0 };
	struct arena a = { 0 };
	struct schema *s = NULL;
	struct jval v;
	int r = brd_schema_new(&s, text, &err);

	brd_assert(r == 0 || (err.text[0] && brd_utf8_ok(brd_str(err.text))));
	if (r == 0 && rest.p && brd_json_parse(&a, rest, 0, &v, NULL) == 0)
		check(s, v, &a);
	brd_schema_unref(s);
	brd_arena_fini(&a);
	return 0;
}

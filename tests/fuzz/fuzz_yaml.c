/* SPDX-License-Identifier: MIT */
/* Any bytes as a configuration file: they are read or refused with a text, and
 * what is read has a place for every token and goes through a table of fields. */
#include <stdlib.h>
#include "base/err.h"
#include "base/str.h"
#include "../config/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_places(const struct yaml_doc *d, struct jval v)
{
	struct yaml_place p = brd_yaml_place(d, v);

	brd_assert(p.line > 0 && p.column > 0);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
		check_places(d, it.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bread_str text = { (const char *)data, size };
	struct bread_err err = { 0 };
	struct arena a = { 0 };
	struct sample sample = { 0 };
	struct yaml_doc d;
	int r = brd_yaml_parse(&d, &a, "fuzz.yaml", text, &err);

	if (r == 0) {
		if (brd_json_type(d.root) != JSON_NONE)
			check_places(&d, d.root);
		r = brd_conf_read(SAMPLE, d.root, &sample, &d, "", &a, &err);
	}
	/* a fault says where and what, in UTF-8 */
	brd_assert(r == 0 || (err.where[0] && err.text[0] && brd_utf8_ok(brd_str(err.text))));
	brd_arena_fini(&a);
	return 0;
}

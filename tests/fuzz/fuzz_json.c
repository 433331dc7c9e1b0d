/* SPDX-License-Identifier: MIT */
/* What the parser takes, the writers must give back: compacted and indented texts
 * are JSON again and equal to the first one; each string that is decoded and
 * quoted reads as the same string. */
#include <stdint.h>
#include <stdlib.h>
#include "base/json.h"
#include "base/jsonw.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static struct jval parse(struct arena *a, const struct buf *b)
{
	struct jval v;

	must(!b->bad);
	must(brd_json_ok(brd_buf_str(b), 0));
	must(brd_json_parse(a, brd_buf_str(b), 0, &v, NULL) == BREAD_OK);
	return v;
}

static void check_layouts(struct arena *a, struct jval v)
{
	struct buf compact, indented, again;

	brd_buf_init(&compact, BUF_NO_LIMIT);
	brd_buf_init(&indented, BUF_NO_LIMIT);
	brd_buf_init(&again, BUF_NO_LIMIT);
	brd_json_compact(v, &compact);
	must(brd_json_equal(v, parse(a, &compact)));
	brd_json_indent(v, &indented);
	brd_json_compact(parse(a, &indented), &again);
	must(brd_str_eq(brd_buf_str(&compact), brd_buf_str(&again)));
	brd_buf_clear(&again);
	brd_json_compact(brd_json_copy(v, a), &again);
	must(brd_str_eq(brd_buf_str(&compact), brd_buf_str(&again)));
	brd_buf_fini(&compact);
	brd_buf_fini(&indented);
	brd_buf_fini(&again);
}

static void check_string(struct arena *a, struct jval v)
{
	struct bread_str s = brd_json_str(v, a);
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	must(brd_json_iss(v, s));
	brd_json_quote(&b, s);
	must(brd_json_equal(v, parse(a, &b)));
	brd_buf_fini(&b);
}

static void check_number(struct arena *a, struct jval v)
{
	double d = brd_json_num(v, 0);
	int64_t i;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_json_num_add(&b, d);
	must(d - d != 0 || brd_json_num(parse(a, &b), -1) == d);
	if (brd_json_int(v, &i)) {
		brd_buf_clear(&b);
		brd_buf_addi(&b, i);
		must(brd_json_equal(v, parse(a, &b)));
	}
	brd_buf_fini(&b);
}

/* Each token of the tape is a value in its own right. */
static void check_scalars(struct arena *a, struct jval v)
{
	for (uint32_t i = 0; i < v.tok->skip; i++) {
		struct jval one = { v.tok + i, v.text };

		if (brd_json_type(one) == JSON_STRING)
			check_string(a, one);
		else if (brd_json_type(one) == JSON_NUMBER)
			check_number(a, one);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct bread_str text = { (const char *)data, n };
	struct arena a = { 0 };
	struct json_where where;
	struct jval v;
	int r = brd_json_parse(&a, text, 0, &v, &where);

	must((r == BREAD_OK) == brd_json_ok(text, 0));
	if (r == BREAD_OK) {
		check_layouts(&a, v);
		check_scalars(&a, v);
	} else {
		must(where.at <= n && where.what);
	}
	brd_arena_fini(&a);
	return 0;
}

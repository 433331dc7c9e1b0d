/* SPDX-License-Identifier: MIT */
/* Values as text again, and their copies.
 *
 * Lexemes go out as they came in. Between two tokens of a tape there is nothing in
 * the text but blanks, commas, colons and closing brackets; so walking the tape in
 * its order and those gaps is enough, at any depth. */
#include "base/json.h"

static bool blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool container(const struct json_tok *t)
{
	return t->type == JSON_ARRAY || t->type == JSON_OBJECT;
}

/* Where the gap behind t begins. */
static const char *behind(struct jval v, const struct json_tok *t)
{
	return v.text + t->at + (container(t) ? 1u : t->len);
}

/* Cuts the blanks of a gap out of what is to be written from *run on. */
static void squeeze(struct buf *b, const char **run, const char *gap, const char *end)
{
	for (; gap < end; gap++) {
		if (!blank(*gap))
			continue;
		brd_buf_addn(b, *run, (size_t)(gap - *run));
		*run = gap + 1;
	}
}

void brd_json_compact(struct jval v, struct buf *b)
{
	struct bread_str raw = brd_json_raw(v);
	const char *run = raw.p, *end = raw.p + raw.n;

	if (!v.tok)
		return;
	for (const struct json_tok *t = v.tok; t < v.tok + v.tok->skip; t++) {
		bool last = t + 1 == v.tok + v.tok->skip;

		squeeze(b, &run, behind(v, t), last ? end : v.text + t[1].at);
	}
	brd_buf_addn(b, run, (size_t)(end - run));
}

struct layout {
	struct buf *b;
	size_t depth;
};

static void new_line(struct layout *l)
{
	brd_buf_addc(l->b, '\n');
	for (size_t i = 0; i < l->depth; i++)
		brd_buf_addn(l->b, "  ", 2);
}

static void lay_out_gap(struct layout *l, const char *gap, const char *end)
{
	for (; gap < end; gap++) {
		if (blank(*gap))
			continue;
		if (*gap == '}' || *gap == ']') {
			l->depth--;
			new_line(l);
		}
		brd_buf_addc(l->b, *gap);
		if (*gap == ',')
			new_line(l);
		else if (*gap == ':')
			brd_buf_addc(l->b, ' ');
	}
}

/* Writes a token, an empty container whole, and returns where the gap behind it begins. */
static const char *lay_out(struct layout *l, struct jval v, const struct json_tok *t)
{
	const char *p = v.text + t->at;

	if (!container(t)) {
		brd_buf_addn(l->b, p, t->len);
		return p + t->len;
	}
	brd_buf_addc(l->b, *p);
	if (t->count == 0) {
		brd_buf_addc(l->b, p[t->len - 1]);
		return p + t->len;
	}
	l->depth++;
	new_line(l);
	return p + 1;
}

void brd_json_indent(struct jval v, struct buf *b)
{
	struct layout l = { b, 0 };
	struct bread_str raw = brd_json_raw(v);
	const char *gap = raw.p;

	if (!v.tok)
		return;
	for (const struct json_tok *t = v.tok; t < v.tok + v.tok->skip && !b->bad; t++) {
		lay_out_gap(&l, gap, v.text + t->at);
		gap = lay_out(&l, v, t);
	}
	if (!b->bad) /* else gap is not the last, and depth does not fit what follows */
		lay_out_gap(&l, gap, raw.p + raw.n);
}

struct jval brd_json_copy(struct jval v, struct arena *a)
{
	struct bread_str raw = brd_json_raw(v);
	struct json_tok *tape;

	if (!v.tok)
		return v;
	tape = brd_arena_array(a, v.tok->skip, sizeof(*tape));
	for (uint32_t i = 0; i < v.tok->skip; i++) {
		tape[i] = v.tok[i];
		tape[i].at -= v.tok->at;
	}
	return (struct jval){ tape, brd_arena_copy(a, raw).p };
}

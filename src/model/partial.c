/* SPDX-License-Identifier: MIT */
/* Reading JSON that stops somewhere.
 *
 * A descent over the text that writes what it has read, and where the text ends
 * takes back what makes no sense alone: a key without its value, half an escape,
 * a number that is none yet. Open strings, lists and objects are closed. */
#include "model/partial.h"
#include <ctype.h>
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

enum got {
	GOT_WHOLE,
	GOT_CUT,     /* a value, but the text ended within */
	GOT_NOTHING, /* the text ended before there was a value */
	GOT_BAD,
};

struct cutter {
	const char *p, *end;
	struct buf *out;
	unsigned depth;
};

static enum got value(struct cutter *c);

static void blanks(struct cutter *c)
{
	while (c->p < c->end && strchr(" \t\r\n", *c->p) && *c->p)
		c->p++;
}

static bool hex4(const char *p)
{
	return isxdigit((unsigned char)p[0]) && isxdigit((unsigned char)p[1]) &&
	       isxdigit((unsigned char)p[2]) && isxdigit((unsigned char)p[3]);
}

/* Length of the escape at p; 0: the text ends within; -1: none. */
static int escape_len(const char *p, const char *end)
{
	size_t left = (size_t)(end - p);

	if (left < 2)
		return 0;
	if (p[1] && strchr("\"\\/bfnrt", p[1]))
		return 2;
	if (p[1] != 'u')
		return -1;
	for (size_t i = 2; i < 6 && i < left; i++)
		if (!isxdigit((unsigned char)p[i]))
			return -1;
	return left < 6 ? 0 : 6;
}

static enum got string(struct cutter *c)
{
	const char *from = c->p++;

	while (c->p < c->end && *c->p != '"') {
		int n = *c->p == '\\' ? escape_len(c->p, c->end) : 1;

		if (n < 0 || (unsigned char)*c->p < 0x20)
			return GOT_BAD;
		if (n == 0)
			break;
		c->p += n;
	}
	brd_buf_addn(c->out, from, (size_t)(c->p - from));
	brd_buf_addc(c->out, '"');
	if (c->p < c->end && *c->p == '"') {
		c->p++;
		return GOT_WHOLE;
	}
	c->p = c->end;
	return GOT_CUT;
}

static const char *digits(const char *p, const char *end)
{
	while (p < end && isdigit((unsigned char)*p))
		p++;
	return p;
}

/* The end of the longest number at p; p itself: none. */
static const char *number_end(const char *p, const char *end)
{
	const char *at = p, *q;

	if (at < end && *at == '-')
		at++;
	q = digits(at, end);
	if (q == at || (*at == '0' && q - at > 1))
		return p;
	at = q;
	if (at < end && *at == '.') {
		q = digits(at + 1, end);
		if (q == at + 1)
			return p; /* "3." is no number, and 3 might not be what was meant */
		at = q;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		q = at + 1;
		if (q < end && (*q == '+' || *q == '-'))
			q++;
		if (digits(q, end) > q)
			at = digits(q, end);
	}
	return at;
}

static enum got number(struct cutter *c)
{
	const char *from = c->p, *stop = c->p, *good;

	while (stop < c->end && *stop && strchr("+-.0123456789eE", *stop))
		stop++;
	good = number_end(from, stop);
	if (stop < c->end && good != stop)
		return GOT_BAD;
	c->p = stop;
	if (good == from)
		return GOT_NOTHING;
	brd_buf_addn(c->out, from, (size_t)(good - from));
	return stop == c->end ? GOT_CUT : GOT_WHOLE;
}

static enum got literal(struct cutter *c, const char *word)
{
	size_t n = strlen(word), left = (size_t)(c->end - c->p);
	size_t have = left < n ? left : n;

	if (memcmp(c->p, word, have) != 0)
		return GOT_BAD;
	brd_buf_addn(c->out, word, n);
	c->p += have;
	return have < n ? GOT_CUT : GOT_WHOLE;
}

/* One "key": value; GOT_NOTHING: the caller takes back what it wrote. */
static enum got pair(struct cutter *c)
{
	enum got got;

	if (*c->p != '"')
		return GOT_BAD;
	got = string(c);
	if (got != GOT_WHOLE)
		return got == GOT_CUT ? GOT_NOTHING : got;
	blanks(c);
	if (c->p == c->end)
		return GOT_NOTHING;
	if (*c->p++ != ':')
		return GOT_BAD;
	brd_buf_addc(c->out, ':');
	return value(c);
}

static void take_back(struct buf *b, size_t len)
{
	b->len = len;
	b->data[len] = '\0';
}

/* A list or an object from its bracket on. */
static enum got container(struct cutter *c, char close)
{
	bool first = true;
	enum got got = GOT_CUT;

	brd_buf_addc(c->out, *c->p++);
	for (;; first = false) {
		size_t mark = c->out->len;

		blanks(c);
		if (c->p < c->end && *c->p == close && first) {
			c->p++;
			got = GOT_WHOLE;
			break;
		}
		if (c->p == c->end)
			break;
		if (!first)
			brd_buf_addc(c->out, ',');
		got = close == '}' ? pair(c) : value(c);
		if (got == GOT_BAD)
			return got;
		if (got == GOT_NOTHING)
			take_back(c->out, mark);
		if (got != GOT_WHOLE && c->p == c->end) {
			got = GOT_CUT;
			break;
		}
		got = GOT_CUT;
		blanks(c);
		if (c->p == c->end)
			break;
		if (*c->p == close) {
			c->p++;
			got = GOT_WHOLE;
			break;
		}
		if (*c->p++ != ',')
			return GOT_BAD;
	}
	brd_buf_addc(c->out, close);
	return got;
}

static enum got nested(struct cutter *c, char close)
{
	enum got got;

	if (c->depth == JSON_DEPTH)
		return GOT_BAD;
	c->depth++;
	got = container(c, close);
	c->depth--;
	return got;
}

static enum got value(struct cutter *c)
{
	blanks(c);
	if (c->p == c->end)
		return GOT_NOTHING;
	switch (*c->p) {
	case '{':
		return nested(c, '}');
	case '[':
		return nested(c, ']');
	case '"':
		return string(c);
	case 't':
		return literal(c, "true");
	case 'f':
		return literal(c, "false");
	case 'n':
		return literal(c, "null");
	default:
		return *c->p == '-' || isdigit((unsigned char)*c->p) ? number(c) : GOT_BAD;
	}
}

/* The best guess for text, if it can be an object. */
static bool guess(struct bread_str text, struct buf *out)
{
	struct cutter c = { text.p, text.p + text.n, out, 0 };
	enum got got;

	brd_buf_clear(out);
	got = value(&c);
	return (got == GOT_WHOLE || got == GOT_CUT) && !out->bad && out->data[0] == '{';
}

static bool complete(struct bread_str text, struct buf *out)
{
	struct arena a = { 0 };
	struct jval v;
	bool ok = brd_json_parse(&a, text, 0, &v, NULL) == BREAD_OK;

	brd_buf_clear(out);
	if (ok && brd_json_type(v) == JSON_OBJECT)
		brd_json_compact(v, out);
	else if (ok)
		brd_buf_addz(out, "{}");
	brd_arena_fini(&a);
	return ok;
}

static void add_escaped(struct buf *out, unsigned char ch)
{
	static const char names[] = "\b\f\n\r\t";
	const char *at = ch ? strchr(names, ch) : NULL;

	if (at)
		brd_buf_addf(out, "\\%c", "bfnrt"[at - names]);
	else
		brd_buf_addf(out, "\\u%04x", ch);
}

/* The character at p, inside a string; returns what it takes. */
static size_t repair_char(const char *p, const char *end, struct buf *out)
{
	if ((unsigned char)*p < 0x20) {
		add_escaped(out, (unsigned char)*p);
		return 1;
	}
	if (*p != '\\' || p + 1 == end) {
		brd_buf_addc(out, *p);
		return 1;
	}
	if ((p[1] && strchr("\"\\/bfnrt", p[1])) || (p[1] == 'u' && end - p >= 6 && hex4(p + 2))) {
		brd_buf_addn(out, p, 2);
		return 2;
	}
	brd_buf_addz(out, "\\\\");
	return 1;
}

void brd_json_repair(struct bread_str text, struct buf *out)
{
	const char *p = text.p, *end = text.p + text.n;
	bool inside = false;

	brd_buf_init(out, text.n * 6 + 1); /* a control character becomes \u00XX */
	while (p < end) {
		if (*p == '"')
			inside = !inside;
		if (inside && *p != '"') {
			p += repair_char(p, end, out);
			continue;
		}
		brd_buf_addc(out, *p++);
	}
}

bool brd_args_finish(struct bread_str raw, struct buf *out)
{
	struct buf mended;
	bool whole = true;

	if (!brd_str_trim(raw).n) {
		brd_buf_addz(out, "{}");
		return true;
	}
	if (complete(raw, out))
		return true;
	brd_json_repair(raw, &mended);
	if (!complete(brd_buf_str(&mended), out)) {
		whole = false;
		if (!guess(raw, out) && !guess(brd_buf_str(&mended), out)) {
			brd_buf_clear(out);
			brd_buf_addz(out, "{}");
		}
	}
	brd_buf_fini(&mended);
	return whole;
}

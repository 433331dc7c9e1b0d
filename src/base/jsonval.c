/* SPDX-License-Identifier: MIT */
/* Reading values on a tape: types, lookups, walks, and strings with their escapes
 * undone.
 *
 * Every reader takes a missing value and one of another type. Texts were checked
 * by the parser: nothing is checked again here. */
#include "base/json.h"
#include "base/jsonnum.h"

static const struct jval none;

enum json_type brd_json_type(struct jval v)
{
	return v.tok ? (enum json_type)v.tok->type : JSON_NONE;
}

struct bread_str brd_json_raw(struct jval v)
{
	return v.tok ? (struct bread_str){ v.text + v.tok->at, v.tok->len } : BRD_STR("");
}

const char *brd_json_type_name(enum json_type t)
{
	static const char *const names[] = { "none", "null", "boolean", "number", "string", "array",
		"object" };

	return names[t];
}

size_t brd_json_count(struct jval v)
{
	return v.tok ? v.tok->count : 0;
}

/* A string's text is walked in pieces: runs without escapes, and single escapes
 * with their bytes in tmp. Two escapes that are a surrogate pair are one piece. */
struct pieces {
	const char *p, *end;
	char tmp[4];
};

static struct pieces pieces_of(struct jval v)
{
	const char *p = v.text + v.tok->at;

	return (struct pieces){ p + 1, p + v.tok->len - 1, { 0 } };
}

static unsigned hex4(const char *p)
{
	unsigned v = 0;

	for (int i = 0; i < 4; i++)
		v = v << 4 |
		    (p[i] <= '9' ? (unsigned)(p[i] - '0') : (unsigned)((p[i] | 0x20) - 'a' + 10));
	return v;
}

static size_t encode(char *to, unsigned c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static size_t decode_u(struct pieces *s)
{
	unsigned c = hex4(s->p + 2), low;

	s->p += 6;
	if (c < 0xd800 || c > 0xdbff || s->end - s->p < 6 || s->p[0] != '\\' || s->p[1] != 'u')
		return encode(s->tmp, c);
	low = hex4(s->p + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return encode(s->tmp, c);
	s->p += 6;
	return encode(s->tmp, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
}

static struct bread_str decode_escape(struct pieces *s)
{
	static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
	const char *hit;
	size_t n = 1;

	if (s->p[1] == 'u') {
		n = decode_u(s);
	} else {
		hit = strchr(letters, s->p[1]);
		s->tmp[0] = hit ? meant[hit - letters] : s->p[1];
		s->p += 2;
	}
	return (struct bread_str){ s->tmp, n };
}

/* Empty at the end. */
static struct bread_str next_piece(struct pieces *s)
{
	struct bread_str run = { s->p, (size_t)(s->end - s->p) };
	const char *hit;

	if (run.n == 0)
		return run;
	if (*s->p == '\\')
		return decode_escape(s);
	hit = memchr(s->p, '\\', run.n);
	if (hit)
		run.n = (size_t)(hit - s->p);
	s->p += run.n;
	return run;
}

/* A decoded string is never longer than its text. */
static size_t decode(struct jval v, char *to)
{
	struct pieces s = pieces_of(v);
	char *p = to;

	for (;;) {
		struct bread_str piece = next_piece(&s);

		if (piece.n == 0)
			return (size_t)(p - to);
		p = mempcpy(p, piece.p, piece.n);
	}
}

static struct bread_str inside(struct jval v)
{
	return (struct bread_str){ v.text + v.tok->at + 1, v.tok->len - 2u };
}

struct bread_str brd_json_str(struct jval v, struct arena *a)
{
	char *to;

	if (brd_json_type(v) != JSON_STRING)
		return BRD_STR("");
	if (v.tok->plain)
		return inside(v);
	to = brd_arena_alloc(a, v.tok->len);
	return (struct bread_str){ to, decode(v, to) };
}

char *brd_json_strz(struct jval v, struct arena *a)
{
	char *to;

	if (brd_json_type(v) != JSON_STRING)
		return NULL;
	to = brd_arena_alloc(a, v.tok->len);
	to[decode(v, to)] = 0;
	return to;
}

void brd_json_str_add(struct jval v, struct buf *b)
{
	struct pieces s;
	struct bread_str piece;

	if (brd_json_type(v) != JSON_STRING)
		return;
	s = pieces_of(v);
	while (piece = next_piece(&s), piece.n)
		brd_buf_add(b, piece);
}

static bool decoded_eq(struct jval v, struct bread_str want)
{
	struct pieces s = pieces_of(v);
	struct bread_str piece;

	while (piece = next_piece(&s), piece.n) {
		if (!brd_str_starts(want, piece))
			return false;
		want = brd_sub(want, piece.n, want.n - piece.n);
	}
	return want.n == 0;
}

bool brd_json_iss(struct jval v, struct bread_str s)
{
	if (brd_json_type(v) != JSON_STRING || v.tok->len - 2u < s.n)
		return false;
	return v.tok->plain ? brd_str_eq(inside(v), s) : decoded_eq(v, s);
}

bool brd_json_is(struct jval v, const char *s)
{
	return brd_json_iss(v, brd_str(s));
}

struct jval brd_json_gets(struct jval obj, struct bread_str key)
{
	struct jval found = none;

	if (brd_json_type(obj) != JSON_OBJECT)
		return none;
	for (struct json_iter it = brd_json_each(obj); brd_json_next(&it);) {
		if (brd_json_iss(it.key, key))
			found = it.value;
	}
	return found;
}

struct jval brd_json_get(struct jval obj, const char *key)
{
	return brd_json_gets(obj, brd_str(key));
}

struct jval brd_json_at(struct jval arr, size_t i)
{
	const struct json_tok *t;

	if (brd_json_type(arr) != JSON_ARRAY || i >= arr.tok->count)
		return none;
	for (t = arr.tok + 1; i > 0; i--)
		t += t->skip;
	return (struct jval){ t, arr.text };
}

struct jval brd_json_path(struct jval v, const char *dotted)
{
	struct bread_str rest = brd_str(dotted);

	while (rest.p) {
		struct bread_str part = brd_str_split(&rest, '.');
		int64_t i;

		if (brd_json_type(v) != JSON_ARRAY)
			v = brd_json_gets(v, part);
		else if (brd_str_int(part, &i) && i >= 0)
			v = brd_json_at(v, (size_t)i);
		else
			return none;
	}
	return v;
}

struct json_iter brd_json_each(struct jval container)
{
	enum json_type type = brd_json_type(container);
	struct json_iter it = { .value.text = container.text, .index = SIZE_MAX };

	if (type != JSON_ARRAY && type != JSON_OBJECT)
		return it;
	it.object = type == JSON_OBJECT;
	it.next = container.tok + 1;
	it.left = container.tok->count;
	return it;
}

bool brd_json_next(struct json_iter *it)
{
	if (it->left == 0)
		return false;
	it->left--;
	it->index++;
	if (it->object) {
		it->key = (struct jval){ it->next, it->value.text };
		it->next++;
	}
	it->value.tok = it->next;
	it->next += it->next->skip;
	return true;
}

bool brd_json_bool(struct jval v, bool dflt)
{
	return brd_json_type(v) == JSON_BOOL ? v.text[v.tok->at] == 't' : dflt;
}

double brd_json_num(struct jval v, double dflt)
{
	return brd_json_type(v) == JSON_NUMBER ? brd_jnum_double(brd_json_raw(v)) : dflt;
}

bool brd_json_int(struct jval v, int64_t *ret)
{
	return brd_json_type(v) == JSON_NUMBER && brd_jnum_int(brd_json_raw(v), ret);
}

int64_t brd_json_int_or(struct jval v, int64_t dflt)
{
	int64_t i;

	return brd_json_int(v, &i) ? i : dflt;
}

/* SPDX-License-Identifier: MIT */
/* Writing JSON straight into a buf: the commas, and strings with their escapes.
 *
 * What comes out is JSON in UTF-8 whatever bytes a string had; the order of the
 * calls is the caller's duty. Numbers are in jsonnum.c. */
#include "base/jsonw.h"
#include "base/scan.h"

static void begin(struct jsonw *w)
{
	if (w->comma)
		brd_buf_addc(w->b, ',');
	w->comma = true;
}

static void open_with(struct jsonw *w, char bracket)
{
	begin(w);
	brd_buf_addc(w->b, bracket);
	w->comma = false;
}

static void close_with(struct jsonw *w, char bracket)
{
	brd_buf_addc(w->b, bracket);
	w->comma = true;
}

void brd_jw_obj(struct jsonw *w)
{
	open_with(w, '{');
}

void brd_jw_end_obj(struct jsonw *w)
{
	close_with(w, '}');
}

void brd_jw_arr(struct jsonw *w)
{
	open_with(w, '[');
}

void brd_jw_end_arr(struct jsonw *w)
{
	close_with(w, ']');
}

struct jsonw brd_jw_begin(struct buf *b)
{
	struct jsonw w = brd_jsonw(b);

	brd_buf_init(b, BUF_NO_LIMIT);
	brd_jw_obj(&w);
	return w;
}

struct bread_str brd_jw_finish(struct jsonw *w, struct arena *a)
{
	struct bread_str s;

	brd_jw_end_obj(w);
	s = brd_arena_copy(a, brd_buf_str(w->b));
	brd_buf_fini(w->b);
	return s;
}

/* The key, its colon and what stands around them, in one go. */
void brd_jw_key(struct jsonw *w, const char *key)
{
	size_t n = strlen(key);
	struct buf *b = w->b;
	char *to;

	brd_buf_grow(b, n + 4);
	if (b->bad)
		return;
	to = b->data + b->len;
	if (w->comma)
		*to++ = ',';
	*to++ = '"';
	memcpy(to, key, n);
	memcpy(to + n, "\":", 3);
	b->len = (size_t)(to + n + 2 - b->data);
	w->comma = false;
}

void brd_jw_keys(struct jsonw *w, struct bread_str key)
{
	begin(w);
	brd_json_quote(w->b, key);
	brd_buf_addc(w->b, ':');
	w->comma = false;
}

void brd_jw_str(struct jsonw *w, struct bread_str s)
{
	begin(w);
	brd_json_quote(w->b, s);
}

void brd_jw_strz(struct jsonw *w, const char *z)
{
	if (z)
		brd_jw_str(w, brd_str(z));
	else
		brd_jw_null(w);
}

void brd_jw_int(struct jsonw *w, int64_t v)
{
	begin(w);
	brd_buf_addi(w->b, v);
}

void brd_jw_num(struct jsonw *w, double v)
{
	begin(w);
	brd_json_num_add(w->b, v);
}

void brd_jw_bool(struct jsonw *w, bool v)
{
	brd_jw_raw(w, v ? BRD_STR("true") : BRD_STR("false"));
}

void brd_jw_null(struct jsonw *w)
{
	brd_jw_raw(w, BRD_STR("null"));
}

void brd_jw_raw(struct jsonw *w, struct bread_str json)
{
	begin(w);
	brd_buf_add(w->b, json);
}

void brd_jw_kstr(struct jsonw *w, const char *key, struct bread_str s)
{
	brd_jw_key(w, key);
	brd_jw_str(w, s);
}

void brd_jw_kint(struct jsonw *w, const char *key, int64_t v)
{
	brd_jw_key(w, key);
	brd_jw_int(w, v);
}

void brd_jw_kbool(struct jsonw *w, const char *key, bool v)
{
	brd_jw_key(w, key);
	brd_jw_bool(w, v);
}

void brd_jw_kraw(struct jsonw *w, const char *key, struct bread_str json)
{
	if (json.n == 0)
		return;
	brd_jw_key(w, key);
	brd_jw_raw(w, json);
}

static void add_escape(struct buf *b, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char letters[] = "btn\0fr"; /* of 8, 9, 10, 12 and 13 */
	char text[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

	if (c == '"' || c == '\\')
		text[1] = (char)c;
	else if (c >= 8 && c <= 13 && letters[c - 8])
		text[1] = letters[c - 8];
	brd_buf_addn(b, text, text[1] == 'u' ? 6 : 2);
}

/* A surrogate in three bytes, which a \udxxx of the reader left; 0: none. */
static size_t add_surrogate(struct buf *b, const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;

	if (!brd_utf8_surrogate(p, n))
		return 0;
	brd_buf_addf(b, "\\u%04x", 0xd000u | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu));
	return 3;
}

/* Writes what p begins with, which is not plain, and returns its length. */
static size_t add_special(struct buf *b, const char *p, size_t n)
{
	size_t bad = 0, len;

	if ((unsigned char)*p < 0x80) {
		add_escape(b, (unsigned char)*p);
		return 1;
	}
	len = add_surrogate(b, p, n);
	if (len)
		return len;
	brd_utf8_char(p, n, &bad);
	brd_buf_addn(b, "\xef\xbf\xbd", 3);
	return bad;
}

/* Bytes at the front that go out as they are. */
static size_t plain_run(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n) {
		size_t len;

		i = (size_t)(scan_plain(p + i, p + n) - p);
		if (i == n || (unsigned char)p[i] < 0x80)
			return i;
		len = brd_utf8_wide(p + i, n - i);
		if (len == 0)
			return i;
		i += len;
	}
	return n;
}

static void quote_plain(struct buf *b, struct bread_str s)
{
	char *to = b->data + b->len;

	*to++ = '"';
	if (s.n)
		to = mempcpy(to, s.p, s.n);
	*to++ = '"';
	*to = 0;
	b->len += s.n + 2;
}

void brd_json_quote(struct buf *b, struct bread_str s)
{
	size_t n = plain_run(s.p, s.n);

	brd_buf_grow(b, s.n + 2);
	if (b->bad)
		return;
	if (n == s.n) {
		quote_plain(b, s);
		return;
	}
	brd_buf_addc(b, '"');
	for (size_t i = 0; i < s.n; n = plain_run(s.p + i, s.n - i)) {
		brd_buf_addn(b, s.p + i, n);
		i += n;
		if (i < s.n)
			i += add_special(b, s.p + i, s.n - i);
	}
	brd_buf_addc(b, '"');
}

/* SPDX-License-Identifier: MIT */
/* References to URIs (RFC 3986, section 5.2).
 *
 * Works on any bytes; what is no URI gives some string that then names nothing.
 * A base without a scheme is taken as it is, so that schemas without an absolute
 * $id can still refer to each other. */
#include "base/schema_impl.h"
#include "base/str.h"

struct uri {
	struct bread_str scheme, authority, path, query, fragment; /* p NULL: not there */
};

static bool scheme_char(char c, bool first)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return true;
	return !first && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.');
}

/* Cuts [0, at) off s and drops the byte at at. */
static struct bread_str cut(struct bread_str *s, size_t at)
{
	struct bread_str head = brd_sub(*s, 0, at);

	*s = brd_sub(*s, at + 1, s->n - at - 1);
	return head;
}

static void cut_scheme(struct bread_str *s, struct uri *u)
{
	size_t i = 0;

	while (i < s->n && scheme_char(s->p[i], i == 0))
		i++;
	if (i > 0 && i < s->n && s->p[i] == ':')
		u->scheme = cut(s, i);
}

static struct bread_str cut_tail(struct bread_str *s, char mark)
{
	const char *at = s->n ? memchr(s->p, mark, s->n) : NULL;
	struct bread_str tail = { 0 };

	if (at) {
		tail = (struct bread_str){ at + 1, (size_t)(s->p + s->n - at - 1) };
		s->n = (size_t)(at - s->p);
	}
	return tail;
}

struct bread_str brd_schema_uri_cut(struct bread_str *uri)
{
	return cut_tail(uri, '#');
}

static struct uri split(struct bread_str s)
{
	struct uri u = { 0 };

	u.fragment = cut_tail(&s, '#');
	u.query = cut_tail(&s, '?');
	cut_scheme(&s, &u);
	if (s.n >= 2 && s.p[0] == '/' && s.p[1] == '/') {
		size_t n = 2;

		while (n < s.n && s.p[n] != '/')
			n++;
		u.authority = brd_sub(s, 2, n - 2);
		s = brd_sub(s, n, s.n - n);
	}
	u.path = s;
	return u;
}

/* Drops the last segment of what b holds from byte from on. */
static void drop_segment(struct buf *b, size_t from)
{
	while (b->len > from && b->data[b->len - 1] != '/')
		b->len--;
	if (b->len > from)
		b->len--;
}

/* remove_dot_segments, segment by segment. */
static void add_path(struct buf *b, struct bread_str path)
{
	size_t from = b->len;

	while (path.p) {
		bool rooted = path.n && path.p[0] == '/';
		struct bread_str rest = rooted ? brd_sub(path, 1, path.n - 1) : path;
		const char *slash = rest.n ? memchr(rest.p, '/', rest.n) : NULL;
		struct bread_str seg = rest;

		if (slash)
			seg.n = (size_t)(slash - rest.p);
		path = slash ? brd_sub(rest, seg.n, rest.n - seg.n) : (struct bread_str){ 0 };
		if (brd_str_is(seg, ".") || brd_str_is(seg, "..")) {
			if (seg.n == 2)
				drop_segment(b, from);
			if (!slash && (rooted || b->len > from))
				brd_buf_addc(b, '/');
			continue;
		}
		if (rooted)
			brd_buf_addc(b, '/');
		brd_buf_add(b, seg);
	}
}

/* The base's path up to its last '/', then the reference's. */
static void add_merged(struct buf *b, const struct uri *base, struct bread_str path)
{
	struct buf merged;
	size_t n = base->path.n;

	brd_buf_init(&merged, BUF_NO_LIMIT);
	while (n > 0 && base->path.p[n - 1] != '/')
		n--;
	if (base->authority.p && base->path.n == 0)
		brd_buf_addc(&merged, '/');
	brd_buf_add(&merged, brd_sub(base->path, 0, n));
	brd_buf_add(&merged, path);
	add_path(b, brd_buf_str(&merged));
	brd_buf_fini(&merged);
}

static void add_part(struct buf *b, const char *before, struct bread_str s, const char *after)
{
	if (!s.p)
		return;
	brd_buf_addz(b, before);
	brd_buf_add(b, s);
	brd_buf_addz(b, after);
}

static void add_relative(struct buf *b, const struct uri *base, struct uri *u)
{
	add_part(b, "", base->scheme, ":");
	if (u->authority.p) {
		add_part(b, "//", u->authority, "");
		add_path(b, u->path);
		return;
	}
	add_part(b, "//", base->authority, "");
	if (u->path.n == 0) {
		brd_buf_add(b, base->path);
		if (!u->query.p)
			u->query = base->query;
	} else if (u->path.p[0] == '/') {
		add_path(b, u->path);
	} else {
		add_merged(b, base, u->path);
	}
}

struct bread_str brd_schema_uri(struct arena *a, struct bread_str base, struct bread_str ref)
{
	struct uri from = split(base), u = split(ref);
	struct bread_str whole;
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	if (u.scheme.p) {
		add_part(&b, "", u.scheme, ":");
		add_part(&b, "//", u.authority, "");
		if (u.path.n)
			add_path(&b, u.path);
	} else {
		add_relative(&b, &from, &u);
	}
	add_part(&b, "?", u.query, "");
	add_part(&b, "#", u.fragment, "");
	whole = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return whole;
}

struct bread_str brd_schema_uri_decode(struct arena *a, struct bread_str s)
{
	char *out = brd_arena_alloc(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		bool escape = s.p[i] == '%' && i + 2 < s.n;
		int high = escape ? brd_hex_value(s.p[i + 1]) : -1;
		int low = escape ? brd_hex_value(s.p[i + 2]) : -1;

		if (high >= 0 && low >= 0) {
			out[n++] = (char)(high << 4 | low);
			i += 2;
		} else {
			out[n++] = s.p[i];
		}
	}
	return (struct bread_str){ out, n };
}

/* SPDX-License-Identifier: MIT */
/* The reader of request heads.
 *
 * It takes less than the RFC allows wherever two readers might disagree about
 * where a message ends or whom it is for: bare LF, a blank before the colon,
 * folded lines, two lengths, a length beside a coding, a coding in HTTP/1.0,
 * none or two Hosts, an absolute target for another host. A head is judged only
 * once it is complete (but for its limits and line ends), so that the verdict
 * does not depend on how the bytes were cut on the way. */
#include "net/http.h"
#include "net/http_chars.h"

#define BLANK_LINES_MAX 2 /* that may stand before a request line (RFC 9112 2.2) */
#define METHOD_MAX 32

/* What the header lines said, until all of them are known. */
struct reading {
	struct http_head *h;
	struct bread_str host, coding, length;
	unsigned hosts, codings, lengths;
	bool close, keep, upgrade, protocol;
};

static int refuse(struct http_head *h, int status, const char *fault)
{
	h->fault = fault;
	return -status;
}

static bool is_token(struct bread_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!brd_http_token_char((unsigned char)s.p[i]))
			return false;
	}
	return s.n > 0;
}

static bool is_value(struct bread_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!brd_http_text_char((unsigned char)s.p[i]))
			return false;
	}
	return true;
}

static struct bread_str trim(struct bread_str s)
{
	while (s.n && (*s.p == ' ' || *s.p == '\t')) {
		s.p++;
		s.n--;
	}
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* Empty lines that some clients send after a body. */
static size_t blank_lines(struct bread_str in)
{
	size_t at = 0;

	while (at < BLANK_LINES_MAX * 2 && in.n - at >= 2 && memcmp(in.p + at, "\r\n", 2) == 0)
		at += 2;
	return at;
}

/* The end of the request line (past its LF), 0, or a negative status. */
static ptrdiff_t line_end(struct bread_str in, size_t start, struct http_head *h)
{
	size_t left = in.n - start, most = HTTP_LINE_MAX + 2;
	const char *lf;

	if (left == 0 || (left == 1 && in.p[start] == '\r'))
		return 0;
	if (in.p[start] == 0x16)
		return refuse(h, 400, "This port speaks plain HTTP, and the request is TLS.");
	if (!brd_http_token_char((unsigned char)in.p[start]))
		return refuse(h, 400, "The request line does not begin with a method.");
	lf = memchr(in.p + start, '\n', left < most ? left : most);
	if (!lf)
		return left < most ? 0 : refuse(h, 414, "The request line is too long.");
	if (lf[-1] != '\r')
		return refuse(h, 400, "A line of the head ends in LF without CR.");
	return lf + 1 - in.p;
}

ptrdiff_t brd_http_head_end(struct bread_str in, size_t seen, struct http_head *ret)
{
	ptrdiff_t r = line_end(in, blank_lines(in), ret);
	size_t most = in.n < HTTP_HEAD_MAX ? in.n : HTTP_HEAD_MAX;
	const char *lf;

	if (r <= 0)
		return r;
	for (size_t at = (size_t)r > seen ? (size_t)r : seen; at < most;
		at = (size_t)(lf + 1 - in.p)) {
		lf = memchr(in.p + at, '\n', most - at);
		if (!lf)
			break;
		if (lf[-1] != '\r')
			return refuse(ret, 400, "A line of the head ends in LF without CR.");
		if (lf[-2] == '\n')
			return lf + 1 - in.p;
	}
	return in.n < HTTP_HEAD_MAX ? 0 : refuse(ret, 431, "The headers are too large.");
}

static int take_version(struct bread_str v, struct http_head *h)
{
	if (v.n != 8 || memcmp(v.p, "HTTP/", 5) != 0 || v.p[5] < '0' || v.p[5] > '9' ||
		v.p[6] != '.' || v.p[7] < '0' || v.p[7] > '9')
		return refuse(h, 400, "The request line does not end with an HTTP version.");
	if (v.p[5] != '1' || v.p[7] > '1')
		return refuse(h, 505, "Only HTTP/1.1 and HTTP/1.0 are spoken here.");
	h->minor = v.p[7] - '0';
	return 0;
}

static int take_method(struct bread_str m, struct http_head *h)
{
	if (!is_token(m))
		return refuse(h, 400, "The method is not a token.");
	if (m.n > METHOD_MAX)
		return refuse(h, 501, "Nobody here knows that method.");
	h->method = m;
	return 0;
}

static int take_request_line(struct bread_str line, struct http_head *h)
{
	struct bread_str method = brd_str_split(&line, ' ');
	struct bread_str target = brd_str_split(&line, ' ');
	int r;

	if (!target.p || !line.p)
		return refuse(h, 400, "The request line is not a method, a target and a version.");
	r = take_method(method, h);
	if (r == 0)
		r = take_version(line, h);
	if (r)
		return r;
	for (size_t i = 0; i < target.n; i++) {
		unsigned char c = (unsigned char)target.p[i];

		if (c <= 0x20 || c >= 0x7f || c == '#')
			return refuse(h, 400, "The target has a character that URLs do not allow.");
	}
	h->target = target;
	return target.n ? 0 : refuse(h, 400, "The target is empty.");
}

/* A list such as "keep-alive, Upgrade". */
static int take_connection(struct reading *r, struct bread_str value)
{
	while (value.p) {
		struct bread_str word = trim(brd_str_split(&value, ','));

		if (brd_str_ieq(word, BRD_STR("close")))
			r->close = true;
		else if (brd_str_ieq(word, BRD_STR("keep-alive")))
			r->keep = true;
		else if (brd_str_ieq(word, BRD_STR("upgrade")))
			r->upgrade = true;
	}
	return 0;
}

static bool is_host(struct bread_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c <= 0x20 || c >= 0x7f || strchr("/?#@\\\"<>^`{|},", c))
			return false;
	}
	return true;
}

static int take_host(struct reading *r, struct bread_str value)
{
	if (!is_host(value))
		return refuse(r->h, 400, "The Host header is not a host and a port.");
	r->host = value;
	r->hosts++;
	return 0;
}

static int take_length(struct reading *r, struct bread_str value)
{
	r->length = value;
	r->lengths++;
	return 0;
}

static int take_coding(struct reading *r, struct bread_str value)
{
	r->coding = value;
	r->codings++;
	return 0;
}

static int take_expect(struct reading *r, struct bread_str value)
{
	r->h->expect_continue = brd_str_ieq(value, BRD_STR("100-continue"));
	return 0;
}

static int take_upgrade(struct reading *r, struct bread_str value)
{
	r->protocol = value.n > 0;
	return 0;
}

static const struct {
	struct bread_str name;
	int (*take)(struct reading *r, struct bread_str value);
} known[] = {
	{ { "Host", 4 }, take_host },
	{ { "Connection", 10 }, take_connection },
	{ { "Content-Length", 14 }, take_length },
	{ { "Transfer-Encoding", 17 }, take_coding },
	{ { "Expect", 6 }, take_expect },
	{ { "Upgrade", 7 }, take_upgrade },
};

static int take_header(struct reading *r, struct bread_str line, struct http_header *ret)
{
	const char *colon = memchr(line.p, ':', line.n);

	if (!colon)
		return refuse(r->h, 400, "A header line has no colon.");
	ret->name = (struct bread_str){ line.p, (size_t)(colon - line.p) };
	ret->value = trim(brd_sub(line, ret->name.n + 1, line.n - ret->name.n - 1));
	if (!is_token(ret->name))
		return refuse(r->h, 400, "A header's name is not a token right before its colon.");
	if (!is_value(ret->value))
		return refuse(r->h, 400, "A header's value has a control character.");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (brd_str_ieq(ret->name, known[i].name))
			return known[i].take(r, ret->value);
	}
	return 0;
}

/* The next line without its CRLF. rest ends in one. */
static struct bread_str cut_line(struct bread_str *rest)
{
	struct bread_str line = brd_str_split(rest, '\n');

	line.n--;
	return line;
}

static int take_headers(struct reading *r, struct bread_str rest, struct arena *a)
{
	struct http_header found[HTTP_HEADERS_MAX];
	struct http_head *h = r->h;
	int bad;

	while (rest.n) {
		if (h->header_count == HTTP_HEADERS_MAX)
			return refuse(h, 431, "There are too many headers.");
		bad = take_header(r, cut_line(&rest), &found[h->header_count]);
		if (bad)
			return bad;
		h->header_count++;
	}
	if (h->header_count == 0)
		return 0;
	h->headers = brd_arena_array(a, h->header_count, sizeof(*found));
	memcpy(h->headers, found, h->header_count * sizeof(*found));
	return 0;
}

static int judge_length(struct reading *r)
{
	int64_t v = 0;

	if (r->lengths == 0)
		return 0;
	if (r->lengths > 1 || r->codings)
		return refuse(r->h, 400, "The length of the body is given more than once.");
	if (r->length.n == 0 || r->length.n > 18)
		return refuse(r->h, 400, "The Content-Length is not a number of bytes.");
	for (size_t i = 0; i < r->length.n; i++) {
		if (r->length.p[i] < '0' || r->length.p[i] > '9')
			return refuse(r->h, 400, "The Content-Length is not a number of bytes.");
		v = v * 10 + (r->length.p[i] - '0');
	}
	r->h->content_length = v;
	return 0;
}

static int judge_coding(struct reading *r)
{
	struct bread_str rest = r->coding, word = { NULL, 0 };
	unsigned chunked = 0;

	if (r->codings == 0)
		return 0;
	if (r->codings > 1 || r->h->minor == 0)
		return refuse(r->h, 400, "Transfer-Encoding may stand once, and only in HTTP/1.1.");
	while (rest.p) {
		word = trim(brd_str_split(&rest, ','));
		chunked += brd_str_ieq(word, BRD_STR("chunked"));
	}
	if (chunked != 1 || !brd_str_ieq(word, BRD_STR("chunked")))
		return refuse(r->h, 400, "The Transfer-Encoding does not end with chunked.");
	if (!brd_str_ieq(r->coding, word))
		return refuse(r->h, 501, "No Transfer-Encoding but chunked is understood.");
	r->h->chunked = true;
	return 0;
}

static int judge_host(struct reading *r)
{
	if (r->hosts > 1)
		return refuse(r->h, 400, "There is more than one Host header.");
	if (r->hosts == 0 && r->h->minor > 0)
		return refuse(r->h, 400, "There is no Host header.");
	return 0;
}

/* "http://host/path": leaves "/path", and host must be the Host header's, so
 * that whoever checks the latter has checked the former. */
static int cut_origin(struct reading *r, struct bread_str *target)
{
	struct bread_str t = *target, host;
	size_t scheme = t.n > 7 && brd_str_ieq(brd_sub(t, 0, 7), BRD_STR("http://"))    ? 7
			: t.n > 8 && brd_str_ieq(brd_sub(t, 0, 8), BRD_STR("https://")) ? 8
											: 0;
	size_t end = scheme;

	while (end < t.n && t.p[end] != '/' && t.p[end] != '?')
		end++;
	host = brd_sub(t, scheme, end - scheme);
	if (!scheme || host.n == 0 || !is_host(host))
		return refuse(r->h, 400, "The target is neither a path nor an http URL.");
	if (r->hosts && !brd_str_ieq(host, r->host))
		return refuse(r->h, 400, "The target and the Host header name different hosts.");
	*target = brd_sub(t, end, t.n - end);
	return 0;
}

/* A %2F stays as it is: decoded, it could not be told from a slash that parts
 * two segments, and what stood before us may have gone by the difference. */
static bool decode_path(struct bread_str in, struct arena *a, struct bread_str *ret)
{
	struct bread_str from = in;
	char *out, *p;

	if (!memchr(in.p, '%', in.n)) {
		*ret = in;
		return true;
	}
	out = p = brd_arena_alloc(a, in.n + 1);
	for (; from.n; from.p++, from.n--) {
		int c;

		if (*from.p != '%') {
			*p++ = *from.p;
			continue;
		}
		c = brd_http_escaped(from.p, from.n);
		if (c < 0)
			return false;
		if (c == '/') {
			memcpy(p, "%2F", 3);
			p += 3;
		} else {
			*p++ = (char)c;
		}
		from.p += 2;
		from.n -= 2;
	}
	*ret = (struct bread_str){ out, (size_t)(p - out) };
	return true;
}

static int judge_target(struct reading *r, struct arena *a)
{
	struct http_head *h = r->h;
	struct bread_str t = h->target, path;
	int bad;

	if (brd_str_is(t, "*") && brd_str_is(h->method, "OPTIONS")) {
		h->path = t;
		return 0;
	}
	if (*t.p != '/') {
		bad = cut_origin(r, &t);
		if (bad)
			return bad;
	}
	path = brd_str_split(&t, '?');
	h->query = t.p ? t : BRD_STR("");
	if (path.n == 0)
		path = BRD_STR("/");
	if (!decode_path(path, a, &h->path))
		return refuse(
			h, 400, "The path has a % that is not followed by two hex digits, or %00.");
	return 0;
}

static int judge(struct reading *r, struct arena *a)
{
	struct http_head *h = r->h;
	int bad = judge_host(r);

	if (!bad)
		bad = judge_coding(r);
	if (!bad)
		bad = judge_length(r);
	if (!bad)
		bad = judge_target(r, a);
	h->keep_alive = !r->close && (h->minor > 0 || r->keep);
	h->upgrade = r->upgrade && r->protocol && h->minor > 0;
	h->expect_continue = h->expect_continue && h->minor > 0;
	return bad;
}

ptrdiff_t brd_http_head_parse(struct bread_str in, struct arena *a, struct http_head *ret)
{
	struct reading r = { .h = ret };
	struct bread_str rest;
	ptrdiff_t end;
	size_t start;
	int bad;

	*ret = (struct http_head){ .content_length = -1 };
	end = brd_http_head_end(in, 0, ret);
	if (end <= 0)
		return end;
	start = blank_lines(in);
	rest = brd_sub(in, start, (size_t)end - start - 2); /* without the empty line */
	bad = take_request_line(cut_line(&rest), ret);
	if (!bad)
		bad = take_headers(&r, rest, a);
	if (!bad)
		bad = judge(&r, a);
	return bad ? bad : end;
}

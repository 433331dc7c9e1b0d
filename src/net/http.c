/* SPDX-License-Identifier: MIT */
/* Looking things up in a head that was read, and the words of the statuses. */
#include "net/http.h"
#include "net/http_chars.h"

struct bread_str brd_http_get(const struct http_head *h, const char *name)
{
	struct bread_str wanted = brd_str(name);

	for (size_t i = 0; i < h->header_count; i++) {
		if (brd_str_ieq(h->headers[i].name, wanted))
			return h->headers[i].value;
	}
	return (struct bread_str){ NULL, 0 };
}

/* Of a query: + is a blank. false: a bad %xx, or %00. */
static bool unescape(struct bread_str in, struct arena *a, struct bread_str *ret)
{
	char *out, *p;

	if (in.n == 0 || (!memchr(in.p, '%', in.n) && !memchr(in.p, '+', in.n))) {
		*ret = in;
		return true;
	}
	out = p = brd_arena_alloc(a, in.n + 1);
	for (size_t i = 0; i < in.n; i++) {
		int c = in.p[i];

		if (c == '+')
			c = ' ';
		if (c == '%') {
			c = brd_http_escaped(in.p + i, in.n - i);
			if (c < 0)
				return false;
			i += 2;
		}
		*p++ = (char)c;
	}
	*ret = (struct bread_str){ out, (size_t)(p - out) };
	return true;
}

/* What cannot be decoded is taken as it stands, as browsers do. */
static struct bread_str form_text(struct bread_str in, struct arena *a)
{
	struct bread_str out;

	return unescape(in, a, &out) ? out : in;
}

struct bread_str brd_http_query(struct bread_str query, const char *name, struct arena *a)
{
	while (query.n) {
		struct bread_str value = brd_str_split(&query, '&');
		struct bread_str key = brd_str_split(&value, '=');

		if (!brd_str_is(form_text(key, a), name))
			continue;
		return value.p ? form_text(value, a) : BRD_STR("");
	}
	return (struct bread_str){ NULL, 0 };
}

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 100, "Continue" },
	{ 101, "Switching Protocols" },
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 206, "Partial Content" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 303, "See Other" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 308, "Permanent Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 402, "Payment Required" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 410, "Gone" },
	{ 411, "Length Required" },
	{ 412, "Precondition Failed" },
	{ 413, "Payload Too Large" },
	{ 414, "URI Too Long" },
	{ 415, "Unsupported Media Type" },
	{ 416, "Range Not Satisfiable" },
	{ 417, "Expectation Failed" },
	{ 421, "Misdirected Request" },
	{ 422, "Unprocessable Entity" },
	{ 423, "Locked" },
	{ 424, "Failed Dependency" },
	{ 425, "Too Early" },
	{ 426, "Upgrade Required" },
	{ 428, "Precondition Required" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 499, "Client Closed Request" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
};

const char *brd_http_reason(int status)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		if (reasons[i].status == status)
			return reasons[i].reason;
	}
	return "Unknown";
}

/* SPDX-License-Identifier: MIT */
/* The edge (contract C25): what a request must be before any route sees it.
 *
 * A page in a browser must not reach a server on the reader's own machine: on a
 * loopback bind the Host must be a loopback name (so that a name which somebody
 * else's DNS points here is refused), a request that changes something must come from
 * our own origin or a listed one, and a body that a browser sends must be JSON by its
 * type (so that no form can make one). There is no CORS at all. */
#include "base/err.h"
#include "server/internal.h"

static struct bread_str without_port(struct bread_str host)
{
	for (size_t i = host.n; i > 0; i--) {
		if (host.p[i - 1] == ']')
			break;
		if (host.p[i - 1] == ':')
			return brd_sub(host, 0, i - 1);
	}
	return host;
}

/* 127.0.0.0/8, written as four numbers and nothing else: "127.example.com" is a name. */
static bool is_loopback_v4(struct bread_str name)
{
	int parts = 0;
	int64_t v;

	if (!brd_str_starts(name, BRD_STR("127.")))
		return false;
	for (struct bread_str rest = name; rest.p; parts++)
		if (!brd_str_int(brd_str_split(&rest, '.'), &v) || v < 0 || v > 255)
			return false;
	return parts == 4;
}

bool brd_host_loopback(struct bread_str host)
{
	struct bread_str name = without_port(host);

	return brd_str_ieq(name, BRD_STR("localhost")) || brd_str_is(name, "[::1]") ||
	       brd_str_is(name, "::1") || is_loopback_v4(name);
}

static bool listed(const struct conf_strs *list, struct bread_str s)
{
	for (size_t i = 0; i < list->n; i++)
		if (brd_str_ieq(brd_str(list->v[i]), s))
			return true;
	return false;
}

static bool host_ok(const struct bread_server *s, struct bread_str host)
{
	if (!host.p || s->local)
		return true; /* HTTP/1.0, which no browser speaks; or no address at all */
	if (listed(&s->conf.hosts, without_port(host)))
		return true;
	return s->conf.hosts.n == 0 && (!s->loopback || brd_host_loopback(host));
}

/* Scheme and authority of our own pages, as a browser names them. */
static bool own_origin(const struct bread_server *s, struct bread_str origin, struct bread_str host)
{
	struct bread_str scheme = s->conf.tls.cert ? BRD_STR("https://") : BRD_STR("http://");

	return host.p && brd_str_starts(origin, scheme) &&
	       brd_str_ieq(brd_sub(origin, scheme.n, origin.n - scheme.n), host);
}

static bool changes_something(struct bread_str method)
{
	return !brd_str_is(method, "GET") && !brd_str_is(method, "HEAD") &&
	       !brd_str_is(method, "OPTIONS");
}

static bool is_json(struct bread_str type)
{
	struct bread_str word = brd_str_trim(brd_str_split(&type, ';'));

	return brd_str_ieq(word, BRD_STR("application/json")) ||
	       (brd_str_starts(word, BRD_STR("application/")) &&
		       brd_str_ends(word, BRD_STR("+json")));
}

bool brd_guard_request(
	const struct bread_server *s, const struct http_req *req, struct bread_err *ret_err)
{
	const struct http_head *h = brd_http_req_head(req);
	struct bread_str host = brd_http_get(h, "host"), origin = brd_http_get(h, "origin");
	bool browser = origin.p || brd_http_get(h, "sec-fetch-site").p;

	if (!host_ok(s, host)) {
		brd_fail_as(ret_err, BREAD_E_INVALID, "HOST_NOT_ALLOWED", "server",
			"This server does not answer to that Host; add it to server.hosts");
		return false;
	}
	if (!changes_something(h->method))
		return true;
	if (origin.p && !own_origin(s, origin, host) && !listed(&s->conf.origins, origin)) {
		brd_fail_as(ret_err, BREAD_E_INVALID, "ORIGIN_NOT_ALLOWED", "server",
			"Requests from that Origin are not taken; add it to server.origins");
		return false;
	}
	if (browser && brd_http_req_body(req).n && !is_json(brd_http_get(h, "content-type"))) {
		brd_fail_as(ret_err, BREAD_E_INVALID, "CONTENT_TYPE_NOT_ALLOWED", "server",
			"A body from a browser must be application/json");
		return false;
	}
	return true;
}

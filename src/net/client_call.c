/* SPDX-License-Identifier: MIT */
/* One call's easy handle: its options, its callbacks, and what its result means.
 *
 * Heads are read here and not by curl's own interface, because only the final one
 * counts: those of 1xx answers and of redirects that are followed are dropped.
 * Nothing that may hold a secret (URL paths, headers, bodies) goes into an error's
 * text: it names the host.
 *
 * HTTP/1.1 only: one stream a connection, so that a cancel closes the connection
 * and a pause holds up nobody else. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/client_priv.h"
#include "net/url.h"

#define HEAD_MAX ((size_t)128 * 1024)
#define CONNECT_MS 10000
#define HEADERS_MS 300000

/* ---- addresses ---- */

static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct http_call *c = arg;

	if (c->allow_addr && !c->allow_addr(c->arg, &a->addr)) {
		c->vetoed = true;
		return CURL_SOCKET_BAD;
	}
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* A kept connection was opened for another call, whose rules may have been others. */
static bool peer_allowed(struct http_call *c, const char *ip)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (!c->allow_addr)
		return true;
	if (inet_pton(AF_INET, ip, &in.sin_addr) == 1)
		return c->allow_addr(c->arg, &in);
	return inet_pton(AF_INET6, ip, &in6.sin6_addr) == 1 && c->allow_addr(c->arg, &in6);
}

static int on_connected(void *arg, char *ip, char *local_ip, int port, int local_port)
{
	struct http_call *c = arg;

	c->vetoed = !peer_allowed(c, ip);
	if (c->vetoed || c->doomed)
		return CURL_PREREQFUNC_ABORT;
	c->state = CALL_WAITING;
	brd_http_call_watch(c, c->headers_ms);
	return CURL_PREREQFUNC_OK;
}

/* ---- the answer ---- */

static int parse_status(struct bread_str line)
{
	int64_t n;

	brd_str_split(&line, ' ');
	return line.n >= 3 && brd_str_int(brd_sub(line, 0, 3), &n) ? (int)n : 0;
}

struct bread_str brd_http_call_find(const struct http_call *c, const char *name)
{
	struct bread_str rest = brd_buf_str(&c->head);

	while (rest.p && rest.n) {
		struct bread_str line = brd_str_split(&rest, '\n');

		if (brd_str_ieq(brd_str_split(&line, ':'), brd_str(name)) && line.p)
			return brd_str_trim(line);
	}
	return (struct bread_str){ NULL, 0 };
}

static bool same_part(CURLU *a, CURLU *b, CURLUPart part)
{
	char *x = NULL, *y = NULL;
	bool same = curl_url_get(a, part, &x, 0) == CURLUE_OK &&
		    curl_url_get(b, part, &y, 0) == CURLUE_OK && strcasecmp(x, y) == 0;

	curl_free(x);
	curl_free(y);
	return same;
}

/* To another host, or out of TLS. Of headers that hold keys curl knows two. */
static bool leads_away(struct http_call *c, struct bread_str location)
{
	CURLU *from = curl_url(), *to = curl_url();
	char *z = brd_strndup(location), *here = NULL;
	bool away;

	curl_easy_getinfo(c->easy, CURLINFO_EFFECTIVE_URL, &here);
	away = curl_url_set(from, CURLUPART_URL, here, 0) != CURLUE_OK ||
	       curl_url_set(to, CURLUPART_URL, here, 0) != CURLUE_OK ||
	       curl_url_set(to, CURLUPART_URL, z, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
	       !same_part(from, to, CURLUPART_HOST) || !same_part(from, to, CURLUPART_SCHEME);
	free(z);
	curl_url_cleanup(from);
	curl_url_cleanup(to);
	return away;
}

static void check_redirect(struct http_call *c, struct bread_str location)
{
	struct bread_err err = { 0 };

	if (!c->has_own_headers || !leads_away(c, location))
		return;
	brd_fail_as(&err, BREAD_E_UPSTREAM, "redirects", "net.client",
		"%s sent us on to another host, for which the headers of this call are not meant; "
		"give that URL if it is right",
		c->peer);
	brd_http_call_stop(c, BREAD_E_UPSTREAM, &err);
}

static void end_head(struct http_call *c)
{
	struct bread_str location = brd_http_call_find(c, "location");

	if (c->seen < 200)
		return;
	if (c->follows && c->seen >= 300 && c->seen < 400 && location.p) {
		check_redirect(c, location);
		return;
	}
	c->head_done = true;
	c->status = c->seen;
	c->state = CALL_BODY;
	c->last = brd_clock_mono();
	brd_http_call_watch(c, c->silence_ms);
	if (c->on_head)
		c->on_head(c->arg, c);
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
	struct http_call *c = arg;
	struct bread_str line = { p, n };

	if (c->head_done || c->doomed) /* the first: trailers */
		return c->doomed ? 0 : n;
	if (brd_str_starts(line, BRD_STR("HTTP/"))) {
		brd_buf_clear(&c->head);
		c->seen = parse_status(line);
	} else if (brd_str_trim(line).n) {
		brd_buf_add(&c->head, line);
	} else {
		end_head(c);
	}
	return c->head.bad || c->doomed ? 0 : n;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
	struct http_call *c = arg;

	if (c->doomed)
		return CURL_WRITEFUNC_ERROR;
	if (c->want_pause) {
		c->paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	c->last = brd_clock_mono();
	if (n && c->on_data && !c->on_data(c->arg, (struct bread_str){ p, n })) {
		struct bread_err err = { 0 };

		brd_fail(&err, BREAD_E_CANCELED, "net.client", "the reader wanted no more");
		brd_http_call_stop(c, BREAD_E_CANCELED, &err);
	}
	return c->doomed ? CURL_WRITEFUNC_ERROR : n;
}

/* ---- the request ---- */

/* Letters and hyphens, as all methods are. */
static bool is_method(const char *z)
{
	for (const char *p = z; *p; p++)
		if ((*p < 'A' || *p > 'Z') && (*p < 'a' || *p > 'z') && *p != '-')
			return false;
	return *z != '\0';
}

static bool named(const char *line, const char *name)
{
	struct bread_str s = brd_str(line);

	return brd_str_ieq(brd_str_split(&s, ':'), brd_str(name));
}

static void add_header(struct http_call *c, const char *line)
{
	struct curl_slist *list = curl_slist_append(c->headers, line);

	if (list)
		c->headers = list;
}

/* A name without a value tells curl to leave out the header that it would add. */
static int set_headers(struct http_call *c, const char *const *lines, struct bread_err *err)
{
	bool has_type = false;

	for (; lines && *lines; lines++) {
		if (strpbrk(*lines, "\r\n") || !strchr(*lines, ':') || **lines == ':')
			return brd_fail_as(err, BREAD_E_INVALID, "header", "net.client",
				"a header for %s is not of the form 'Name: value' on one line",
				c->peer);
		has_type |= named(*lines, "content-type");
		c->has_own_headers |= !named(*lines, "content-type") && !named(*lines, "accept");
		add_header(c, *lines);
	}
	if (!has_type)
		add_header(c, "Content-Type:");
	add_header(c, "Expect:");
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
	return 0;
}

static int set_method(struct http_call *c, const struct http_call_spec *spec, struct bread_err *err)
{
	const char *m = spec->method ? spec->method : "GET";
	bool is_get = strcmp(m, "GET") == 0;

	if (!is_method(m))
		return brd_fail_as(err, BREAD_E_INVALID, "method", "net.client",
			"the method for %s is no HTTP method; use GET, POST, PUT, PATCH or DELETE",
			c->peer);
	if (strcmp(m, "HEAD") == 0) {
		curl_easy_setopt(c->easy, CURLOPT_NOBODY, 1L);
		return 0;
	}
	if (is_get && !spec->body.n)
		return 0;
	c->body = brd_strndup(spec->body);
	curl_easy_setopt(c->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)spec->body.n);
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->body);
	if (strcmp(m, "POST") != 0)
		curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, m);
	return 0;
}

/* "host:port" of a URL that was checked, for messages. */
static void name_peer(struct http_call *c, const char *url)
{
	CURLU *u = curl_url();
	char *host = NULL, *port = NULL;

	if (curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
		curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
		curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK)
		snprintf(c->peer, sizeof(c->peer), "%.100s:%.8s", host, port);
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(u);
}

static void set_rules(CURL *e, const struct http_call_spec *spec, int64_t connect_ms)
{
	curl_easy_setopt(e, CURLOPT_URL, spec->url);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_PROXY, ""); /* none, whatever the environment says */
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	/* curl divides this among the addresses of a host; the watchdog has the same */
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
	curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, spec->max_redirects > 0 ? 1L : 0L);
	curl_easy_setopt(e, CURLOPT_MAXREDIRS, (long)spec->max_redirects);
	if (spec->ca_file)
		curl_easy_setopt(e, CURLOPT_CAINFO, spec->ca_file);
}

static void set_callbacks(struct http_call *c)
{
	CURL *e = c->easy;

	curl_easy_setopt(e, CURLOPT_PRIVATE, c);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->curl_text);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, c);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, c);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
}

int brd_http_call_setup(
	struct http_call *c, const struct http_call_spec *spec, struct bread_err *err)
{
	int r = brd_url_check(brd_str(spec->url), err);

	brd_buf_init(&c->head, HEAD_MAX);
	if (r)
		return r;
	c->easy = curl_easy_init();
	if (!c->easy)
		return brd_fail(err, BREAD_E_BUSY, "net.client", "no memory for another call");
	c->allow_addr = spec->allow_addr;
	c->on_head = spec->on_head;
	c->on_data = spec->on_data;
	c->arg = spec->arg;
	c->connect_ms = spec->connect_ms ? spec->connect_ms : CONNECT_MS;
	c->headers_ms = spec->headers_ms ? spec->headers_ms : HEADERS_MS;
	c->silence_ms = spec->silence_ms;
	c->follows = spec->max_redirects > 0;
	name_peer(c, spec->url);
	set_rules(c->easy, spec, c->connect_ms);
	set_callbacks(c);
	r = set_method(c, spec, err);
	return r ? r : set_headers(c, spec->headers, err);
}

/* ---- the outcome ---- */

/* What curl had to say, for the cases in which that is a fact about the peer. */
static const char *detail(const struct http_call *c, CURLcode r)
{
	return c->curl_text[0] ? c->curl_text : curl_easy_strerror(r);
}

static enum bread_code not_connected(struct http_call *c, CURLcode r, struct bread_err *err)
{
	long e = 0;

	if (c->vetoed)
		return brd_fail_as(err, BREAD_E_INVALID, "address", "net.client",
			"%s has an address that may not be called from here (loopback, private or "
			"the like); allow it in the configuration or use another host",
			c->peer);
	if (r != CURLE_COULDNT_CONNECT)
		return brd_fail(err, BREAD_E_CANCELED, "net.client", "the call was cut");
	curl_easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &e);
	return brd_fail_as(err, BREAD_E_UPSTREAM, "refused", "net.client",
		"no connection to %s (%s); check that it runs and that the port is right", c->peer,
		e ? brd_errno((int)e) : "refused");
}

static enum bread_code cut(struct http_call *c, struct bread_err *err)
{
	return brd_fail_as(err, BREAD_E_UPSTREAM, "reset", "net.client",
		"%s closed the connection %s", c->peer,
		c->head_done ? "in the middle of its answer" : "before it answered");
}

static enum bread_code other_trouble(struct http_call *c, CURLcode r, struct bread_err *err)
{
	if (c->follows && brd_http_call_find(c, "location").p &&
		(r == CURLE_URL_MALFORMAT || r == CURLE_UNSUPPORTED_PROTOCOL))
		return brd_fail_as(err, BREAD_E_UPSTREAM, "redirects", "net.client",
			"%s sent us on to a URL that is not http or https", c->peer);
	if (c->head.bad)
		return brd_fail_as(err, BREAD_E_UPSTREAM, "protocol", "net.client",
			"%s sent a head of more than %d KiB", c->peer, (int)(HEAD_MAX / 1024));
	return brd_fail_as(err, BREAD_E_UPSTREAM, "protocol", "net.client",
		"the answer of %s is not usable: %s", c->peer, curl_easy_strerror(r));
}

enum bread_code brd_http_call_outcome(struct http_call *c, CURLcode r, struct bread_err *err)
{
	switch (r) {
	case CURLE_OK:
		return c->head_done ? BREAD_OK : cut(c, err);
	case CURLE_COULDNT_RESOLVE_HOST:
		return brd_fail_as(err, BREAD_E_UPSTREAM, "dns", "net.client",
			"the host of %s is not known; check its name and the network", c->peer);
	case CURLE_COULDNT_CONNECT:
	case CURLE_ABORTED_BY_CALLBACK:
		return not_connected(c, r, err);
	case CURLE_OPERATION_TIMEDOUT:
		return brd_fail_as(err, BREAD_E_TIMEOUT, "connect", "net.client",
			"%s could not be connected to within %lld ms", c->peer,
			(long long)c->connect_ms);
	case CURLE_RECV_ERROR:
		/* also for chunks that are none; the text alone tells them apart */
		return strstr(c->curl_text, "chunk") ? other_trouble(c, r, err) : cut(c, err);
	case CURLE_SEND_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		return cut(c, err);
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_SHUTDOWN_FAILED:
		return brd_fail_as(err, BREAD_E_UPSTREAM, "tls", "net.client",
			"no TLS with %s: %s; check its certificate and the CA file", c->peer,
			detail(c, r));
	case CURLE_TOO_MANY_REDIRECTS:
		return brd_fail_as(err, BREAD_E_UPSTREAM, "redirects", "net.client",
			"%s sent us on too often", c->peer);
	default:
		return other_trouble(c, r, err);
	}
}

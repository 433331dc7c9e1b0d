/* SPDX-License-Identifier: MIT */
/* The server's life, its settings and figures.
 *
 * Freeing it closes everything at once and tells the owners of open requests
 * then and there; its memory goes when the loop has let go of the listeners, so
 * it may be freed from any callback of its own. */
#include "net/server_priv.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/err.h"
#include "base/mem.h"

#define IDLE_MS 30000
#define STALL_MS 30000
#define CONNS_MOST ((size_t)1 << 20)
#define FILES_OF_OTHERS 64 /* left to stores, models, tools */

static size_t conns_allowed(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur == RLIM_INFINITY || l.rlim_cur > CONNS_MOST)
		return CONNS_MOST;
	return l.rlim_cur > FILES_OF_OTHERS * 2 ? (size_t)l.rlim_cur - FILES_OF_OTHERS
						: FILES_OF_OTHERS;
}

static void set_conf(struct http_server *s, const struct http_server_conf *c)
{
	s->conf = *c;
	s->conf.host = s->conf.tls_cert = s->conf.tls_key = NULL;
	if (s->conf.max_conns == 0)
		s->conf.max_conns = conns_allowed();
	if (s->conf.idle_ms == 0)
		s->conf.idle_ms = IDLE_MS;
	if (s->conf.stall_ms == 0)
		s->conf.stall_ms = STALL_MS;
}

int brd_http_server_new(struct http_server **ret, struct loop *l, const struct http_server_conf *c,
	struct bread_err *err)
{
	struct http_server *s = brd_alloc(sizeof(*s));
	int r = 0;

	s->loop = l;
	set_conf(s, c);
	brd_list_init(&s->conns);
	brd_list_init(&s->idle);
	brd_list_init(&s->again);
	brd_list_init(&s->orphans);
	brd_buf_init(&s->text, BUF_NO_LIMIT);
	s->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (c->tls_cert || c->tls_key)
		r = brd_tls_new(&s->tls, c->tls_cert, c->tls_key, err);
	if (r == 0)
		r = brd_listen(s, c->host ? c->host : "localhost", err);
	if (r) {
		brd_http_server_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

int brd_http_server_port(const struct http_server *s)
{
	return s->port;
}

void brd_http_server_stats(const struct http_server *s, struct http_server_stats *ret)
{
	*ret = s->stats;
}

void brd_http_server_refuse(struct http_server *s)
{
	s->refusing = true;
	brd_listen_stop(s);
	brd_list_each_safe(it, &s->idle) {
		struct http_conn *c = brd_list_of(it, struct http_conn, idle);

		if (c->state == CONN_HEAD && c->in.len == 0)
			brd_conn_close(c);
	}
}

void brd_server_drop(struct http_server *s)
{
	for (struct http_req *req; (req = s->pool);) {
		s->pool = req->next;
		req->conn = NULL;
		brd_req_free(req);
	}
	brd_arena_fini(&s->scratch);
	brd_buf_fini(&s->text);
	brd_tls_free(s->tls);
	if (s->reserve >= 0)
		close(s->reserve);
	free(s->unix_path);
	free(s);
}

static void on_last(struct post *p)
{
	brd_server_drop(brd_list_of(p, struct http_server, last));
}

void brd_http_server_free(struct http_server *s)
{
	struct list *it;

	if (!s)
		return;
	s->freed = true;
	s->refusing = true;
	brd_listen_stop(s);
	while (!brd_list_empty(&s->conns))
		brd_conn_close(brd_list_of(s->conns.next, struct http_conn, link));
	while ((it = brd_list_pop(&s->orphans)))
		brd_req_tell(brd_list_of(it, struct http_req, orphan));
	brd_timer_stop(&s->kick);
	brd_timer_stop(&s->pause);
	if (s->listeners_open == 0) {
		s->last.run = on_last;
		brd_loop_post(s->loop, &s->last);
	}
}

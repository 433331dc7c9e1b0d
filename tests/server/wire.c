/* SPDX-License-Identifier: MIT */
#include "server/wire.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 10000

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void must(int r, const struct bread_err *err)
{
	if (r)
		fail_msg("%s: %s", err->where, err->text);
}

void wire_open(struct wire *w, const char *models, const char *config, const char *server)
{
	struct bread_err err = { 0 };
	struct buf conf;

	brd_buf_init(&conf, BUF_NO_LIMIT);
	brd_buf_addf(&conf,
		"{\"store\":\"memory\",\"transport\":\"stream\",\"providers\":{\"mock\":"
		"{\"type\":\"scripted\",\"models\":%s}}%s%s}",
		models, config ? "," : "", config ? config : "");
	must(bread_new(&w->bread, &err), &err);
	must(bread_configure(w->bread, brd_buf_str(&conf), &err), &err);
	must(bread_start(w->bread, &err), &err);
	must(bread_serve(&w->server, w->bread,
		     brd_str(server ? server : "{\"port\":0,\"host\":\"127.0.0.1\"}"),
		     BRD_STR("[\"http-chunked\",\"http-sse\"]"), &err),
		&err);
	w->port = bread_server_port(w->server);
	brd_buf_fini(&conf);
}

void wire_agent(struct wire *w, const char *id, const char *json)
{
	struct bread_err err = { 0 };

	must(bread_agent(w->bread, id, brd_str(json), NULL, &err), &err);
}

void wire_close(struct wire *w)
{
	bread_server_close(w->server);
	bread_stop(w->bread, 100);
	bread_free(w->bread);
}

void wire_turn(struct wire *w, int ms)
{
	int64_t end = now_ms() + ms;

	do
		bread_turn(w->bread, 1);
	while (now_ms() < end);
}

void peer_open(struct peer *p, struct wire *w)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)w->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	*p = (struct peer){ .wire = w };
	brd_buf_init(&p->got, BUF_NO_LIMIT);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(p->fd, (void *)&a, sizeof(a)), 0);
	fcntl(p->fd, F_SETFL, O_NONBLOCK);
}

void peer_close(struct peer *p)
{
	close(p->fd);
	brd_buf_fini(&p->got);
}

void peer_send(struct peer *p, const char *text)
{
	for (size_t n = strlen(text); n;) {
		ssize_t sent = send(p->fd, text, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EAGAIN) {
			bread_turn(p->wire->bread, 1);
			continue;
		}
		assert_true(sent > 0);
		text += sent;
		n -= (size_t)sent;
	}
}

void peer_request(struct peer *p, const char *method_path, const char *headers, const char *body)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addf(
		&b, "%s HTTP/1.1\r\nHost: localhost\r\n%s", method_path, headers ? headers : "");
	if (body)
		brd_buf_addf(&b, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
			strlen(body));
	brd_buf_addf(&b, "\r\n%s", body ? body : "");
	peer_send(p, b.data);
	brd_buf_fini(&b);
}

static void take(struct peer *p)
{
	char some[16384];
	ssize_t n;

	while ((n = recv(p->fd, some, sizeof(some), 0)) > 0)
		brd_buf_addn(&p->got, some, (size_t)n);
	if (n == 0 || (n < 0 && errno != EAGAIN))
		p->eof = true;
}

bool peer_got(const struct peer *p, const char *text)
{
	return memmem(p->got.data, p->got.len, text, strlen(text)) != NULL;
}

static void turn_until(struct peer *p, const char *text)
{
	int64_t end = now_ms() + PATIENCE_MS;

	for (;;) {
		take(p);
		if (text ? peer_got(p, text) : p->eof)
			return;
		if (p->eof || now_ms() > end)
			fail_msg("expected %s; got:\n%s", text ? text : "the end", p->got.data);
		bread_turn(p->wire->bread, 2);
	}
}

void peer_until(struct peer *p, const char *text)
{
	turn_until(p, text);
}

void peer_until_eof(struct peer *p)
{
	turn_until(p, NULL);
}

int peer_status(const struct peer *p)
{
	return p->got.len > 12 ? atoi(p->got.data + 9) : 0;
}

void peer_forget(struct peer *p)
{
	brd_buf_clear(&p->got);
}

char *wire_ask(struct wire *w, const char *method_path, const char *headers, const char *body)
{
	struct peer p;
	struct buf with;
	char *all;

	brd_buf_init(&with, BUF_NO_LIMIT);
	brd_buf_addf(&with, "Connection: close\r\n%s", headers ? headers : "");
	peer_open(&p, w);
	peer_request(&p, method_path, with.data, body);
	peer_until_eof(&p);
	all = brd_buf_take(&p.got, NULL);
	brd_buf_fini(&with);
	peer_close(&p);
	return all;
}

char *wire_body(char *answer)
{
	char *body = strstr(answer, "\r\n\r\n"), *to, *from;
	bool chunked = strstr(answer, "Transfer-Encoding: chunked") != NULL;

	assert_non_null(body);
	body += 4;
	if (!chunked)
		return body;
	for (to = from = body;;) {
		size_t n = strtoul(from, &from, 16);

		from += 2;
		memmove(to, from, n);
		to += n;
		from += n + 2;
		if (n == 0)
			break;
	}
	*to = 0;
	return body;
}

void wire_run_id(const char *text, char id[64])
{
	const char *at = strstr(text, "\"runId\":\"");

	assert_non_null(at);
	snprintf(id, 64, "%.36s", at + 9);
}

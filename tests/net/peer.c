/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "peer.h"

struct conn {
	struct peer *p;
	int fd;
};

static void fail(const char *what)
{
	perror(what);
	abort();
}

static void *run_conn(void *arg)
{
	struct conn c = *(struct conn *)arg;

	free(arg);
	c.p->serve(c.p, c.fd);
	close(c.fd);
	return NULL;
}

static void *run_acceptor(void *arg)
{
	struct peer *p = arg;
	int fd;

	while ((fd = accept(p->fd, NULL, NULL)) >= 0) {
		struct conn *c = malloc(sizeof(*c));

		if (p->conns == PEER_CONNS)
			abort();
		c->p = p;
		c->fd = fd;
		pthread_create(&p->threads[p->conns], NULL, run_conn, c);
		p->conns++;
	}
	return NULL;
}

void peer_start(struct peer *p, void (*serve)(struct peer *p, int conn))
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof(a);

	memset(p, 0, sizeof(*p));
	p->serve = serve;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (p->fd < 0 || bind(p->fd, (struct sockaddr *)&a, n) || listen(p->fd, 128) ||
		getsockname(p->fd, (struct sockaddr *)&a, &n))
		fail("peer");
	p->port = ntohs(a.sin_port);
	pthread_create(&p->acceptor, NULL, run_acceptor, p);
}

void peer_stop(struct peer *p)
{
	shutdown(p->fd, SHUT_RDWR);
	pthread_join(p->acceptor, NULL);
	for (int i = 0; i < p->conns; i++)
		pthread_join(p->threads[i], NULL);
	close(p->fd);
}

static size_t content_length(const char *head)
{
	const char *at = strcasestr(head, "\r\ncontent-length:");

	return at ? strtoul(at + 17, NULL, 10) : 0;
}

bool peer_read(struct peer *p, int conn, char *buf, size_t size)
{
	size_t n = 0, want = 0;

	for (;;) {
		char *end;
		ssize_t got;

		buf[n] = '\0';
		end = strstr(buf, "\r\n\r\n");
		if (end)
			want = (size_t)(end + 4 - buf) + content_length(buf);
		if (end && n >= want)
			break;
		got = n + 1 < size ? recv(conn, buf + n, size - n - 1, 0) : -1;
		if (got <= 0)
			return false;
		n += (size_t)got;
	}
	p->requests++;
	return true;
}

void peer_send_n(int conn, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n) {
		ssize_t did = send(conn, at, n, MSG_NOSIGNAL);

		if (did <= 0)
			return;
		at += did;
		n -= (size_t)did;
	}
}

void peer_send(int conn, const char *bytes)
{
	peer_send_n(conn, bytes, strlen(bytes));
}

void peer_wait_closed(struct peer *p, int conn)
{
	char b[4096];

	while (recv(conn, b, sizeof(b), 0) > 0)
		;
	p->closed++;
}

void peer_reset(int conn)
{
	struct linger l = { 1, 0 };

	setsockopt(conn, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

/* SPDX-License-Identifier: MIT */
/* A peer for tests of the HTTP client: raw sockets on threads of its own, so that
 * it can do what no decent server does. Each connection gets a thread that runs
 * serve, after which the connection is closed. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define PEER_CONNS 64

struct peer {
	int fd, port;
	void (*serve)(struct peer *p, int conn);
	pthread_t acceptor;
	pthread_t threads[PEER_CONNS];
	atomic_int conns;    /* accepted */
	atomic_int requests; /* read whole by peer_read */
	atomic_int closed;   /* seen closed by the client */
};

void peer_start(struct peer *p, void (*serve)(struct peer *p, int conn));
/* Only when the client has closed its connections, or serve ends by itself. */
void peer_stop(struct peer *p);

/* One request, head and body, into buf as a string; false when the client has gone. */
bool peer_read(struct peer *p, int conn, char *buf, size_t size);
void peer_send(int conn, const char *bytes);
void peer_send_n(int conn, const void *bytes, size_t n);
/* Until the client has closed the connection. */
void peer_wait_closed(struct peer *p, int conn);
void peer_reset(int conn); /* closes with RST */

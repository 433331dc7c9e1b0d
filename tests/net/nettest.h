/* SPDX-License-Identifier: MIT */
/* A server and raw peers in one process, on one thread: peers are sockets that
 * never wait, and waiting for one is turning the loop.
 *
 * The server's handler answers by path:
 *   /echo     the body, at once
 *   /head     what the reader made of the head, as lines
 *   /hold     nothing: the request is put into held
 *   /watch    the same, watched
 *   /stream   a stream's head; the request is put into held
 *   /big?n=N  N bytes */
#pragma once
#include "base/buf.h"
#include "net/server.h"

#define RIG_HELD 2048

struct rig {
	struct loop *loop;
	struct http_server *server;
	struct http_req *held[RIG_HELD]; /* NULL where the peer has gone */
	size_t held_count;
	size_t writable, closed; /* events heard */
	char *big;
};

struct peer {
	struct rig *rig;
	int fd;
	struct buf got;
	bool eof, reset;
};

void rig_start(struct rig *r, struct http_server_conf c); /* on_request is the rig's */
void rig_stop(struct rig *r);
void rig_turns(struct rig *r, int n);
bool rig_until(struct rig *r, bool (*done)(void *arg), void *arg); /* false: it did not come */
void rig_until_held(struct rig *r, size_t n);
void rig_until_closed(struct rig *r, size_t n);

void peer_open(struct peer *p, struct rig *r);
void peer_close(struct peer *p);
void peer_reset(struct peer *p); /* the hard way */
void peer_send(struct peer *p, const char *z);
void peer_sendn(struct peer *p, const void *bytes, size_t n); /* all of it, turning the loop */
void peer_take(struct peer *p);                               /* what is there, into got */
void peer_await(struct peer *p, const char *text);            /* until got has it */
void peer_await_end(struct peer *p);

/* Waits for one whole answer (with a Content-Length, or none for HEAD), takes it
 * out of got, returns its status; the strings live until the next call. */
int peer_answer(struct peer *p, struct bread_str *ret_head, struct bread_str *ret_body);
int peer_answer_to_head(struct peer *p, struct bread_str *ret_head);
/* The same, checked in one line. */
void peer_expect(struct peer *p, int status, const char *body);
void peer_expect_refusal(struct peer *p, int status, const char *code); /* and the end */
bool has_line(struct bread_str head, const char *line);

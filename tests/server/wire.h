/* SPDX-License-Identifier: MIT */
/* The whole server in the test's process, and peers that send and expect bytes. */
#pragma once
#include "test.h"
#include "base/buf.h"
#include "base/str.h"
#include "bread/server.h"

struct wire {
	struct bread *bread;
	struct bread_server *server;
	int port;
};

/* models: the scripted provider's; config: more of bread.yaml, or NULL; server: JSON, or NULL */
void wire_open(struct wire *w, const char *models, const char *config, const char *server);
void wire_agent(struct wire *w, const char *id, const char *json);
void wire_close(struct wire *w);
void wire_turn(struct wire *w, int ms); /* turns for that much real time */

struct peer {
	struct wire *wire;
	int fd;
	struct buf got;
	bool eof;
};
void peer_open(struct peer *p, struct wire *w);
void peer_close(struct peer *p);
void peer_send(struct peer *p, const char *text);
/* "METHOD PATH", headers (lines that end in CRLF, or NULL), body (or NULL). */
void peer_request(struct peer *p, const char *method_path, const char *headers, const char *body);
void peer_until(struct peer *p, const char *text); /* what it got has text in it */
void peer_until_eof(struct peer *p);
bool peer_got(const struct peer *p, const char *text);
int peer_status(const struct peer *p);
void peer_forget(struct peer *p); /* what it got so far */

/* One request on a connection of its own; everything up to the end. Owned by the caller. */
char *wire_ask(struct wire *w, const char *method_path, const char *headers, const char *body);
/* The body of an answer, chunks joined; in place. */
char *wire_body(char *answer);
/* The run's id in a stream or an answer. */
void wire_run_id(const char *text, char id[64]);

/* SPDX-License-Identifier: MIT */
/* What the tests of the HTTP client share: a loop, a client, a peer, and a call
 * whose answer is gathered. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include "test.h"
#include "base/clock.h"
#include "base/str.h"
#include "net/client.h"
#include "peer.h"

struct fetch {
	struct http_call_spec spec;
	char url[256];
	struct bread_op op;
	struct http_call *call;
	struct buf body;
	int heads; /* how often on_head was called */
	int datas;
	bool ended;
};

static struct loop *loop;
static struct http_client *client;
static struct peer peer;

static inline void on_fetched(struct bread_op *op)
{
	((struct fetch *)op->arg)->ended = true;
}

static inline void on_head(void *arg, struct http_call *c)
{
	struct fetch *f = arg;

	assert_int_equal(f->datas, 0);
	assert_true(brd_http_call_status(c) >= 200);
	f->heads++;
}

static inline bool on_data(void *arg, struct bread_str bytes)
{
	struct fetch *f = arg;

	assert_int_equal(f->heads, 1);
	assert_false(f->ended);
	f->datas++;
	brd_buf_add(&f->body, bytes);
	return true;
}

static inline struct fetch *fetch_at(int port, const char *path)
{
	struct fetch *f = calloc(1, sizeof(*f));

	brd_buf_init(&f->body, 64 << 20);
	snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%d%s", port, path);
	f->spec.method = "GET";
	f->spec.url = f->url;
	f->spec.on_head = on_head;
	f->spec.on_data = on_data;
	f->spec.arg = f;
	bread_op_init(&f->op, loop, on_fetched, f);
	return f;
}

static inline struct fetch *fetch_new(const char *path)
{
	return fetch_at(peer.port, path);
}

static inline void fetch_start(struct fetch *f)
{
	f->call = brd_http_call_start(client, &f->spec, &f->op);
	assert_false(f->ended);
}

static inline void fetch_wait(struct fetch *f)
{
	while (!f->ended)
		brd_loop_turn(loop, -1);
}

static inline void fetch_run(struct fetch *f)
{
	fetch_start(f);
	fetch_wait(f);
}

static inline void fetch_free(struct fetch *f)
{
	brd_http_call_free(f->call);
	brd_buf_fini(&f->body);
	free(f);
}

/* Expects an error and leaves nothing. */
static inline void fetch_fails(struct fetch *f, enum bread_code code, const char *name)
{
	if (!f->call)
		fetch_start(f);
	fetch_wait(f);
	assert_int_equal(f->op.code, code);
	assert_string_equal(f->op.err.name, name);
	assert_true(f->op.err.text[0] != '\0');
	fetch_free(f);
}

static inline int begin(void (*serve)(struct peer *p, int conn))
{
	struct bread_err err;

	peer_start(&peer, serve);
	assert_int_equal(brd_loop_new(&loop, &err), 0);
	assert_int_equal(brd_http_client_new(&client, loop, &err), 0);
	return 0;
}

static inline int finish(void **state)
{
	brd_http_client_free(client);
	brd_loop_free(loop);
	peer_stop(&peer);
	brd_clock_thaw();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* The inside of the HTTP client, for the files client*.c only. */
#pragma once
#include <uv.h>
#include "net/client.h"
#include "net/curl.h"

struct http_client {
	struct loop *loop;
	CURLM *multi;
	uv_timer_t *timer;   /* curl's; real time, because curl measures by it */
	struct list calls;   /* those that have not ended */
	struct list touched; /* calls to bring up to date once curl has returned */
	struct list sockets;
	int busy; /* inside curl: it must not be called from its callbacks */
};

enum call_state {
	CALL_CONNECTING, /* looking up the name, connecting, TLS */
	CALL_WAITING,    /* for the final status line */
	CALL_BODY,
	CALL_ENDED, /* the op too, or it will in this turn */
};

struct http_call {
	struct http_client *client; /* NULL once ended */
	struct list link;           /* in client->calls */
	struct list touched;
	struct bread_op *op;
	CURL *easy;
	struct curl_slist *headers;
	char *body;
	char peer[128]; /* "host:port", for messages */
	char curl_text[CURL_ERROR_SIZE];

	/* the owner's */
	bool (*allow_addr)(void *arg, const void *sa);
	void (*on_head)(void *arg, struct http_call *c);
	bool (*on_data)(void *arg, struct bread_str bytes);
	void *arg;

	enum call_state state;
	bool added;              /* curl's multi handle has it */
	bool want_pause, paused; /* what is asked, and what curl knows */
	bool vetoed;             /* allow_addr refused an address */
	bool head_done;
	bool has_own_headers; /* beside those that say what the body is */
	bool follows;         /* redirects are followed */
	bool doomed;          /* code and err are set; it ends at the next flush */
	int status;           /* of the final answer */
	int seen;             /* of the head that is being read */
	struct buf head;      /* its header lines */

	struct timer watch; /* connect, headers or silence, by state */
	int64_t connect_ms, headers_ms, silence_ms;
	int64_t last; /* when body bytes came last */

	enum bread_code code;
	struct bread_err err;
};

/* client.c: ends the call soon; only the first outcome counts. */
void brd_http_call_stop(struct http_call *c, enum bread_code code, const struct bread_err *err);
/* client.c: restarts the watchdog. */
void brd_http_call_watch(struct http_call *c, int64_t ms);

/* client_call.c: the easy handle with all its options, or why not. */
int brd_http_call_setup(
	struct http_call *c, const struct http_call_spec *spec, struct bread_err *err);
/* client_call.c: a header of the head that was read last; p NULL: absent. */
struct bread_str brd_http_call_find(const struct http_call *c, const char *name);
/* client_call.c: what went wrong, by curl's code. */
enum bread_code brd_http_call_outcome(struct http_call *c, CURLcode r, struct bread_err *err);

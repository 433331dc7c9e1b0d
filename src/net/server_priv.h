/* SPDX-License-Identifier: MIT */
/* What the server's files share.
 *
 *   server.c         the server's life, its settings and figures
 *   server_listen.c  sockets that listen, and accepting
 *   server_conn.c    a connection: events in, states, deadlines, the end
 *   server_read.c    bytes to requests; refusals
 *   server_write.c   answers to bytes; what did not fit waits here
 *   server_req.c     what the owner of a request can ask and answer
 *   server_tls.c     OpenSSL on the socket
 *
 * A request belongs to its connection until it is handed over; then to whoever
 * got it, until the answer. When the peer goes first, the two are parted
 * (req->conn NULL) and the request waits alone for its owner's last call. */
#pragma once
#include <uv.h>
#include "net/server.h"

struct ssl_st;
struct ssl_ctx_st;

#define LISTENERS_MAX 4
#define READ_SIZE (64 * 1024)
#define REQ_POOL_MAX 64
#define HEAD_MS 10000
/* A body may take this long, and a millisecond more for each byte that came:
 * nobody holds a connection with less than 1 kB a second. */
#define BODY_MS 30000
#define LINGER_MS 2000 /* without a byte; at most LINGER_ALL_MS in all */
#define LINGER_ALL_MS 10000

enum conn_state {
	CONN_HANDSHAKE,
	CONN_HEAD,   /* between two requests, or in a head */
	CONN_BODY,   /* of known length */
	CONN_CHUNKS, /* a chunked body */
	CONN_HELD,   /* the request is with its owner */
	CONN_FLUSH,  /* answered; bytes of it wait for the socket */
	CONN_LINGER, /* our side is shut; what the peer still sends is dropped */
	CONN_CLOSED, /* waits for the loop to let go of it */
};

struct http_conn {
	uv_poll_t poll;
	struct http_server *server; /* not owned; not to be touched once closed */
	struct ssl_st *tls;         /* NULL: plain */
	struct http_req *req;       /* being read, or held; NULL: none */
	struct list link;           /* of all connections */
	struct list idle;           /* of those without a request in hand, oldest first */
	struct list again;          /* of those to be looked at in the next turn */
	struct timer timer;         /* fires at due or before; moved only when it must */
	int64_t due;                /* 0: nothing is waited for */
	int64_t since;              /* when the body, or the lingering, began */
	struct buf in;              /* read, not yet used: a part of a head, pipelined requests */
	size_t in_seen;             /* of in, searched for the head's end */
	struct buf out;             /* of an answer, not yet sent; from out_sent on */
	size_t out_sent;
	int fd;
	unsigned char state; /* enum conn_state */
	unsigned char mask;  /* what the loop watches for */
	bool local : 1;      /* the peer is on this machine */
	bool busy : 1;       /* requests are being read, further up the stack */
	bool close : 1;      /* after the answer */
	bool deaf : 1;       /* bytes came while the request was held: do not watch for them */
	bool half : 1;       /* the peer has ended its side */
	bool tls_writes : 1; /* the handshake waits for room */
};

struct http_req {
	struct http_conn *conn; /* NULL: the peer has gone */
	struct loop *loop;
	struct http_head head;
	struct bread_str body;
	struct buf parts; /* a body that came in pieces */
	struct http_chunks chunks;
	size_t charged;     /* of parts, to the server's bodies */
	struct arena arena; /* the owner's */
	char *mem;          /* what head points to, and a body that came at once */
	size_t mem_cap;
	struct http_stream_events ev;
	struct post last;   /* brings on_closed, once the peer has gone */
	struct iovec *rest; /* of a stream's write; the bytes are the owner's */
	int rest_count;
	struct http_req *next; /* in the pool */
	struct list orphan;    /* in the server's list, while last is posted */
	bool watched : 1;
	bool streamed : 1;
	bool chunked : 1;  /* the stream's body */
	bool bodyless : 1; /* HEAD */
	bool local : 1;
	bool dying : 1; /* last is posted */
	bool ended : 1; /* its owner is through with it, only last is not */
};

struct http_listener {
	uv_poll_t poll;
	struct http_server *server;
	int fd;
};

struct http_server {
	struct loop *loop;
	struct http_server_conf conf; /* its strings are not kept */
	struct ssl_ctx_st *tls;
	struct http_listener listeners[LISTENERS_MAX];
	int listener_count, listeners_open; /* open: not yet let go of by the loop */
	int port;
	char *unix_path; /* to be removed at the end */
	int reserve;     /* a spare descriptor, to refuse with when there is none left */
	bool refusing, freed;
	struct timer pause; /* accepting starts again */
	struct timer kick;  /* looks after again */
	struct list conns, idle, again, orphans;
	struct post last; /* frees it, when it is freed after its listeners */
	struct http_req *pool;
	int pool_count;
	size_t bodies;        /* bytes of bodies that are being read */
	struct arena scratch; /* a head, while it is judged */
	struct buf text;      /* an answer's head, while it is sent */
	char date[48];        /* "Date: ...\r\n" */
	size_t date_len;
	int64_t date_second;
	struct http_server_stats stats;
	char in[READ_SIZE]; /* what was just read; nothing stays here between two events */
};

/* ---- server_listen.c ---- */
int brd_listen(struct http_server *s, const char *host, struct bread_err *err);
void brd_listen_stop(struct http_server *s);  /* closes the listeners */
void brd_listen_evict(struct http_server *s); /* the oldest idle connection, if there is one */

/* ---- server.c ---- */
void brd_server_drop(struct http_server *s); /* its memory: nothing of the loop's points to it */

/* ---- server_conn.c ---- */
void brd_conn_new(struct http_server *s, int fd, bool local);
void brd_conn_close(struct http_conn *c); /* at once; a request that is held goes on without it */
void brd_conn_shut(struct http_conn *c);  /* our side ends; close once the peer has seen it */
void brd_conn_deadline(struct http_conn *c, int64_t ms);
void brd_conn_again(struct http_conn *c);    /* look at it in the next turn */
void brd_conn_watch(struct http_conn *c);    /* tells the loop what is waited for now */
void brd_conn_answered(struct http_conn *c); /* all is sent: the next request, or the end */

/* ---- server_read.c ---- */
void brd_conn_read(struct http_conn *c);
void brd_conn_take(struct http_conn *c, struct bread_str bytes); /* just read, or empty */
void brd_conn_refuse(struct http_conn *c, int status, const char *fault);

/* ---- server_write.c ---- */
/* Sends what it can. Bytes sent; -1: the peer has gone. */
ptrdiff_t brd_conn_send(struct http_conn *c, const struct iovec *v, int n);
/* Sends, and keeps a copy of what did not go. false: the peer has gone. */
bool brd_conn_put(struct http_conn *c, const struct iovec *v, int n);
bool brd_conn_waits(const struct http_conn *c); /* out is not empty */
void brd_conn_writable(struct http_conn *c);
/* The head of an answer, into s->text. length < 0: chunked if the request can, else until the end.
 */
void brd_answer_head(struct http_conn *c, const struct http_req *req, int status,
	const char *content_type, struct bread_str extra, int64_t length);
void brd_iov_skip(struct iovec **v, int *n, size_t sent);

/* ---- server_req.c ---- */
struct http_req *brd_req_new(struct http_conn *c, const struct http_head *head,
	struct bread_str raw, struct bread_str body);
void brd_req_free(struct http_req *req);   /* back to the pool, if it has a connection */
void brd_req_orphan(struct http_req *req); /* its peer has gone: on_closed will follow */
void brd_req_tell(struct http_req *req);   /* on_closed, unless it was told or has ended */

/* ---- server_tls.c ---- */
enum { TLS_AGAIN = -1, TLS_GONE = -2 }; /* an end of input is 0 */
int brd_tls_new(struct ssl_ctx_st **ret, const char *cert, const char *key, struct bread_err *err);
void brd_tls_free(struct ssl_ctx_st *t);
struct ssl_st *brd_tls_open(struct ssl_ctx_st *t, int fd);
void brd_tls_close(struct ssl_st *t);
/* 1: done, TLS_AGAIN (*ret_writes: for room), TLS_GONE */
int brd_tls_handshake(struct ssl_st *t, bool *ret_writes);
ptrdiff_t brd_tls_read(struct ssl_st *t, char *out, size_t n);
ptrdiff_t brd_tls_write(struct ssl_st *t, const char *p, size_t n);
bool brd_tls_has_more(struct ssl_st *t); /* read from the socket, not yet from t */
void brd_tls_bye(struct ssl_st *t);

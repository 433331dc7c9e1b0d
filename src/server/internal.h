/* SPDX-License-Identifier: MIT */
/* The inside of the server, for the files of this folder.
 *
 * A server is as many shards as the instance has loops: each with a listener, its
 * connections, viewers and counters, touched by its loop's thread alone (counters are
 * atomics, so that /metrics may add them up). Routes and settings are made before the
 * first shard listens and never change. It lives until it was closed and the last
 * request that somebody still answers is answered. */
#pragma once
#include <stdatomic.h>
#include "config/conf.h"
#include "crumb/crumb.h"
#include "instance/instance.h"
#include "net/server.h"
#include "server/server.h"

#define PARAMS_MAX 4
#define SEGMENTS_MAX 8
#define BUCKETS 11 /* of times to an answer's head; brd_bucket_us has their bounds */

struct server_conf {
	char *host;
	int64_t port;
	int64_t threads; /* the instance's; known here so that it is no unknown key */
	int64_t max_body, max_connections, max_event;
	int64_t heartbeat_ms, stall_ms;
	double idle_s;
	struct conf_strs hosts, origins;
	struct {
		char *cert, *key;
	} tls;
};
/* Does it name ways in that there are? */
int brd_server_check_ingress(struct jval list, struct bread_err *err);

extern const struct conf_field brd_server_fields[];
extern const size_t brd_server_field_count;

/* The statuses that are counted by themselves; all others are the last one's. */
extern const int brd_statuses[];
#define STATUSES 17
extern const int64_t brd_bucket_us[BUCKETS];

struct route_stats {
	_Atomic uint64_t status[STATUSES];
	_Atomic uint64_t bucket[BUCKETS]; /* not cumulative */
	_Atomic uint64_t sum_us, count;
};

struct segment_pattern {
	struct bread_str text; /* of a parameter: its name */
	bool param;
};

struct route {
	struct bread_str method, pattern;
	struct segment_pattern segments[SEGMENTS_MAX];
	size_t count;
	bread_handler *fn;
	void *arg;
};

/* A framing as streams of this shard write its fixed pieces. */
struct wire {
	const struct bread_framing *framing;
	struct bread_str hello[2], heartbeat[2]; /* [1]: as HTTP chunks */
	_Atomic int64_t open;                    /* streams */
};
#define WIRES_MAX 16

enum { DROP_DEAD, DROP_DRAINED, DROPS };
enum { RESUME_OK, RESUME_INVALID, RESUMES };

struct shard {
	struct bread_server *server;
	struct loop *loop;
	struct http_server *http;
	struct list viewers;
	struct wire wires[WIRES_MAX];
	_Atomic size_t wire_count;
	struct arena arena; /* of wires */
	struct timer tick;
	struct route_stats *stats; /* one a route, one more for what has none */
	_Atomic uint64_t drops[DROPS], resumes[RESUMES];
	_Atomic int64_t in_flight;
	struct post close;
	_Atomic bool closed; /* close was done */
};

struct mounted {
	struct list link;
	struct bread_ingress *ingress;
};

struct bread_server {
	struct bread *bread;
	struct arena arena;
	struct server_conf conf;
	int port;
	bool loopback; /* bound to one, so peers must call it by one */
	bool local;    /* a unix socket */
	struct route *routes;
	size_t route_count, route_room;
	struct list mounted;
	struct shard *shards;
	size_t shard_count;
	_Atomic size_t refs;
	int64_t started_wall;
};

struct bread_request {
	struct http_req *http;
	struct shard *shard;
	const struct route *route; /* NULL: none matched */
	struct bread_str params[PARAMS_MAX];
	int64_t begun_us;
};

/* routes.c */
void brd_route_add(struct bread_server *s, const char *method, const char *pattern,
	bread_handler *fn, void *arg);
const struct route *brd_route_find(const struct bread_server *s, struct bread_str method,
	struct bread_str path, struct bread_str params[PARAMS_MAX]);

/* guard.c: true when it may go on; else *ret_err says why not */
bool brd_guard_request(
	const struct bread_server *s, const struct http_req *req, struct bread_err *ret_err);
bool brd_host_loopback(struct bread_str host); /* with or without a port */

/* request.c */
void brd_request_serve(struct http_req *http, void *arg);     /* arg: struct shard */
void brd_request_done(struct bread_request *req, int status); /* counts, frees */

/* viewer.c */
void brd_viewers_close(struct shard *sh);
void brd_viewers_tick(struct timer *t); /* heartbeats, from here on: t is the shard's tick */

/* health.c, metrics.c */
void brd_health_mount(struct bread_server *s);
void brd_metrics_mount(struct bread_server *s);

/* server.c */
void brd_server_ref(struct bread_server *s);
void brd_server_unref(struct bread_server *s);

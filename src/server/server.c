/* SPDX-License-Identifier: MIT */
/* The server's life and settings.
 *
 * It is made on the thread that drives the instance, before the other loops have
 * threads; closing reaches each shard on its own loop. Listeners of several loops
 * share one port, and the kernel spreads connections over them. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/internal.h"

#define AT(member) offsetof(struct server_conf, member)
#define TLS_AT(member) \
	(offsetof(struct server_conf, tls.member) - offsetof(struct server_conf, tls))

static const struct conf_field tls_fields[] = {
	{ .key = "cert",
		.type = CONF_STR,
		.offset = TLS_AT(cert),
		.doc = "PEM file of the certificate chain." },
	{ .key = "key", .type = CONF_STR, .offset = TLS_AT(key), .doc = "PEM file of its key." },
};

const struct conf_field brd_server_fields[] = {
	{ .key = "host",
		.type = CONF_STR,
		.offset = AT(host),
		.dflt = "localhost",
		.doc = "Address to listen on; 0.0.0.0 is all of them; unix:/path is a socket." },
	{ .key = "port",
		.type = CONF_INT,
		.offset = AT(port),
		.dflt = "3000",
		.max = 65535,
		.doc = "Port to listen on; 0 takes a free one." },
	{ .key = "threads",
		.type = CONF_INT,
		.offset = AT(threads),
		.dflt = "1",
		.max = 256,
		.doc = "Event loops; 0 is one a core." },
	{ .key = "maxBodyBytes",
		.type = CONF_SIZE,
		.offset = AT(max_body),
		.dflt = "1MiB",
		.min = 1,
		.max = 1 << 30,
		.doc = "A larger request body is refused with 413." },
	{ .key = "maxConnections",
		.type = CONF_INT,
		.offset = AT(max_connections),
		.dflt = "0",
		.max = 1e7,
		.doc = "Connections at a time; 0: what the limit of open files allows." },
	{ .key = "maxEventBytes",
		.type = CONF_SIZE,
		.offset = AT(max_event),
		.dflt = "1MiB",
		.min = 4096,
		.max = 1 << 30,
		.doc = "A larger crumb goes out as a preview; ?full=1 asks for the whole." },
	{ .key = "heartbeat",
		.type = CONF_TIME,
		.offset = AT(heartbeat_ms),
		.dflt = "15s",
		.min = 100,
		.max = 3600000,
		.doc = "A stream that is silent for so long gets a sign of life." },
	{ .key = "stall",
		.type = CONF_TIME,
		.offset = AT(stall_ms),
		.dflt = "30s",
		.min = 1000,
		.max = 3600000,
		.doc = "A peer that takes nothing for so long is closed." },
	{ .key = "idleTimeout",
		.type = CONF_NUM,
		.offset = AT(idle_s),
		.dflt = "30",
		.max = 255,
		.doc = "Seconds that a kept-alive connection may wait for its next request; 0: no "
		       "end. Streams are never cut by it." },
	{ .key = "hosts",
		.type = CONF_STRS,
		.offset = AT(hosts),
		.doc = "Host names to answer to; empty: loopback names on a loopback address, else "
		       "any." },
	{ .key = "origins",
		.type = CONF_STRS,
		.offset = AT(origins),
		.doc = "Origins beside our own whose pages may change something." },
	{ .key = "tls",
		.type = CONF_GROUP,
		.offset = AT(tls),
		.sub = tls_fields,
		.sub_count = CONF_COUNT(tls_fields),
		.doc = "Serve HTTPS." },
};
const size_t brd_server_field_count = CONF_COUNT(brd_server_fields);

/* ---- references ---- */

void brd_server_ref(struct bread_server *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

static void unmount_all(struct bread_server *s);

/* Handlers that answer late still have their ingress. */
static void server_free(struct bread_server *s)
{
	unmount_all(s);
	for (size_t i = 0; i < s->shard_count; i++) {
		free(s->shards[i].stats);
		brd_arena_fini(&s->shards[i].arena);
	}
	free(s->shards);
	free(s->routes);
	brd_arena_fini(&s->arena);
	free(s);
}

void brd_server_unref(struct bread_server *s)
{
	if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
		server_free(s);
}

/* ---- ingresses ---- */

struct known_ingress {
	struct list link;
	const struct bread_ingress_ops *ops;
};

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list known = { &known, &known };

void bread_ingress_register(const struct bread_ingress_ops *ops)
{
	struct known_ingress *k = brd_alloc(sizeof(*k));

	k->ops = ops;
	pthread_mutex_lock(&known_lock);
	brd_list_push_front(&known, &k->link);
	pthread_mutex_unlock(&known_lock);
}

static const struct {
	const char *word;
	const struct bread_ingress_ops *ops;
} built_in[] = {
	{ "http-chunked", &bread_ingress_bread },
	{ "http-sse", &bread_ingress_bread },
};

static const struct bread_ingress_ops *ingress_named(struct bread_str word)
{
	const struct bread_ingress_ops *ops = NULL;

	for (size_t i = 0; i < CONF_COUNT(built_in); i++)
		if (brd_str_is(word, built_in[i].word))
			return built_in[i].ops;

	pthread_mutex_lock(&known_lock);
	brd_list_each(it, &known) {
		struct known_ingress *k = brd_list_of(it, struct known_ingress, link);

		if (!ops && brd_str_is(word, k->ops->name))
			ops = k->ops;
	}
	pthread_mutex_unlock(&known_lock);
	return ops;
}

static bool is_mounted(const struct bread_server *s, const struct bread_ingress_ops *ops)
{
	brd_list_each(it, &s->mounted) {
		if (brd_list_of(it, struct mounted, link)->ingress->ops == ops)
			return true;
	}
	return false;
}

static int mount(struct bread_server *s, const struct bread_ingress_ops *ops, struct bread_str word,
	struct bread_str options, struct bread_err *err)
{
	struct mounted *m;
	int r;

	if (is_mounted(s, ops))
		return 0; /* a second name of one that is there already */
	m = brd_alloc(sizeof(*m));
	m->ingress = brd_alloc(ops->size);
	m->ingress->ops = ops;
	m->ingress->bread = s->bread;
	m->ingress->server = s;
	r = ops->open(m->ingress, word, options, err);
	if (r) {
		free(m->ingress);
		free(m);
		return r;
	}
	brd_list_push(&s->mounted, &m->link);
	return 0;
}

static struct bread_str word_of(struct jval entry, struct arena *a)
{
	bool object = brd_json_type(entry) == JSON_OBJECT;

	return brd_json_str(object ? brd_json_get(entry, "type") : entry, a);
}

static int unknown_ingress(struct bread_str word, struct bread_err *err)
{
	return brd_fail(err, BREAD_E_INVALID, "ingress",
		"there is no ingress \"%.*s\"; known ones are http-chunked and http-sse",
		BRD_ARG(word));
}

int brd_server_check_ingress(struct jval list, struct bread_err *err)
{
	struct arena a = { 0 };
	int r = 0;

	if (brd_json_type(list) != JSON_ARRAY && !ingress_named(word_of(list, &a)))
		r = unknown_ingress(word_of(list, &a), err);
	for (struct json_iter it = brd_json_each(list);
		!r && brd_json_type(list) == JSON_ARRAY && brd_json_next(&it);)
		if (!ingress_named(word_of(it.value, &a)))
			r = unknown_ingress(word_of(it.value, &a), err);
	brd_arena_fini(&a);
	return r;
}

static int mount_entry(struct bread_server *s, struct jval entry, struct bread_err *err)
{
	bool object = brd_json_type(entry) == JSON_OBJECT;
	struct bread_str word = brd_arena_copy(&s->arena, word_of(entry, &s->arena));
	struct bread_str options = object ? brd_json_raw(entry) : BRD_STR("{}");
	const struct bread_ingress_ops *ops = ingress_named(word);

	if (!ops)
		return unknown_ingress(word, err);
	return mount(s, ops, word, brd_arena_copy(&s->arena, options), err);
}

/* list: JSON, an array or one entry; empty: http-sse. */
static int mount_all(struct bread_server *s, struct bread_str list, struct bread_err *err)
{
	struct jval v;
	int r = 0;

	if (brd_json_parse(&s->arena, list.n ? list : BRD_STR("\"http-sse\""), 0, &v, NULL))
		return brd_fail(
			err, BREAD_E_INVALID, "ingress", "the list of ingresses is not JSON");
	if (brd_json_type(v) != JSON_ARRAY)
		return mount_entry(s, v, err);
	for (struct json_iter it = brd_json_each(v); !r && brd_json_next(&it);)
		r = mount_entry(s, it.value, err);
	return r;
}

static void unmount_all(struct bread_server *s)
{
	struct list *it;

	while ((it = brd_list_pop(&s->mounted))) {
		struct mounted *m = brd_list_of(it, struct mounted, link);

		if (m->ingress->ops->close)
			m->ingress->ops->close(m->ingress);
		free(m->ingress);
		free(m);
	}
}

void bread_route(struct bread_ingress *in, const char *method, const char *pattern,
	bread_handler *fn, void *arg)
{
	brd_route_add(in->server, method, pattern, fn, arg);
}

/* ---- shards ---- */

static int64_t idle_ms(const struct server_conf *c)
{
	return c->idle_s > 0 ? (int64_t)(c->idle_s * 1000) : INT64_MAX / 2;
}

/* A shard's part of the connections, rounded up. */
static size_t max_conns(const struct bread_server *s)
{
	return ((size_t)s->conf.max_connections + s->shard_count - 1) / s->shard_count;
}

static int shard_open(struct bread_server *s, size_t at, struct bread_err *err)
{
	struct shard *sh = &s->shards[at];
	struct http_server_conf c = {
		.host = s->conf.host,
		.port = at ? s->port : (int)s->conf.port,
		.max_body = (size_t)s->conf.max_body,
		.max_conns = max_conns(s),
		.idle_ms = idle_ms(&s->conf),
		.stall_ms = s->conf.stall_ms,
		.tls_cert = s->conf.tls.cert,
		.tls_key = s->conf.tls.key,
		.reuse_port = s->shard_count > 1 && !s->local,
		.on_request = brd_request_serve,
		.arg = sh,
	};
	int r;

	sh->server = s;
	sh->loop = brd_instance_loop(s->bread, at);
	sh->stats = brd_array(s->route_count + 1, sizeof(*sh->stats));
	brd_list_init(&sh->viewers);
	if (s->local && at > 0)
		return 0; /* a socket file has one listener */
	r = brd_http_server_new(&sh->http, sh->loop, &c, err);
	if (r)
		return r;
	s->port = brd_http_server_port(sh->http);
	brd_viewers_tick(&sh->tick);
	return 0;
}

static void shard_close(struct shard *sh)
{
	if (!sh->http)
		return;
	brd_http_server_refuse(sh->http);
	brd_viewers_close(sh);
	brd_http_server_free(sh->http);
	sh->http = NULL;
}

static void on_close(struct post *p)
{
	struct shard *sh = brd_list_of(p, struct shard, close);
	struct bread_server *s = sh->server;

	shard_close(sh);
	atomic_store_explicit(&sh->closed, true, memory_order_release);
	brd_server_unref(s);
}

/* On its own loop; the caller waits, so that nothing of it is left afterwards. The first
 * loop is the driver's, which is not driving while it calls this. */
static void shard_close_from(struct shard *sh)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	if (!sh->http)
		return;
	if (sh == sh->server->shards || brd_loop_here(sh->loop)) {
		shard_close(sh);
		return;
	}
	sh->close.run = on_close;
	brd_server_ref(sh->server);
	brd_loop_post(sh->loop, &sh->close);
	while (!atomic_load_explicit(&sh->closed, memory_order_acquire))
		nanosleep(&ms, NULL);
}

/* ---- open and close ---- */

static int read_conf(struct bread_server *s, struct bread_str config, struct bread_err *err)
{
	struct jval v = { 0 };
	bool tls;
	int r;

	config = brd_arena_copy(&s->arena, config);
	if (config.n && brd_json_parse(&s->arena, config, 0, &v, NULL))
		return brd_fail(err, BREAD_E_INVALID, "server", "the settings are not JSON");
	r = brd_conf_read(brd_server_fields, brd_server_field_count, v, &s->conf, NULL, "server",
		&s->arena, err);
	if (r)
		return r;
	tls = s->conf.tls.cert || s->conf.tls.key;
	if (tls && !(s->conf.tls.cert && s->conf.tls.key))
		return brd_fail(
			err, BREAD_E_INVALID, "server", "server.tls needs both cert and key");
	s->local = brd_str_starts(brd_str(s->conf.host), BRD_STR("unix:"));
	s->loopback = s->local || brd_host_loopback(brd_str(s->conf.host));
	return 0;
}

static bool any_filter(const struct bread *b)
{
	for (int t = 0; t < CRUMB_TYPES; t++)
		if (brd_instance_filtered(b, brd_str(brd_crumb_kinds[t].name)))
			return true;
	return false;
}

static int open_all(struct bread_server *s, struct bread_str config, struct bread_str ingress,
	struct bread_err *err)
{
	int r = read_conf(s, config, err);

	if (r)
		return r;
	brd_hub_configure(
		brd_instance_hub(s->bread), (size_t)s->conf.max_event, any_filter(s->bread));
	brd_health_mount(s);
	brd_metrics_mount(s);
	r = mount_all(s, ingress, err);
	s->shard_count = brd_instance_loops(s->bread);
	s->shards = brd_array(s->shard_count, sizeof(*s->shards));
	for (size_t i = 0; !r && i < s->shard_count; i++)
		r = shard_open(s, i, err);
	return r;
}

int bread_serve(struct bread_server **ret, struct bread *b, struct bread_str config,
	struct bread_str ingress, struct bread_err *err)
{
	struct bread_server *s = brd_alloc(sizeof(*s));
	int r;

	s->bread = b;
	s->refs = 1;
	s->started_wall = brd_clock_wall();
	brd_list_init(&s->mounted);
	r = open_all(s, config, ingress, err);
	if (r) {
		bread_server_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

int bread_server_port(const struct bread_server *s)
{
	return s->port;
}

const char *bread_server_host(const struct bread_server *s)
{
	return s->conf.host;
}

void bread_server_close(struct bread_server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->shard_count; i++)
		shard_close_from(&s->shards[i]);
	brd_server_unref(s);
}

/* SPDX-License-Identifier: MIT */
/* A way in of one's own: JSON-RPC 2.0 over a Unix socket, one message a line.
 *
 *   bread-rpc PROJECT SOCKET
 *
 *   agents                                   -> [ids]
 *   run        {agent, input?, session?}     -> {runId}
 *   subscribe  {runId, after?}               -> {}, then for each crumb a notification
 *                                               crumb {runId, crumb}, and at the end
 *                                               end {runId, ok, error?}
 *   cancel     {runId}                       -> {status}
 *
 * It is built on the public headers alone and has a loop of its own: poll() on the
 * socket, its peers and bread_fd; when that is readable, or a timer of bread's is due,
 * bread_turn does what there is to do. All is on one thread, so nothing is locked.
 *
 * Nothing a peer does costs more than its connection: lines, unsent bytes, peers and
 * subscriptions have limits; one that goes over them is closed. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <bread/instance.h>
#include <bread/json.h>
#include <bread/project.h>

#define PEERS_MAX 64
#define SUBS_MAX 16 /* of one peer */
#define TURNS_MAX 64
#define LINE_MAX_BYTES (1024 * 1024)
#define UNSENT_MAX (8 * 1024 * 1024)
#define STR(z) ((struct bread_str){ (z), strlen(z) })
#define ARG(s) (int)(s).n, (s).p

struct bytes {
	char *p;
	size_t n, room;
};

struct subscription {
	struct peer *peer;
	struct bread_subscription *of; /* NULL: this place is free */
	char run_id[BREAD_RUN_ID_MAX];
};

struct peer {
	int fd; /* -1: this place is free */
	struct bytes in, out;
	struct subscription subs[SUBS_MAX];
	int cancels; /* that still run and name it */
	int bad;     /* to be closed */
};

/* A cancel on its way: the peer may be gone when it ends. */
struct cancel {
	struct bread_op op;
	struct peer *peer;
	enum bread_run_status status;
	char *id, run_id[BREAD_RUN_ID_MAX];
};

static struct bread *bread;
static struct peer peers[PEERS_MAX];
static volatile sig_atomic_t stopping;

/* ---- bytes ---- */

static void add(struct bytes *b, const char *p, size_t n)
{
	if (b->n + n > b->room) {
		b->room = (b->n + n) * 2;
		b->p = realloc(b->p, b->room);
		if (!b->p)
			abort();
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void drop(struct bytes *b, size_t n)
{
	b->n -= n;
	memmove(b->p, b->p + n, b->n);
}

__attribute__((format(printf, 2, 3))) static void send_line(struct peer *p, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	if (p->fd >= 0 && p->out.n + (size_t)n > UNSENT_MAX) {
		p->bad = 1; /* it does not read */
	} else if (p->fd >= 0) {
		add(&p->out, text, (size_t)n);
		add(&p->out, "\n", 1);
	}
	free(text);
}

/* text as a JSON string; the caller frees it. */
static char *quote(const char *text)
{
	struct bytes b = { 0 };
	char esc[8];

	add(&b, "\"", 1);
	for (; *text; text++)
		if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
			add(&b, esc, (size_t)snprintf(esc, sizeof(esc), "\\u%04x", *text));
		else
			add(&b, text, 1);
	add(&b, "\"", 2); /* with its NUL */
	return b.p;
}

static void reply_error(struct peer *p, struct bread_str id, int code, const char *text)
{
	char *message = quote(text);

	if (id.n) /* a notification gets no answer */
		send_line(p,
			"{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":%d,\"message\":%s}}",
			ARG(id), code, message);
	free(message);
}

static void reply(struct peer *p, struct bread_str id, const char *result)
{
	if (id.n)
		send_line(p, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}", ARG(id), result);
}

/* ---- methods ---- */

struct request {
	struct peer *peer;
	struct bread_json *json;
	struct bread_str id; /* as it came; empty: a notification */
};

static void add_agent(const struct bread_agent_info *a, void *arg)
{
	struct bytes *b = arg;

	add(b, b->n > 1 ? ",\"" : "\"", b->n > 1 ? 2 : 1);
	add(b, a->id.p, a->id.n); /* an id needs no escapes */
	add(b, "\"", 1);
}

static void do_agents(struct request *r)
{
	struct bytes list = { 0 };

	add(&list, "[", 1);
	bread_agents(bread, add_agent, &list);
	add(&list, "]", 2);
	reply(r->peer, r->id, list.p);
	free(list.p);
}

static void do_run(struct request *r)
{
	struct bread_run_request run = { .agent_id = bread_json_string(r->json, "params.agent"),
		.input = bread_json_raw(r->json, "params.input"),
		.session_id = bread_json_string(r->json, "params.session"),
		.ingress = "rpc" };
	char id[BREAD_RUN_ID_MAX], result[BREAD_RUN_ID_MAX + 16];
	struct bread_err err = { 0 };

	if (bread_run(bread, &run, id, &err)) {
		reply_error(r->peer, r->id, -32000, err.text);
		return;
	}
	snprintf(result, sizeof(result), "{\"runId\":\"%s\"}", id);
	reply(r->peer, r->id, result);
}

static void on_crumb(const struct bread_crumb *c, void *arg)
{
	struct subscription *s = arg;

	send_line(s->peer,
		"{\"jsonrpc\":\"2.0\",\"method\":\"crumb\",\"params\":{\"runId\":\"%s\",\"crumb\":%"
		".*s}}",
		s->run_id, ARG(c->public_json));
}

static void on_end(enum bread_code code, const struct bread_err *err, void *arg)
{
	struct subscription *s = arg;
	char *why = quote(code ? err->text : "");

	s->of = NULL;
	send_line(s->peer,
		"{\"jsonrpc\":\"2.0\",\"method\":\"end\",\"params\":{\"runId\":\"%s\",\"ok\":%s%s%"
		"s}}",
		s->run_id, code ? "false" : "true", code ? ",\"error\":" : "", code ? why : "");
	free(why);
}

/* The run's id, if it can be one; it is put into our own answers, so it must be plain. */
static int take_run_id(struct request *r, char ret[BREAD_RUN_ID_MAX])
{
	struct bread_str id = bread_json_string(r->json, "params.runId");

	if (!id.n || id.n >= BREAD_RUN_ID_MAX ||
		strspn(id.p, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._:-") <
			id.n) {
		reply_error(r->peer, r->id, -32602, "params.runId must be a run's id");
		return 0;
	}
	snprintf(ret, BREAD_RUN_ID_MAX, "%.*s", ARG(id));
	return 1;
}

static void do_subscribe(struct request *r)
{
	double after = bread_json_number(r->json, "params.after", 0);
	struct subscription *s = r->peer->subs;

	while (s < r->peer->subs + SUBS_MAX && s->of)
		s++;
	if (s == r->peer->subs + SUBS_MAX) {
		reply_error(r->peer, r->id, -32000, "too many subscriptions on this connection");
		return;
	}
	if (!(after >= 0 && after < 9e15)) {
		reply_error(r->peer, r->id, -32602, "params.after must be a crumb's number");
		return;
	}
	if (!take_run_id(r, s->run_id))
		return;
	reply(r->peer, r->id, "{}");
	s->peer = r->peer;
	s->of = bread_subscribe(bread, STR(s->run_id), (int64_t)after,
		&(struct bread_subscriber){ on_crumb, on_end, s });
}

static void on_cancelled(struct bread_op *op)
{
	struct cancel *c = op->arg;
	struct bread_str id = STR(c->id);

	c->peer->cancels--;
	if (op->code == BREAD_E_NOT_FOUND)
		reply_error(c->peer, id, -32001, "no such run");
	else if (op->code == BREAD_E_CONFLICT)
		reply(c->peer, id, "{\"status\":\"ended\"}");
	else if (op->code)
		reply_error(c->peer, id, -32000, op->err.text);
	else
		reply(c->peer, id, "{\"status\":\"cancelling\"}");
	free(c->id);
	free(c);
}

static void do_cancel(struct request *r)
{
	struct cancel *c = calloc(1, sizeof(*c));

	if (!c || !(c->id = strndup(r->id.n ? r->id.p : "", r->id.n)))
		abort();
	if (!take_run_id(r, c->run_id)) {
		free(c->id);
		free(c);
		return;
	}
	c->peer = r->peer;
	c->peer->cancels++;
	bread_op_init(&c->op, bread_here(bread), on_cancelled, c);
	bread_cancel(bread, STR(c->run_id), &c->status, &c->op);
}

static const struct {
	const char *name;
	void (*fn)(struct request *r);
} methods[] = {
	{ "agents", do_agents },
	{ "run", do_run },
	{ "subscribe", do_subscribe },
	{ "cancel", do_cancel },
};

static void serve_line(struct peer *p, struct bread_str line)
{
	struct request r = { .peer = p, .json = bread_json_new(line) };
	struct bread_str method = bread_json_string(r.json, "method");
	enum bread_json_type id = bread_json_type(r.json, "id");
	size_t i = 0, n = sizeof(methods) / sizeof(*methods);

	if (id == BREAD_JSON_STRING || id == BREAD_JSON_NUMBER)
		r.id = bread_json_raw(r.json, "id");
	while (i < n && (method.n != strlen(methods[i].name) ||
				memcmp(method.p, methods[i].name, method.n)))
		i++;
	if (!r.json)
		reply_error(p, STR("null"), -32700, "the line is not JSON");
	else if (!method.p)
		reply_error(p, r.id.n ? r.id : STR("null"), -32600, "method must be a string");
	else if (i == n)
		reply_error(p, r.id, -32601, "agents, run, subscribe and cancel are known");
	else
		methods[i].fn(&r);
	bread_json_free(r.json);
}

/* ---- peers ---- */

static void close_peer(struct peer *p)
{
	for (int i = 0; i < SUBS_MAX; i++)
		if (p->subs[i].of) {
			bread_unsubscribe(p->subs[i].of);
			p->subs[i].of = NULL;
		}
	close(p->fd);
	p->fd = -1;
	p->in.n = p->out.n = 0;
	p->bad = 0;
}

static void read_peer(struct peer *p)
{
	char buf[65536], *end;
	ssize_t n = read(p->fd, buf, sizeof(buf));

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		p->bad = 1;
	if (n <= 0)
		return;
	add(&p->in, buf, (size_t)n);
	while (!p->bad && (end = memchr(p->in.p, '\n', p->in.n))) {
		serve_line(p, (struct bread_str){ p->in.p, (size_t)(end - p->in.p) });
		drop(&p->in, (size_t)(end - p->in.p) + 1);
	}
	if (p->in.n > LINE_MAX_BYTES)
		p->bad = 1;
}

static void write_peer(struct peer *p)
{
	ssize_t n = send(p->fd, p->out.p, p->out.n, MSG_NOSIGNAL);

	if (n > 0)
		drop(&p->out, (size_t)n);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		p->bad = 1;
}

/* NULL: all places are taken, or a cancel still refers to them. */
static struct peer *free_place(void)
{
	for (int i = 0; i < PEERS_MAX; i++)
		if (peers[i].fd < 0 && !peers[i].cancels)
			return &peers[i];
	return NULL;
}

static void accept_peers(int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct peer *p = free_place();

		if (p)
			p->fd = fd;
		else
			close(fd);
	}
}

/* ---- the loop ---- */

static int wait_ms(void)
{
	int64_t ms = bread_next_timer(bread);

	return ms < 0 || ms > 1000 ? 1000 : (int)ms;
}

static void turn(int listener)
{
	struct pollfd fds[PEERS_MAX + 2] = { { bread_fd(bread), POLLIN, 0 },
		{ listener, POLLIN, 0 } };

	for (int i = 0; i < PEERS_MAX; i++)
		fds[i + 2] = (struct pollfd){ peers[i].fd,
			(short)(POLLIN | (peers[i].out.n ? POLLOUT : 0)), 0 };
	poll(fds, PEERS_MAX + 2, wait_ms());
	if (fds[1].revents)
		accept_peers(listener);
	for (int i = 0; i < PEERS_MAX; i++) {
		if (fds[i + 2].fd >= 0 && fds[i + 2].revents & (POLLIN | POLLHUP | POLLERR))
			read_peer(&peers[i]);
		if (peers[i].fd >= 0 && fds[i + 2].revents & POLLOUT)
			write_peer(&peers[i]);
	}
	/* all that is ready, but peers have their turn, too */
	for (int i = 0; i < TURNS_MAX && bread_turn(bread, 0); i++)
		;
	for (int i = 0; i < PEERS_MAX; i++)
		if (peers[i].fd >= 0 && peers[i].bad)
			close_peer(&peers[i]);
}

static int listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(a.sun_path) || fd < 0)
		return -1;
	memcpy(a.sun_path, path, strlen(path));
	unlink(path);
	return bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, SOMAXCONN) ? -1 : fd;
}

static void on_signal(int signum)
{
	stopping = 1;
}

int main(int argc, char **argv)
{
	struct bread_err err = { 0 };
	int listener;

	if (argc != 3) {
		fprintf(stderr, "usage: bread-rpc PROJECT SOCKET\n");
		return 2;
	}
	for (int i = 0; i < PEERS_MAX; i++)
		peers[i].fd = -1;
	if (bread_new(&bread, &err) || bread_load(bread, argv[1], &err) ||
		bread_start(bread, &err)) {
		fprintf(stderr, "%s: %s\n", err.where, err.text);
		bread_free(bread);
		return 1;
	}
	listener = listen_at(argv[2]);
	if (listener < 0) {
		fprintf(stderr, "%s cannot be listened at: %s\n", argv[2], strerror(errno));
		bread_free(bread);
		return 1;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	printf("listening at %s\n", argv[2]);
	fflush(stdout);
	while (!stopping)
		turn(listener);
	for (int i = 0; i < PEERS_MAX; i++)
		if (peers[i].fd >= 0)
			close_peer(&peers[i]);
	bread_stop(bread, 5000);
	bread_free(bread);
	for (int i = 0; i < PEERS_MAX; i++) {
		free(peers[i].in.p);
		free(peers[i].out.p);
	}
	close(listener);
	unlink(argv[2]);
	return 0;
}

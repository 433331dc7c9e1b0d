/* SPDX-License-Identifier: MIT */
/* Sockets that listen, and accepting.
 *
 * Accepts in bounded batches, so that a flood of new connections leaves the open
 * ones their share. When there are too many, the oldest idle one makes room; when
 * none is idle, the new one gets a 503. A spare descriptor is kept for the case
 * that the process has none left, because a connection that cannot be accepted
 * keeps the listener readable for ever.
 *
 * Options of TCP are set on the listener: Linux hands them on to what it accepts. */
#include "net/server_priv.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

#define BACKLOG 4096
#define ACCEPT_BATCH 64
#define PAUSE_MS 100
#define NOTSENT_LOWAT (32 * 1024) /* what waits longer waits in our logs, which are shared */

static const char full[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
			   "Content-Length: 80\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
			   "{\"error\":{\"code\":\"OVERLOADED\","
			   "\"message\":\"The server has too many connections.\"}}";

/* ---- accepting ---- */

void brd_listen_evict(struct http_server *s)
{
	brd_conn_close(brd_list_of(s->idle.next, struct http_conn, idle));
}

/* Without waiting: what the socket does not take at once is not said. */
static void turn_away(struct http_server *s, int fd)
{
	char drop[1024];

	if (!s->tls && send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
		shutdown(fd, SHUT_WR);
		/* closing with bytes unread would take the answer back */
		for (int i = 0; i < 8 && recv(fd, drop, sizeof(drop), MSG_DONTWAIT) > 0; i++)
			;
	}
	close(fd);
}

static bool is_local(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)a;

		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	}
	if (a->ss_family == AF_INET6) {
		const struct in6_addr *in =
			&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;

		return IN6_IS_ADDR_LOOPBACK(in) ||
		       (IN6_IS_ADDR_V4MAPPED(in) && in->s6_addr[12] == 127);
	}
	return a->ss_family == AF_UNIX;
}

static void admit(struct http_server *s, int fd, const struct sockaddr_storage *from)
{
	if (s->stats.open >= s->conf.max_conns) {
		if (brd_list_empty(&s->idle)) {
			log_warn("net.full",
				"%zu connections are open, none of them idle; refused one more",
				s->stats.open);
			turn_away(s, fd);
			return;
		}
		brd_listen_evict(s);
	}
	s->stats.accepted++;
	brd_conn_new(s, fd, is_local(from));
}

static void on_pause_end(struct timer *t);
static void on_listener(uv_poll_t *h, int status, int events);

static void pause_listeners(struct http_server *s)
{
	for (int i = 0; i < s->listener_count; i++)
		uv_poll_stop(&s->listeners[i].poll);
	brd_timer_start(&s->pause, s->loop, PAUSE_MS, on_pause_end);
}

static void on_pause_end(struct timer *t)
{
	struct http_server *s = brd_list_of(t, struct http_server, pause);

	for (int i = 0; i < s->listener_count; i++)
		uv_poll_start(&s->listeners[i].poll, UV_READABLE, on_listener);
}

/* No descriptor is left, and it is not known whether anybody waits at all. The
 * spare one finds out; then an idle connection makes room, or there is a refusal.
 * true: somebody waited. */
static bool on_no_files(struct http_listener *l)
{
	struct http_server *s = l->server;
	struct sockaddr_storage from = { 0 };
	socklen_t n = sizeof(from);
	int fd;

	if (s->reserve < 0) {
		pause_listeners(s);
		return false;
	}
	close(s->reserve);
	fd = accept4(l->fd, (void *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		log_warn("net.files",
			"no file descriptor is left for a connection (%zu are open); raise the "
			"limit",
			s->stats.open);
		if (brd_list_empty(&s->idle)) {
			turn_away(s, fd);
		} else {
			brd_listen_evict(s);
			admit(s, fd, &from);
		}
	}
	s->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd >= 0;
}

/* true: go on accepting */
static bool on_accept_failed(struct http_listener *l, int e)
{
	switch (e) {
	case EMFILE:
	case ENFILE:
		return on_no_files(l);
	case ENOBUFS:
	case ENOMEM:
		log_warn("net.memory", "the system has no memory for a connection");
		pause_listeners(l->server);
		return false;
	case EAGAIN:
		return false;
	default: /* of that one connection: ECONNABORTED, EPROTO, network trouble */
		return true;
	}
}

static void on_listener(uv_poll_t *h, int status, int events)
{
	struct http_listener *l = h->data;

	for (int i = 0; i < ACCEPT_BATCH && !l->server->refusing; i++) {
		struct sockaddr_storage from = { 0 };
		socklen_t n = sizeof(from);
		int fd = accept4(l->fd, (void *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			admit(l->server, fd, &from);
		else if (!on_accept_failed(l, errno))
			return;
	}
}

/* ---- listening ---- */

static void set_int(int fd, int level, int name, int v)
{
	setsockopt(fd, level, name, &v, sizeof(v));
}

static void set_options(const struct http_server *s, int fd, int family)
{
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (s->conf.reuse_port)
		set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
		s->conf.stall_ms < INT_MAX ? (int)s->conf.stall_ms : INT_MAX);
	set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOTSENT_LOWAT);
	if (family == AF_INET6)
		set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
}

/* Takes fd over. 0, or an errno. */
static int add_listener(struct http_server *s, int fd)
{
	struct http_listener *l = &s->listeners[s->listener_count];
	int r = uv_poll_init(brd_loop_uv(s->loop), &l->poll, fd);

	if (r) {
		close(fd);
		return -r;
	}
	l->poll.data = l;
	l->server = s;
	l->fd = fd;
	s->listener_count++;
	s->listeners_open++;
	uv_poll_start(&l->poll, UV_READABLE, on_listener);
	return 0;
}

/* A bound and listening socket, or -errno. */
static int listen_on(struct http_server *s, const struct sockaddr *a, socklen_t n)
{
	int fd = socket(a->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int e;

	if (fd < 0)
		return -errno;
	if (a->sa_family != AF_UNIX)
		set_options(s, fd, a->sa_family);
	if (bind(fd, a, n) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	e = errno;
	close(fd);
	return -e;
}

static int port_of(int fd)
{
	struct sockaddr_storage a = { 0 };
	socklen_t n = sizeof(a);

	getsockname(fd, (void *)&a, &n);
	/* the port is at the same place in both families */
	return ntohs(((struct sockaddr_in *)(void *)&a)->sin_port);
}

static int listen_tcp(struct http_server *s, const struct addrinfo *ai)
{
	struct sockaddr_storage a = { 0 };
	int fd;

	memcpy(&a, ai->ai_addr, ai->ai_addrlen);
	((struct sockaddr_in *)(void *)&a)->sin_port = htons((uint16_t)s->port);
	fd = listen_on(s, (void *)&a, ai->ai_addrlen);
	if (fd < 0)
		return -fd;
	s->port = port_of(fd);
	return add_listener(s, fd);
}

static int fail_to_listen(
	const struct http_server *s, const char *host, int e, struct bread_err *err)
{
	if (e == EADDRINUSE)
		return brd_fail(err, BREAD_E_CONFLICT, "net.listen",
			"port %d of %s is taken; set server.port or stop the other process",
			s->conf.port, host);
	if (e == EACCES)
		return brd_fail(err, BREAD_E_INVALID, "net.listen",
			"port %d of %s needs more rights; set server.port to one above 1023",
			s->conf.port, host);
	if (e == EADDRNOTAVAIL)
		return brd_fail(err, BREAD_E_INVALID, "net.listen",
			"%s is not an address of this machine; set server.host", host);
	return brd_fail(err, BREAD_E_INVALID, "net.listen", "cannot listen on port %d of %s: %s",
		s->conf.port, host, brd_errno(e));
}

/* A name such as localhost has several addresses, of which this machine may have
 * only some; and a port that was free on the first may be taken on the second. */
static int listen_all(
	struct http_server *s, const char *host, const struct addrinfo *list, struct bread_err *err)
{
	int e = EADDRNOTAVAIL;

	for (const struct addrinfo *ai = list; ai && s->listener_count < LISTENERS_MAX;
		ai = ai->ai_next) {
		int now = listen_tcp(s, ai);

		if (now == 0 || now == EADDRNOTAVAIL || now == EAFNOSUPPORT)
			continue;
		e = now;
		if (s->conf.port)
			return fail_to_listen(s, host, e, err);
	}
	return s->listener_count ? 0 : fail_to_listen(s, host, e, err);
}

static int listen_host(struct http_server *s, const char *host, struct bread_err *err)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	int r;

	if (s->conf.port < 0 || s->conf.port > 65535)
		return brd_fail(err, BREAD_E_INVALID, "net.listen",
			"%d is not a port; set server.port to 0..65535", s->conf.port);
	s->port = s->conf.port;
	r = getaddrinfo(host, NULL, &hints, &list);
	if (r)
		return brd_fail(err, BREAD_E_INVALID, "net.listen",
			"the host %s is not known (%s); set server.host", host, gai_strerror(r));
	r = listen_all(s, host, list, err);
	freeaddrinfo(list);
	return r;
}

/* A socket file whose server died is in the way; one that answers is in use. */
static bool is_stale(const struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;
	bool stale;

	if (fd < 0)
		return false;
	stale = lstat(a->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
		connect(fd, (const void *)a, sizeof(*a)) < 0 && errno == ECONNREFUSED;
	close(fd);
	return stale;
}

static int listen_unix(struct http_server *s, const char *path, struct bread_err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) == 0 || strlen(path) >= sizeof(a.sun_path))
		return brd_fail(err, BREAD_E_INVALID, "net.listen",
			"the socket path '%s' is empty or longer than %zu bytes; set server.host",
			path, sizeof(a.sun_path) - 1);
	strcpy(a.sun_path, path);
	if (is_stale(&a))
		unlink(path);
	fd = listen_on(s, (void *)&a, sizeof(a));
	if (fd == -EADDRINUSE)
		return brd_fail(err, BREAD_E_CONFLICT, "net.listen",
			"%s is taken; set server.host or stop the other process", path);
	if (fd < 0)
		return brd_fail(err, BREAD_E_INVALID, "net.listen", "cannot listen on %s: %s", path,
			brd_errno(-fd));
	s->unix_path = brd_strdup(path);
	return add_listener(s, fd)
		       ? brd_fail(err, BREAD_E_BUSY, "net.listen", "cannot watch %s", path)
		       : 0;
}

int brd_listen(struct http_server *s, const char *host, struct bread_err *err)
{
	if (strncmp(host, "unix:", 5) == 0)
		return listen_unix(s, host + 5, err);
	return listen_host(s, host, err);
}

static void on_listener_gone(uv_handle_t *h)
{
	struct http_server *s = ((struct http_listener *)h->data)->server;

	if (--s->listeners_open == 0 && s->freed)
		brd_server_drop(s);
}

void brd_listen_stop(struct http_server *s)
{
	brd_timer_stop(&s->pause);
	for (int i = 0; i < s->listener_count; i++) {
		uv_close((uv_handle_t *)&s->listeners[i].poll, on_listener_gone);
		close(s->listeners[i].fd);
	}
	s->listener_count = 0;
	if (s->unix_path)
		unlink(s->unix_path);
	free(s->unix_path);
	s->unix_path = NULL;
}

/* SPDX-License-Identifier: MIT */
/* Many viewers of one run, each of which checks all that it gets.
 *
 *   viewers PORT PID COUNT N RATE HOLD
 *
 * Starts a run of the agent echo (tests/projects/bench): N deltas at RATE a second
 * after HOLD ms, in which COUNT viewers attach, over NDJSON and SSE by turns. Two
 * more misbehave: one stops reading at its first byte, one takes 20 kB a second
 * until the run has ended, and then the rest. Prints a line a check:
 *
 * - all viewers, and the slow one, had every delta once and in order, and the end;
 * - the run kept its pace;
 * - the server PID grew by no more than 20 MB after all had attached. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RECORD 20 /* bytes of a delta: a seven-digit counter, a blank, a time */
#define GROWTH_MAX_KB (20 * 1024)
#define SLOW_BYTES 20000 /* a second */
#define OPENING_MAX 64
#define GRACE_S 60

enum manner { READS, SLOW, STOPPED };

struct viewer {
	int fd; /* -1: it is over */
	enum manner manner;
	bool connected, heard, ended, wrong;
	char *rest; /* the beginning of a line */
	size_t rest_len;
	long next;     /* the counter that must come */
	double credit; /* bytes that the slow one may take by now */
};

static struct {
	int epoll, port, pid;
	long count, n;
	double rate;
	long hold;
	struct viewer *all; /* 0: the run's own client; 1, 2: slow, stopped */
	long opened, opening, heard, over;
	char run_id[64];
	double first_at, last_at;
} t;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static long server_kb(void)
{
	char path[64], line[256];
	long kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", t.pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmRSS: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

static void over(struct viewer *v)
{
	if (v->fd < 0)
		return;
	if (!v->connected)
		t.opening--;
	close(v->fd);
	v->fd = -1;
	t.over++;
}

/* ---- what comes ---- */

/* The records of one delta: those of several may have been joined. */
static void take_delta(struct viewer *v, const char *p, const char *end)
{
	for (; p + RECORD <= end && *p != '"'; p += RECORD) {
		if (strtol(p, NULL, 10) != v->next)
			v->wrong = true;
		v->next++;
		if (v == t.all) {
			t.last_at = now();
			if (v->next == 1)
				t.first_at = t.last_at;
		}
	}
}

static void take_line(struct viewer *v, const char *p, size_t n)
{
	static const char delta[] = "\"delta\":\"";
	static const char run[] = "\"runId\":\"";
	const char *at = memmem(p, n, delta, sizeof(delta) - 1);

	if (!v->heard) {
		v->heard = true;
		t.heard++;
	}
	if (at)
		take_delta(v, at + sizeof(delta) - 1, p + n);
	if (memmem(p, n, "agent:run:end", 13))
		v->ended = true;
	at = memmem(p, n, run, sizeof(run) - 1);
	if (v == t.all && at && !t.run_id[0])
		sscanf(at + sizeof(run) - 1, "%63[^\"]", t.run_id);
}

/* Lines with a crumb begin with a brace, or "data: " before it; the rest is HTTP's. */
static void take(struct viewer *v, const char *p, size_t n)
{
	const char *nl;

	while (n && (nl = memchr(p, '\n', n))) {
		size_t len = (size_t)(nl - p);

		if (v->rest_len) {
			v->rest = realloc(v->rest, v->rest_len + len);
			memcpy(v->rest + v->rest_len, p, len);
			if (memmem(v->rest, v->rest_len + len, "\"type\"", 6))
				take_line(v, v->rest, v->rest_len + len);
			free(v->rest);
			v->rest = NULL;
			v->rest_len = 0;
		} else if (memmem(p, len, "\"type\"", 6)) {
			take_line(v, p, len);
		}
		p = nl + 1;
		n -= len + 1;
	}
	if (n) {
		v->rest = realloc(v->rest, v->rest_len + n);
		memcpy(v->rest + v->rest_len, p, n);
		v->rest_len += n;
	}
}

static void receive(struct viewer *v)
{
	static char bytes[256 * 1024];
	size_t most = sizeof(bytes);
	ssize_t n;

	if (v->manner == STOPPED && v->heard)
		return;
	if (v->manner == STOPPED)
		most = 1024;
	if (v->manner == SLOW && !t.all->ended)
		most = v->credit > 1 ? (size_t)v->credit : 0;
	if (most > sizeof(bytes))
		most = sizeof(bytes);
	while (most && (n = recv(v->fd, bytes, most, MSG_DONTWAIT)) > 0) {
		v->credit -= (double)n;
		take(v, bytes, (size_t)n);
		if (v->manner != READS || v->ended)
			break;
	}
	if (v->ended || (most && (n == 0 || (n < 0 && errno != EAGAIN))))
		over(v);
}

/* ---- opening ---- */

static void open_viewer(struct viewer *v, enum manner manner)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)t.port) };
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = v };
	int small = 4096;

	inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
	v->manner = manner;
	v->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	t.opened++;
	t.opening++;
	if (manner != READS && v->fd >= 0)
		setsockopt(v->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (v->fd < 0 ||
		(connect(v->fd, (struct sockaddr *)&sa, sizeof(sa)) && errno != EINPROGRESS)) {
		fprintf(stderr, "viewer %ld: %s\n", (long)(v - t.all), strerror(errno));
		exit(2);
	}
	epoll_ctl(t.epoll, EPOLL_CTL_ADD, v->fd, &ev);
}

static void ask(struct viewer *v)
{
	char text[512], body[128];
	int n;

	if (v == t.all) {
		int len = snprintf(body, sizeof(body), "{\"input\":\"n=%ld rate=%g hold=%ld\"}",
			t.n, t.rate, t.hold);

		n = snprintf(text, sizeof(text),
			"POST /agents/echo/run HTTP/1.1\r\nHost: localhost\r\n"
			"Accept: application/x-ndjson\r\nContent-Type: application/json\r\n"
			"Content-Length: %d\r\n\r\n%s",
			len, body);
	} else {
		n = snprintf(text, sizeof(text),
			"GET /runs/%s/stream HTTP/1.1\r\nHost: localhost\r\nAccept: %s\r\n"
			"Last-Event-ID: 0\r\n\r\n",
			t.run_id, (v - t.all) % 2 ? "text/event-stream" : "application/x-ndjson");
	}
	if (send(v->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		over(v);
}

static void on_ready(struct viewer *v, uint32_t events)
{
	if (v->fd >= 0 && !v->connected && events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) {
		v->connected = true;
		t.opening--;
		ask(v);
	}
	if (v->fd >= 0 && events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		receive(v);
}

static void poll_once(int ms)
{
	struct epoll_event evs[512];
	int n = epoll_wait(t.epoll, evs, 512, ms);

	for (int i = 0; i < n; i++)
		on_ready(evs[i].data.ptr, evs[i].events);
}

static void open_more(void)
{
	while (t.run_id[0] && t.opened < t.count + 3 && t.opening < OPENING_MAX)
		open_viewer(&t.all[t.opened], t.opened == 1   ? SLOW
					      : t.opened == 2 ? STOPPED
							      : READS);
}

static void feed_slow(struct viewer *v, double seconds)
{
	if (v->credit < SLOW_BYTES)
		v->credit += SLOW_BYTES * seconds;
	if (v->connected && v->fd >= 0)
		receive(v);
}

/* ---- the checks ---- */

static int failures;

static void check(bool ok, const char *what, double got)
{
	printf("%s %s: %.6g\n", ok ? "ok  " : "FAIL", what, got);
	failures += !ok;
}

static long whole(long from, long to)
{
	long n = 0;

	for (long i = from; i < to; i++)
		n += t.all[i].ended && !t.all[i].wrong && t.all[i].next == t.n;
	return n;
}

static void report(long began_kb, long most_kb)
{
	double pace = (double)(t.n - 1) / (t.last_at - t.first_at);
	int checks = 5;

	check(whole(3, t.count + 3) == t.count, "viewers that had every crumb once, in order",
		(double)whole(3, t.count + 3));
	check(whole(1, 2) == 1, "the one that reads 20 kB/s had them", (double)whole(1, 2));
	check(!t.all[2].wrong && t.all[2].heard, "the one that stopped had been attached", 1);
	check(whole(0, 1) == 1 && pace > t.rate * 0.8, "the run's deltas a second", pace);
	check(began_kb > 0 && most_kb - began_kb <= GROWTH_MAX_KB, "kB that the server grew",
		(double)(most_kb - began_kb));
	printf("%d passed, %d failed\n", checks - failures, failures);
}

int main(int argc, char **argv)
{
	double end, last = now();
	long began_kb = 0, most_kb = 0;

	if (argc != 7) {
		fprintf(stderr, "usage: viewers PORT PID COUNT N RATE HOLD\n");
		return 2;
	}
	t.port = atoi(argv[1]);
	t.pid = atoi(argv[2]);
	t.count = atol(argv[3]);
	t.n = atol(argv[4]);
	t.rate = atof(argv[5]);
	t.hold = atol(argv[6]);
	t.all = calloc((size_t)t.count + 3, sizeof(*t.all));
	t.epoll = epoll_create1(EPOLL_CLOEXEC);
	end = last + (double)t.hold / 1e3 + (double)t.n / t.rate + GRACE_S;
	open_viewer(&t.all[0], READS);
	/* all but the one that stopped come to their end */
	while (now() < end && !(t.opened == t.count + 3 && t.over >= t.count + 2)) {
		double before = last;

		open_more();
		poll_once(20);
		last = now();
		feed_slow(&t.all[1], last - before);
		if (t.first_at && !began_kb)
			began_kb = most_kb = server_kb();
		else if (began_kb && (long)(last * 20) != (long)(before * 20))
			most_kb = server_kb() > most_kb ? server_kb() : most_kb;
	}
	report(began_kb, most_kb);
	return failures ? 1 : 0;
}

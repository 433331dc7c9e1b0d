/* SPDX-License-Identifier: MIT */
/* Several loops behind one port: whichever a peer meets, it sees every run of all. */
#include "server/wire.h"
#include "instance/instance.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#define VIEWERS 24
#define RUNS 6

static struct wire w;

/* One request with a socket that blocks; the whole answer. */
static char *ask(const char *method_path, const char *body)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)w.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char some[8192];
	struct buf b;
	ssize_t n;

	brd_buf_init(&b, BUF_NO_LIMIT);
	if (connect(fd, (void *)&a, sizeof(a)))
		abort();
	brd_buf_addf(&b,
		"%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
		"%zu\r\n\r\n%s",
		method_path, strlen(body), body);
	if (send(fd, b.data, b.len, MSG_NOSIGNAL) != (ssize_t)b.len)
		abort();
	brd_buf_clear(&b);
	while ((n = recv(fd, some, sizeof(some), 0)) > 0)
		brd_buf_addn(&b, some, (size_t)n);
	close(fd);
	return brd_buf_take(&b, NULL);
}

static atomic_int complete;

static void *view(void *arg)
{
	char line[128], *answer;

	snprintf(line, sizeof(line), "GET /runs/%s/stream", (const char *)arg);
	answer = ask(line, "");
	if (strstr(answer, "agent:run:start") && strstr(answer, "\"type\":\"agent:run:end\"") &&
		strstr(answer, "0\r\n\r\n"))
		complete++;
	free(answer);
	return NULL;
}

static void *be_the_world(void *arg)
{
	pthread_t viewers[VIEWERS];
	char ids[RUNS][64];

	for (int i = 0; i < RUNS; i++) {
		char *answer = ask("POST /agents/a/runs", "{}");

		wire_run_id(answer, ids[i]);
		free(answer);
	}
	for (int i = 0; i < VIEWERS; i++)
		pthread_create(&viewers[i], NULL, view, ids[i % RUNS]);
	for (int i = 0; i < VIEWERS; i++)
		pthread_join(viewers[i], NULL);
	bread_quit(w.bread);
	return NULL;
}

static void every_loop_serves_every_run(void **state)
{
	pthread_t world;

	wire_open(&w, "{\"m\":{\"when\":[{\"stream\":[{\"load\":{\"n\":100,\"rate\":400}}]}]}}",
		"\"server\":{\"threads\":3}", NULL);
	wire_agent(&w, "a", "{\"model\":{\"provider\":\"mock\",\"model\":\"m\"},\"prompt\":\"x\"}");
	/* the other threads have not begun, and what starts now is the first loop's */
	assert_ptr_equal(bread_here(w.bread), brd_instance_loop(w.bread, 0));
	pthread_create(&world, NULL, be_the_world, NULL);
	bread_drive(w.bread);
	pthread_join(world, NULL);
	assert_int_equal(complete, VIEWERS);
	wire_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_loop_serves_every_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

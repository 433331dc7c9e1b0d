/* SPDX-License-Identifier: MIT */
/* The instance's loops: the first is the driver's, the others have threads. */
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "instance/internal.h"

/* server.threads: 0 is one per core; without the key one loop, the embedder's. */
static size_t wanted(const struct bread *b)
{
	struct jval v = brd_json_get(b->conf.server, "threads");
	int64_t n = brd_json_int_or(v, brd_json_type(v) == JSON_NONE ? 1 : 0);

	if (n <= 0)
		n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : n > 256 ? 256 : (size_t)n;
}

int brd_loops_open(struct bread *b, struct bread_err *err)
{
	size_t n = wanted(b);
	int r = 0;

	b->loops = brd_array(n, sizeof(struct loop *));
	b->threads = brd_array(n, sizeof(pthread_t));
	for (size_t i = 0; i < n && !r; i++) {
		r = brd_loop_new(&b->loops[i], err);
		b->loop_count += !r;
	}
	return r;
}

static void *run_loop(void *arg)
{
	brd_loop_run(arg);
	return NULL;
}

void bread_drive(struct bread *b)
{
	for (size_t i = 1; i < b->loop_count; i++) {
		int e = pthread_create(&b->threads[i], NULL, run_loop, b->loops[i]);

		brd_assert(e == 0);
		b->threads_started++;
	}
	brd_loop_run(b->loops[0]);
}

void bread_quit(struct bread *b)
{
	brd_loop_stop(b->loops[0]);
}

int bread_turn(struct bread *b, int wait_ms)
{
	return brd_loop_turn(b->loops[0], wait_ms);
}

int bread_fd(struct bread *b)
{
	return brd_loop_fd(b->loops[0]);
}

int64_t bread_next_timer(struct bread *b)
{
	return brd_loop_next_timer(b->loops[0]);
}

/* The first is asked first: the driver's thread made the others, and they count as its own
 * until their threads have begun. */
struct loop *bread_here(struct bread *b)
{
	for (size_t i = 0; i < b->loop_count; i++)
		if (brd_loop_here(b->loops[i]))
			return b->loops[i];
	return b->loops[0];
}

void brd_loops_join(struct bread *b)
{
	for (size_t i = 1; i <= b->threads_started; i++) {
		brd_loop_stop(b->loops[i]);
		pthread_join(b->threads[i], NULL);
	}
	b->threads_started = 0;
}

static bool idle(const struct bread *b)
{
	for (size_t i = 0; i < b->loop_count; i++)
		if (brd_loop_ops(b->loops[i]))
			return false;
	return true;
}

void brd_loops_settle(struct bread *b, int64_t wait_ms)
{
	int64_t end = brd_clock_mono() + wait_ms;

	do {
		for (size_t i = 0; i < b->loop_count; i++)
			brd_loop_turn(b->loops[i], brd_loop_ops(b->loops[i]) ? 1 : 0);
	} while (!idle(b) && brd_clock_mono() < end);
}

void brd_loops_close(struct bread *b)
{
	for (size_t i = 0; i < b->loop_count; i++)
		brd_loop_free(b->loops[i]);
	free(b->loops);
	free(b->threads);
	b->loops = NULL;
	b->loop_count = 0;
}

size_t brd_instance_loops(const struct bread *b)
{
	return b->loop_count;
}

struct loop *brd_instance_loop(const struct bread *b, size_t i)
{
	return b->loops[i];
}

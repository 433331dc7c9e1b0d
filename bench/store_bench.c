/* SPDX-License-Identifier: MIT */
/* How fast a store is: rows of logs, and whole tiny runs.
 *
 *   store_bench sqlite /path/bread.db '{"sync":"normal"}' 100000 256
 *
 * The numbers are how many rows (and a twelfth as many runs) are written, and how
 * many are on their way at once. The CPU is what all threads but the caller's
 * took: for SQLite, the writer, with what it costs to carry the log over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/uuid.h"
#include "loop/loop.h"
#include "store/store.h"

#define CRUMBS_PER_TX 4

struct lane {
	struct bread_tx tx;
	struct bread_rec recs[8];
	char run[UUID_LEN + 1], session[UUID_LEN + 1], message[2][UUID_LEN + 1];
	int64_t seq;
	int step;
	struct bench *b;
};

struct bench {
	struct bread_store *store;
	struct loop *loop;
	long left, done; /* txs to start, and ended */
	long failed;
	void (*next)(struct lane *lane); /* fills in the next tx */
};

static const char crumb_json[] =
	"{\"type\":\"text:end\",\"runId\":\"0192f0c1-2345-7abc-8def-0123456789ab\",\"agentId\":"
	"\"assistant\",\"text\":\"The quick brown fox jumps over the lazy dog, and then again, and "
	"once more so that there is something to store in this row of the "
	"log.\",\"at\":1700000000}";

static int64_t cpu_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct bread_rec crumb(struct lane *lane)
{
	return (struct bread_rec){ .kind = BREAD_REC_CRUMB,
		.crumb = { .run_id = brd_str(lane->run),
			.session_id = brd_str(lane->session),
			.agent_id = BRD_STR("assistant"),
			.type = BRD_STR("text:end"),
			.crumb = BRD_STR(crumb_json),
			.seq = ++lane->seq,
			.created_at = 1 } };
}

static struct bread_rec message(struct lane *lane, int i)
{
	brd_uuid7(lane->message[i]);
	return (struct bread_rec){ .kind = BREAD_REC_MESSAGE,
		.message = { .id = brd_str(lane->message[i]),
			.session_id = brd_str(lane->session),
			.role = BRD_STR("user"),
			.content = BRD_STR("\"Hello, how are you?\""),
			.timestamp = brd_clock_wall() } };
}

static size_t begin_run(struct lane *lane)
{
	int64_t now = brd_clock_wall();

	brd_uuid7(lane->run);
	brd_uuid7(lane->session);
	lane->seq = 0;
	lane->tx.fence = (struct bread_str){ 0 };
	lane->recs[0] = (struct bread_rec){ .kind = BREAD_REC_SESSION,
		.session = { .id = brd_str(lane->session),
			.agent_id = BRD_STR("assistant"),
			.created_at = now,
			.updated_at = now } };
	lane->recs[1] = message(lane, 0);
	lane->recs[2] = (struct bread_rec){ .kind = BREAD_REC_RUN,
		.run = { .id = brd_str(lane->run),
			.root_id = brd_str(lane->run),
			.agent_id = BRD_STR("assistant"),
			.session_id = brd_str(lane->session),
			.status = BREAD_RUN_RUNNING,
			.owner = BRD_STR("me"),
			.epoch = 1,
			.input = BRD_STR("\"Hello, how are you?\""),
			.created_at = now } };
	lane->recs[3] = crumb(lane);
	return 4;
}

static size_t end_run(struct lane *lane)
{
	lane->tx.fence = brd_str(lane->run);
	lane->tx.fence_epoch = 1;
	lane->recs[0] = message(lane, 1);
	lane->recs[1] = crumb(lane);
	lane->recs[2] = crumb(lane);
	lane->recs[3] = (struct bread_rec){ .kind = BREAD_REC_RUN_STATUS,
		.run = { .id = brd_str(lane->run),
			.status = BREAD_RUN_COMPLETED,
			.output = BRD_STR("\"I am fine.\""),
			.ended_at = brd_clock_wall() } };
	return 4;
}

static void next_run_step(struct lane *lane)
{
	lane->tx.count = lane->step++ % 2 ? end_run(lane) : begin_run(lane);
}

static void next_crumbs(struct lane *lane)
{
	if (!lane->step++) {
		lane->tx.count = begin_run(lane);
		return;
	}
	lane->tx.fence = brd_str(lane->run);
	lane->tx.fence_epoch = 1;
	for (size_t i = 0; i < CRUMBS_PER_TX; i++)
		lane->recs[i] = crumb(lane);
	lane->tx.count = CRUMBS_PER_TX;
}

static void start(struct lane *lane);

static void on_end(struct bread_op *op)
{
	struct lane *lane = op->arg;

	lane->b->done++;
	if (op->code) {
		if (!lane->b->failed++)
			fprintf(stderr, "%s\n", op->err.text);
	}
	start(lane);
}

static void start(struct lane *lane)
{
	struct bench *b = lane->b;

	if (b->left <= 0)
		return;
	b->left--;
	b->next(lane);
	lane->tx.recs = lane->recs;
	bread_op_init(&lane->tx.op, b->loop, on_end, lane);
	brd_store_commit(b->store, &lane->tx);
}

static void measure(struct bench *b, const char *what, void (*next)(struct lane *lane), long txs,
	long lanes, double per_tx)
{
	struct lane *all = brd_array((size_t)lanes, sizeof(*all));
	int64_t wall = brd_clock_mono_us();
	int64_t cpu = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us(CLOCK_THREAD_CPUTIME_ID);
	double n = (double)txs * per_tx;

	b->left = txs;
	b->done = 0;
	b->next = next;
	for (long i = 0; i < lanes; i++) {
		all[i].b = b;
		start(&all[i]);
	}
	while (b->done < txs)
		brd_loop_turn(b->loop, -1);
	wall = brd_clock_mono_us() - wall;
	cpu = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us(CLOCK_THREAD_CPUTIME_ID) - cpu;
	printf("%-5s %10.0f /s   %7.2f us of the store's threads each   (%ld on their way)\n", what,
		n * 1e6 / (double)wall, (double)cpu / n, lanes);
	free(all);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "memory", *url = argc > 2 ? argv[2] : "";
	const char *options = argc > 3 ? argv[3] : "{}";
	long rows = argc > 4 ? atol(argv[4]) : 200000, lanes = argc > 5 ? atol(argv[5]) : 256;
	struct bench b = { 0 };
	struct bread_err err = { 0 };

	if (rows < 8 || lanes < 1 || brd_loop_new(&b.loop, &err) ||
		brd_store_open(&b.store, brd_str(word), brd_str(url), brd_str(options), &err)) {
		fprintf(stderr, "store_bench: %s\n", err.text);
		return 1;
	}
	measure(&b, "rows", next_crumbs, rows / CRUMBS_PER_TX, lanes, CRUMBS_PER_TX);
	measure(&b, "runs", next_run_step, rows / 12 * 2, lanes, 0.5);
	brd_store_close(b.store);
	brd_loop_free(b.loop);
	return b.failed ? 1 : 0;
}

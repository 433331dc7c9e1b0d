/* SPDX-License-Identifier: MIT */
/* What was acknowledged survives the death of the process, and what was not is
 * there whole or not at all.
 *
 * A child writes runs on many lanes and says through a pipe what the store has
 * acknowledged; it is killed at some moment; the parent opens what is left. */
#include <signal.h>
#include <sys/wait.h>
#include "store/kit.h"

#define ROUNDS 12
#define LANES 32
#define CRUMBS 3 /* a tx */

struct lane {
	struct bread_tx tx;
	struct bread_rec recs[CRUMBS];
	char run[32];
	int32_t number, txs;
	int pipe;
	struct bread_store *store;
	struct loop *loop;
};

struct ack {
	int32_t lane, txs;
};

static void start(struct lane *lane);

static void on_end(struct bread_op *op)
{
	struct lane *lane = op->arg;
	struct ack ack = { lane->number, ++lane->txs };

	if (op->code || write(lane->pipe, &ack, sizeof(ack)) != (ssize_t)sizeof(ack))
		_exit(1);
	start(lane);
}

static void start(struct lane *lane)
{
	for (int i = 0; i < CRUMBS; i++)
		lane->recs[i] = kit_crumb(lane->run, (int64_t)lane->txs * CRUMBS + i + 1, NULL,
			BRD_STR("{\"type\":\"text:end\",\"text\":\"something to keep\"}"));
	lane->tx.recs = lane->recs;
	lane->tx.count = CRUMBS;
	bread_op_init(&lane->tx.op, lane->loop, on_end, lane);
	brd_store_commit(lane->store, &lane->tx);
}

static void name_run(char *out, size_t cap, int round, int lane)
{
	snprintf(out, cap, "r-%d-%d", round, lane);
}

_Noreturn static void child_main(const char *path, int round, int fd)
{
	struct bread_store *s;
	struct loop *l;
	struct lane *lanes = calloc(LANES, sizeof(*lanes));

	if (brd_loop_new(&l, NULL) ||
		brd_store_open(&s, BRD_STR("sqlite"), brd_str(path), (struct bread_str){ 0 }, NULL))
		_exit(1);
	for (int i = 0; i < LANES; i++) {
		lanes[i].number = i;
		lanes[i].pipe = fd;
		lanes[i].store = s;
		lanes[i].loop = l;
		name_run(lanes[i].run, sizeof(lanes[i].run), round, i);
		start(&lanes[i]);
	}
	for (;;)
		brd_loop_turn(l, -1);
}

/* Reads what was acknowledged, and kills the child once it is past the given number. */
static int watch(int fd, pid_t child, int kill_after, int32_t *ret_txs)
{
	struct ack ack;
	int acks = 0;

	while (read(fd, &ack, sizeof(ack)) == (ssize_t)sizeof(ack)) {
		ret_txs[ack.lane] = ack.txs;
		if (++acks == kill_after)
			kill(child, SIGKILL);
	}
	return acks;
}

static void check_lane(struct bread_store *s, struct loop *l, const char *run, int32_t acked)
{
	struct bread_read r = { .kind = BREAD_READ_CRUMBS, .key = brd_str(run), .limit = 100000 };

	kit_read(s, l, &r);
	assert_true(r.count >= (size_t)acked * CRUMBS);
	assert_int_equal(r.count % CRUMBS, 0);
	for (size_t i = 0; i < r.count; i++)
		assert_int_equal(r.crumbs[i].seq, i + 1);
	bread_read_fini(&r);
}

static void one_round(const char *path, int round, int kill_after)
{
	int32_t txs[LANES] = { 0 };
	struct bread_store *s;
	struct loop *l;
	int fds[2], status;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (!child)
		child_main(path, round, fds[1]);
	close(fds[1]);
	assert_true(watch(fds[0], child, kill_after, txs) >= kill_after);
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));

	assert_int_equal(brd_loop_new(&l, NULL), 0);
	assert_int_equal(
		brd_store_open(&s, BRD_STR("sqlite"), brd_str(path), (struct bread_str){ 0 }, NULL),
		0);
	for (int i = 0; i < LANES; i++) {
		char run[32];

		name_run(run, sizeof(run), round, i);
		check_lane(s, l, run, txs[i]);
	}
	brd_store_close(s);
	brd_loop_free(l);
}

static void killed_process_loses_nothing_acknowledged(void **state)
{
	char dir[512], path[600];

	kit_dir(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/bread.db", dir);
	srand(1);
	for (int i = 0; i < ROUNDS; i++)
		one_round(path, i, 1 + rand() % 1500);
	kit_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_process_loses_nothing_acknowledged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

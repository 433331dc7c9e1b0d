/* SPDX-License-Identifier: MIT */
/* Who is alive, and whose runs are taken up (contract C11).
 *
 * An instance has a row that it renews every two seconds; runs name their owner.
 * An owner is dead when its lease is over, or, on the same boot of the same
 * machine, when its process is gone: so a restart goes on at once. Every few
 * seconds, and at start, the runs of dead owners are taken up here; so are runs
 * that name this very instance and are not live in it (their store had failed).
 * Wishes to cancel that other processes wrote into rows are looked for, too. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "instance/internal.h"

#define BEAT_MS 1000
#define RENEW_BEATS 2
#define SCAN_BEATS 4
#define CLEAN_BEATS 600
#define LEASE_MS 10000

struct owner {
	struct bread *b;
	struct loop *loop;
	char place[160];
	int64_t pid_started;
	uint64_t beats;
	bool renewing, scanning, closing;
	struct bread_tx tx;
	struct bread_rec rec;
	struct bread_read owners, runs;
	struct timer timer;
};

/* Field 22 of /proc/PID/stat: ticks since boot; 0: no such process, or a dead one that nobody has
 * waited for. */
static int64_t started_at(int64_t pid)
{
	char path[64], text[1024], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	p = strrchr(text, ')'); /* the name may hold blanks */
	if (p && (!strncmp(p, ") Z", 3) || !strncmp(p, ") X", 3)))
		return 0;
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoll(p + 1, NULL, 10) : 0;
}

static void find_place(struct owner *o)
{
	char host[65] = "", boot[40] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, boot, 36) : 0;

	if (fd >= 0)
		close(fd);
	boot[n > 0 ? n : 0] = 0;
	gethostname(host, sizeof(host) - 1);
	snprintf(o->place, sizeof(o->place), "%s/%s", host, boot);
	o->pid_started = started_at(getpid());
}

/* ---- renewing ---- */

static void on_renewed(struct bread_op *op)
{
	struct owner *o = op->arg;

	o->renewing = false;
	if (op->code != BREAD_OK)
		log_warn("owner.renew", "this instance's lease was not renewed: %s", op->err.text);
}

static void renew(struct owner *o)
{
	if (o->renewing)
		return;
	o->renewing = true;
	memset(&o->tx, 0, sizeof(o->tx));
	o->rec = (struct bread_rec){ .kind = BREAD_REC_OWNER };
	o->rec.owner = (struct bread_owner_row){ .id = o->b->env.owner,
		.place = brd_str(o->place),
		.pid = getpid(),
		.pid_started = o->pid_started,
		.lease_until = brd_clock_wall() + LEASE_MS };
	o->tx.recs = &o->rec;
	o->tx.count = 1;
	bread_op_init(&o->tx.op, o->loop, on_renewed, o);
	brd_store_commit(o->b->store, &o->tx);
}

/* ---- taking up ---- */

/* A process of another user may not be signalled: it is alive, too. */
static bool process_alive(int64_t pid)
{
	return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

static bool alive(const struct owner *o, const struct bread_owner_row *row)
{
	if (brd_str_is(row->place, o->place))
		return process_alive(row->pid) && started_at(row->pid) == row->pid_started;
	return row->lease_until > brd_clock_wall();
}

static bool owner_alive(const struct owner *o, struct bread_str id)
{
	for (size_t i = 0; i < o->owners.count; i++)
		if (brd_str_eq(o->owners.owners[i].id, id))
			return alive(o, &o->owners.owners[i]);
	return false;
}

static void on_taken_up(void *arg, struct tree *t)
{
}

struct take_post {
	struct post post;
	struct bread *b;
	struct loop *loop;
	char id[UUID_MAX];
	enum bread_run_status status;
	int64_t epoch;
};

static void take_on_loop(struct post *p)
{
	struct take_post *t = brd_list_of(p, struct take_post, post);
	struct bread_run_row row = { .id = brd_str(t->id), .status = t->status, .epoch = t->epoch };

	brd_run_take_up(&t->b->env, t->loop, &row, on_taken_up, t->b);
	free(t);
}

static void take(struct owner *o, const struct bread_run_row *row, size_t nth)
{
	struct take_post *t = brd_alloc(sizeof(*t));

	t->post.run = take_on_loop;
	t->b = o->b;
	t->loop = o->b->loops[nth % o->b->loop_count];
	snprintf(t->id, sizeof(t->id), "%.*s", BRD_ARG(row->id));
	t->status = row->status;
	t->epoch = row->epoch;
	brd_loop_post(t->loop, &t->post);
}

static void look_at(struct owner *o, const struct bread_run_row *row, size_t nth)
{
	bool here = brd_active_known(o->b, row->id);

	if (here && row->cancel_requested)
		brd_active_cancel(o->b, row->id, row->id);
	else if (here && row->wake)
		brd_active_hear(o->b, row->id);
	else if (!here && row->status == BREAD_RUN_SUSPENDED && !o->b->alone)
		take(o, row, nth); /* it was answered, and nobody went on with it */
	else if (!here && (brd_str_eq(row->owner, o->b->env.owner) ||
				  (!o->b->alone && !owner_alive(o, row->owner))))
		take(o, row, nth);
}

static void ask(struct owner *o, struct bread_read *r, enum bread_read_kind kind,
	void (*on_end)(struct bread_op *op))
{
	brd_read_again(r, kind, (struct bread_str){ 0 });
	bread_op_init(&r->op, o->loop, on_end, o);
	brd_store_read(o->b->store, r);
}

static void on_owners(struct bread_op *op)
{
	struct owner *o = op->arg;

	for (size_t i = 0; op->code == BREAD_OK && !o->closing && i < o->runs.count; i++)
		look_at(o, &o->runs.runs[i], i);
	o->scanning = false;
}

/* Owners are read after the runs: whose row is not there by now is gone, and did not just come. */
static void on_unfinished(struct bread_op *op)
{
	struct owner *o = op->arg;

	if (op->code == BREAD_OK && !o->closing)
		ask(o, &o->owners, BREAD_READ_OWNERS, on_owners);
	else
		o->scanning = false;
}

static void scan(struct owner *o)
{
	if (o->scanning || o->b->env.draining)
		return;
	o->scanning = true;
	ask(o, &o->runs, BREAD_READ_UNFINISHED, on_unfinished);
}

/* ---- wishes of other processes ---- */

static bool alone(const struct owner *o)
{
	return o->owners.count <= 1;
}

static void on_beat(struct timer *t)
{
	struct owner *o = brd_list_of(t, struct owner, timer);

	o->beats++;
	if (o->beats % RENEW_BEATS == 0)
		renew(o);
	if (o->beats % SCAN_BEATS == 0 || !alone(o))
		scan(o);
	if (!o->b->alone)
		brd_due_look(o->b);
	if (o->beats % CLEAN_BEATS == 1)
		brd_keys_clean(o->b);
	brd_timer_start(&o->timer, o->loop, BEAT_MS, on_beat);
}

/* ---- life ---- */

static bool turn_until_idle(struct owner *o, int64_t wait_ms)
{
	int64_t end = brd_clock_mono() + wait_ms;

	while (o->renewing || o->scanning) {
		if (brd_clock_mono() > end)
			return false;
		brd_loop_turn(o->loop, 20);
	}
	return true;
}

int brd_owner_open(struct bread *b, struct bread_err *err)
{
	struct owner *o = brd_alloc(sizeof(*o));

	o->b = b;
	o->loop = b->loops[0];
	b->owner_state = o;
	find_place(o);
	renew(o);
	turn_until_idle(o, 10000);
	if (o->tx.op.code != BREAD_OK || o->renewing)
		return brd_fail(err, BREAD_E_UPSTREAM, "store", "the store takes no writes: %s",
			o->tx.op.err.text);
	brd_due_open(b);
	scan(o);
	brd_timer_start(&o->timer, o->loop, BEAT_MS, on_beat);
	return 0;
}

void brd_owner_close(struct bread *b)
{
	struct owner *o = b->owner_state;

	if (!o || o->closing)
		return;
	o->closing = true;
	brd_timer_stop(&o->timer);
	brd_due_close(b);
	if (turn_until_idle(o, 5000)) {
		o->renewing = true;
		memset(&o->tx, 0, sizeof(o->tx));
		o->rec = (struct bread_rec){ .kind = BREAD_REC_OWNER_GONE, .key = b->env.owner };
		o->tx.recs = &o->rec;
		o->tx.count = 1;
		bread_op_init(&o->tx.op, o->loop, on_renewed, o);
		brd_store_commit(b->store, &o->tx);
		turn_until_idle(o, 5000);
	}
}

void brd_owner_free(struct bread *b)
{
	struct owner *o = b->owner_state;

	if (!o)
		return;
	brd_due_free(b);
	bread_read_fini(&o->owners);
	bread_read_fini(&o->runs);
	free(o);
	b->owner_state = NULL;
}

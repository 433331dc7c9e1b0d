/* SPDX-License-Identifier: MIT */
/* The one caller of the seam.
 *
 * It makes and frees instances, counts and times what they do, says in the log
 * what was slow or went wrong, and stops the program when a contract is broken.
 * To see an op end it puts itself between the op and its owner: the owner's
 * on_end waits in the core's part of the tx or read. */
#include "store/store.h"
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define SLOW_US 1000000

/* An instance with what we know about it in front. */
struct store_box {
	struct store_stats stats;      /* atomics */
	bool commit_fails, read_fails; /* atomics: the last one did */
	_Alignas(max_align_t) char instance[];
};

struct core_part {
	void (*on_end)(struct bread_op *op); /* the owner's */
	int64_t begun;                       /* mono us */
	struct store_box *box;
};
_Static_assert(sizeof(struct core_part) <= sizeof(((struct bread_tx *)0)->core),
	"a tx has room for the core's part");

static const struct bread_store_ops *const known[] = {
	&bread_store_memory,
	&bread_store_sqlite,
};

static struct store_box *box_of(struct bread_store *s)
{
	return brd_list_of(s, struct store_box, instance);
}

static const struct bread_store_ops *find_ops(struct bread_str word)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (brd_str_is(word, known[i]->name))
			return known[i];
	return NULL;
}

int brd_store_open(struct bread_store **ret, struct bread_str word, struct bread_str url,
	struct bread_str options, struct bread_err *err)
{
	const struct bread_store_ops *ops = find_ops(word);

	if (!ops)
		return brd_fail(err, BREAD_E_INVALID, "store",
			"there is no store \"%.*s\"; it is one of memory, sqlite", BRD_ARG(word));
	return brd_store_open_ops(ret, ops, url, options, err);
}

int brd_store_open_ops(struct bread_store **ret, const struct bread_store_ops *ops,
	struct bread_str url, struct bread_str options, struct bread_err *err)
{
	size_t size =
		ops->size < sizeof(struct bread_store) ? sizeof(struct bread_store) : ops->size;
	struct store_box *box = brd_alloc(sizeof(*box) + size);
	struct bread_store *s = (struct bread_store *)box->instance;
	int r;

	s->ops = ops;
	if (!options.n)
		options = BRD_STR("{}");
	r = ops->open(s, url, options, err);
	if (r) {
		free(box);
		return r;
	}
	*ret = s;
	return 0;
}

void brd_store_close(struct bread_store *s)
{
	if (!s)
		return;
	s->ops->close(s);
	free(box_of(s));
}

int brd_store_check(struct bread_str word, struct bread_str options, struct bread_err *err)
{
	struct bread_store *s;
	int r;

	if (brd_str_is(word, "sqlite"))
		return options.n ? brd_sqlite_check(options, err) : 0;
	r = brd_store_open(&s, word, (struct bread_str){ 0 }, options, err); /* leaves nothing */
	if (!r)
		brd_store_close(s);
	return r;
}

static void add_to(uint64_t *sum, uint64_t more)
{
	__atomic_fetch_add(sum, more, __ATOMIC_RELAXED);
}

/* Losing a race is the caller's business; anything else is the store's. */
static bool is_failure(enum bread_code code)
{
	return code == BREAD_E_UPSTREAM || code == BREAD_E_BUSY;
}

/* Puts us before the owner: hook is what the loop calls first. */
static void hook(
	struct bread_store *s, struct bread_op *op, void (*on_end)(struct bread_op *op), void *room)
{
	struct core_part core = { op->on_end, brd_clock_mono_us(), box_of(s) };

	memcpy(room, &core, sizeof(core));
	op->on_end = on_end;
}

static struct store_box *unhook(struct bread_op *op, const void *room, int64_t *ret_us)
{
	struct core_part core;

	memcpy(&core, room, sizeof(core));
	op->on_end = core.on_end;
	*ret_us = brd_clock_mono_us() - core.begun;
	return core.box;
}

/* One line when it begins to fail and one when it is well again: with a full disk
 * every commit fails, and all for the same reason. */
static void note_outcome(
	struct store_box *box, bool *failing, const char *what, const struct bread_op *op)
{
	bool failed = is_failure(op->code);

	if (failed)
		add_to(&box->stats.failures, 1);
	if (failed == __atomic_load_n(failing, __ATOMIC_RELAXED) ||
		(!failed && op->code != BREAD_OK))
		return;
	if (__atomic_exchange_n(failing, failed, __ATOMIC_RELAXED) == failed)
		return;
	if (failed)
		log_error("store.failed", "a %s failed: %s", what, op->err.text);
	else
		log_info("store.well", "a %s went well again", what);
}

static void note(struct store_box *box, bool *failing, const char *what, const struct bread_op *op,
	int64_t us)
{
	note_outcome(box, failing, what, op);
	if (us > SLOW_US)
		log_warn("store.slow", "a %s took %lld ms; is the disk busy?", what,
			(long long)(us / 1000));
}

static void on_commit_end(struct bread_op *op)
{
	struct bread_tx *tx = brd_list_of(op, struct bread_tx, op);
	int64_t us;
	struct store_box *box = unhook(op, &tx->core, &us);

	add_to(&box->stats.commits, 1);
	add_to(&box->stats.commit_us, (uint64_t)us);
	note(box, &box->commit_fails, "commit", op, us);
	if (op->on_end)
		op->on_end(op);
}

static void on_read_end(struct bread_op *op)
{
	struct bread_read *r = brd_list_of(op, struct bread_read, op);
	int64_t us;
	struct store_box *box = unhook(op, &r->core, &us);

	add_to(&box->stats.reads, 1);
	add_to(&box->stats.read_us, (uint64_t)us);
	note(box, &box->read_fails, "read", op, us);
	if (op->on_end)
		op->on_end(op);
}

/* The contract: each op is begun by the store, and ends after the call, not in it. */
static void check_begun(const struct bread_op *op)
{
	brd_assert(bread_op_running(op));
}

void brd_store_commit(struct bread_store *s, struct bread_tx *tx)
{
	hook(s, &tx->op, on_commit_end, &tx->core);
	for (size_t i = 0; i < tx->count; i++)
		tx->recs[i].affected = 0;
	s->ops->commit(s, tx);
	check_begun(&tx->op);
}

static void forget_answer(struct bread_read *r)
{
	r->count = 0;
	r->rows = NULL;
	r->text = (struct bread_str){ 0 };
	r->more = 0;
	r->memory = NULL;
	r->release = NULL;
}

void brd_store_read(struct bread_store *s, struct bread_read *r)
{
	hook(s, &r->op, on_read_end, &r->core);
	forget_answer(r);
	s->ops->read(s, r);
	check_begun(&r->op);
}

void bread_read_fini(struct bread_read *r)
{
	if (r->release)
		r->release(r->memory);
	forget_answer(r);
}

void brd_read_again(struct bread_read *r, enum bread_read_kind kind, struct bread_str key)
{
	bread_read_fini(r);
	*r = (struct bread_read){ .kind = kind, .key = key, .limit = SIZE_MAX / 2 };
}

int brd_store_healthy(struct bread_store *s)
{
	return s->ops->healthy ? s->ops->healthy(s) : 1;
}

void brd_store_stats(struct bread_store *s, struct store_stats *ret)
{
	struct store_stats *all = &box_of(s)->stats;

	ret->commits = __atomic_load_n(&all->commits, __ATOMIC_RELAXED);
	ret->reads = __atomic_load_n(&all->reads, __ATOMIC_RELAXED);
	ret->failures = __atomic_load_n(&all->failures, __ATOMIC_RELAXED);
	ret->commit_us = __atomic_load_n(&all->commit_us, __ATOMIC_RELAXED);
	ret->read_us = __atomic_load_n(&all->read_us, __ATOMIC_RELAXED);
}

static const char *const status_names[] = {
	[BREAD_RUN_QUEUED] = "queued",
	[BREAD_RUN_RUNNING] = "running",
	[BREAD_RUN_SUSPENDED] = "suspended",
	[BREAD_RUN_COMPLETED] = "completed",
	[BREAD_RUN_FAILED] = "failed",
	[BREAD_RUN_CANCELLED] = "cancelled",
};
#define STATUSES (sizeof(status_names) / sizeof(*status_names))

const char *brd_run_status_name(enum bread_run_status s)
{
	return (unsigned)s < STATUSES ? status_names[s] : "unknown";
}

int brd_run_status_named(struct bread_str name)
{
	for (size_t i = 0; i < STATUSES; i++)
		if (brd_str_is(name, status_names[i]))
			return (int)i;
	return -1;
}

int brd_run_ended(enum bread_run_status s)
{
	return s >= BREAD_RUN_COMPLETED;
}

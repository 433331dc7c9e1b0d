/* SPDX-License-Identifier: MIT */
/* The store in memory: for tests, demos and runs that need not survive the
 * process. One lock, held for the moment of each call; the op then ends on the
 * loop that called. */
#include <stdlib.h>
#include "base/err.h"
#include "base/str.h"
#include "store/memory/impl.h"

static struct mem_store *mem_of(struct bread_store *s)
{
	return (struct mem_store *)s;
}

static int memory_open(struct bread_store *s, struct bread_str url, struct bread_str options,
	struct bread_err *err)
{
	struct mem_store *m = mem_of(s);

	if (!brd_str_is(brd_str_trim(options), "{}"))
		return brd_fail(err, BREAD_E_INVALID, "store.memory", "it has no options");
	pthread_mutex_init(&m->lock, NULL);
	brd_list_init(&m->sessions_list);
	brd_list_init(&m->runs_list);
	brd_list_init(&m->open);
	brd_mem_tables_init(m);
	return 0;
}

static void memory_close(struct bread_store *s)
{
	brd_mem_free_all(mem_of(s));
	pthread_mutex_destroy(&mem_of(s)->lock);
}

static void memory_commit(struct bread_store *s, struct bread_tx *tx)
{
	struct mem_store *m = mem_of(s);
	int r;

	bread_op_begin(&tx->op, NULL, s);
	pthread_mutex_lock(&m->lock);
	r = brd_mem_apply(m, tx, &tx->op.err);
	pthread_mutex_unlock(&m->lock);
	bread_op_end(&tx->op, r, &tx->op.err);
}

static void memory_read(struct bread_store *s, struct bread_read *r)
{
	struct mem_store *m = mem_of(s);

	bread_op_begin(&r->op, NULL, s);
	pthread_mutex_lock(&m->lock);
	brd_mem_read(m, r);
	pthread_mutex_unlock(&m->lock);
	bread_op_end(&r->op, BREAD_OK, NULL);
}

static int memory_healthy(struct bread_store *s)
{
	return 1;
}

const struct bread_store_ops bread_store_memory = {
	.name = "memory",
	.size = sizeof(struct mem_store),
	.open = memory_open,
	.close = memory_close,
	.commit = memory_commit,
	.read = memory_read,
	.healthy = memory_healthy,
};

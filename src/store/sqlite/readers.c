/* SPDX-License-Identifier: MIT */
/* The readers: threads with a connection each that take questions from one queue.
 *
 * Every question opens its own snapshot, so one that is asked after a commit has
 * ended sees it. */
#include "base/err.h"
#include "store/sqlite/impl.h"

static struct bread_read *take(struct sq_readers *p)
{
	struct bread_read *r;

	while (!p->first && !p->stop)
		pthread_cond_wait(&p->work, &p->lock);
	r = p->first;
	if (r)
		p->first = r->priv.p[0];
	if (!p->first)
		p->last = NULL;
	return r;
}

static void answer(struct sq_readers *p, struct sq_conn *c, struct bread_read *r)
{
	struct bread_err err = { 0 };
	int code = BREAD_OK, rc = brd_sq_answer(c, r);

	if (rc)
		code = brd_sq_fail(c, rc, &err);
	__atomic_store_n(&p->shared->reads_fail, rc != 0, __ATOMIC_RELAXED);
	bread_op_end_from(&r->op, code, &err);
}

/* Each thread finds its connection by the order in which they start. */
static struct sq_conn *own_conn(struct sq_readers *p)
{
	return &p->conns[__atomic_fetch_add(&p->running, 1, __ATOMIC_RELAXED)];
}

static void *reader_main(void *arg)
{
	struct sq_readers *p = arg;
	struct sq_conn *c = own_conn(p);
	struct bread_read *r;

	pthread_mutex_lock(&p->lock);
	while ((r = take(p))) {
		pthread_mutex_unlock(&p->lock);
		answer(p, c, r);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void brd_sq_readers_init(struct sq_readers *p, struct sq_shared *shared)
{
	p->shared = shared;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
}

static int start_one(struct sq_readers *p, const char *path, struct bread_err *err)
{
	struct sq_conn *c = &p->conns[p->started];
	int e;

	if (brd_sq_open(c, path, false, err) || brd_sq_exec(c, "PRAGMA query_only=ON", err))
		return err->code;
	brd_sq_statements(c, brd_sq_read_sql, brd_sq_read_sql_count);
	e = pthread_create(&p->threads[p->started], NULL, reader_main, p);
	if (e)
		return brd_fail(err, BREAD_E_BUSY, SQ_WHERE, "no thread could be started (%s)",
			brd_errno(e));
	p->started++;
	return 0;
}

int brd_sq_readers_start(struct sq_readers *p, const char *path, struct bread_err *err)
{
	int r = 0;

	while (!r && p->started < SQ_READERS)
		r = start_one(p, path, err);
	return r;
}

void brd_sq_readers_stop(struct sq_readers *p)
{
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->started; i++)
		pthread_join(p->threads[i], NULL);
	p->started = 0;
	for (size_t i = 0; i < SQ_READERS; i++)
		brd_sq_close(&p->conns[i]);
}

void brd_sq_readers_add(struct sq_readers *p, struct bread_read *r)
{
	r->priv.p[0] = NULL;
	pthread_mutex_lock(&p->lock);
	if (p->last)
		p->last->priv.p[0] = r;
	else
		p->first = r;
	p->last = r;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

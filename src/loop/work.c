/* SPDX-License-Identifier: MIT */
/* Blocking work on libuv's pool. The outcome is written into op->err by the
 * worker, which nobody else touches until the pool has handed the work back. */
#include "base/err.h"
#include "loop/impl.h"
#include "loop/work.h"

struct work_priv {
	uv_work_t req;
	enum bread_code code;
};
_Static_assert(sizeof(struct work_priv) <= sizeof(((struct work *)0)->priv),
	"struct work has room for our part");

static struct work_priv *priv(struct work *w)
{
	return (struct work_priv *)&w->priv;
}

static void on_work(uv_work_t *req)
{
	struct work *w = req->data;

	priv(w)->code = w->run(w, &w->op->err);
}

static void on_done(uv_work_t *req, int status)
{
	struct work *w = req->data;

	if (status)
		bread_op_end(w->op, BREAD_E_CANCELED, NULL); /* before it was started */
	else
		bread_op_end(w->op, priv(w)->code, &w->op->err);
}

static void on_cancel(struct bread_op *op, void *by)
{
	struct work *w = by;

	uv_cancel((uv_req_t *)&priv(w)->req); /* fails once a worker has it */
}

void brd_work_start(struct work *w, struct bread_op *op)
{
	struct work_priv *p = priv(w);

	w->op = op;
	p->code = BREAD_OK;
	p->req.data = w;
	bread_op_begin(op, on_cancel, w);
	brd_assert(uv_queue_work(brd_loop_uv(op->loop), &p->req, on_work, on_done) == 0);
}

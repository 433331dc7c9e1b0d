/* SPDX-License-Identifier: MIT */
/* Files that a model makes: the bytes go to the blob store, a reference into the
 * stream and the output. What the model says meanwhile waits behind the file, so
 * that the order of crumbs is the order of the stream. */
#include <stdlib.h>
#include "base/base64.h"
#include "base/mem.h"
#include "run/choke.h"
#include "run/life.h"
#include "run/node_model.h"
#include "run/tree.h"
#include "run/tx.h"

struct held_event {
	struct list link;
	struct arena arena;
	struct bread_event ev;
};

void brd_model_hold(struct model_node *m, const struct bread_event *ev)
{
	struct held_event *h = brd_alloc(sizeof(*h));
	struct bread_event *c = &h->ev;

	*c = *ev;
	c->text = brd_arena_copy(&h->arena, ev->text);
	c->json = brd_arena_copy(&h->arena, ev->json);
	c->id = brd_arena_copy(&h->arena, ev->id);
	c->name = brd_arena_copy(&h->arena, ev->name);
	c->signature = brd_arena_copy(&h->arena, ev->signature);
	c->media_type = brd_arena_copy(&h->arena, ev->media_type);
	c->code = brd_arena_copy(&h->arena, ev->code);
	brd_list_push(&m->held, &h->link);
}

static void held_free(struct held_event *h)
{
	brd_arena_fini(&h->arena);
	free(h);
}

void brd_model_held_clear(struct model_node *m)
{
	if (!m->held.next)
		return;
	for (struct list *l; (l = brd_list_pop(&m->held));)
		held_free(brd_list_of(l, struct held_event, link));
}

static void let_go(struct model_node *m)
{
	while (!m->put_running && !brd_list_empty(&m->held)) {
		struct held_event *h = brd_list_of(brd_list_pop(&m->held), struct held_event, link);

		brd_model_event(m, &h->ev);
		held_free(h);
	}
}

static void announce(struct model_node *m)
{
	struct run *r = m->node.run;
	struct crumb_draft d;
	struct jsonw w;

	m->emitted = true;
	brd_choke_begin(r, &d, CRUMB_FILE);
	brd_jw_kstr(&d.w, "uri", brd_str(m->put.url));
	brd_jw_kstr(&d.w, "mimeType", m->put.media_type);
	brd_choke_emit(r, &d);
	if (r->files_json.len)
		brd_buf_addc(&r->files_json, ',');
	w = brd_jsonw(&r->files_json);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "kind", BRD_STR("file"));
	brd_jw_kstr(&w, "uri", brd_str(m->put.url));
	brd_jw_kstr(&w, "mimeType", m->put.media_type);
	brd_jw_end_obj(&w);
}

static void on_put(struct bread_op *op)
{
	struct model_node *m = op->arg;
	struct run *r = m->node.run;

	m->put_running = false;
	if (op->code == BREAD_OK && !r->cancelled && !r->tree->lost)
		announce(m);
	else if (op->code != BREAD_OK)
		brd_model_fault(m, brd_run_error(r, "AGENT_ERROR", brd_str(op->err.text)));
	brd_buf_fini(&m->put_bytes);
	let_go(m);
	if (!m->call_running && !m->put_running)
		brd_model_settle(m);
	brd_tree_release(r->tree);
}

static void no_store(struct model_node *m, struct bread_str media_type)
{
	struct run *r = m->node.run;
	struct buf ctx;

	brd_buf_init(&ctx, 4096);
	brd_buf_add(&ctx, brd_sub(r->ids_context, 0, r->ids_context.n - 1));
	brd_buf_addz(&ctx, ",\"mimeType\":");
	brd_json_quote(&ctx, media_type);
	brd_buf_addc(&ctx, '}');
	brd_model_fault(m, (struct run_error){ BRD_STR("BLOB_STORE_NOT_CONFIGURED"),
				   brd_arena_printf(&m->arena,
					   "Agent \"%s\" model generated a file but no blobStore "
					   "is configured; set `blobStore` in bread.yaml",
					   r->def->id),
				   brd_buf_str(&ctx) });
	brd_buf_fini(&ctx);
}

void brd_model_file(struct model_node *m, const struct bread_event *ev)
{
	struct run *r = m->node.run;
	struct model_part *p;

	if (!r->env->blob) {
		no_store(m, ev->media_type);
		return;
	}
	p = brd_model_part_new(m, m->count, BREAD_PART_FILE);
	p->part.text = brd_arena_copy(&m->arena, ev->text);
	p->part.media_type = brd_arena_copy(&m->arena, ev->media_type);
	p->ended = true;
	brd_buf_init(&m->put_bytes, BUF_NO_LIMIT);
	if (!brd_base64_decode(&m->put_bytes, ev->text)) {
		brd_model_fault(m, brd_run_error(r, "AGENT_ERROR",
					   BRD_STR("the model sent a file that is not base64")));
		brd_buf_fini(&m->put_bytes);
		return;
	}
	if (!m->held.next)
		brd_list_init(&m->held);
	memset(&m->put, 0, sizeof(m->put));
	m->put.bytes = brd_buf_str(&m->put_bytes);
	m->put.media_type = p->part.media_type;
	m->put_running = true;
	bread_op_init(&m->put.op, r->loop, on_put, m);
	brd_tree_hold(r->tree);
	r->env->blob->ops->put(r->env->blob, &m->put);
}

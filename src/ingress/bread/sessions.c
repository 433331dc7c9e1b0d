/* SPDX-License-Identifier: MIT */
/* Sessions and their messages (docs/http-api.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ingress/bread/internal.h"

#define DAY_MS 86400000.0

static int put_session(struct bread_sink *s, const void *p)
{
	const struct bread_session_row *row = p;

	brd_ingress_put(s, "{\"id\":");
	bread_sink_quote(s, row->id);
	brd_ingress_put_int(s, "createdAt", row->created_at);
	brd_ingress_put_int(s, "updatedAt", row->updated_at);
	brd_ingress_put_raw(s, "tags", row->tags.n ? row->tags : LIT("{}"));
	brd_ingress_put_text(s, "agentId", row->agent_id);
	brd_ingress_put(s, "}");
	return 1;
}

static void on_sessions(struct store_question *q)
{
	brd_ingress_reply_rows(q, sizeof(*q->read.sessions), put_session);
}

/* "key:value"; what stands behind a second colon does not count, and without the first
 * one sessions that lack the tag are meant. */
static void set_filter(struct bread_run_filter *f, struct bread_str tag)
{
	const char *colon = tag.n ? memchr(tag.p, ':', tag.n) : NULL, *end;

	if (tag.n == 0)
		return;
	f->tag_key = (struct bread_str){ tag.p, colon ? (size_t)(colon - tag.p) : tag.n };
	if (!colon)
		return;
	f->tag_value = (struct bread_str){ colon + 1, tag.n - f->tag_key.n - 1 };
	end = memchr(f->tag_value.p, ':', f->tag_value.n);
	if (end)
		f->tag_value.n = (size_t)(end - f->tag_value.p);
}

static void list(struct bread_request *req, void *arg)
{
	struct store_question *q = brd_ingress_question(
		req, BREAD_READ_SESSIONS, (struct bread_str){ 0 }, on_sessions);

	set_filter(&q->read.filter, bread_request_query(req, "tag"));
	brd_ingress_ask(q);
}

static const char not_found[] = "Session not found";

static void on_session(struct store_question *q)
{
	brd_ingress_reply_row(q, put_session, not_found);
}

static void one(struct bread_request *req, void *arg)
{
	brd_ingress_ask_id(req, BREAD_READ_SESSION, not_found, on_session);
}

/* ---- messages ---- */

static void on_session_without_messages(struct store_question *q)
{
	if (q->read.count)
		bread_reply_json(q->req, 200, LIT("[]"));
	else
		brd_ingress_reply_text_error(q->req, 404, not_found);
}

static int put_message(struct bread_sink *s, const void *p)
{
	const struct bread_message_row *m = p;

	brd_ingress_put(s, "{\"id\":");
	bread_sink_quote(s, m->id);
	brd_ingress_put_text(s, "role", m->role);
	brd_ingress_put_raw(s, "content", m->content);
	brd_ingress_put_int(s, "timestamp", m->timestamp);
	brd_ingress_put(s, "}");
	return 1;
}

static void on_messages(struct store_question *q)
{
	if (q->read.count)
		brd_ingress_reply_rows(q, sizeof(*q->read.messages), put_message);
	else
		brd_ingress_ask(brd_ingress_question(
			q->req, BREAD_READ_SESSION, q->read.key, on_session_without_messages));
}

static void messages(struct bread_request *req, void *arg)
{
	brd_ingress_ask_id(req, BREAD_READ_MESSAGES, not_found, on_messages);
}

/* ---- deleting ---- */

struct deletion {
	struct bread_op op;
	struct bread_request *req;
	struct bread_json *body;
	int64_t deleted;
};

static struct deletion *deletion_new(struct bread_request *req, void (*on_end)(struct bread_op *op))
{
	struct deletion *d = brd_ingress_alloc(sizeof(*d));

	d->req = req;
	bread_op_init(&d->op, bread_here(bread_request_instance(req)), on_end, d);
	return d;
}

static void deletion_free(struct deletion *d)
{
	bread_json_free(d->body);
	free(d);
}

static void on_deleted(struct bread_op *op)
{
	struct deletion *d = op->arg;

	if (op->code == BREAD_OK)
		bread_reply_json(d->req, 200, LIT("{\"ok\":true}"));
	else
		bread_reply_error(d->req, &op->err);
	deletion_free(d);
}

static void remove_session(struct bread_request *req, void *arg)
{
	struct bread_str id = bread_request_param(req, "id");

	if (bread_id_ok(id))
		bread_session_delete(
			bread_request_instance(req), id, &deletion_new(req, on_deleted)->op);
	else /* there is none, and none is left */
		bread_reply_json(req, 200, LIT("{\"ok\":true}"));
}

static void on_cleaned(struct bread_op *op)
{
	struct deletion *d = op->arg;

	if (op->code == BREAD_OK)
		bread_reply_json(d->req, 200,
			bread_request_printf(d->req, "{\"deleted\":%lld}", (long long)d->deleted));
	else
		bread_reply_error(d->req, &op->err);
	deletion_free(d);
}

static void cleanup(struct bread_request *req, void *arg)
{
	struct bread_json *body;
	double days, before;
	struct bread_str tags = { 0 };
	struct deletion *d;

	if (!brd_ingress_body(req, &body))
		return;
	if (!brd_ingress_takes(req, body, "olderThanDays", BREAD_JSON_NUMBER) ||
		!brd_ingress_takes_tags(req, body, "tags")) {
		bread_json_free(body);
		return;
	}
	days = bread_json_number(body, "olderThanDays", 0);
	if (!(days > 0)) {
		bread_json_free(body);
		bread_reply_json(req, 200, LIT("{\"deleted\":0}"));
		return;
	}
	if (bread_json_type(body, "tags") == BREAD_JSON_OBJECT)
		tags = bread_json_raw(body, "tags");
	before = ceil((double)brd_ingress_now() - days * DAY_MS);
	d = deletion_new(req, on_cleaned);
	d->body = body;
	bread_session_cleanup(bread_request_instance(req), before > 0 ? (int64_t)before : 0, tags,
		&d->deleted, &d->op);
}

void brd_ingress_mount_sessions(struct ingress *in)
{
	bread_route(&in->in, "GET", "/sessions", list, in);
	bread_route(&in->in, "GET", "/sessions/:id", one, in);
	bread_route(&in->in, "GET", "/sessions/:id/messages", messages, in);
	bread_route(&in->in, "DELETE", "/sessions/:id", remove_session, in);
	bread_route(&in->in, "POST", "/sessions/cleanup", cleanup, in);
}

/* SPDX-License-Identifier: MIT */
/* Small things: strings, JSON answers, questions to the store. */
#include <stdlib.h>
#include <string.h>
#include "ingress/bread/internal.h"

struct bread_str brd_ingress_str(const char *z)
{
	return (struct bread_str){ z, z ? strlen(z) : 0 };
}

int brd_ingress_is(struct bread_str s, const char *z)
{
	size_t n = strlen(z);

	return s.n == n && (n == 0 || memcmp(s.p, z, n) == 0);
}

struct bread_str brd_ingress_cut(struct bread_str *rest, char sep)
{
	const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
	struct bread_str part = { rest->p, at ? (size_t)(at - rest->p) : rest->n };

	*rest = at ? (struct bread_str){ at + 1, rest->n - part.n - 1 } : (struct bread_str){ 0 };
	return part;
}

void brd_ingress_copy(char *to, size_t room, struct bread_str s)
{
	size_t n = s.n < room ? s.n : room - 1;

	if (n)
		memcpy(to, s.p, n);
	to[n] = 0;
}

void *brd_ingress_alloc(size_t n)
{
	void *p = calloc(1, n);

	if (!p)
		abort();
	return p;
}

int brd_ingress_number(struct bread_str s, int64_t *ret)
{
	int64_t v = 0;

	if (s.n == 0)
		return 0;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return 0;
		v = v * 10 + (s.p[i] - '0');
		if (v > (int64_t)1 << 53)
			return 0;
	}
	*ret = v;
	return 1;
}

void brd_ingress_put(struct bread_sink *s, const char *z)
{
	bread_sink_add(s, brd_ingress_str(z));
}

static void put_key(struct bread_sink *s, const char *key)
{
	bread_sink_add(s, LIT(",\""));
	brd_ingress_put(s, key);
	bread_sink_add(s, LIT("\":"));
}

void brd_ingress_put_text(struct bread_sink *s, const char *key, struct bread_str text)
{
	if (text.n == 0)
		return;
	put_key(s, key);
	bread_sink_quote(s, text);
}

void brd_ingress_put_raw(struct bread_sink *s, const char *key, struct bread_str json)
{
	if (json.n == 0)
		return;
	put_key(s, key);
	bread_sink_add(s, json);
}

void brd_ingress_put_int(struct bread_sink *s, const char *key, int64_t v)
{
	put_key(s, key);
	bread_sink_int(s, v);
}

void brd_ingress_reply(struct bread_request *req, int status, struct bread_sink *s)
{
	bread_reply_json(req, status, bread_sink_bytes(s));
	bread_sink_free(s);
}

void brd_ingress_reply_text_error(struct bread_request *req, int status, const char *text)
{
	struct bread_sink *s = bread_sink_new();

	brd_ingress_put(s, "{\"error\":");
	bread_sink_quote(s, brd_ingress_str(text));
	brd_ingress_put(s, "}");
	brd_ingress_reply(req, status, s);
}

void brd_ingress_reply_invalid(struct bread_request *req, const char *code, struct bread_str text)
{
	struct bread_err err = { .code = BREAD_E_INVALID };

	brd_ingress_copy(err.name, sizeof(err.name), brd_ingress_str(code));
	brd_ingress_copy(err.text, sizeof(err.text), text);
	bread_reply_error(req, &err);
}

int brd_ingress_asked(struct bread_request *req, const char *name)
{
	struct bread_str v = bread_request_query(req, name);

	return v.p && !brd_ingress_is(v, "0") && !brd_ingress_is(v, "false");
}

/* ---- questions ---- */

static void on_end(struct bread_op *op)
{
	struct store_question *q = op->arg;

	if (op->code == BREAD_OK)
		q->on_rows(q);
	else
		bread_reply_error(q->req, &op->err);
	bread_read_fini(&q->read);
	free(q);
}

/* key lives as long as the request. */
struct store_question *brd_ingress_question(struct bread_request *req, enum bread_read_kind kind,
	struct bread_str key, void (*on_rows)(struct store_question *q))
{
	struct store_question *q = brd_ingress_alloc(sizeof(*q));

	q->req = req;
	q->on_rows = on_rows;
	q->read.kind = kind;
	q->read.key = key;
	q->read.limit = LIST_MAX;
	q->read.filter.status = -1;
	return q;
}

void brd_ingress_ask(struct store_question *q)
{
	struct bread *b = bread_request_instance(q->req);

	bread_op_init(&q->read.op, bread_here(b), on_end, q);
	bread_read(b, &q->read);
}

/* ---- rows ---- */

void brd_ingress_put_rows(
	struct bread_sink *s, const struct bread_read *r, size_t row_size, row_writer *put)
{
	const char *row = r->rows;
	int any = 0;

	bread_sink_add(s, LIT("["));
	for (size_t i = 0; i < r->count; i++, row += row_size) {
		struct bread_sink *one = bread_sink_new();

		if (put(one, row)) {
			if (any)
				bread_sink_add(s, LIT(","));
			any = 1;
			bread_sink_add(s, bread_sink_bytes(one));
		}
		bread_sink_free(one);
	}
	bread_sink_add(s, LIT("]"));
}

void brd_ingress_reply_rows(struct store_question *q, size_t row_size, row_writer *put)
{
	struct bread_sink *s = bread_sink_new();

	brd_ingress_put_rows(s, &q->read, row_size, put);
	brd_ingress_reply(q->req, 200, s);
}

void brd_ingress_reply_row(struct store_question *q, row_writer *put, const char *not_found)
{
	struct bread_sink *s;

	if (q->read.count == 0) {
		brd_ingress_reply_text_error(q->req, 404, not_found);
		return;
	}
	s = bread_sink_new();
	put(s, q->read.rows);
	brd_ingress_reply(q->req, 200, s);
}

int brd_ingress_limit(struct bread_request *req, int64_t usual, int64_t max, size_t *ret)
{
	struct bread_str limit = bread_request_query(req, "limit");
	int64_t n = usual;

	if (limit.n && (!brd_ingress_number(limit, &n) || n < 1)) {
		brd_ingress_reply_text_error(req, 400, "Invalid limit: a whole number from 1 on");
		return 0;
	}
	*ret = (size_t)(n < max ? n : max);
	return 1;
}

void brd_ingress_ask_id(struct bread_request *req, enum bread_read_kind kind, const char *not_found,
	void (*on_rows)(struct store_question *q))
{
	struct bread_str id = bread_request_param(req, "id");

	if (bread_id_ok(id))
		brd_ingress_ask(brd_ingress_question(req, kind, id, on_rows));
	else
		brd_ingress_reply_text_error(req, 404, not_found);
}

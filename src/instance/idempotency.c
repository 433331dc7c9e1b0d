/* SPDX-License-Identifier: MIT */
/* Requests that come twice and count once (contract C13).
 *
 * A key leads to what its first request led to, for 24 hours, whichever process is asked. The
 * record is written with the run's first rows, so that one is never there without the other; a
 * request that was refused leaves none. Of two that come at the same moment the store lets one
 * through; the other looks again and finds it. In one process the second waits for the first, so
 * that it is not refused for what the first has just begun (its session is busy).
 *
 * Answers to checkpoints do the same in run/resume.c. */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "instance/internal.h"

#define KEY_MAX 255
#define LOOK_AGAIN_MS 5
#define LOOKS_MAX 400 /* 2 s */

/* ---- keys ---- */

static bool key_ok(struct bread_str key)
{
	for (size_t i = 0; i < key.n; i++)
		if (key.p[i] < 0x21 || key.p[i] > 0x7e)
			return false;
	return key.n >= 1 && key.n <= KEY_MAX;
}

static void add_part(struct sha256 *s, struct bread_str part)
{
	char size[24];

	snprintf(size, sizeof(size), "%zu:", part.n);
	brd_sha256_add(s, brd_str(size));
	brd_sha256_add(s, part);
}

static struct bread_str hex(struct arena *a, const unsigned char sum[SHA256_LEN])
{
	char text[2 * SHA256_LEN + 1];

	for (size_t i = 0; i < SHA256_LEN; i++)
		snprintf(text + 2 * i, 3, "%02x", sum[i]);
	return brd_arena_copy(a, brd_str(text));
}

int brd_key_make(struct run_key *ret, struct arena *a, const char *route, struct bread_str key,
	const struct bread_str *parts, size_t count, struct bread_err *err)
{
	struct sha256 s;
	unsigned char sum[SHA256_LEN];

	if (!key_ok(key))
		return brd_fail_as(err, BREAD_E_INVALID, "IDEMPOTENCY_KEY_INVALID",
			"Idempotency-Key",
			"an Idempotency-Key has 1 to 255 visible ASCII characters");
	brd_sha256_init(&s);
	for (size_t i = 0; i < count; i++)
		add_part(&s, parts[i]);
	brd_sha256_end(&s, sum);
	/* callers are not told apart: there is one, whose name is empty */
	ret->key = brd_arena_printf(a, "%s\n\n%.*s", route, BRD_ARG(key));
	ret->hash = hex(a, sum);
	return 0;
}

/* ---- a run with a key ---- */

struct keyed {
	struct bread *b;
	struct loop *loop;
	struct arena arena;
	struct what what;
	struct bread_run_request req; /* with the caller's callbacks; strings in the arena */
	struct bread_str input;
	struct run_key key;
	struct bread_read read;
	struct timer timer;
	unsigned looks;
	bool first;  /* it is in the table of keys: others wait for what becomes of it */
	bool stored; /* its run is on record */
	char id[BREAD_RUN_ID_MAX];
	struct bread_err refusal; /* that may come from the same key; name empty: none */
};

static void look(struct keyed *k);

static void keyed_free(struct keyed *k)
{
	bread_read_fini(&k->read);
	brd_what_fini(&k->what);
	brd_arena_fini(&k->arena);
	atomic_fetch_sub(&k->b->cancelling, 1);
	free(k);
}

/* false: another request is about to write it. */
static bool enter(struct keyed *k)
{
	pthread_mutex_lock(&k->b->lock);
	k->first = !brd_map_get(&k->b->keys, k->key.key);
	if (k->first)
		brd_map_put(&k->b->keys, k->key.key, k);
	pthread_mutex_unlock(&k->b->lock);
	return k->first;
}

static void leave(struct keyed *k)
{
	if (!k->first)
		return;
	pthread_mutex_lock(&k->b->lock);
	brd_map_del(&k->b->keys, k->key.key);
	pthread_mutex_unlock(&k->b->lock);
	k->first = false;
}

static void tell_refusal(struct keyed *k, const struct bread_err *err)
{
	struct bread_outcome o = { .run_id = brd_str(k->id),
		.status = BREAD_RUN_FAILED,
		.error_code = brd_str(err->name[0] ? err->name : "STORE_FAILED"),
		.error_message = brd_str(err->text),
		.error_context = brd_str(err->context) };

	leave(k);
	if (k->req.on_end)
		k->req.on_end(&o, k->req.arg);
	keyed_free(k);
}

static void on_timer(struct timer *t)
{
	look(brd_list_of(t, struct keyed, timer));
}

static void look_again(struct keyed *k)
{
	struct bread_err err;

	if (k->looks++ < LOOKS_MAX) {
		brd_timer_start(&k->timer, k->loop, LOOK_AGAIN_MS, on_timer);
		return;
	}
	brd_fail_as(&err, BREAD_E_BUSY, "RUN_BUSY", "bread",
		"another request with this Idempotency-Key is under way; try again");
	tell_refusal(k, &err);
}

/* ---- the first of its key ---- */

static void on_stored(void *arg)
{
	struct keyed *k = arg;

	k->stored = true;
	leave(k);
	if (k->req.on_run)
		k->req.on_run(brd_str(k->id), 0, k->req.arg);
	if (k->req.on_stored)
		k->req.on_stored(k->req.arg);
}

/* Refusals that an earlier request with the same key can be behind. */
static bool may_be_ours(const struct keyed *k, struct bread_str code)
{
	return !k->refusal.name[0] &&
	       (brd_str_is(code, "IDEMPOTENCY_KEY") || brd_str_is(code, "SESSION_BUSY") ||
		       brd_str_is(code, "RUN_EXISTS"));
}

static void refused(struct keyed *k, const struct bread_err *err)
{
	if (!may_be_ours(k, brd_str(err->name))) {
		tell_refusal(k, err);
		return;
	}
	if (strcmp(err->name, "IDEMPOTENCY_KEY") != 0)
		k->refusal = *err;
	leave(k);
	look_again(k);
}

static void on_end(const struct bread_outcome *o, void *arg)
{
	struct keyed *k = arg;
	struct bread_err err = { .code = BREAD_E_CONFLICT };

	if (!k->stored && o->error_code.n) {
		snprintf(err.name, sizeof(err.name), "%.*s", BRD_ARG(o->error_code));
		snprintf(err.text, sizeof(err.text), "%.*s", BRD_ARG(o->error_message));
		if (o->error_context.n < sizeof(err.context)) /* a part of it would be no JSON */
			snprintf(err.context, sizeof(err.context), "%.*s",
				BRD_ARG(o->error_context));
		refused(k, &err);
		return;
	}
	leave(k);
	if (k->req.on_end)
		k->req.on_end(o, k->req.arg);
	keyed_free(k);
}

static void begin(struct keyed *k)
{
	struct bread_run_request req = k->req;
	struct bread_err err = { 0 };

	if (!enter(k)) {
		look_again(k);
		return;
	}
	req.on_stored = on_stored;
	req.on_end = on_end;
	req.arg = k;
	if (brd_runs_begin(k->b, &k->what, &req, k->input, &k->key, k->id, &err))
		refused(k, &err);
}

/* ---- not the first ---- */

static void repeat(struct keyed *k)
{
	struct bread_str run_id = k->read.idempotency->run_id;

	if (k->req.on_run)
		k->req.on_run(run_id, 1, k->req.arg);
	if (k->req.on_stored)
		k->req.on_stored(k->req.arg);
	brd_run_tell(&k->b->env, k->loop, run_id, k->req.on_end, k->req.arg);
	keyed_free(k);
}

static void on_key(struct bread_op *op)
{
	struct keyed *k = op->arg;
	struct bread_err err;

	if (op->code != BREAD_OK) {
		tell_refusal(k, &op->err);
		return;
	}
	switch (brd_key_state(&k->key, &k->read)) {
	case KEY_SAME:
		repeat(k);
		break;
	case KEY_OTHER:
		brd_key_refuse(&err);
		tell_refusal(k, &err);
		break;
	case KEY_UNKNOWN:
		if (k->refusal.name[0])
			tell_refusal(k, &k->refusal);
		else
			begin(k);
		break;
	}
}

static bool under_way(struct keyed *k)
{
	bool known;

	pthread_mutex_lock(&k->b->lock);
	known = brd_map_get(&k->b->keys, k->key.key);
	pthread_mutex_unlock(&k->b->lock);
	return known;
}

static void look(struct keyed *k)
{
	if (under_way(k)) {
		look_again(k);
		return;
	}
	brd_read_again(&k->read, BREAD_READ_IDEMPOTENCY, k->key.key);
	bread_op_init(&k->read.op, k->loop, on_key, k);
	brd_store_read(k->b->store, &k->read);
}

/* Strings into memory of its own; callbacks stay. */
static void keep_request(struct keyed *k, const struct bread_run_request *req)
{
	struct bread_run_request *r = &k->req;

	*r = *req;
	r->agent_id = brd_arena_copy(&k->arena, req->agent_id);
	r->pipeline_id = brd_arena_copy(&k->arena, req->pipeline_id);
	r->session_id = brd_arena_copy(&k->arena, req->session_id);
	r->session_tags = brd_arena_copy(&k->arena, req->session_tags);
	r->skill = brd_arena_copy(&k->arena, req->skill);
	r->tags = brd_arena_copy(&k->arena, req->tags);
	r->traceparent = brd_arena_copy(&k->arena, req->traceparent);
	r->run_id = brd_arena_copy(&k->arena, req->run_id);
	r->input = r->idempotency_key = (struct bread_str){ 0 };
}

int brd_keyed_run(struct bread *b, struct what *w, const struct bread_run_request *req,
	struct bread_str input, struct bread_err *err)
{
	const struct bread_str busy[] = { BRD_STR("reject"), BRD_STR("queue"),
		BRD_STR("interrupt") };
	const struct bread_str parts[] = { req->agent_id, req->pipeline_id, input, req->session_id,
		req->session_tags, req->skill, req->tags, req->run_id, busy[req->if_busy] };
	struct keyed *k = brd_alloc(sizeof(*k));

	atomic_fetch_add(&b->cancelling, 1);
	k->b = b;
	k->loop = bread_here(b);
	if (brd_key_make(&k->key, &k->arena, req->pipeline_id.n ? "pipeline" : "agent",
		    req->idempotency_key, parts, sizeof(parts) / sizeof(*parts), err)) {
		keyed_free(k);
		return err ? err->code : BREAD_E_INVALID;
	}
	k->what = *w;
	*w = (struct what){ 0 };
	keep_request(k, req);
	k->input = brd_arena_copy(&k->arena, input);
	look(k);
	return 0;
}

/* ---- old ones go ---- */

struct cleaning {
	struct bread_tx tx;
	struct bread_rec rec;
};

static void on_cleaned(struct bread_op *op)
{
	if (op->code != BREAD_OK)
		log_warn("idempotency.clean",
			"old keys of requests were not removed (%s); they are the next time",
			op->err.text);
	free(op->arg);
}

void brd_keys_clean(struct bread *b)
{
	struct cleaning *c = brd_alloc(sizeof(*c));

	c->rec.kind = BREAD_REC_IDEMPOTENCY_CLEANUP;
	c->rec.number = brd_clock_wall() - KEY_MS;
	c->tx.recs = &c->rec;
	c->tx.count = 1;
	bread_op_init(&c->tx.op, b->loops[0], on_cleaned, c);
	brd_store_commit(b->store, &c->tx);
}

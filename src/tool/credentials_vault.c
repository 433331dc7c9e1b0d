/* SPDX-License-Identifier: MIT */
/* Credentials in a vault that speaks HashiCorp's key-value API, version 2:
 * GET ADDRESS/v1/MOUNT/data/NAME, the value at data.data.NAME. One name after the
 * other; an answer that is no success is "nothing". The token is in a header of ours
 * and nowhere else. */
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "net/guard.h"
#include "tool/credentials_impl.h"

#define ANSWER_MAX ((size_t)1024 * 1024)

struct vault_ask {
	struct credentials *from;
	struct credential_ask *a;
	struct bread_op op;
	struct http_call *http;
	struct arena arena;
	struct buf body;
	const char *headers[3];
	size_t at; /* the name that is asked for */
};

static char *text_of(struct credentials *c, struct jval v, const char *key, const char *variable)
{
	char *text = brd_json_strz(brd_json_get(v, key), &c->arena);
	const char *told = getenv(variable);

	return text || !told ? text : brd_arena_strz(&c->arena, brd_str(told));
}

static int vault_open(struct credentials *c, struct jval v, const char *dir, struct bread_err *err)
{
	size_t n;

	c->address = text_of(c, v, "address", "VAULT_ADDR");
	c->token = text_of(c, v, "token", "VAULT_TOKEN");
	c->space = text_of(c, v, "namespace", "VAULT_NAMESPACE");
	c->mount = brd_json_strz(brd_json_get(v, "mount"), &c->arena);
	if (!c->mount)
		c->mount = brd_arena_strz(&c->arena, BRD_STR("secret"));
	if (!c->address || !c->token)
		return brd_fail_as(err, BREAD_E_INVALID, "PROVIDER_NOT_CONFIGURED", "credentials",
			"the vault needs an address and a token; set credentials.address and "
			"credentials.token, or VAULT_ADDR and VAULT_TOKEN");
	for (n = strlen(c->address); n && c->address[n - 1] == '/'; n--)
		c->address[n - 1] = '\0';
	if (brd_vault_word("INVALID_VAULT_MOUNT", "vault mount", c->mount, err))
		return BREAD_E_INVALID;
	return brd_url_check(brd_str(c->address), err);
}

static void ask_next(struct vault_ask *q);

static void end(struct vault_ask *q, enum bread_code code, const struct bread_err *err)
{
	struct credential_ask *a = q->a;

	brd_http_call_free(q->http);
	explicit_bzero(q->body.data, q->body.len);
	brd_buf_fini(&q->body);
	brd_arena_fini(&q->arena);
	brd_credentials_unref(q->from);
	free(q);
	bread_op_end(&a->op, code, err);
}

static bool on_data(void *arg, struct bread_str bytes)
{
	struct vault_ask *q = arg;

	brd_buf_add(&q->body, bytes);
	return !q->body.bad;
}

static void take_value(struct vault_ask *q)
{
	struct arena a = { 0 };
	struct jval root, v;

	if (!brd_json_parse(&a, brd_buf_str(&q->body), 0, &root, NULL)) {
		v = brd_json_get(brd_json_path(root, "data.data"), q->a->names[q->at]);
		if (brd_json_type(v) == JSON_STRING)
			q->a->values[q->at] = brd_strndup(brd_json_str(v, &a));
		else if (brd_json_type(v) > JSON_NULL)
			q->a->values[q->at] = brd_strndup(brd_json_raw(v));
	}
	brd_arena_fini(&a);
}

static void on_answer(struct bread_op *op)
{
	struct vault_ask *q = op->arg;
	int status = brd_http_call_status(q->http);
	struct bread_err err = op->err;

	if (op->code != BREAD_OK) {
		end(q, op->code, &err);
		return;
	}
	if (status >= 200 && status < 300)
		take_value(q);
	brd_http_call_free(q->http);
	q->http = NULL;
	q->at++;
	ask_next(q);
}

static void ask_next(struct vault_ask *q)
{
	struct http_call_spec spec = { .method = "GET",
		.headers = q->headers,
		.headers_ms = 10000,
		.silence_ms = 10000,
		.on_data = on_data,
		.arg = q };
	struct bread_err err = { 0 };

	if (q->at == q->a->count) {
		end(q, BREAD_OK, NULL);
		return;
	}
	if (brd_vault_word(
		    "INVALID_CREDENTIAL_NAME", "credential name", q->a->names[q->at], &err)) {
		end(q, BREAD_E_INVALID, &err);
		return;
	}
	explicit_bzero(q->body.data, q->body.len);
	brd_buf_clear(&q->body);
	spec.url = brd_arena_printf(
		&q->arena, "%s/v1/%s/data/%s", q->from->address, q->from->mount, q->a->names[q->at])
			   .p;
	bread_op_init(&q->op, q->a->loop, on_answer, q);
	q->http = brd_http_call_start(brd_http_client_of(q->a->loop), &spec, &q->op);
}

static void on_cancel(struct bread_op *op, void *by)
{
	bread_op_cancel(&((struct vault_ask *)by)->op);
}

/* The address is the operator's own: it may well be a private one. */
static void vault_ask(struct credentials *c, struct credential_ask *a)
{
	struct vault_ask *q = brd_alloc(sizeof(*q));

	q->from = brd_credentials_ref(c);
	q->a = a;
	brd_buf_init(&q->body, ANSWER_MAX);
	q->headers[0] = brd_arena_printf(&q->arena, "X-Vault-Token: %s", c->token).p;
	if (c->space)
		q->headers[1] = brd_arena_printf(&q->arena, "X-Vault-Namespace: %s", c->space).p;
	bread_op_begin(&a->op, on_cancel, q);
	ask_next(q);
}

const struct credentials_kind brd_credentials_vault = { "vault", vault_open, vault_ask };

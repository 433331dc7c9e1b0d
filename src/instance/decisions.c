/* SPDX-License-Identifier: MIT */
/* Decision hosts of an instance: those of `decisions:` and the embedder's own, and the
 * models that hosts of the type `model` ask. */
#include <math.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "instance/internal.h"
#include "model/model.h"

#define ANSWER_MAX ((size_t)1 << 20) /* of a model; an answer is a line */

struct asking {
	struct decision_ask *ask;
	struct bread_model_call call;
	struct bread_model_request req;
	struct bread_message message;
	struct bread_part part;
	struct buf text;
	int status;
};

static void on_event(struct bread_model_call *call, const struct bread_event *ev)
{
	struct asking *q = call->arg;

	if (ev->kind == BREAD_EV_TEXT_DELTA)
		brd_buf_add(&q->text, ev->text);
	else if (ev->kind == BREAD_EV_ERROR)
		q->status = ev->status;
	else if (ev->kind == BREAD_EV_DONE && ev->likely > 0)
		q->ask->likely = ev->likely;
}

static void on_end(struct bread_op *op)
{
	struct asking *q = op->arg;
	struct decision_ask *ask = q->ask;
	enum bread_code code = op->code;
	struct bread_err err = op->err;

	ask->status = q->status;
	if (code == BREAD_OK && q->text.bad)
		code = brd_fail(&err, BREAD_E_UPSTREAM, "decision",
			"the model answered with more than 1 MiB");
	else if (code == BREAD_OK)
		ask->text = brd_buf_take(&q->text, &ask->text_len);
	brd_buf_fini(&q->text);
	free(q);
	bread_op_end(&ask->op, code, &err);
}

static void on_cancel(struct bread_op *op, void *by)
{
	bread_op_cancel(&((struct asking *)by)->call.op);
}

static void begin(struct asking *q, struct bread_model *m, const struct run_env *env)
{
	struct decision_ask *ask = q->ask;

	q->part = (struct bread_part){ .kind = BREAD_PART_TEXT, .text = ask->prompt };
	q->message =
		(struct bread_message){ .role = BREAD_ROLE_USER, .parts = &q->part, .count = 1 };
	q->req = (struct bread_model_request){ .model = ask->model,
		.system = ask->system,
		.messages = &q->message,
		.message_count = 1,
		.schema = ask->schema,
		.schema_name = BRD_STR("decision"),
		.settings = ask->settings,
		.want_likely = ask->schema.n > 0,
		.max_retries = -1,
		.first_byte_ms = env->first_byte_ms,
		.silence_ms = env->silence_ms };
	q->call = (struct bread_model_call){
		.req = &q->req, .on_event = on_event, .arg = q, .loop = ask->loop
	};
	bread_op_init(&q->call.op, ask->loop, on_end, q);
	brd_model_start(m, &q->call);
}

static void unknown(struct decision_ask *ask)
{
	struct bread_err err = { 0 };

	brd_fail_as(&err, BREAD_E_INVALID, "UNKNOWN_PROVIDER", "decision",
		"the model provider \"%.*s\" is not registered", BRD_ARG(ask->provider));
	bread_op_end(&ask->op, BREAD_E_INVALID, &err);
}

void brd_instance_ask(struct bread *b, struct decision_ask *ask)
{
	struct asking *q = brd_alloc(sizeof(*q));
	struct bread_model *m = brd_registry_provider(b, ask->provider);

	q->ask = ask;
	brd_buf_init(&q->text, ANSWER_MAX);
	bread_op_begin(&ask->op, on_cancel, q);
	if (m) {
		begin(q, m, &b->env);
		return;
	}
	brd_buf_fini(&q->text);
	free(q);
	unknown(ask);
}

static void ask_model(void *arg, struct decision_ask *ask)
{
	brd_instance_ask(arg, ask);
}

/* ---- at load ---- */

static int unknown_provider(struct bread_err *err, const struct yaml_doc *doc, struct jval at,
	struct bread_str name, struct bread_str provider)
{
	return brd_conf_fault(err, doc, at, "",
		"decisions.%.*s.provider is \"%.*s\", which is no key of providers", BRD_ARG(name),
		BRD_ARG(provider));
}

static bool asks_model(struct bread_str name, struct jval entry)
{
	struct jval type = brd_json_get(entry, "type");

	return brd_json_is(type, "model") ||
	       (brd_json_type(type) == JSON_NONE && brd_str_is(name, "model"));
}

/* A host of the type model asks a provider that the same file has. */
static int check_providers(struct jval decisions, struct jval providers, const struct yaml_doc *doc,
	struct bread_err *err)
{
	struct arena a = { 0 };
	int r = 0;

	for (struct json_iter it = brd_json_each(decisions); !r && brd_json_next(&it);) {
		struct bread_str name = brd_json_str(it.key, &a);
		struct jval v = brd_json_get(it.value, "provider");
		struct bread_str provider = brd_json_str(v, &a);

		if (asks_model(name, it.value) &&
			brd_json_type(brd_json_gets(providers, provider)) == JSON_NONE)
			r = unknown_provider(err, doc, v, name, provider);
	}
	brd_arena_fini(&a);
	return r;
}

int brd_instance_check_decisions(struct jval v, const struct yaml_doc *doc, struct bread_err *err)
{
	struct jval decisions = brd_json_get(v, "decisions");
	int r = brd_decisions_check(decisions, doc, err);

	return r ? r : check_providers(decisions, brd_json_get(v, "providers"), doc, err);
}

static int is_registered(
	void *arg, struct bread_str name, struct bread_str provider, struct bread_err *err)
{
	struct jval none = { 0 };

	return brd_registry_provider(arg, provider)
		       ? 0
		       : unknown_provider(err, NULL, none, name, provider);
}

int brd_instance_open_decisions(struct bread *b, struct bread_err *err)
{
	int r = brd_decisions_open(&b->decisions, b->conf.decisions, err);

	if (!r)
		r = brd_decisions_models(b->decisions, is_registered, b, err);
	brd_decisions_ask_by(b->decisions, ask_model, b);
	b->env.decisions = b->decisions;
	return r;
}

int bread_decision(struct bread *b, const char *name, const struct bread_decision_ops *ops,
	struct bread_str options, struct bread_err *err)
{
	if (b->started)
		return brd_fail(err, BREAD_E_INVALID, "bread",
			"the instance is running; give it decision hosts before bread_start");
	return brd_decisions_add(&b->decisions, ops, brd_str(name), options, err);
}

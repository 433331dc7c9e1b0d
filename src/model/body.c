/* SPDX-License-Identifier: MIT */
/* Writing requests and reading single events: the small things that all families do.
 *
 * What a caller gives under providerOptions goes into the body as it is and wins
 * over what we would have written under the same key; null leaves the key out. */
#include <stdio.h>
#include "base/err.h"
#include "base/str.h"
#include "model/family.h"
#include "model/partial.h"

#define BODY_MAX ((size_t)256 * 1024 * 1024)

void brd_body_begin(struct request_draft *o)
{
	brd_buf_init(&o->body, BODY_MAX);
	o->w = brd_jsonw(&o->body);
	brd_jw_obj(&o->w);
}

bool brd_body_key(struct request_draft *o, const char *key)
{
	if (brd_json_type(brd_json_get(o->over, key)) != JSON_NONE)
		return false;
	brd_jw_key(&o->w, key);
	return true;
}

void brd_body_str(struct request_draft *o, const char *key, struct bread_str s)
{
	if (s.n && brd_body_key(o, key))
		brd_jw_str(&o->w, s);
}

void brd_body_raw(struct request_draft *o, const char *key, struct jval v)
{
	if (brd_json_type(v) != JSON_NONE && brd_json_type(v) != JSON_NULL && brd_body_key(o, key))
		brd_jw_raw(&o->w, brd_json_raw(v));
}

void brd_body_bool(struct request_draft *o, const char *key, bool v)
{
	if (brd_body_key(o, key))
		brd_jw_bool(&o->w, v);
}

void brd_body_int(struct request_draft *o, const char *key, int64_t v)
{
	if (brd_body_key(o, key))
		brd_jw_int(&o->w, v);
}

void brd_body_end(struct request_draft *o)
{
	for (struct json_iter it = brd_json_each(o->over); brd_json_next(&it);) {
		if (brd_json_type(it.value) == JSON_NULL)
			continue;
		brd_jw_keys(&o->w, brd_json_str(it.key, o->a));
		brd_jw_raw(&o->w, brd_json_raw(it.value));
	}
	brd_jw_end_obj(&o->w);
}

static bool header_ok(struct bread_str value)
{
	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.p[i] < 0x20 || value.p[i] == 0x7f)
			return false;
	return true;
}

static void add_header(struct request_draft *o, const char *name, struct bread_str value)
{
	size_t max = sizeof(o->headers) / sizeof(*o->headers) - 1; /* it ends in a NULL */

	if (value.n && header_ok(value) && o->header_count < max)
		o->headers[o->header_count++] =
			brd_arena_printf(o->a, "%s: %.*s", name, BRD_ARG(value)).p;
}

void brd_header(struct request_draft *o, const char *name, struct bread_str value)
{
	/* what the entry says replaces ours; null deletes it */
	for (struct json_iter it = brd_json_each(o->p->headers); brd_json_next(&it);)
		if (brd_str_ieq(brd_json_str(it.key, o->a), brd_str(name)))
			return;
	add_header(o, name, value);
}

void brd_header_bearer(struct request_draft *o)
{
	if (o->p->api_key.n)
		brd_header(o, "Authorization",
			brd_arena_printf(o->a, "Bearer %.*s", BRD_ARG(o->p->api_key)));
}

static void add_entry_headers(struct request_draft *o)
{
	for (struct json_iter it = brd_json_each(o->p->headers); brd_json_next(&it);)
		add_header(o, brd_json_strz(it.key, o->a), brd_json_str(it.value, o->a));
}

static struct jval object_of(struct bread_str json, struct arena *a)
{
	struct jval v;

	if (!json.n || brd_json_parse(a, json, 0, &v, NULL) || brd_json_type(v) != JSON_OBJECT)
		return (struct jval){ 0 };
	return v;
}

int brd_outgoing_write(struct request_draft *o, const struct http_provider *p,
	const struct bread_model_request *req, struct arena *a, struct bread_err *err)
{
	int r;

	o->a = a;
	o->p = p;
	o->req = req;
	o->settings = object_of(req->settings, a);
	o->over = object_of(req->provider_options, a);
	if (brd_json_type(o->over) == JSON_NONE)
		o->over = brd_json_get(p->options, "providerOptions");
	brd_header(o, "Content-Type", BRD_STR("application/json"));
	r = p->family->request(o, err);
	add_entry_headers(o);
	if (!r && o->body.bad)
		r = brd_fail(err, BREAD_E_TOO_LARGE, "model", "the request is over 256 MiB");
	return r;
}

struct jval brd_setting(const struct request_draft *o, const char *key)
{
	return brd_json_get(o->settings, key);
}

struct bread_str brd_setting_str(const struct request_draft *o, const char *key)
{
	return brd_json_str(brd_setting(o, key), o->a);
}

int64_t brd_setting_int(const struct request_draft *o, const char *key, int64_t dflt)
{
	return brd_json_int_or(brd_setting(o, key), dflt);
}

bool brd_reasoning_off(struct bread_str level)
{
	return brd_str_is(level, "none") || brd_str_is(level, "off");
}

void brd_write_schema(struct jsonw *w, struct bread_str schema, struct arena *a)
{
	struct jval v;

	if (brd_json_parse(a, schema, 0, &v, NULL) || brd_json_type(v) != JSON_OBJECT) {
		brd_jw_raw(w, BRD_STR("{\"type\":\"object\",\"properties\":{}}"));
		return;
	}
	brd_jw_obj(w);
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);) {
		if (brd_json_is(it.key, "$schema"))
			continue;
		brd_jw_keys(w, brd_json_str(it.key, a));
		brd_jw_raw(w, brd_json_raw(it.value));
	}
	brd_jw_end_obj(w);
}

static bool is_required(struct jval required, struct bread_str name, struct arena *a)
{
	for (struct json_iter it = brd_json_each(required); brd_json_next(&it);)
		if (brd_str_eq(brd_json_str(it.value, a), name))
			return true;
	return false;
}

static bool strict_object(struct jval v, struct arena *a)
{
	struct jval properties = brd_json_get(v, "properties");
	struct jval additional = brd_json_get(v, "additionalProperties");

	if (!brd_json_is(brd_json_get(v, "type"), "object") &&
		brd_json_type(properties) != JSON_OBJECT)
		return true;
	if (brd_json_type(additional) != JSON_BOOL || brd_json_bool(additional, true))
		return false;
	for (struct json_iter it = brd_json_each(properties); brd_json_next(&it);)
		if (!is_required(brd_json_get(v, "required"), brd_json_str(it.key, a), a))
			return false;
	return true;
}

static bool strict_value(struct jval v, struct arena *a)
{
	if (brd_json_type(v) == JSON_OBJECT && !strict_object(v, a))
		return false;
	for (struct json_iter it = brd_json_each(v); brd_json_next(&it);)
		if (!strict_value(it.value, a))
			return false;
	return true;
}

bool brd_schema_is_strict(struct bread_str schema, struct arena *a)
{
	struct jval v;

	return brd_json_parse(a, schema, 64, &v, NULL) == BREAD_OK && strict_value(v, a);
}

struct bread_str brd_result_as_text(const struct bread_part *p)
{
	return p->json.n ? p->json : p->text;
}

/* ---- reading ---- */

bool brd_event_parse(struct mstream *s, struct bread_str data, struct arena *a, struct jval *ret)
{
	struct fault f = { .kind = BREAD_FAULT_PROTOCOL, .retry_after_ms = -1 };
	struct buf mended;
	struct bread_str text;

	s->alive++;
	if (brd_json_parse(a, data, 0, ret, NULL) == BREAD_OK)
		return true;
	brd_json_repair(data, &mended);
	text = brd_arena_copy(a, brd_buf_str(&mended));
	brd_buf_fini(&mended);
	if (brd_json_parse(a, text, 0, ret, NULL) == BREAD_OK)
		return true;
	f.text = BRD_STR("the provider sent an event that is not JSON");
	brd_mstream_fail(s, &f);
	return false;
}

void brd_stream_error(struct mstream *s, struct jval error, int status, struct arena *a)
{
	struct signals sig = { 0 };
	struct fault f = { .retry_after_ms = -1 };

	brd_fault_read_value(&sig, error, a);
	if (!sig.status)
		sig.status = status;
	if (!sig.message.n)
		sig.message = BRD_STR("the provider reported an error and did not say which");
	brd_fault_classify(&f, &sig);
	brd_mstream_fail(s, &f);
}

void brd_stream_too_long(struct mstream *s)
{
	struct fault f = { .kind = BREAD_FAULT_PROTOCOL,
		.retry_after_ms = -1,
		.text = BRD_STR("the provider sent a line over 16 MiB") };

	brd_mstream_fail(s, &f);
}

void brd_stream_truncated(struct mstream *s, const char *missing)
{
	char text[160];
	struct fault f = { .kind = BREAD_FAULT_TRUNCATED, .retryable = true, .retry_after_ms = -1 };

	snprintf(text, sizeof(text), "the provider's stream ended early: %s is missing", missing);
	f.text = brd_str(text);
	brd_mstream_fail(s, &f);
}

void brd_stream_refused(struct mstream *s, struct bread_str why)
{
	struct fault f = {
		.kind = BREAD_FAULT_CONTENT_FILTER, .finished = true, .retry_after_ms = -1
	};
	char text[160];

	snprintf(text, sizeof(text), "the provider refused to answer (%.*s)",
		(int)(why.n < 100 ? why.n : 100), why.p);
	f.text = brd_str(text);
	brd_mstream_fail(s, &f);
}

void brd_usage_take(int64_t *count, struct jval v)
{
	double n = brd_json_num(v, -1);

	if (n >= 0 && n < 1e15)
		*count = (int64_t)n;
}

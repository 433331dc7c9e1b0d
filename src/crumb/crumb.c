/* SPDX-License-Identifier: MIT */
/* Rendering crumbs.
 *
 * A crumb and its bytes are one block: a draft's buf keeps room for the struct at
 * its front, and sealing turns the block into the crumb without a copy. Behind the
 * JSON lie the run's id and, for errors, the public form; all spans point into
 * the block. Once sealed nothing in it changes but the count of references. */
#include "crumb/crumb.h"
#include <stdlib.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/scan.h"

#define HEADER sizeof(struct crumb)

#define KIND(name, flags) \
	{ \
		name, sizeof(name) - 1, flags \
	}
#define DURABLE BREAD_CRUMB_DURABLE

const struct crumb_kind brd_crumb_kinds[CRUMB_TYPES] = {
	[CRUMB_RUN_START] = KIND("agent:run:start", DURABLE),
	[CRUMB_RUN_END] = KIND("agent:run:end", DURABLE | BREAD_CRUMB_TERMINAL),
	[CRUMB_TEXT_DELTA] = KIND("text:delta", 0),
	[CRUMB_REASONING_DELTA] = KIND("reasoning:delta", 0),
	[CRUMB_FILE] = KIND("file:generated", DURABLE),
	[CRUMB_TOOL_INPUT_START] = KIND("tool:input:start", DURABLE),
	[CRUMB_TOOL_INPUT_DELTA] = KIND("tool:input:delta", DURABLE),
	[CRUMB_TOOL_INPUT_END] = KIND("tool:input:end", DURABLE),
	[CRUMB_TOOL_CALL] = KIND("tool:call", DURABLE),
	[CRUMB_TOOL_RESULT_PARTIAL] = KIND("tool:result:partial", DURABLE),
	[CRUMB_TOOL_RESULT] = KIND("tool:result", DURABLE),
	[CRUMB_TOOL_ERROR] = KIND("tool:error", DURABLE | BREAD_CRUMB_ERROR),
	[CRUMB_AGENT_ERROR] =
		KIND("agent:error", DURABLE | BREAD_CRUMB_TERMINAL | BREAD_CRUMB_ERROR),
	[CRUMB_HUMAN_REQUIRED] = KIND("human:required", DURABLE),
	[CRUMB_HUMAN_RESUMED] = KIND("human:resumed", DURABLE),
	[CRUMB_SUBAGENT_START] = KIND("subagent:run:start", DURABLE),
	[CRUMB_SUBAGENT_END] = KIND("subagent:run:end", DURABLE),
	[CRUMB_STEP_START] = KIND("pipeline:step:start", DURABLE),
	[CRUMB_STEP_END] = KIND("pipeline:step:end", DURABLE),
	[CRUMB_BRANCH_TAKEN] = KIND("pipeline:branch:taken", DURABLE),
	[CRUMB_LOOP_START] = KIND("loop:start", DURABLE),
	[CRUMB_LOOP_ROUND_START] = KIND("loop:iteration:start", DURABLE),
	[CRUMB_LOOP_ROUND_END] = KIND("loop:iteration:end", DURABLE),
	[CRUMB_LOOP_END] = KIND("loop:end", DURABLE),
	[CRUMB_TASK_START] = KIND("task:start", DURABLE),
	[CRUMB_TASK_END] = KIND("task:end", DURABLE),
	[CRUMB_ATTEMPT_VOID] = KIND("agent:attempt:void", DURABLE),
};

static struct bread_str kind_name(enum crumb_type t)
{
	return (struct bread_str){ brd_crumb_kinds[t].name, brd_crumb_kinds[t].len };
}

enum crumb_type brd_crumb_type(struct bread_str name)
{
	for (int t = 0; t < CRUMB_TYPES; t++)
		if (brd_str_eq(name, kind_name((enum crumb_type)t)))
			return (enum crumb_type)t;
	return CRUMB_TYPES;
}

struct crumb *brd_crumb_ref(struct crumb *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

void brd_crumb_unref(struct crumb *c)
{
	if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
		free(c);
}

void brd_crumb_view(const struct crumb *c, struct bread_crumb *ret)
{
	*ret = (struct bread_crumb){
		.run_id = c->run_id,
		.path = c->path,
		.tree_seq = c->tree_seq,
		.type = c->name,
		.json = c->json,
		.public_json = c->public_json,
		.seq = c->seq,
		.offset = c->offset,
		.offset_other = c->offset_other,
		.flags = c->flags,
	};
}

void brd_crumb_base_init(struct crumb_base *b, struct bread_str agent_id, struct bread_str run_id,
	struct bread_str session_id, struct arena *a)
{
	struct buf ids;
	struct jsonw w = { &ids, true };

	brd_buf_init(&ids, BUF_NO_LIMIT);
	brd_jw_kstr(&w, "agentId", agent_id);
	brd_jw_kstr(&w, "runId", run_id);
	if (session_id.n)
		brd_jw_kstr(&w, "sessionId", session_id);
	*b = (struct crumb_base){
		.agent_id = brd_arena_copy(a, agent_id),
		.run_id = brd_arena_copy(a, run_id),
		.session_id = brd_arena_copy(a, session_id),
		.ids = brd_arena_copy(a, brd_buf_str(&ids)),
	};
	brd_buf_fini(&ids);
}

static void base_ids(struct crumb_base *b, struct buf *ids, struct arena *a)
{
	b->ids = brd_arena_copy(a, brd_buf_str(ids));
	brd_buf_fini(ids);
}

#define IS_PIPELINE ",\"kind\":\"pipeline\""

void brd_crumb_base_pipeline(struct crumb_base *b, struct bread_str pipeline_id,
	struct bread_str run_id, struct arena *a)
{
	struct buf ids;

	brd_crumb_base_init(b, pipeline_id, run_id, (struct bread_str){ 0 }, a);
	brd_buf_init(&ids, BUF_NO_LIMIT);
	brd_buf_add(&ids, b->ids);
	brd_buf_addz(&ids, IS_PIPELINE);
	base_ids(b, &ids, a);
}

void brd_crumb_base_step(struct crumb_base *b, struct bread_str pipeline_id, int64_t index,
	struct bread_str agent_id, struct bread_str root_id, struct arena *a)
{
	struct buf ids;
	struct jsonw w = { &ids, true };

	*b = (struct crumb_base){
		.agent_id = agent_id,
		.run_id = brd_arena_printf(a, "%.*s:%lld", BRD_ARG(pipeline_id), (long long)index),
	};
	brd_buf_init(&ids, BUF_NO_LIMIT);
	brd_jw_kstr(&w, "pipelineId", pipeline_id);
	brd_jw_kint(&w, "stepIndex", index);
	brd_jw_kstr(&w, "agentId", agent_id);
	brd_jw_kstr(&w, "runId", b->run_id);
	brd_jw_kstr(&w, "rootRunId", root_id);
	base_ids(b, &ids, a);
}

/* A block with the struct's place at its front and room for just so many bytes behind:
 * many crumbs are held for a while, and doubling would waste a third of each. */
static void block_init(struct buf *b, size_t more)
{
	size_t cap = HEADER + more + 1;

	*b = (struct buf){ .data = brd_realloc(NULL, cap), .len = HEADER, .cap = cap };
	b->limit = BUF_NO_LIMIT;
}

/* The block becomes a crumb. Its JSON is complete; json_len of its bytes are that. */
static struct crumb *block_seal(struct buf *b, size_t json_len, const struct crumb_base *base)
{
	size_t at = b->len;
	struct crumb *c;

	brd_buf_add(b, base->run_id);
	brd_buf_add(b, base->path);
	brd_buf_add(b, base->log_id);
	c = (struct crumb *)brd_buf_take(b, NULL);
	brd_assert(c);
	memset(c, 0, HEADER);
	atomic_init(&c->refs, 1);
	c->json = (struct bread_str){ (char *)c + HEADER, json_len };
	c->public_json = c->json;
	c->run_id = (struct bread_str){ (char *)c + at, base->run_id.n };
	c->path = (struct bread_str){ c->run_id.p + base->run_id.n, base->path.n };
	c->log_id = c->run_id;
	if (base->log_id.n)
		c->log_id = (struct bread_str){ c->path.p + c->path.n, base->log_id.n };
	return c;
}

/* ---- drafts ---- */

/* Its own members stand before the timestamp. */
static bool stamped_late(enum crumb_type t)
{
	return t == CRUMB_AGENT_ERROR || t == CRUMB_STEP_END || t == CRUMB_BRANCH_TAKEN;
}

void brd_crumb_begin(
	struct crumb_draft *d, enum crumb_type t, const struct crumb_base *base, int64_t timestamp)
{
	*d = (struct crumb_draft){ .type = t, .timestamp = timestamp, .base = base };
	block_init(&d->buf, base->ids.n + 256);
	brd_buf_init(&d->reduced, BUF_NO_LIMIT);
	d->w = brd_jsonw(&d->buf);
	brd_jw_obj(&d->w);
	brd_jw_kstr(&d->w, "type", kind_name(t));
	brd_buf_add(&d->buf, base->ids);
	if (!stamped_late(t))
		brd_jw_kint(&d->w, "timestamp", timestamp);
}

static void add_reduced(struct buf *b, struct bread_str code, struct bread_str message)
{
	struct jsonw w = brd_jsonw(b);

	brd_jw_obj(&w);
	brd_jw_kstr(&w, "code", code);
	brd_jw_kstr(&w, "message", message);
	brd_jw_end_obj(&w);
}

void brd_crumb_error(struct crumb_draft *d, struct bread_str code, struct bread_str message,
	struct bread_str context)
{
	struct jsonw *w = &d->w;

	brd_jw_key(w, "error");
	d->error_from = d->buf.len;
	brd_jw_obj(w);
	brd_jw_kstr(w, "name", BRD_STR("BreadError"));
	brd_jw_kstr(w, "code", code);
	brd_jw_kstr(w, "message", message);
	brd_jw_kraw(w, "context", context);
	brd_jw_end_obj(w);
	d->error_to = d->buf.len;
	add_reduced(&d->reduced, code, message);
}

/* Puts the public form behind what is there and returns its length; 0: there is none. */
static size_t add_public(struct crumb_draft *d)
{
	size_t at = d->buf.len;
	struct buf *b = &d->buf;

	if (!d->error_to)
		return 0;
	brd_buf_grow(b, at + d->reduced.len); /* so that the spans below stay where they are */
	brd_buf_addn(b, b->data + HEADER, d->error_from - HEADER);
	brd_buf_add(b, brd_buf_str(&d->reduced));
	brd_buf_addn(b, b->data + d->error_to, at - d->error_to);
	return b->len - at;
}

struct crumb *brd_crumb_seal(struct crumb_draft *d, int64_t seq)
{
	size_t json_len, public_len;
	struct crumb *c;

	if (stamped_late(d->type))
		brd_jw_kint(&d->w, "timestamp", d->timestamp);
	brd_jw_kint(&d->w, "seq", seq);
	brd_jw_end_obj(&d->w);
	json_len = d->buf.len - HEADER;
	public_len = add_public(d);
	c = block_seal(&d->buf, json_len, d->base);
	if (public_len)
		c->public_json = (struct bread_str){ c->json.p + json_len, public_len };
	c->type = d->type;
	c->name = kind_name(d->type);
	c->flags = brd_crumb_kinds[d->type].flags;
	c->timestamp = d->timestamp;
	c->units = d->units;
	c->seq = seq;
	brd_buf_fini(&d->reduced);
	return c;
}

void brd_crumb_abandon(struct crumb_draft *d)
{
	brd_buf_fini(&d->buf);
	brd_buf_fini(&d->reduced);
}

/* ---- deltas ---- */

static inline char *put(char *to, struct bread_str s)
{
	memcpy(to, s.p, s.n);
	return to + s.n;
}

/* What a delta's JSON has beside its texts: two numbers, names of members, and some. */
#define DELTA_ROOM (2 * INT_ROOM + 120)

static char *put_delta_head(char *to, enum crumb_type t, const struct crumb_base *base, int64_t ts)
{
	to = put(to, BRD_STR("{\"type\":\""));
	to = put(to, kind_name(t));
	*to++ = '"';
	to = put(to, base->ids);
	to = put(to, BRD_STR(",\"timestamp\":"));
	to = brd_put_int(to, ts);
	return put(to, BRD_STR(",\"delta\":"));
}

/* Quotes s behind what b has. plain: nothing in it needs an escape. */
static void add_delta_text(struct buf *b, struct bread_str s, bool plain)
{
	char *to = b->data + b->len;

	if (!plain) {
		brd_json_quote(b, s);
		return;
	}
	*to++ = '"';
	to = put(to, s);
	*to = '"';
	b->len += s.n + 2;
}

/* UTF-16 units of what brd_json_quote makes of s: a surrogate in three bytes is one. */
static size_t units_of(struct bread_str s)
{
	size_t units = 0;

	for (size_t i = 0; i < s.n; units++) {
		size_t bad = 1, n = brd_utf8_char(s.p + i, s.n - i, &bad);

		if (n == 0 && brd_utf8_surrogate(s.p + i, s.n - i))
			n = 3;
		units += n == 4;
		i += n ? n : bad;
	}
	return units;
}

struct crumb *brd_crumb_delta(enum crumb_type t, const struct crumb_base *base, int64_t timestamp,
	struct bread_str delta, int64_t seq)
{
	bool plain = delta.n == 0 || scan_plain(delta.p, delta.p + delta.n) == delta.p + delta.n;
	struct bread_str text = delta.n ? delta : BRD_STR("");
	struct buf b;
	struct crumb *c;
	char *to;

	block_init(&b, DELTA_ROOM + brd_crumb_kinds[t].len + base->ids.n + text.n +
			       (plain ? 0 : text.n / 2 + 16) + base->run_id.n + base->path.n);
	to = put_delta_head(b.data + b.len, t, base, timestamp);
	b.len = (size_t)(to - b.data);
	add_delta_text(&b, text, plain);
	brd_buf_grow(&b, sizeof(",\"seq\":}") + INT_ROOM + base->run_id.n + base->path.n);
	to = put(b.data + b.len, BRD_STR(",\"seq\":"));
	to = brd_put_int(to, seq);
	*to++ = '}';
	b.len = (size_t)(to - b.data);

	c = block_seal(&b, b.len - HEADER, base);
	c->type = t;
	c->name = kind_name(t);
	c->flags = brd_crumb_kinds[t].flags;
	c->timestamp = timestamp;
	c->seq = seq;
	c->units = (uint32_t)(plain ? text.n : units_of(text));
	return c;
}

/* ---- from the log ---- */

/* The public form of an error crumb's JSON: its error is reduced to code and message. What has no
 * error object is appended as it is. */
static void reduce(struct bread_str json, struct buf *out)
{
	struct arena a = { 0 };
	struct jval root, error;
	struct bread_str raw;
	size_t at;

	if (brd_json_parse(&a, json, 0, &root, NULL) ||
		brd_json_type(error = brd_json_get(root, "error")) != JSON_OBJECT) {
		brd_buf_add(out, json);
		brd_arena_fini(&a);
		return;
	}
	raw = brd_json_raw(error);
	at = (size_t)(raw.p - json.p);
	brd_buf_addn(out, json.p, at);
	add_reduced(out, brd_json_str(brd_json_get(error, "code"), &a),
		brd_json_str(brd_json_get(error, "message"), &a));
	brd_buf_addn(out, raw.p + raw.n, json.n - at - raw.n);
	brd_arena_fini(&a);
}

/* Of a type that this program does not make, only that it was logged is known. */
static unsigned flags_named(struct bread_str name)
{
	enum crumb_type t = brd_crumb_type(name);

	return BREAD_CRUMB_DURABLE | (t == CRUMB_TYPES ? 0 : brd_crumb_kinds[t].flags);
}

/* What stands behind the value of "runId"; ids have no quotes in them. */
static struct bread_str behind_run_id(struct bread_str json, struct bread_str *ret_id)
{
	static const char key[] = ",\"runId\":\"";
	const char *at = memmem(json.p, json.n < 1024 ? json.n : 1024, key, sizeof(key) - 1), *end;

	*ret_id = (struct bread_str){ 0 };
	if (!at)
		return *ret_id;
	at += sizeof(key) - 1;
	end = memchr(at, '"', (size_t)(json.p + json.n - at));
	if (!end)
		return *ret_id;
	*ret_id = (struct bread_str){ at, (size_t)(end - at) };
	return (struct bread_str){ end + 1, (size_t)(json.p + json.n - end - 1) };
}

struct bread_str brd_crumb_row_names(struct bread_str json)
{
	struct bread_str id;

	behind_run_id(json, &id);
	return id;
}

/* The start or the end of a pipeline's own run. */
static bool is_frame(struct bread_str type, struct bread_str json)
{
	enum crumb_type t = brd_crumb_type(type);
	struct bread_str id, rest;

	if (t != CRUMB_RUN_START && t != CRUMB_RUN_END && t != CRUMB_AGENT_ERROR)
		return false;
	rest = behind_run_id(json, &id);
	return brd_str_starts(rest, BRD_STR(IS_PIPELINE));
}

void brd_crumb_row_view(struct bread_str run_id, struct bread_str type, int64_t seq,
	struct bread_str json, struct buf *scratch, struct bread_crumb *ret)
{
	*ret = (struct bread_crumb){ .run_id = run_id,
		.type = type,
		.json = json,
		.public_json = json,
		.seq = seq,
		.flags = flags_named(type) };
	if (is_frame(type, json))
		ret->flags |= BREAD_CRUMB_FRAME;
	if (!(ret->flags & BREAD_CRUMB_ERROR))
		return;
	brd_buf_clear(scratch);
	reduce(json, scratch);
	ret->public_json = brd_buf_str(scratch);
}

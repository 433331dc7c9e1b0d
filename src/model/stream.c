/* SPDX-License-Identifier: MIT */
/* See stream.h. A handle is a place in blocks; an index is given out when the
 * block's start is emitted, which for a call may be much later. */
#include "model/stream.h"
#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/str.h"
#include "base/uuid.h"
#include "model/partial.h"

#define REDACTED "[Reasoning redacted]"
#define HOLD_MAX 6
#define NAME_MAX_BYTES 4096 /* of a call's id and name */
#define META_MAX 1024       /* of the response's id and model */

struct mblock {
	enum bread_part_kind kind;
	unsigned index;
	bool shown, ended, redacted;
	struct buf text;
	struct buf id, name, signature;
	char hold[HOLD_MAX]; /* the begin of a character or of a surrogate pair */
	size_t held;
};

static const enum bread_event_kind start_kind[] = { [BREAD_PART_TEXT] = BREAD_EV_TEXT_START,
	[BREAD_PART_REASONING] = BREAD_EV_THINKING_START,
	[BREAD_PART_CALL] = BREAD_EV_CALL_START };
static const enum bread_event_kind delta_kind[] = { [BREAD_PART_TEXT] = BREAD_EV_TEXT_DELTA,
	[BREAD_PART_REASONING] = BREAD_EV_THINKING_DELTA,
	[BREAD_PART_CALL] = BREAD_EV_CALL_DELTA };
static const enum bread_event_kind end_kind[] = { [BREAD_PART_TEXT] = BREAD_EV_TEXT_END,
	[BREAD_PART_REASONING] = BREAD_EV_THINKING_END,
	[BREAD_PART_CALL] = BREAD_EV_CALL_END };

void brd_mstream_init(
	struct mstream *s, void (*emit)(void *arg, const struct bread_event *ev), void *arg)
{
	*s = (struct mstream){ .emit = emit, .arg = arg };
	brd_buf_init(&s->response_id, META_MAX);
	brd_buf_init(&s->response_model, META_MAX);
}

void brd_mstream_fini(struct mstream *s)
{
	for (size_t i = 0; i < s->count; i++) {
		brd_buf_fini(&s->blocks[i].text);
		brd_buf_fini(&s->blocks[i].id);
		brd_buf_fini(&s->blocks[i].name);
		brd_buf_fini(&s->blocks[i].signature);
	}
	free(s->blocks);
	brd_buf_fini(&s->response_id);
	brd_buf_fini(&s->response_model);
	s->blocks = NULL;
	s->count = s->cap = 0;
}

void brd_mstream_reset(struct mstream *s)
{
	void (*emit)(void *arg, const struct bread_event *ev) = s->emit;
	void *arg = s->arg;

	brd_mstream_fini(s);
	brd_mstream_init(s, emit, arg);
}

static void emit(struct mstream *s, struct bread_event *ev)
{
	ev->retry_after_ms = ev->kind == BREAD_EV_ERROR ? ev->retry_after_ms : -1;
	if (!s->started && ev->kind != BREAD_EV_ERROR) {
		struct bread_event start = { .kind = BREAD_EV_START,
			.retry_after_ms = -1,
			.response_id = brd_buf_str(&s->response_id),
			.response_model = brd_buf_str(&s->response_model) };

		s->started = true;
		s->emit(s->arg, &start);
	}
	s->touched = true;
	s->emit(s->arg, ev);
}

static void over_limit(struct mstream *s, const char *what)
{
	struct fault f = {
		.kind = BREAD_FAULT_PROTOCOL, .retry_after_ms = -1, .text = brd_str(what)
	};

	brd_mstream_fail(s, &f);
}

static struct mblock *block(const struct mstream *s, int at)
{
	if (s->ended || at < 0 || (size_t)at >= s->count || s->blocks[at].ended)
		return NULL;
	return &s->blocks[at];
}

static void show(struct mstream *s, struct mblock *b)
{
	struct bread_event ev = { .kind = start_kind[b->kind],
		.id = brd_buf_str(&b->id),
		.name = brd_buf_str(&b->name) };

	b->shown = true;
	b->index = ev.index = s->next_index++;
	emit(s, &ev);
}

int brd_mstream_open(struct mstream *s, enum bread_part_kind kind)
{
	struct mblock *b;

	if (s->ended)
		return -1;
	if (s->count == MSTREAM_BLOCKS_MAX) {
		over_limit(s, "the answer has more than 4096 blocks");
		return -1;
	}
	if (s->count == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 4;
		s->blocks = brd_realloc(s->blocks, s->cap * sizeof(*s->blocks));
	}
	b = &s->blocks[s->count++];
	*b = (struct mblock){ .kind = kind };
	brd_buf_init(&b->text, MSTREAM_TEXT_MAX);
	brd_buf_init(&b->id, NAME_MAX_BYTES);
	brd_buf_init(&b->name, NAME_MAX_BYTES);
	brd_buf_init(&b->signature, MSTREAM_TEXT_MAX);
	if (kind != BREAD_PART_CALL)
		show(s, b);
	return (int)(s->count - 1);
}

static void emit_delta(struct mstream *s, const struct mblock *b, struct bread_str text)
{
	struct bread_event ev = { .kind = delta_kind[b->kind], .index = b->index, .text = text };

	if (b->shown && text.n)
		emit(s, &ev);
}

static void add_whole(struct mstream *s, struct mblock *b, struct bread_str text)
{
	s->text_len += text.n;
	if (s->text_len > MSTREAM_TEXT_MAX) {
		over_limit(s, "the answer is over 64 MiB");
		return;
	}
	brd_buf_add(&b->text, text);
	emit_delta(s, b, text);
}

/* 1: a high surrogate (three bytes, as the JSON reader gives them); 2: a low one. */
static int surrogate(const unsigned char *p, size_t n)
{
	if (!brd_utf8_surrogate((const char *)p, n))
		return 0;
	return p[1] < 0xb0 ? 1 : 2;
}

static void add_pair(struct buf *out, const unsigned char *p)
{
	unsigned high = (unsigned)((p[1] & 0x0f) << 6 | (p[2] & 0x3f));
	unsigned low = (unsigned)((p[4] & 0x0f) << 6 | (p[5] & 0x3f));
	unsigned c = 0x10000 + (high << 10) + low;

	brd_buf_addc(out, (char)(0xf0 | c >> 18));
	brd_buf_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
	brd_buf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	brd_buf_addc(out, (char)(0x80 | (c & 0x3f)));
}

/* One character at p, mended; returns what it takes, 0: it may go on in the next delta. */
static size_t mend_char(const char *p, size_t n, struct buf *out)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t bad = 1, len = brd_utf8_char(p, n, &bad);
	int s = surrogate(u, n);

	if (len) {
		brd_buf_addn(out, p, len);
		return len;
	}
	if (s == 1 && surrogate(u + 3, n - 3) == 2) {
		add_pair(out, u);
		return 6;
	}
	if (s == 1 && (n == 3 || (n < 6 && u[3] == 0xed && (n == 4 || u[4] >= 0xb0))))
		return 0;
	if (!s && (brd_utf8_open((struct bread_str){ p, n }) == n ||
			  (n == 2 && u[0] == 0xed && u[1] >= 0xa0 && u[1] < 0xc0)))
		return 0;
	brd_buf_addz(out, "\xef\xbf\xbd");
	return s ? 3 : bad;
}

static void add_mended(struct mstream *s, struct mblock *b, struct bread_str text, bool last)
{
	struct buf in, out;
	size_t at = 0;

	brd_buf_init(&in, MSTREAM_TEXT_MAX);
	brd_buf_init(&out, 4 * MSTREAM_TEXT_MAX);
	brd_buf_addn(&in, b->hold, b->held);
	brd_buf_add(&in, text);
	b->held = 0;
	while (at < in.len) {
		size_t n = mend_char(in.data + at, in.len - at, &out);

		if (!n && (last || in.len - at > HOLD_MAX)) {
			brd_buf_addz(&out, "\xef\xbf\xbd");
			break;
		}
		if (!n) {
			b->held = in.len - at;
			memcpy(b->hold, in.data + at, b->held);
			break;
		}
		at += n;
	}
	add_whole(s, b, brd_buf_str(&out));
	brd_buf_fini(&in);
	brd_buf_fini(&out);
}

void brd_mstream_add(struct mstream *s, int at, struct bread_str text)
{
	struct mblock *b = block(s, at);

	if (!b || !text.n)
		return;
	if (!b->held && brd_utf8_ok(text))
		add_whole(s, b, text);
	else
		add_mended(s, b, text, false);
}

void brd_mstream_add_to(
	struct mstream *s, int *block, enum bread_part_kind kind, struct bread_str text)
{
	if (!text.n)
		return;
	if (*block < 0)
		*block = brd_mstream_open(s, kind);
	brd_mstream_add(s, *block, text);
}

static void set_once(struct buf *b, struct bread_str s)
{
	if (!b->len && s.n <= NAME_MAX_BYTES)
		brd_buf_add(b, s);
}

/* A call becomes visible once id and name are known; then what came before is its first delta. */
static void maybe_show(struct mstream *s, struct mblock *b)
{
	if (b->shown || !b->id.len || !b->name.len)
		return;
	show(s, b);
	emit_delta(s, b, brd_buf_str(&b->text));
}

void brd_mstream_call(struct mstream *s, int at, struct bread_str id, struct bread_str name)
{
	struct mblock *b = block(s, at);

	if (!b)
		return;
	set_once(&b->id, id);
	set_once(&b->name, name);
	maybe_show(s, b);
}

void brd_mstream_sign(struct mstream *s, int at, struct bread_str more)
{
	struct mblock *b = block(s, at);

	if (b)
		brd_buf_add(&b->signature, more);
}

void brd_mstream_redact(struct mstream *s, int at, struct bread_str payload)
{
	struct mblock *b = block(s, at);

	if (!b)
		return;
	b->redacted = true;
	brd_buf_clear(&b->signature);
	brd_buf_add(&b->signature, payload);
}

static void end_call(struct mstream *s, struct mblock *b)
{
	struct buf json;
	struct bread_event ev = { .kind = BREAD_EV_CALL_END, .text = brd_buf_str(&b->text) };

	if (!b->id.len) {
		char id[UUID_LEN + 1];

		brd_uuid7(id);
		brd_buf_addf(&b->id, "call_%s", id);
	}
	maybe_show(s, b);
	b->ended = true;
	if (!b->shown)
		return; /* it never got a name: nothing that could be called */
	s->has_calls = true;
	brd_buf_init(&json, 8 * MSTREAM_TEXT_MAX);
	ev.incomplete = !brd_args_finish(ev.text, &json);
	ev.json = brd_buf_str(&json);
	ev.index = b->index;
	ev.id = brd_buf_str(&b->id);
	ev.name = brd_buf_str(&b->name);
	ev.signature = brd_buf_str(&b->signature);
	emit(s, &ev);
	brd_buf_fini(&json);
}

static void end_text(struct mstream *s, struct mblock *b)
{
	struct bread_event ev = { .kind = end_kind[b->kind],
		.index = b->index,
		.text = b->redacted ? BRD_STR(REDACTED) : brd_buf_str(&b->text),
		.signature = brd_buf_str(&b->signature),
		.redacted = b->redacted };

	b->ended = true;
	emit(s, &ev);
}

void brd_mstream_end(struct mstream *s, int at)
{
	struct mblock *b = block(s, at);

	if (b && b->held)
		add_mended(s, b, (struct bread_str){ "", 0 }, true);
	b = block(s, at);
	if (!b)
		return;
	if (b->kind == BREAD_PART_CALL)
		end_call(s, b);
	else
		end_text(s, b);
}

void brd_mstream_file(struct mstream *s, struct bread_str media_type, struct bread_str base64)
{
	struct bread_event ev = { .kind = BREAD_EV_FILE, .media_type = media_type, .text = base64 };

	if (!s->ended)
		emit(s, &ev);
}

void brd_mstream_call_whole(
	struct mstream *s, struct bread_str id, struct bread_str name, struct bread_str args)
{
	int at = brd_mstream_open(s, BREAD_PART_CALL);
	struct mblock *b;

	brd_mstream_call(s, at, id, name);
	b = block(s, at);
	if (!b)
		return;
	brd_buf_add(&b->text, args);
	brd_mstream_end(s, at);
}

struct bread_str brd_mstream_call_id(const struct mstream *s, int at)
{
	return at < 0 ? (struct bread_str){ 0 } : brd_buf_str(&s->blocks[at].id);
}

void brd_mstream_likely(struct mstream *s, struct jval tokens)
{
	for (struct json_iter it = brd_json_each(tokens); brd_json_next(&it);) {
		double log = brd_json_num(brd_json_get(it.value, "logprob"), NAN);

		if (!isfinite(log) || log > 0)
			continue;
		s->log_likely += log;
		s->likely_known = true;
	}
}

static void finish(struct mstream *s, enum bread_stop reason)
{
	struct bread_event ev = { .kind = BREAD_EV_DONE,
		.reason = reason == BREAD_STOP_STOP && s->has_calls ? BREAD_STOP_TOOL_USE : reason,
		.usage = s->usage,
		.response_id = brd_buf_str(&s->response_id),
		.response_model = brd_buf_str(&s->response_model),
		.likely = s->likely_known ? exp(s->log_likely) : 0 };

	if (s->ended)
		return;
	s->ended = true;
	emit(s, &ev);
}

static void end_blocks(struct mstream *s, bool calls)
{
	for (size_t i = 0; i < s->count; i++)
		if (calls || s->blocks[i].kind != BREAD_PART_CALL)
			brd_mstream_end(s, (int)i);
}

void brd_mstream_done(struct mstream *s, enum bread_stop reason)
{
	end_blocks(s, true);
	finish(s, reason);
}

void brd_mstream_done_without_calls(struct mstream *s, enum bread_stop reason)
{
	end_blocks(s, false);
	finish(s, reason);
}

void brd_mstream_fail(struct mstream *s, const struct fault *f)
{
	struct bread_event ev = { .kind = BREAD_EV_ERROR,
		.reason = f->kind == BREAD_FAULT_ABORTED ? BREAD_STOP_ABORTED : BREAD_STOP_ERROR,
		.text = f->text,
		.usage = s->usage,
		.fault = f->kind,
		.retryable = f->retryable,
		.overflow = f->kind == BREAD_FAULT_OVERFLOW,
		.status = f->status,
		.retry_after_ms = f->retry_after_ms };
	bool was;

	if (f->finished)
		end_blocks(s, true);
	if (s->ended)
		return;
	s->ended = true;
	was = s->touched;
	emit(s, &ev);
	s->touched = was; /* the terminal alone does not forbid a retry */
}

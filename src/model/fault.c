/* SPDX-License-Identifier: MIT */
/* See fault.h. The order of the decisions matters: a quota that is used up comes
 * as 429 and must not be tried again; Bedrock-like throttling says "too many
 * tokens" and is no overflow. */
#include "model/fault.h"
#include <ctype.h>
#include <stdlib.h>
#include <time.h>
#include "base/clock.h"
#include "base/str.h"
#include "base/uuid.h"

#define HTML_KEPT 400            /* bytes of an error page, without its tags */
#define BEHIND_GATEWAY_KEPT 2000 /* of what the provider behind a gateway said */
#define SENTENCE_MAX 4096        /* overflows are told in sentences, not in documents */

/* * stands for anything, # for a number. Lower case. */
static const char *const overflow_patterns[] = {
	"prompt is too long",
	"request_too_large",
	"input is too long for requested model",
	"exceeds the context window",
	"input token count*exceeds the maximum",
	"maximum prompt length is #",
	"reduce the length of the messages",
	"maximum context length is # tokens",
	"exceeds the limit of #",
	"exceeds the available context size",
	"greater than the context length",
	"context window exceeds limit",
	"exceeded model token limit",
	"too large for model with # maximum context length",
	"model_context_window_exceeded",
	"prompt too long; exceeded context length",
	"prompt too long; exceeded max context length",
	"context_length_exceeded",
	"context length exceeded",
	"exceed_context_size_error",
	"too many tokens",
	"token limit exceeded",
};

static bool match_here(const char *pat, struct bread_str s);

static bool match_rest(const char *pat, struct bread_str s)
{
	for (size_t i = 0; i <= s.n; i++)
		if (match_here(pat, brd_sub(s, i, s.n - i)))
			return true;
	return false;
}

static bool match_here(const char *pat, struct bread_str s)
{
	size_t i = 0;

	for (; *pat; pat++) {
		if (*pat == '*')
			return match_rest(pat + 1, brd_sub(s, i, s.n - i));
		if (*pat == '#') {
			size_t from = i;

			while (i < s.n && (isdigit((unsigned char)s.p[i]) || s.p[i] == ','))
				i++;
			if (i == from)
				return false;
			continue;
		}
		if (i == s.n || tolower((unsigned char)s.p[i]) != *pat)
			return false;
		i++;
	}
	return true;
}

static bool has(struct bread_str s, const char *pat)
{
	return s.n && match_rest(pat, s);
}

bool brd_is_overflow(struct bread_str text)
{
	if (text.n > SENTENCE_MAX)
		text.n = SENTENCE_MAX;
	if (has(text, "rate limit") || has(text, "too many requests") || has(text, "throttling") ||
		(text.n && match_here("service unavailable:", text)))
		return false;
	for (size_t i = 0; i < sizeof(overflow_patterns) / sizeof(*overflow_patterns); i++)
		if (has(text, overflow_patterns[i]))
			return true;
	return false;
}

static bool any(const struct signals *s, const char *pat)
{
	return has(s->type, pat) || has(s->code, pat);
}

static bool is_quota(const struct signals *s)
{
	return s->status == 402 || any(s, "insufficient_quota") || any(s, "billing_error") ||
	       any(s, "billing_not_active") || any(s, "insufficient_balance") ||
	       has(s->message, "exceeded your current quota") ||
	       has(s->message, "insufficient balance") ||
	       has(s->message, "credit balance is too low");
}

static bool overflows(const struct signals *s)
{
	bool may = s->status == 0 || s->status == 400 || s->status == 413 || s->status == 422 ||
		   s->status == 500;

	if (s->status == 413 || (s->status == 400 && !s->message.n && !s->type.n && !s->code.n))
		return true;
	return may && (any(s, "context_length_exceeded") || any(s, "exceed_context_size_error") ||
			      any(s, "request_too_large") || brd_is_overflow(s->message));
}

static enum bread_model_fault by_status(int status)
{
	switch (status) {
	case 503:
	case 529:
		return BREAD_FAULT_OVERLOADED;
	case 429:
		return BREAD_FAULT_RATE_LIMIT;
	case 401:
		return BREAD_FAULT_AUTH;
	case 403:
		return BREAD_FAULT_PERMISSION;
	case 404:
		return BREAD_FAULT_NOT_FOUND;
	case 408:
	case 504:
		return BREAD_FAULT_TIMEOUT;
	case 409:
		return BREAD_FAULT_SERVER;
	default:
		return status >= 500 ? BREAD_FAULT_SERVER : BREAD_FAULT_NONE;
	}
}

static enum bread_model_fault by_words(const struct signals *s)
{
	static const struct {
		const char *word;
		enum bread_model_fault kind;
	} words[] = {
		{ "overloaded", BREAD_FAULT_OVERLOADED },
		{ "unavailable", BREAD_FAULT_OVERLOADED },
		{ "rate_limit", BREAD_FAULT_RATE_LIMIT },
		{ "throttl", BREAD_FAULT_RATE_LIMIT },
		{ "resource_exhausted", BREAD_FAULT_RATE_LIMIT },
		{ "authentication", BREAD_FAULT_AUTH },
		{ "invalid_api_key", BREAD_FAULT_AUTH },
		{ "unauthenticated", BREAD_FAULT_AUTH },
		{ "permission", BREAD_FAULT_PERMISSION },
		{ "not_found", BREAD_FAULT_NOT_FOUND },
		{ "timeout", BREAD_FAULT_TIMEOUT },
		{ "deadline_exceeded", BREAD_FAULT_TIMEOUT },
		{ "content_filter", BREAD_FAULT_CONTENT_FILTER },
		{ "content_policy", BREAD_FAULT_CONTENT_FILTER },
		/* Groq: the model wrote a call that is none; worth another try */
		{ "tool_use_failed", BREAD_FAULT_SERVER },
		{ "invalid_request", BREAD_FAULT_INVALID_REQUEST },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (any(s, words[i].word))
			return words[i].kind;
	return BREAD_FAULT_NONE;
}

static enum bread_model_fault decide(const struct signals *s)
{
	enum bread_model_fault kind;

	if (is_quota(s))
		return BREAD_FAULT_QUOTA;
	if (overflows(s))
		return BREAD_FAULT_OVERFLOW;
	/* Gemini's endpoint says 400 for a bad key */
	if (s->status == 400 && has(s->message, "api key not valid"))
		return BREAD_FAULT_AUTH;
	kind = by_status(s->status);
	if (kind == BREAD_FAULT_NONE)
		kind = by_words(s);
	if (kind != BREAD_FAULT_NONE)
		return kind;
	if (s->status >= 400)
		return BREAD_FAULT_INVALID_REQUEST;
	if (has(s->message, "overloaded"))
		return BREAD_FAULT_OVERLOADED;
	if (has(s->message, "rate limit") || has(s->message, "too many requests"))
		return BREAD_FAULT_RATE_LIMIT;
	return BREAD_FAULT_SERVER;
}

void brd_fault_classify(struct fault *f, const struct signals *s)
{
	f->kind = decide(s);
	f->status = s->status;
	f->text = s->message;
	f->retryable = f->kind >= BREAD_FAULT_RATE_LIMIT && f->kind <= BREAD_FAULT_TRUNCATED;
}

static struct bread_str text_of(struct jval v, struct arena *a)
{
	if (brd_json_type(v) == JSON_NUMBER)
		return brd_json_raw(v);
	return brd_json_str(v, a);
}

/* The provider's sentence, with what a gateway got from the one behind it. */
static void read_message(struct signals *s, struct jval error, struct arena *a)
{
	struct jval raw = brd_json_path(error, "metadata.raw");
	struct bread_str more =
		brd_json_type(raw) == JSON_STRING ? brd_json_str(raw, a) : brd_json_raw(raw);

	s->message = brd_json_str(brd_json_get(error, "message"), a);
	if (more.n > BEHIND_GATEWAY_KEPT)
		more.n = brd_utf8_cut(more, BEHIND_GATEWAY_KEPT);
	if (more.n)
		s->message = brd_arena_printf(a, "%.*s: %.*s", BRD_ARG(s->message), BRD_ARG(more));
}

void brd_fault_read_value(struct signals *s, struct jval error, struct arena *a)
{
	int64_t status;

	if (brd_json_type(error) == JSON_STRING) {
		s->message = brd_json_str(error, a);
		return;
	}
	read_message(s, error, a);
	s->type = text_of(brd_json_get(error, "type"), a);
	s->code = text_of(brd_json_get(error, "code"), a);
	if (!s->status &&
		(brd_json_int(brd_json_get(error, "code"), &status) ||
			brd_json_int(brd_json_get(error, "status"), &status)) &&
		status >= 400 && status <= 599)
		s->status = (int)status;
	if (!s->message.n)
		s->message = brd_json_raw(error);
}

static struct bread_str strip_tags(struct bread_str html, struct arena *a)
{
	char *out = brd_arena_alloc(a, HTML_KEPT + 8);
	size_t n = 0;
	bool tag = false, blank = true;

	for (size_t i = 0; i < html.n && n < HTML_KEPT; i++) {
		char c = html.p[i];

		if (c == '<' || c == '>') {
			tag = c == '<';
			c = ' ';
		}
		if (tag || (isspace((unsigned char)c) && blank))
			continue;
		blank = isspace((unsigned char)c) != 0;
		out[n++] = blank ? ' ' : c;
	}
	n = brd_utf8_cut((struct bread_str){ out, n }, n);
	return brd_str_trim((struct bread_str){ out, n });
}

static void read_json(struct signals *s, struct jval v, struct arena *a)
{
	struct jval error, detail;

	if (brd_json_type(v) == JSON_ARRAY)
		v = brd_json_at(v, 0);
	error = brd_json_get(v, "error");
	detail = brd_json_get(v, "detail");
	if (brd_json_type(error) == JSON_OBJECT || brd_json_type(error) == JSON_STRING) {
		brd_fault_read_value(s, error, a);
		return;
	}
	if (brd_json_count(v))
		brd_fault_read_value(s, v, a);
	if (brd_json_type(detail) == JSON_STRING)
		s->message = brd_json_str(detail, a);
	else if (brd_json_type(detail) == JSON_ARRAY)
		s->message = brd_json_raw(detail);
}

void brd_fault_read_body(struct signals *s, struct bread_str body, struct arena *a)
{
	struct jval v;

	body = brd_str_trim(body);
	if (body.n && brd_json_parse(a, body, 0, &v, NULL) == BREAD_OK)
		read_json(s, v, a);
	else if (body.n)
		s->message = strip_tags(body, a);
}

/* ---- waiting ---- */

static int64_t until_date(struct bread_str date)
{
	struct tm tm = { 0 };
	char z[64];
	int64_t ms;

	if (date.n >= sizeof(z))
		return -1;
	memcpy(z, date.p, date.n);
	z[date.n] = '\0';
	if (!strptime(z, "%a, %d %b %Y %H:%M:%S", &tm))
		return -1;
	ms = (int64_t)timegm(&tm) * 1000 - brd_clock_wall();
	return ms > 0 ? ms : 0;
}

int64_t brd_retry_after(struct bread_str after_ms, struct bread_str after)
{
	char z[32];
	struct bread_str s = brd_str_trim(after_ms.n ? after_ms : after);
	double v;
	char *end;

	if (!s.n)
		return -1;
	if (!isdigit((unsigned char)s.p[0]))
		return after_ms.n ? -1 : until_date(s);
	if (s.n >= sizeof(z))
		return -1;
	memcpy(z, s.p, s.n);
	z[s.n] = '\0';
	v = strtod(z, &end);
	if (*end || v > 1e9)
		return -1;
	return (int64_t)(after_ms.n ? v : v * 1000);
}

int64_t brd_retry_backoff(unsigned n)
{
	int64_t ms = n < 4 ? (int64_t)500 << n : 8000;
	uint32_t r;

	brd_random(&r, sizeof(r));
	return ms - (int64_t)((uint64_t)ms / 4 * (r % 1000) / 1000);
}

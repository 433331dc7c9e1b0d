/* SPDX-License-Identifier: MIT */
/* Reading Bread protocol frames.
 *
 * The order of the checks and the words of the refusals are what upstream's
 * decoder has, because clients and tests compare them. A crumb is handed on
 * as the span it came in; its own shape is not looked at. */
#include "crumb/protocol.h"
#include <stdio.h>
#include "base/err.h"

#define RAW_UNITS 200
#define ELLIPSIS "\xe2\x80\xa6"

__attribute__((format(printf, 2, 3))) static int refuse(struct bread_err *err, const char *fmt, ...)
{
	char reason[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	return brd_fail_as(err, BREAD_E_INVALID, "PROTOCOL_DECODE_ERROR", "protocol",
		"Malformed Bread protocol frame: %s", reason);
}

/* A value as JavaScript's template strings show it: good enough for a message. */
static struct bread_str as_text(struct jval v, struct arena *a)
{
	switch (brd_json_type(v)) {
	case JSON_NONE:
		return BRD_STR("undefined");
	case JSON_STRING:
		return brd_json_str(v, a);
	case JSON_OBJECT:
		return BRD_STR("[object Object]");
	default:
		return brd_json_raw(v);
	}
}

static int decode_body(struct jval root, struct arena *a, struct frame *ret, struct bread_err *err)
{
	struct jval type = brd_json_get(root, "type");
	struct jval seq = brd_json_get(root, "seq"), after = brd_json_get(root, "afterSeq");
	struct jval crumb = brd_json_get(root, "crumb");

	if (brd_json_is(type, "crumb")) {
		enum json_type t = brd_json_type(crumb);

		if (brd_json_type(seq) != JSON_NUMBER || (t != JSON_OBJECT && t != JSON_ARRAY))
			return refuse(err, "crumb frame missing \"seq\"/\"crumb\"");
		ret->type = FRAME_CRUMB;
		ret->seq = brd_json_num(seq, 0);
		ret->crumb = crumb;
		return 0;
	}
	if (brd_json_is(type, "subscribe")) {
		if (brd_json_type(after) != JSON_NUMBER)
			return refuse(err, "subscribe frame missing \"afterSeq\"");
		ret->type = FRAME_SUBSCRIBE;
		ret->seq = brd_json_num(after, 0);
		return 0;
	}
	return refuse(err, "unknown frame type \"%.*s\"", BRD_ARG(as_text(type, a)));
}

int brd_frame_decode(
	struct bread_str text, struct arena *a, struct frame *ret, struct bread_err *err)
{
	struct frame f = { 0 };
	struct jval root, v, run_id;
	int64_t version;
	int r;

	if (brd_json_parse(a, text, 0, &root, NULL))
		return refuse(err, "invalid JSON");
	if (brd_json_type(root) != JSON_OBJECT && brd_json_type(root) != JSON_ARRAY)
		return refuse(err, "not an object");
	v = brd_json_get(root, "v");
	if (brd_json_type(v) != JSON_NUMBER || !brd_json_int(v, &version) || version != 1)
		return refuse(
			err, "unsupported version \"%.*s\" (expected 1)", BRD_ARG(as_text(v, a)));
	run_id = brd_json_get(root, "runId");
	if (brd_json_type(run_id) != JSON_STRING)
		return refuse(err, "missing \"runId\"");
	f.run_id = brd_json_str(run_id, a);
	r = decode_body(root, a, &f, err);
	if (r == 0)
		*ret = f;
	return r;
}

struct bread_str brd_frame_raw(struct bread_str text, struct arena *a)
{
	size_t at = 0, units = 0;

	while (at < text.n) {
		size_t n = brd_utf8_char(text.p + at, text.n - at, NULL);
		size_t width = n == 4 ? 2 : 1;

		if (units + width > RAW_UNITS)
			return brd_arena_printf(a, "%.*s" ELLIPSIS, BRD_ARG(brd_sub(text, 0, at)));
		units += width;
		at += n ? n : 1;
	}
	return brd_arena_copy(a, text);
}

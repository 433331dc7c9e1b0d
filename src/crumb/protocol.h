/* SPDX-License-Identifier: MIT */
/* Bread protocol frames, version 1 (docs/streaming.md), to read. To write
 * one is a prefix and a suffix around a crumb's JSON: a framing's work (bread/crumb.h). */
#pragma once
#include "crumb/crumb.h"

enum frame_type { FRAME_CRUMB, FRAME_SUBSCRIBE };
struct frame {
	enum frame_type type;
	struct bread_str run_id; /* decoded */
	double seq;              /* afterSeq of a subscribe */
	struct jval crumb;
};
/* BREAD_E_INVALID with name PROTOCOL_DECODE_ERROR and the messages of the specification. */
int brd_frame_decode(
	struct bread_str text, struct arena *a, struct frame *ret, struct bread_err *err);
/* The error's context.raw: the input, cut to 200 UTF-16 units with an ellipsis behind. */
struct bread_str brd_frame_raw(struct bread_str text, struct arena *a);

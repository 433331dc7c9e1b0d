/* SPDX-License-Identifier: MIT */
/* Bread protocol frames from a peer: whatever the bytes, a frame or a decode error
 * with the input's beginning; a crumb that was accepted can be looked into. */
#include <stdint.h>
#include <stdlib.h>
#include "base/str.h"
#include "crumb/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bread_str text = { (const char *)data, size };
	struct arena a = { 0 };
	struct bread_err err = { 0 };
	struct frame f = { 0 };
	int r = brd_frame_decode(text, &a, &f, &err);

	if (r) {
		must(r == BREAD_E_INVALID);
		must(brd_str_is(brd_str(err.name), "PROTOCOL_DECODE_ERROR"));
		must(brd_utf8_ok(brd_str(err.text)));
	} else if (f.type == FRAME_CRUMB) {
		must(brd_json_type(f.crumb) == JSON_OBJECT);
		must(brd_json_ok(brd_json_raw(f.crumb), 0));
	}
	brd_arena_fini(&a);
	return 0;
}

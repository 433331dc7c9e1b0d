/* SPDX-License-Identifier: MIT */
#include "crumb/sink.h"

void bread_sink_add(struct bread_sink *s, struct bread_str bytes)
{
	brd_buf_add(&s->buf, bytes);
}

/* SPDX-License-Identifier: MIT */
/* Sinks: a buf for those who see the public headers alone. */
#include "crumb/sink.h"
#include <stdlib.h>
#include "base/jsonw.h"
#include "base/mem.h"

struct bread_sink *bread_sink_new(void)
{
	struct bread_sink *s = brd_alloc(sizeof(*s));

	brd_buf_init(&s->buf, BUF_NO_LIMIT);
	return s;
}

void bread_sink_free(struct bread_sink *s)
{
	if (!s)
		return;
	brd_buf_fini(&s->buf);
	free(s);
}

struct bread_str bread_sink_bytes(const struct bread_sink *s)
{
	return brd_buf_str(&s->buf);
}

void bread_sink_add(struct bread_sink *s, struct bread_str bytes)
{
	brd_buf_add(&s->buf, bytes);
}

void bread_sink_int(struct bread_sink *s, int64_t v)
{
	brd_buf_addi(&s->buf, v);
}

void bread_sink_quote(struct bread_sink *s, struct bread_str text)
{
	brd_json_quote(&s->buf, text);
}

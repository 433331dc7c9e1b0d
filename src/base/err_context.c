/* SPDX-License-Identifier: MIT */
/* See err_context.h. */
#include "base/err_context.h"
#include <stdio.h>

struct jsonw *brd_err_context(struct err_context *c)
{
	brd_buf_init(&c->json, sizeof(((struct bread_err *)0)->context) - 1);
	c->w = brd_jsonw(&c->json);
	brd_jw_obj(&c->w);
	return &c->w;
}

void brd_err_context_end(struct err_context *c, struct bread_err *err)
{
	brd_jw_end_obj(&c->w);
	if (err && !c->json.bad)
		snprintf(err->context, sizeof(err->context), "%s", c->json.data);
	brd_buf_fini(&c->json);
}

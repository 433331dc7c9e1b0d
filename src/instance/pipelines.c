/* SPDX-License-Identifier: MIT */
/* Pipelines by name. */
#include <stdio.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "instance/internal.h"

struct available {
	struct buf *ctx;
	size_t whole; /* bytes that are complete; 0: none */
	size_t count;
};

static void add_name(struct bread_str id, struct bread_str json, void *arg)
{
	struct available *l = arg;

	if (l->count++)
		brd_buf_addc(l->ctx, ',');
	brd_json_quote(l->ctx, id);
	if (!l->ctx->bad)
		l->whole = l->ctx->len;
}

/* {"pipelineId":I,"available":[…]}: as many names as the context has room for. */
static void say_available(struct bread *b, struct bread_str id, struct bread_err *err)
{
	struct buf ctx;
	struct available list = { &ctx, 0, 0 };

	if (!err)
		return;
	brd_buf_init(&ctx, sizeof(err->context) - 3);
	brd_buf_addz(&ctx, "{\"pipelineId\":");
	brd_json_quote(&ctx, id);
	brd_buf_addz(&ctx, ",\"available\":[");
	list.whole = ctx.bad ? 0 : ctx.len; /* an id that is longer than that is none of ours */
	bread_pipelines(b, add_name, &list);
	if (list.whole)
		snprintf(err->context, sizeof(err->context), "%.*s]}", (int)list.whole, ctx.data);
	brd_buf_fini(&ctx);
}

int brd_pipeline_refuse(struct bread *b, struct bread_str id, struct bread_err *err)
{
	brd_fail_as(err, BREAD_E_NOT_FOUND, "PIPELINE_NOT_FOUND", "bread",
		"Pipeline not found: \"%.*s\"", BRD_ARG(id));
	say_available(b, id, err);
	return BREAD_E_NOT_FOUND;
}

/* SPDX-License-Identifier: MIT */
/* Pipelines by name. */
#include <stdio.h>
#include "base/err.h"
#include "base/jsonw.h"
#include "instance/internal.h"

/* {"pipelineId":I,"available":[…]}: as many names as the context has room for. */
static void say_available(struct bread *b, struct bread_str id, struct bread_err *err)
{
	struct arena a = { 0 };
	struct buf ctx;
	size_t whole;

	if (!err)
		return;
	brd_buf_init(&ctx, sizeof(err->context) - 3);
	brd_buf_addz(&ctx, "{\"pipelineId\":");
	brd_json_quote(&ctx, id);
	brd_buf_addz(&ctx, ",\"available\":[");
	whole = ctx.bad ? 0 : ctx.len; /* an id that is longer than that is none of ours */
	for (struct json_iter it = brd_json_each(b->conf.pipelines); brd_json_next(&it);) {
		if (it.index)
			brd_buf_addc(&ctx, ',');
		brd_json_quote(&ctx, brd_json_str(it.key, &a));
		if (ctx.bad)
			break;
		whole = ctx.len;
	}
	if (whole)
		snprintf(err->context, sizeof(err->context), "%.*s]}", (int)whole, ctx.data);
	brd_buf_fini(&ctx);
	brd_arena_fini(&a);
}

int bread_run_pipeline(struct bread *b, struct bread_str id, struct bread_err *err)
{
	struct jval steps;
	int r = brd_active_room(b, err);

	if (r)
		return r;
	steps = brd_json_gets(b->conf.pipelines, id);
	if (brd_json_type(steps) != JSON_ARRAY) {
		brd_fail_as(err, BREAD_E_NOT_FOUND, "PIPELINE_NOT_FOUND", "bread",
			"Pipeline not found: \"%.*s\"", BRD_ARG(id));
		say_available(b, id, err);
		return BREAD_E_NOT_FOUND;
	}
	if (brd_json_count(steps))
		return brd_fail_as(err, BREAD_E_INVALID, "PIPELINE_UNSUPPORTED", "bread",
			"pipeline \"%.*s\" has steps, and this version of bread runs none; call "
			"its agents one by one",
			BRD_ARG(id));
	return 0;
}

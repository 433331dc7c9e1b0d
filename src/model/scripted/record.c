/* SPDX-License-Identifier: MIT */
/* The order of keys is that of the TypeScript server's recordings, so that both can be compared
 * as text. Settings come last, and only when there are any. */
#include "model/scripted/record.h"
#include "base/jsonw.h"
#include "base/str.h"
#include "model/model.h"

static void write_tools(struct jsonw *w, const struct bread_model_request *req)
{
	brd_jw_key(w, "tools");
	brd_jw_arr(w);
	for (size_t i = 0; i < req->tool_count; i++) {
		brd_jw_obj(w);
		brd_jw_kstr(w, "type", BRD_STR("function"));
		brd_jw_kstr(w, "name", req->tools[i].name);
		brd_jw_kstr(w, "description", req->tools[i].description);
		brd_jw_kraw(w, "inputSchema", req->tools[i].schema);
		brd_jw_end_obj(w);
	}
	brd_jw_end_arr(w);
}

void brd_record_line(struct buf *out, const struct bread_model_request *req, struct bread_str model,
	int64_t call)
{
	struct jsonw w = brd_jsonw(out);
	bool structured = req->schema.n > 0;
	struct bread_str settings = brd_str_trim(req->settings);
	struct buf prompt;

	brd_buf_init(&prompt, BUF_NO_LIMIT);
	brd_prompt_json(&prompt, req);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "model", model);
	brd_jw_kint(&w, "call", call);
	brd_jw_kstr(&w, "kind", structured ? BRD_STR("generate") : BRD_STR("stream"));
	brd_jw_kraw(&w, "prompt", brd_buf_str(&prompt));
	if (req->tool_count)
		write_tools(&w, req);
	if (structured) {
		brd_jw_key(&w, "responseFormat");
		brd_jw_obj(&w);
		brd_jw_kstr(&w, "type", BRD_STR("json"));
		brd_jw_kraw(&w, "schema", req->schema);
		brd_jw_end_obj(&w);
	} else {
		brd_jw_kraw(&w, "toolChoice", BRD_STR("{\"type\":\"auto\"}"));
	}
	if (settings.n && !brd_str_is(settings, "{}"))
		brd_jw_kraw(&w, "settings", settings);
	brd_jw_end_obj(&w);
	brd_buf_addc(out, '\n');
	brd_buf_fini(&prompt);
}

/* SPDX-License-Identifier: MIT */
/* What trees of runs wait for, as the store has it. */
#include "base/jsonw.h"
#include "cli/cli.h"

bool cli_for_somebody(const struct bread_checkpoint_row *c)
{
	return !brd_str_is(c->kind, "delegate");
}

enum bread_code cli_questions(struct bread *b, struct bread_str run, struct bread_read *q)
{
	struct bread_run_filter filter = q->filter;

	q->kind = BREAD_READ_CHECKPOINTS;
	q->filter.root_id = run;
	if (cli_ask(b, q) || q->count || !run.n)
		return q->op.code;
	bread_read_fini(q); /* no root: its own */
	*q = (struct bread_read){ .kind = BREAD_READ_CHECKPOINTS, .key = run, .filter = filter };
	return cli_ask(b, q);
}

static void put(struct jsonw *w, const char *key, struct bread_str text)
{
	if (text.n)
		brd_jw_kstr(w, key, text);
}

void cli_put_question(struct jsonw *w, const struct bread_checkpoint_row *c)
{
	brd_jw_obj(w);
	brd_jw_kstr(w, "checkpointId", c->id);
	put(w, "agentId", c->agent_id);
	put(w, "runId", c->run_id);
	put(w, "rootRunId", c->root_id.n ? c->root_id : c->run_id);
	put(w, "sessionId", c->session_id);
	put(w, "toolName", c->tool_name);
	put(w, "kind", c->kind);
	brd_jw_kraw(w, "args", c->schema);
	brd_jw_kraw(w, "answerSchema", c->answer_schema);
	if (c->deadline)
		brd_jw_kint(w, "deadline", c->deadline);
	brd_jw_kraw(w, "default", c->fallback);
	brd_jw_kint(w, "createdAt", c->created_at);
	brd_jw_end_obj(w);
}

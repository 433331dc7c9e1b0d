/* SPDX-License-Identifier: MIT */
/* How a run ends: its terminal crumb, its row, and what its caller is told. The
 * windows are closed by the terminal crumb itself (contract C4); nothing is
 * emitted after it. */
#include <stdio.h>
#include "base/clock.h"
#include "run/choke.h"
#include "run/history.h"
#include "run/life.h"
#include "run/links.h"
#include "run/tx.h"

struct run_error brd_run_error(struct run *r, const char *code, struct bread_str message)
{
	return (struct run_error){ brd_arena_copy(&r->arena, brd_str(code)), message,
		r->agent_context };
}

/* What the whole tree has used, for a later owner: ended runs are not read again. */
static void journal_budget(struct tree *t)
{
	struct run *root = t->root;
	char data[80];

	snprintf(data, sizeof(data), "{\"steps\":%lld,\"tokens\":%lld}", (long long)t->steps,
		(long long)t->tokens);
	brd_tx_add(root, BREAD_REC_NODE)->node = (struct bread_node_row){
		.run_id = root->base.run_id,
		.name = BRD_STR("budget"),
		.kind = BRD_STR("budget"),
		.state = BREAD_NODE_ENDED,
		.data = brd_tx_copy(root, brd_str(data)),
	};
}

static void set_status(struct run *r, enum bread_run_status status, struct bread_str error)
{
	struct bread_rec *rec = brd_tx_add(r, BREAD_REC_RUN_STATUS);

	r->status = status;
	if (status != BREAD_RUN_RUNNING) {
		brd_timer_stop(&r->deadline);
		if (!r->parent)
			r->tree->phase = RUN_ENDING;
	}
	r->ended = brd_run_ended(status);
	if (r->ended && r->parent) {
		brd_list_remove(&r->link);
		brd_list_push(&r->tree->ended, &r->link);
	}
	rec->run = (struct bread_run_row){
		.id = r->base.run_id,
		.status = status,
		.output = r->output,
		.files = r->files,
		.error = error,
		.ended_at = r->ended ? brd_clock_wall() : 0,
		.head = r->seq.head,
		.input_tokens = r->usage.input,
		.output_tokens = r->usage.output,
		.steps = r->steps,
	};
	if (r->tree->composed && (r->parent ? r->ended : status == BREAD_RUN_SUSPENDED))
		journal_budget(r->tree);
}

static void count(struct run *r, _Atomic uint64_t *ended)
{
	struct run_counts *c = r->env->counts;

	atomic_fetch_add_explicit(ended, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&c->input_tokens, r->usage.input, memory_order_relaxed);
	atomic_fetch_add_explicit(&c->output_tokens, r->usage.output, memory_order_relaxed);
}

void brd_run_complete(struct run *r, struct buf *output)
{
	struct crumb_draft d;

	r->output_json = *output;
	r->output = brd_buf_str(&r->output_json);
	if (r->files_json.len)
		r->files = brd_arena_printf(
			&r->arena, "[%.*s]", (int)r->files_json.len, r->files_json.data);
	brd_choke_begin(r, &d, CRUMB_RUN_END);
	brd_jw_kraw(&d.w, "output", r->output);
	brd_jw_kint(&d.w, "durationMs", brd_clock_mono() - r->started_mono);
	brd_jw_kraw(&d.w, "files", r->files);
	brd_choke_emit(r, &d);
	set_status(r, BREAD_RUN_COMPLETED, (struct bread_str){ 0 });
	count(r, &r->env->counts->completed);
}

static struct bread_str error_json(struct run *r)
{
	struct buf b;
	struct jsonw w;

	w = brd_jw_begin(&b);
	brd_jw_kstr(&w, "code", r->error.code);
	brd_jw_kstr(&w, "message", r->error.message);
	brd_jw_kraw(&w, "context", r->error.context);
	return brd_jw_finish(&w, &r->arena);
}

void brd_run_fail(struct run *r, const struct run_error *e, bool cancelled)
{
	struct crumb_draft d;

	r->error.code = brd_arena_copy(&r->arena, e->code);
	r->error.message = brd_arena_copy(&r->arena, e->message);
	r->error.context = brd_arena_copy(&r->arena, e->context);
	if (cancelled || r->timed_out)
		brd_tx_add(r, BREAD_REC_CHECKPOINT_DROP)->key = r->base.run_id;
	brd_choke_begin(r, &d, CRUMB_AGENT_ERROR);
	brd_crumb_error(&d, r->error.code, r->error.message, r->error.context);
	brd_choke_emit(r, &d);
	set_status(r, cancelled ? BREAD_RUN_CANCELLED : BREAD_RUN_FAILED, error_json(r));
	count(r, cancelled ? &r->env->counts->cancelled : &r->env->counts->failed);
}

void brd_run_suspend(struct run *r)
{
	if (r->status == BREAD_RUN_SUSPENDED && r->parent)
		return; /* as it was read from the store */
	if (r->kind == BREAD_RUN_AGENT) {
		brd_history_store(r, HISTORY_SUSPENDED);
		brd_history_journal(r);
	}
	set_status(r, BREAD_RUN_SUSPENDED, (struct bread_str){ 0 });
	if (r->parent)
		return;
	if (r->tree->composed)
		brd_links_write(r->tree);
	count(r, &r->env->counts->suspended);
}

void brd_run_unsuspend(struct run *r)
{
	set_status(r, BREAD_RUN_RUNNING, (struct bread_str){ 0 });
	brd_run_clock(r, 0);
}

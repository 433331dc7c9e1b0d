/* SPDX-License-Identifier: MIT */
/* What tests of stores share: records in one line, and waiting for the end. */
#pragma once
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"
#include "store/store.h"

static inline void kit_ended(struct bread_op *op)
{
	++*(int *)op->arg;
}

static inline enum bread_code kit_commit_fenced(struct bread_store *s, struct loop *l,
	const char *fence, int64_t epoch, struct bread_rec *recs, size_t count)
{
	struct bread_tx tx = {
		.recs = recs, .count = count, .fence = brd_str(fence), .fence_epoch = epoch
	};
	int ended = 0;

	bread_op_init(&tx.op, l, kit_ended, &ended);
	brd_store_commit(s, &tx);
	assert_int_equal(ended, 0); /* never inside the call */
	while (!ended)
		brd_loop_turn(l, -1);
	assert_int_equal(ended, 1);
	return tx.op.code;
}

static inline enum bread_code kit_commit(
	struct bread_store *s, struct loop *l, struct bread_rec *recs, size_t count)
{
	return kit_commit_fenced(s, l, NULL, 0, recs, count);
}

static inline void kit_read(struct bread_store *s, struct loop *l, struct bread_read *r)
{
	int ended = 0;

	bread_op_init(&r->op, l, kit_ended, &ended);
	brd_store_read(s, r);
	assert_int_equal(ended, 0);
	while (!ended)
		brd_loop_turn(l, -1);
	assert_int_equal(r->op.code, BREAD_OK);
}

static inline struct bread_rec kit_session(const char *id, int64_t at, const char *tags)
{
	return (struct bread_rec){ .kind = BREAD_REC_SESSION,
		.session = { .id = brd_str(id),
			.agent_id = BRD_STR("a"),
			.tags = brd_str(tags),
			.created_at = at,
			.updated_at = at } };
}

static inline struct bread_rec kit_message(
	const char *id, const char *session, int64_t at, const char *content)
{
	return (struct bread_rec){ .kind = BREAD_REC_MESSAGE,
		.message = { .id = brd_str(id),
			.session_id = brd_str(session),
			.role = BRD_STR("user"),
			.content = brd_str(content),
			.timestamp = at } };
}

static inline struct bread_rec kit_run(
	const char *id, const char *session, enum bread_run_status status)
{
	return (struct bread_rec){ .kind = BREAD_REC_RUN,
		.run = { .id = brd_str(id),
			.root_id = brd_str(id),
			.agent_id = BRD_STR("a"),
			.session_id = brd_str(session),
			.status = status,
			.owner = BRD_STR("me"),
			.epoch = 1,
			.input = BRD_STR("\"hello\""),
			.created_at = 1000 } };
}

static inline struct bread_rec kit_status(const char *id, enum bread_run_status status)
{
	return (struct bread_rec){ .kind = BREAD_REC_RUN_STATUS,
		.run = { .id = brd_str(id), .status = status } };
}

static inline struct bread_rec kit_take(const char *id, const char *owner)
{
	return (struct bread_rec){ .kind = BREAD_REC_RUN_TAKE,
		.run = { .id = brd_str(id), .owner = brd_str(owner) } };
}

static inline struct bread_rec kit_crumb(
	const char *run, int64_t seq, const char *session, struct bread_str json)
{
	return (struct bread_rec){ .kind = BREAD_REC_CRUMB,
		.crumb = { .run_id = brd_str(run),
			.session_id = brd_str(session),
			.agent_id = BRD_STR("a"),
			.type = BRD_STR("text:end"),
			.crumb = json,
			.seq = seq,
			.created_at = 1000 + seq } };
}

static inline struct bread_rec kit_node(
	const char *run, const char *name, int state, const char *data)
{
	return (struct bread_rec){ .kind = BREAD_REC_NODE,
		.node = { .run_id = brd_str(run),
			.name = brd_str(name),
			.kind = BRD_STR("tool"),
			.state = state,
			.data = brd_str(data) } };
}

static inline struct bread_rec kit_key(enum bread_rec_kind kind, const char *key, const char *value)
{
	return (struct bread_rec){ .kind = kind, .key = brd_str(key), .value = brd_str(value) };
}

/* A folder of its own under TMPDIR; removed with what is in it. */
static inline void kit_dir(char *out, size_t cap)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(out, cap, "%s/bread-store-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(out));
}

static inline void kit_remove(const char *dir)
{
	char command[1100];

	snprintf(command, sizeof(command), "chmod -R u+rwx '%s'; rm -rf '%s'", dir, dir);
	assert_int_equal(system(command), 0);
}

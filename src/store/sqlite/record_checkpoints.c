/* SPDX-License-Identifier: MIT */
/* Records of checkpoints. The original's part of a row is in its table, so that it finds what
 * we write; ours is beside it under the same id, and means nothing without it. */
#include "store/sqlite/records.h"

static struct sq_applied put_part(
	struct sq_conn *c, const struct bread_checkpoint_row *row, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_CHECKPOINT_PART);

	brd_sq_must(&b, row->id);
	BIND(&b, brd_sq_may, row->root_id, row->node, row->kind, row->answer_schema, row->fallback);
	brd_sq_number(&b, row->deadline);
	return brd_sq_inserted(brd_sq_go(&b), err, "checkpoint", row->id);
}

struct sq_applied brd_sq_put_checkpoint(
	struct sq_conn *c, const struct bread_checkpoint_row *row, struct bread_err *err)
{
	struct binder b = brd_sq_binder(c, W_CHECKPOINT);
	struct sq_applied done;

	BIND(&b, brd_sq_must, row->id, row->agent_id, row->run_id, row->session_id, row->tool_name,
		row->tool_call_id);
	brd_sq_must(&b, row->schema.n ? row->schema : BRD_STR("null"));
	BIND(&b, brd_sq_may, row->prompt, row->skill, row->parent, row->pending);
	brd_sq_number(&b, row->created_at);
	done = brd_sq_inserted(brd_sq_go(&b), err, "checkpoint", row->id);
	return done.outcome == SQ_DONE ? put_part(c, row, err) : done;
}

struct sq_applied brd_sq_claim(struct sq_conn *c, struct bread_rec *rec, struct bread_err *err)
{
	int rc = brd_sq_run_with_id(c, W_CLAIM, rec->key, &rec->affected);

	if (!rc && !rec->affected)
		return brd_sq_refuse(err, BREAD_E_CONFLICT, "checkpoint %.*s was answered already",
			BRD_ARG(rec->key));
	if (!rc)
		rc = brd_sq_run_with_id(c, W_CLAIM_PART, rec->key, NULL);
	return brd_sq_broken(rc);
}

int brd_sq_unask(struct sq_conn *c, struct bread_rec *rec)
{
	int rc = brd_sq_run_with_id(c, W_CLAIM, rec->key, &rec->affected);

	return rc ? rc : brd_sq_run_with_id(c, W_CLAIM_PART, rec->key, NULL);
}

int brd_sq_link(struct sq_conn *c, struct bread_rec *rec)
{
	struct binder b = brd_sq_binder(c, W_LINK);
	int rc;

	brd_sq_must(&b, rec->key);
	brd_sq_may(&b, rec->value);
	rc = brd_sq_go(&b);
	if (!rc)
		rec->affected = sqlite3_changes(c->db);
	return rc;
}

int brd_sq_drop(struct sq_conn *c, struct bread_str run_id, int64_t *affected)
{
	int rc = 0;

	for (size_t i = W_DROP_PARTS_OF_RUN; !rc && i <= W_DROP_PARTS_OF_TREE; i++) {
		bool counts = i == W_DROP_OF_RUN || i == W_DROP_OF_TREE;

		rc = brd_sq_run_with_id(c, i, run_id, counts ? affected : NULL);
	}
	return rc;
}

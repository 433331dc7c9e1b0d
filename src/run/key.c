/* SPDX-License-Identifier: MIT */
/* See key.h. */
#include "run/key.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

enum key_state brd_key_state(struct run_key *k, const struct bread_read *r)
{
	const struct bread_idempotency_row *row = r->idempotency;

	k->stale = r->count && row->created_at <= brd_clock_wall() - KEY_MS;
	if (!r->count || k->stale)
		return KEY_UNKNOWN;
	return brd_str_eq(row->hash, k->hash) ? KEY_SAME : KEY_OTHER;
}

size_t brd_key_recs(const struct run_key *k, struct bread_str run_id, int64_t after,
	struct bread_rec recs[KEY_RECS])
{
	int64_t now = brd_clock_wall();
	size_t n = 0;

	if (!k->key.n)
		return 0;
	if (k->stale)
		recs[n++] = (struct bread_rec){ .kind = BREAD_REC_IDEMPOTENCY_CLEANUP,
			.number = now - KEY_MS + 1 };
	recs[n++] = (struct bread_rec){ .kind = BREAD_REC_IDEMPOTENCY,
		.idempotency = { .key = k->key,
			.hash = k->hash,
			.run_id = run_id,
			.after = after,
			.created_at = now } };
	return n;
}

void brd_key_refuse(struct bread_err *err)
{
	brd_fail_as(err, BREAD_E_CONFLICT, "IDEMPOTENCY_CONFLICT", "bread",
		"this Idempotency-Key was used for another request; take a new key for a new "
		"request, and send the same body with an old one");
}

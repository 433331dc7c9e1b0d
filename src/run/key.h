/* SPDX-License-Identifier: MIT */
/* Records that make requests count once (contract C13): what a request with a key led to. They are
 * written in the transaction of what they speak of, and kept for KEY_MS. */
#pragma once
#include <stdbool.h>
#include "bread/ext/store.h"

#define KEY_MS ((int64_t)24 * 60 * 60 * 1000)

/* A request's key with caller and route in it, and the hash of what it asks for; empty: none. */
struct run_key {
	struct bread_str key, hash;
	bool stale; /* the store has an old one that counts no more */
};

enum key_state { KEY_UNKNOWN, KEY_SAME, KEY_OTHER };

/* What the store said of a key; sets k->stale. */
enum key_state brd_key_state(struct run_key *k, const struct bread_read *r);
#define KEY_RECS 2
/* The records for k, which they borrow; their number. None without a key. */
size_t brd_key_recs(const struct run_key *k, struct bread_str run_id, int64_t after,
	struct bread_rec recs[KEY_RECS]);
/* IDEMPOTENCY_CONFLICT. */
void brd_key_refuse(struct bread_err *err);

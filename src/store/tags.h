/* SPDX-License-Identifier: MIT */
/* Tags of sessions and runs: JSON objects, and what it means that one matches; and what it
 * means that a text is found in another.
 * Every store asks here, so that all of them agree. */
#pragma once
#include <stdbool.h>
#include "base/arena.h"
#include "bread/types.h"

/* tags has key with this value (a string, or anything else as its JSON text); with
 * value.p NULL: it has no such key. scratch is used and reset. */
bool brd_tag_matches(
	struct arena *scratch, struct bread_str tags, struct bread_str key, struct bread_str value);

/* Every pair of want is in tags. An empty want, and {}, match all. */
bool brd_tags_match_all(struct arena *scratch, struct bread_str tags, struct bread_str want);

/* part is in text, whatever the case of its ASCII letters. An empty part is in every text. */
bool brd_text_has(struct bread_str text, struct bread_str part);

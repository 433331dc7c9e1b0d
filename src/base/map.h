/* SPDX-License-Identifier: MIT */
/* The one hash map: from bytes to a pointer.
 *
 * Keys are borrowed: they must live as long as the entry (usually they are a
 * member of the value). Open addressing, grows by doubling, entries may be
 * removed while none is being looked at. The order of brd_map_next is another one
 * in each process. A zeroed map is an empty one. */
#pragma once
#include <stdbool.h>
#include "bread/types.h"

struct map_slot {
	struct bread_str key; /* p NULL: empty; p == map tombstone: was removed */
	void *value;
	uint64_t hash;
};

struct map {
	struct map_slot *slots;
	size_t cap;   /* a power of two, or 0 */
	size_t count; /* entries */
	size_t used;  /* entries and tombstones */
};

void brd_map_fini(struct map *m);                                    /* values are the caller's */
void *brd_map_get(const struct map *m, struct bread_str key);        /* NULL: not there */
void *brd_map_put(struct map *m, struct bread_str key, void *value); /* what was there, or NULL */
void *brd_map_del(struct map *m, struct bread_str key);              /* what was there, or NULL */
bool brd_map_next(const struct map *m, size_t *at, struct map_slot **ret); /* *at starts at 0 */

/* SPDX-License-Identifier: MIT */
/* Things that a loop has one of, made when first asked for. A handful at most, so
 * a list is enough. */
#include <stdlib.h>
#include "base/mem.h"
#include "loop/impl.h"

struct local {
	struct list link;
	const void *key;
	void *thing;
	void (*free_it)(void *thing);
};

void *brd_loop_local(struct loop *l, const void *key, void *(*make)(struct loop *l),
	void (*free_it)(void *thing))
{
	struct local *local;

	brd_list_each(it, &l->locals) {
		local = brd_list_of(it, struct local, link);
		if (local->key == key)
			return local->thing;
	}
	if (!make)
		return NULL;
	local = brd_alloc(sizeof(*local));
	local->key = key;
	local->free_it = free_it;
	local->thing = make(l);
	brd_list_push_front(&l->locals, &local->link);
	return local->thing;
}

void brd_locals_free(struct loop *l)
{
	for (struct list *it; (it = brd_list_pop(&l->locals));) {
		struct local *local = brd_list_of(it, struct local, link);

		local->free_it(local->thing);
		free(local);
	}
}

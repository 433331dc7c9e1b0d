/* SPDX-License-Identifier: MIT */
/* The life of a compiled schema. Compiling is in schema_compile.c, checking in
 * schema_check.c. The count of references is the only thing that changes later. */
#include "base/schema_impl.h"
#include <stdlib.h>

struct schema *brd_schema_ref(struct schema *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void brd_schema_unref(struct schema *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (struct schema_map *m = s->maps; m; m = m->next)
		brd_map_fini(&m->map);
	brd_schema_regex_free(s->regexes);
	brd_arena_fini(&s->arena);
	free(s);
}

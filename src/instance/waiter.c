/* SPDX-License-Identifier: MIT */
/* Who waits for the end of a tree that somebody else started: told on its own loop. */
#include <stdlib.h>
#include "base/mem.h"
#include "instance/internal.h"

static void on_post(struct post *p)
{
	struct waiter *w = brd_list_of(p, struct waiter, post);

	w->on_end(&w->outcome, w->arg);
	brd_arena_fini(&w->arena);
	free(w);
}

/* On the tree's loop: what it says lives no longer than this call. */
void brd_waiter_tell(struct ending *e, const struct bread_outcome *o)
{
	struct waiter *w = brd_list_of(e, struct waiter, ending);
	struct arena *a = &w->arena;

	w->outcome = (struct bread_outcome){
		.run_id = brd_arena_copy(a, o->run_id),
		.session_id = brd_arena_copy(a, o->session_id),
		.status = o->status,
		.output = brd_arena_copy(a, o->output),
		.files = brd_arena_copy(a, o->files),
		.error_code = brd_arena_copy(a, o->error_code),
		.error_message = brd_arena_copy(a, o->error_message),
		.error_context = brd_arena_copy(a, o->error_context),
	};
	brd_loop_post(w->loop, &w->post);
}

struct waiter *brd_waiter_new(
	struct loop *l, void (*on_end)(const struct bread_outcome *o, void *arg), void *arg)
{
	struct waiter *w = brd_alloc(sizeof(*w));

	w->ending.tell = brd_waiter_tell;
	w->post.run = on_post;
	w->loop = l;
	w->on_end = on_end;
	w->arg = arg;
	return w;
}

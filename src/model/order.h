/* SPDX-License-Identifier: MIT */
/* The watcher of one call: is the order of its events the promised one? */
#pragma once
#include <stdbool.h>
#include "bread/ext/model.h"

struct event_order {
	unsigned char *blocks; /* by index: kind of the block, or'ed with ENDED (order.c) */
	unsigned count, cap;
	bool started, ended;
};

/* NULL: in order. Else the rule that was broken, as a sentence (the comments of enum
 * bread_event_kind). */
const char *brd_event_order(struct event_order *o, const struct bread_event *ev);
void brd_event_order_fini(struct event_order *o);

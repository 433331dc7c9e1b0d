/* SPDX-License-Identifier: MIT */
/* Hooks, asked by nodes. */
#pragma once
#include "run/hooks.h"
#include "run/node.h"

/* A run of that chain that the node waits for: fill in what it is about, then brd_hooks_start. The
 * node is busy, and woken when it has ended. */
struct hook_run *brd_node_ask(struct node *n, const struct hook_chain *c,
	enum bread_hook_scope scope, enum bread_hook_point point);
void brd_node_asked(struct node *n); /* its answer was taken in */
struct run_error brd_hook_error(struct run *r, const struct hook_run *h); /* it has failed itself */
struct hook_chain brd_agent_chain(const struct run *r);
bool brd_agent_hears(const struct run *r, enum bread_hook_point point);

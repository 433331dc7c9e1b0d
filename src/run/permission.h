/* SPDX-License-Identifier: MIT */
/* Permissions: which of its tools an agent is offered, and which of them ask a human
 * first.
 *
 * A selector names tools by where they come from: tool:NAME, task:NAME, core:NAME,
 * skill:SUB/NAME, plugin:SUB/NAME; * stands for any run of [a-z0-9_], and SCOPE:*
 * for all of a scope. deny wins over ask, ask over allow; an empty allow allows all.
 * Human tools are never named: they always pass. */
#pragma once
#include "base/arena.h"
#include "bread/types.h"
#include "config/conf.h"

struct selector {
	struct bread_str scope, sub, name; /* sub: empty for scopes that have none */
};

struct permissions {
	struct selector *allow, *ask, *deny;
	size_t allow_count, ask_count, deny_count;
};

/* INVALID_PERMISSION says why; the parts borrow from text. */
int brd_selector_parse(struct selector *ret, struct bread_str text, struct bread_err *err);
/* id: "tool:add", "skill:research/cite". */
bool brd_selector_matches(const struct selector *s, struct bread_str id);

int brd_permissions_parse(struct permissions *ret, const struct conf_strs *allow,
	const struct conf_strs *ask, const struct conf_strs *deny, struct arena *a,
	struct bread_err *err);
/* Is it offered? *ret_gated: only when a human says yes. id NULL: a human tool. */
bool brd_permitted(const struct permissions *p, const char *id, bool *ret_gated);

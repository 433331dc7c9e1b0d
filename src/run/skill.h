/* SPDX-License-Identifier: MIT */
/* Skills: instructions that are loaded when they are wanted, by the caller of a run or by
 * the model (docs/compositions.md).
 *
 * SKILL.md may begin with front matter: a line of three dashes, lines "key: value",
 * a line of three dashes, and something behind it. Anything else is all body. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "run/def.h"

struct skill_text {
	struct bread_str name, description; /* empty: not given */
	struct bread_str body;
};

/* All of it borrows from text. */
void brd_skill_parse(struct skill_text *ret, struct bread_str text);

/* "## Skill: NAME" with its body and its references, as it stands in a prompt. */
void brd_skill_section(const struct skill_def *s, struct buf *out);

/* INVALID_NAME {kind, value}. */
int brd_skill_check_id(struct bread_str id, struct bread_err *err);
const struct skill_def *brd_skill_find(const struct agent_def *d, struct bread_str id);

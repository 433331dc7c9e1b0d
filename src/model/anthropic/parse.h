/* SPDX-License-Identifier: MIT */
/* The Messages stream: bytes in, events out. */
#pragma once
#include "model/family.h"

void *brd_anthropic_parser(struct mstream *s, struct bread_str json_tool);
void brd_anthropic_feed(void *parser, struct bread_str bytes);
void brd_anthropic_finish(void *parser);
void brd_anthropic_free(void *parser);

/* SPDX-License-Identifier: MIT */
/* The Chat Completions stream: bytes in, events out. */
#pragma once
#include "model/family.h"

void *brd_chat_parser(struct mstream *s, struct bread_str json_tool);
void brd_chat_feed(void *parser, struct bread_str bytes);
void brd_chat_finish(void *parser);
void brd_chat_free(void *parser);

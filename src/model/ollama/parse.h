/* SPDX-License-Identifier: MIT */
/* Ollama's lines: bytes in, events out. */
#pragma once
#include "model/family.h"

void *brd_ollama_parser(struct mstream *s, struct bread_str json_tool);
void brd_ollama_feed(void *parser, struct bread_str bytes);
void brd_ollama_finish(void *parser);
void brd_ollama_free(void *parser);

/* SPDX-License-Identifier: MIT */
/* The conversation as Chat Completions has it. */
#pragma once
#include "model/openai/quirks.h"

/* "messages" of Chat Completions. reasons: the model is one that reasons. */
void brd_chat_messages(struct request_draft *o, const struct quirks *q, bool reasons);

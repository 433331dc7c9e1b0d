/* SPDX-License-Identifier: MIT */
/* A host that is a chat model: see model.c. */
#pragma once
#include "decision/decision.h"

/* d is of the type model. */
void brd_decision_model_ask_by(struct bread_decision *d, decision_ask_fn *fn, void *arg);
struct bread_str brd_decision_model_provider(const struct bread_decision *d);

/* SPDX-License-Identifier: MIT */
/* Providers by name, and the one place that calls the seam.
 *
 * A project's `providers:` maps a name to an entry; an entry has a type
 * (scripted, anthropic, openai, ollama) or a name from the catalogue (groq,
 * deepseek, vllm, …), which is a type with a base URL, a key variable and quirks. */
#pragma once
#include "base/arena.h"
#include "base/json.h"
#include "bread/ext/model.h"

/* Watchdogs of a call where neither its request nor the provider's entry says otherwise. */
#define MODEL_FIRST_BYTE_MS 60000
#define MODEL_SILENCE_MS 120000

/* name: the key under `providers:`; entry: its JSON object, a string (the type alone), or JSON_NONE
 * for a name of the catalogue. BREAD_E_INVALID: an unknown type (names those there are), or
 * PROVIDER_NOT_CONFIGURED when an environment variable that it needs is not set. */
int brd_model_open(
	struct bread_model **ret, struct bread_str name, struct jval entry, struct bread_err *err);
int brd_model_open_ops(struct bread_model **ret, const struct bread_model_ops *ops,
	struct bread_str name, struct bread_str options, struct bread_err *err);
void brd_model_close(struct bread_model *m); /* NULL, too */

/* Starts a call; measures it, and checks the order of its events (order.h). */
void brd_model_start(struct bread_model *m, struct bread_model_call *call);
void brd_model_pause(struct bread_model *m, struct bread_model_call *call, bool on);

struct provider_entry { /* one line of the catalogue, for `bread provider list` */
	const char *name, *type, *base_url, *key_env, *note;
	const char *alt_env; /* another name for key_env; NULL: none */
	bool key_optional;   /* works without a key */
};
const struct provider_entry *brd_provider_catalogue(size_t *ret_count);

/* Messages as sessions keep them (docs/sessions.md) to canonical ones: role and content JSON in,
 * parts out, all in the arena. BREAD_E_INVALID: not such a message. */
int brd_message_from_stored(struct bread_message *ret, struct bread_str role, struct jval content,
	struct arena *a, struct bread_err *err);
/* And back: the content JSON of a message's parts, as the original writes it. */
void brd_message_to_stored(struct buf *out, const struct bread_message *m);
/* The prompt as recordings of the original have it: [{"role":"system","content":…},…]. */
void brd_prompt_json(struct buf *out, const struct bread_model_request *req);

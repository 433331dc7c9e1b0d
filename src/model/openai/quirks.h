/* SPDX-License-Identifier: MIT */
/* What servers of Chat Completions want otherwise. A server is found by its name
 * in the catalogue, else by its host; an entry's "quirks" override single ones. */
#pragma once
#include "model/family.h"
#include "model/replay.h"

enum reasoning_style {
	REASONING_NONE,     /* nothing is sent */
	REASONING_EFFORT,   /* "reasoning_effort":"low" */
	REASONING_NESTED,   /* "reasoning":{"effort":"low"} */
	REASONING_THINKING, /* "thinking":{"type":"enabled"} */
	REASONING_ENABLE,   /* "enable_thinking":true */
	REASONING_TEMPLATE, /* "chat_template_kwargs":{"enable_thinking":true} */
	REASONING_PARSED,   /* effort, and "reasoning_format":"parsed" */
	REASONING_PROMPT,   /* "prompt_mode":"reasoning" */
};

enum structured_style {
	STRUCTURED_SCHEMA, /* response_format json_schema */
	STRUCTURED_OBJECT, /* response_format json_object, and the schema in the prompt */
};

struct quirks {
	const char *server, *host; /* how it is recognised; host is a part of the base URL */
	const char *max_tokens;    /* the field's name */
	enum reasoning_style reasoning;
	enum structured_style structured;
	enum id_rule ids;
	bool developer_role;  /* for models that reason */
	bool no_store;        /* "store":false is understood, and wanted */
	bool no_stream_usage; /* stream_options is refused */
	bool strict;          /* "strict" is understood */
	bool result_name;     /* results carry their tool's name */
	bool bridge;         /* an assistant message is wanted between results and a user message */
	bool reasoning_back; /* reasoning_content goes back, empty if there was none */
	bool no_tools;
	bool empty_tools; /* "tools":[] where the history has calls: gateways before Anthropic */
	bool no_penalties;
	bool plain_image_url; /* "image_url":"data:…" instead of an object */
	bool content_lists;   /* thinking goes in a list of parts, and goes back so */
	bool cache_key;       /* "prompt_cache_key" */
	bool affinity;        /* header x-affinity */
	bool api_key_header;  /* api-key instead of Authorization */
	bool tool_stream;     /* "tool_stream":true for arguments in pieces */
	bool random_seed;     /* "random_seed" instead of "seed" */
	bool logprobs;        /* "logprobs":true is understood */
	bool required_is_any; /* tool_choice "any" instead of "required" */
};

/* The quirks of an entry; its strings live as long as p. BREAD_E_INVALID: an unknown quirk. */
int brd_quirks_of(struct quirks *ret, struct http_provider *p, struct bread_err *err);

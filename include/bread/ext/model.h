/* SPDX-License-Identifier: MIT */
/* What a model provider has to do (docs/providers.md). For those who write one.
 *
 * A call takes a request and gives one ordered stream of events for one assistant
 * message. It can be cancelled at any moment and never fails in any other way
 * than through its stream: exactly one DONE or ERROR event, last, and then the
 * op ends. A run does not care what is behind it. */
#ifndef BREAD_EXT_MODEL_H
#define BREAD_EXT_MODEL_H

#include "bread/ext/op.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bread_role { BREAD_ROLE_USER, BREAD_ROLE_ASSISTANT, BREAD_ROLE_TOOL };

enum bread_part_kind {
	BREAD_PART_TEXT,
	BREAD_PART_REASONING,
	BREAD_PART_FILE,   /* media_type, text: base64; images, too */
	BREAD_PART_CALL,   /* id, name, json: the arguments */
	BREAD_PART_RESULT, /* id, name, text or json, failed */
};

struct bread_part {
	enum bread_part_kind kind;
	struct bread_str text; /* UTF-8, decoded */
	struct bread_str json; /* arguments, or a result that is no text */
	struct bread_str id, name;
	struct bread_str media_type;
	struct bread_str signature; /* what the provider needs back; opaque */
	int redacted;
	int failed; /* a result that is an error */
};

struct bread_message {
	enum bread_role role;
	struct bread_part *parts;
	size_t count;
};

struct bread_tool_offer {
	struct bread_str name, description, schema; /* schema: JSON */
};

struct bread_model_request {
	struct bread_str model;  /* the provider's name for it */
	struct bread_str system; /* empty: none is sent */
	struct bread_message *messages;
	size_t message_count;
	struct bread_tool_offer *tools;
	size_t tool_count;
	struct bread_str schema; /* JSON schema of a structured answer; empty: plain streaming */
	struct bread_str schema_name; /* for providers that want one; empty: "output" */
	struct bread_str settings; /* JSON object: temperature, maxOutputTokens, reasoning, … */
	struct bread_str provider_options; /* JSON object, merged into the provider's body */
	struct bread_str session_id;       /* for caches; empty: none */
	int want_likely;                   /* log-probabilities are asked for where there are any */
	int max_retries;                   /* before anything was delivered; -1: 2 */
	int64_t first_byte_ms; /* watchdog until the first event; 0: 60,000 (contract C21) */
	int64_t silence_ms;    /* between events; 0: 120,000 */
};

enum bread_event_kind {
	BREAD_EV_START,      /* after the provider's 2xx; optional before an error */
	BREAD_EV_TEXT_START, /* index */
	BREAD_EV_TEXT_DELTA, /* index, text; never empty, whole characters */
	BREAD_EV_TEXT_END,   /* index, text: the whole; signature */
	BREAD_EV_THINKING_START,
	BREAD_EV_THINKING_DELTA,
	BREAD_EV_THINKING_END, /* signature, redacted */
	BREAD_EV_CALL_START,   /* index, id, name */
	BREAD_EV_CALL_DELTA,   /* index, text: argument text as it came */
	BREAD_EV_CALL_END, /* index, id, name, text: raw argument text; json: an object (best guess
			      if incomplete); incomplete; signature */
	BREAD_EV_FILE,     /* media_type, text: base64 */
	BREAD_EV_DONE,     /* reason, usage, response_id, response_model */
	BREAD_EV_ERROR, /* reason, kind, text, usage, retryable, overflow, status, retry_after_ms */
};

enum bread_stop {
	BREAD_STOP_STOP,
	BREAD_STOP_LENGTH,
	BREAD_STOP_TOOL_USE,
	BREAD_STOP_ERROR,
	BREAD_STOP_ABORTED
};

enum bread_model_fault { /* names by bread_model_fault_name */
	BREAD_FAULT_NONE,
	BREAD_FAULT_RATE_LIMIT,
	BREAD_FAULT_OVERLOADED,
	BREAD_FAULT_SERVER,
	BREAD_FAULT_TIMEOUT,
	BREAD_FAULT_NETWORK,
	BREAD_FAULT_TRUNCATED,
	BREAD_FAULT_OVERFLOW,
	BREAD_FAULT_AUTH,
	BREAD_FAULT_PERMISSION,
	BREAD_FAULT_NOT_FOUND,
	BREAD_FAULT_QUOTA,
	BREAD_FAULT_CONTENT_FILTER,
	BREAD_FAULT_INVALID_REQUEST,
	BREAD_FAULT_PROTOCOL,
	BREAD_FAULT_ABORTED,
};
/* "rate_limit"; never NULL. Any thread. */
BREAD_API const char *bread_model_fault_name(enum bread_model_fault f);

struct bread_usage {
	int64_t input, output, cache_read, cache_write; /* total is their sum */
};

/* Borrowed: valid during on_event. */
struct bread_event {
	enum bread_event_kind kind;
	unsigned index;
	struct bread_str text, json, id, name, signature, media_type;
	int incomplete, redacted;
	enum bread_stop reason;
	struct bread_usage usage;
	struct bread_str response_id, response_model;
	double likely; /* DONE: probability of the text, by its log-probabilities; 0: not known */
	enum bread_model_fault fault;
	int retryable, overflow, status;
	int64_t retry_after_ms; /* -1: not said */
	struct bread_str code;  /* ERROR: a code word of ours ("UNKNOWN_MODEL"); empty: none */
};

struct bread_model_call {
	struct bread_op op; /* ends BREAD_OK after DONE, BREAD_E_UPSTREAM after ERROR,
			       BREAD_E_CANCELED after an aborted ERROR */
	const struct bread_model_request *req; /* unchanged until the op ends */
	void (*on_event)(struct bread_model_call *call, const struct bread_event *ev);
	void *arg;
	struct loop *loop; /* where it runs */
	void *priv;        /* the provider's */
	void *core;        /* brd_model_start's */
};

struct bread_model; /* first member of a provider's struct: one configured provider */

struct bread_model_ops {
	const char *name; /* "anthropic": the type word in the configuration */
	size_t size;
	/* options: the provider's entry as a JSON object; name: its key, for messages */
	int (*open)(struct bread_model *m, struct bread_str name, struct bread_str options,
		struct bread_err *err);
	void (*close)(struct bread_model *m); /* no call is running by now */
	/* Begins call->op and gives the events on call->loop, never inside this call. Any loop. */
	void (*start)(struct bread_model *m, struct bread_model_call *call);
	/* Optional (NULL: the events are taken as they come): stop for a while, go on. */
	void (*pause)(struct bread_model *m, struct bread_model_call *call, int on);
};

struct bread_model {
	const struct bread_model_ops *ops;
};

BREAD_API extern const struct bread_model_ops bread_model_scripted;
BREAD_API extern const struct bread_model_ops bread_model_anthropic;
BREAD_API extern const struct bread_model_ops bread_model_openai; /* Chat Completions */
BREAD_API extern const struct bread_model_ops bread_model_ollama;

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/* What every other public header stands on: borrowed bytes and errors. */
#ifndef BREAD_TYPES_H
#define BREAD_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BREAD_API __attribute__((visibility("default")))

/* Borrowed bytes. They need not end in a NUL, and p may be NULL when n is 0. */
struct bread_str {
	const char *p;
	size_t n;
};

/* What a function tells its caller. A function's own comment names the codes
 * that its caller is expected to handle; all others are passed up unchanged. */
enum bread_code {
	BREAD_OK = 0,
	BREAD_E_INVALID = -1,   /* the caller's input is wrong, and will stay wrong */
	BREAD_E_NOT_FOUND = -2, /* nobody knows that id */
	BREAD_E_CONFLICT = -3,  /* somebody else was first */
	BREAD_E_TOO_LARGE = -4, /* over a limit that this program set */
	BREAD_E_CANCELED = -5,  /* the caller, or the run's owner, wished it so */
	BREAD_E_TIMEOUT = -6,   /* a deadline passed */
	BREAD_E_UPSTREAM = -7,  /* a model, a tool or a store said no */
	BREAD_E_BUSY = -8,      /* try again later */
};

/* An error as a person reads it. It lives on the caller's stack and owns
 * nothing. text is a sentence that names the thing and the remedy; where says
 * which part speaks ("store.sqlite", "agents/a/agent.yaml:14:3"); name is the
 * code word of the wire ("AGENT_NOT_FOUND"), empty where there is none; context
 * is a JSON object with the facts, empty where there is none. */
struct bread_err {
	enum bread_code code;
	char name[48];
	char where[128];
	char text[512];
	char context[256];
};

/* The name of a code for logs: "invalid", "not found". Never NULL. */
BREAD_API const char *bread_code_name(enum bread_code code);

/* Version of the library: "0.1.0". */
BREAD_API const char *bread_version(void);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/* What the files of this folder share. */
#pragma once
#include "base/jsonw.h"
#include "base/str.h"
#include "decision/decision.h"

/* An entry under `decisions:`, read by brd_decision_fields. */
struct decision_conf {
	char *type;
	char *base_url, *api_key, *api_key_env, *ca_file;
	int64_t timeout_ms;
	struct jval answers, questions;
	char *record;
	char *provider, *model;
	struct jval settings;
};

extern const struct bread_decision_ops brd_decision_scripted, brd_decision_model,
	brd_decision_systemone;

struct decision_type {
	const struct bread_decision_ops *ops;
	const char *keys; /* that its entries have, each between blanks */
};
bool brd_decision_type(struct bread_str word, struct decision_type *ret); /* false: none */

/* Reads and checks an entry, c->type included; the arena keeps what c points to. doc may be NULL.
 */
int brd_decision_conf(struct decision_conf *c, struct bread_str name, struct jval entry,
	const struct yaml_doc *doc, struct arena *a, struct bread_err *err);
/* The same for a host's options, which are its entry. */
int brd_decision_options(struct decision_conf *c, struct bread_str name, struct bread_str options,
	struct arena *a, struct bread_err *err);
/* The answers of a scripted one. */
int brd_scripted_check(const struct decision_conf *c, const struct yaml_doc *doc, const char *base,
	struct arena *a, struct bread_err *err);

/* Ends the call with {"provider":P,"status":S}; a status of 0 is null. */
__attribute__((format(printf, 5, 6))) void brd_decision_fail(struct bread_decision_call *call,
	const char *name, struct bread_str provider, int status, const char *fmt, ...);
/* Ends it so: neither the step nor the host says which model. */
void brd_decision_no_model(struct bread_decision_call *call, struct bread_str provider);
/* Ends it with an answer, put into its normal form. */
void brd_decision_answer(struct bread_decision_call *call, struct jval answer);

const char *brd_question_name(enum bread_question q); /* "choice" */

/* ---- hosts.c ---- */

struct decision_host { /* one that speaks the System One wire */
	const char *name;
	const char *base_url;   /* {NAME} in it is a variable that must be set */
	const char *base_env;   /* a variable that takes its place; NULL: none */
	const char *path;       /* behind the base; NULL: the model's id */
	const char *key_env[2]; /* variables of the key, the first that is set */
	const char *key;        /* without one; NULL: it must be set */
};
const struct decision_host *brd_decision_host(struct bread_str name); /* NULL: none */
void brd_decision_hosts(struct buf *out);                             /* all names, "a, b" */

struct host_access { /* in the arena */
	struct bread_str base, key;
	const char *unset; /* a variable that is needed and not set; NULL: all is there */
};
/* What the entry and the environment say. */
void brd_decision_access(const struct decision_host *h, const struct decision_conf *c,
	struct host_access *ret, struct arena *a);
/* The address of a call. */
struct bread_str brd_decision_url(const struct decision_host *h, struct bread_str base,
	struct bread_str model, struct arena *a);
/* The name of a model in a request's body. */
struct bread_str brd_decision_model_name(const struct decision_host *h, struct bread_str model);

/* ---- wire.c ---- */

/* The body of a request. BREAD_E_INVALID: state or options are not JSON. */
int brd_wire_request(struct buf *out, const struct bread_decision_call *call,
	struct bread_str model, struct arena *a);
/* The one answer in a body that is JSON; JSON_NONE: there is none. */
struct jval brd_wire_answer(struct jval body);

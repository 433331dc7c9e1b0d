/* SPDX-License-Identifier: MIT */
/* A script: for each model, what it answers (docs/scripted.md). Read and checked
 * once, at open; the answers stay JSON and are filled in call by call. */
#pragma once
#include <pthread.h>
#include "base/map.h"
#include "model/scripted/template.h"

struct pcre2_real_code_8;

struct rule {
	struct jval match; /* JSON_NONE: always */
	struct jval answer;
	struct pcre2_real_code_8 *regex; /* NULL: none */
};

struct scripted_model {
	struct bread_str id; /* "*": every id that has no script of its own */
	struct jval calls;   /* answers by number of call; null: look at the rules */
	struct jval defaults;
	struct rule *rules;
	size_t rule_count;
};

struct script {
	struct arena arena;
	struct scripted_model *models;
	size_t model_count;
	pthread_mutex_t lock; /* of calls: any loop may call a model */
	struct map calls;     /* id to struct call_count */
	char *record;     /* path; NULL: no recording */
	int record_fd;
};

/* options: the entry. name: its key, for messages. On failure there is nothing to free. */
int brd_script_load(
	struct script *s, struct bread_str name, struct bread_str options, struct bread_err *err);
void brd_script_fini(struct script *s);

const struct scripted_model *brd_script_find(const struct script *s, struct bread_str id);
/* The number of this call, from 0; counts it. */
int64_t brd_script_count(struct script *s, struct bread_str id);

/* The answer to this call; JSON_NONE: there is none. Adds the captures of a regex to t. */
struct jval brd_script_choose(const struct scripted_model *m, struct tmpl *t);

/* BREAD_E_INVALID with the place and the fault. */
int brd_script_check(struct jval models, const char *where, struct bread_err *err);

/* SPDX-License-Identifier: MIT */
/* {{…}} in scripted answers: values taken from the request (docs/scripted.md).
 *
 * A name that stands for nothing stays as it is written, braces included; with
 * {{name|text}} it becomes that text. */
#pragma once
#include "base/arena.h"
#include "base/json.h"
#include "bread/ext/model.h"

struct capture {
	struct bread_str name; /* a group's name, or its number */
	struct bread_str value;
};

struct tmpl {
	const struct bread_model_request *req;
	struct bread_str model;
	int64_t call; /* which call to this model, from 0 */
	int64_t i;    /* {{i}} while something is repeated; else 0 */
	const struct capture *captures;
	size_t capture_count;
	struct arena *a;
};

#define TMPL_TEXT_MAX ((size_t)64 * 1024 * 1024)

/* in with its braces filled in; at most TMPL_TEXT_MAX. */
struct bread_str brd_tmpl_text(const struct tmpl *t, struct bread_str in);
/* v as compact JSON with its strings filled in; one that is {{json …}} alone becomes that value. */
void brd_tmpl_json(const struct tmpl *t, struct jval v, struct buf *out);
/* A number, or a string that is one once filled in; dflt: neither. */
double brd_tmpl_num(const struct tmpl *t, struct jval v, double dflt);

/* What the last message says, of whatever role; and the last user message. */
struct bread_str brd_last_text(const struct bread_model_request *req, struct arena *a);
struct bread_str brd_input_text(const struct bread_model_request *req, struct arena *a);

/* Results of the last turn of tools: the n-th (from 0), the last of that tool. NULL: none. */
const struct bread_part *brd_last_result(const struct bread_model_request *req, size_t n);
const struct bread_part *brd_result_of(
	const struct bread_model_request *req, struct bread_str tool);
size_t brd_result_count(const struct bread_model_request *req);
/* A result as JSON (its text parsed, if it must be), and as text. */
struct jval brd_result_json(const struct bread_part *p, struct arena *a);
struct bread_str brd_result_text(const struct bread_part *p, struct arena *a);

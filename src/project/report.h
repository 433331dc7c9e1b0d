/* SPDX-License-Identifier: MIT */
/* What came of a suite, for programs: a line of JSON, and JUnit's XML. */
#pragma once
#include "base/buf.h"
#include "project/eval.h"

struct eval_report {
	const char *agent, *file;
	const struct eval_suite *suite;
	struct eval_result *results; /* one a case */
	size_t passed;
	int64_t started; /* ms since 1970 */
};

/* {"agentId","type","total","passed","failed","results":[{"name","passed","score","details",
 * "durationMs"}],"file"}, without a newline. */
void brd_report_json(struct buf *out, const struct eval_report *r);
/* One document for all suites: a case that failed is a failure, one without a score an error. */
void brd_report_junit(struct buf *out, const struct eval_report *r, size_t n);

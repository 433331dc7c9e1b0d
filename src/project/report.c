/* SPDX-License-Identifier: MIT */
/* See report.h. Whatever a model said, the XML is well-formed: what XML cannot hold becomes
 * U+FFFD. */
#include "project/report.h"
#include <time.h>
#include "base/jsonw.h"
#include "base/str.h"

void brd_report_json(struct buf *out, const struct eval_report *r)
{
	const struct eval_suite *s = r->suite;
	struct jsonw w = brd_jsonw(out);

	brd_jw_obj(&w);
	brd_jw_kstr(&w, "agentId", brd_str(r->agent));
	brd_jw_kstr(&w, "type", brd_str(s->type));
	brd_jw_kint(&w, "total", (int64_t)s->case_count);
	brd_jw_kint(&w, "passed", (int64_t)r->passed);
	brd_jw_kint(&w, "failed", (int64_t)(s->case_count - r->passed));
	brd_jw_key(&w, "results");
	brd_jw_arr(&w);
	for (size_t i = 0; i < s->case_count; i++) {
		brd_jw_obj(&w);
		brd_jw_kstr(&w, "name", brd_str(s->cases[i].name));
		brd_jw_kbool(&w, "passed", r->results[i].passed);
		brd_jw_key(&w, "score");
		brd_jw_num(&w, r->results[i].score);
		brd_jw_kstr(&w, "details", r->results[i].details);
		brd_jw_kint(&w, "durationMs", r->results[i].ms);
		brd_jw_end_obj(&w);
	}
	brd_jw_end_arr(&w);
	brd_jw_kstr(&w, "file", brd_str(r->file));
	brd_jw_end_obj(&w);
}

/* ---- XML ---- */

/* The one character at p as XML has it; returns how many bytes it was. */
static size_t add_char(struct buf *b, const char *p, size_t n)
{
	static const struct {
		char c;
		const char *entity;
	} entities[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" },
		{ '\n', "&#10;" }, { '\r', "&#13;" }, { '\t', "&#9;" } };
	size_t bad = 1, len = brd_utf8_char(p, n, &bad);

	for (size_t i = 0; i < sizeof(entities) / sizeof(*entities); i++)
		if (*p == entities[i].c) {
			brd_buf_addz(b, entities[i].entity);
			return 1;
		}
	/* control characters, and U+FFFE and U+FFFF, are in no XML */
	if (!len || (unsigned char)*p < ' ' ||
		(len == 3 && !memcmp(p, "\xef\xbf", 2) && (p[2] & 0x3f) >= 0x3e)) {
		brd_buf_addz(b, "\xef\xbf\xbd");
		return len ? len : bad;
	}
	brd_buf_addn(b, p, len);
	return len;
}

static void add_attribute(struct buf *b, const char *name, struct bread_str value)
{
	brd_buf_addf(b, " %s=\"", name);
	for (size_t i = 0; i < value.n;)
		i += add_char(b, value.p + i, value.n - i);
	brd_buf_addc(b, '"');
}

static void add_seconds(struct buf *b, int64_t ms)
{
	brd_buf_addf(b, " time=\"%lld.%03d\"", (long long)(ms / 1000), (int)(ms % 1000));
}

struct sums {
	size_t tests, failures, errors;
	int64_t ms;
};

static void add_up(struct sums *s, const struct eval_report *r)
{
	s->tests += r->suite->case_count;
	for (size_t i = 0; i < r->suite->case_count; i++) {
		s->errors += r->results[i].error;
		s->failures += !r->results[i].passed && !r->results[i].error;
		s->ms += r->results[i].ms;
	}
}

static void add_sums(struct buf *b, const struct sums *s)
{
	brd_buf_addf(b, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", s->tests, s->failures,
		s->errors);
	add_seconds(b, s->ms);
}

static void add_case(struct buf *b, const struct eval_report *r, size_t i)
{
	const struct eval_result *got = &r->results[i];
	const char *element = got->error ? "error" : "failure";

	brd_buf_addz(b, "    <testcase");
	add_attribute(b, "classname", brd_str(r->agent));
	add_attribute(b, "name", brd_str(r->suite->cases[i].name));
	add_seconds(b, got->ms);
	if (got->passed) {
		brd_buf_addz(b, "/>\n");
		return;
	}
	brd_buf_addf(b, ">\n      <%s", element);
	add_attribute(b, "message", got->details);
	brd_buf_addf(b, ">score: %.2f</%s>\n    </testcase>\n", got->score, element);
}

static void add_suite(struct buf *b, const struct eval_report *r)
{
	struct sums sums = { 0 };
	time_t at = (time_t)(r->started / 1000);
	char stamp[32];
	struct tm tm;

	add_up(&sums, r);
	gmtime_r(&at, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	brd_buf_addz(b, "  <testsuite");
	add_attribute(b, "name", brd_str(r->file));
	add_sums(b, &sums);
	add_attribute(b, "timestamp", brd_str(stamp));
	brd_buf_addz(b, ">\n    <properties>\n      <property name=\"type\"");
	add_attribute(b, "value", brd_str(r->suite->type));
	brd_buf_addz(b, "/>\n    </properties>\n");
	for (size_t i = 0; i < r->suite->case_count; i++)
		add_case(b, r, i);
	brd_buf_addz(b, "  </testsuite>\n");
}

void brd_report_junit(struct buf *out, const struct eval_report *r, size_t n)
{
	struct sums sums = { 0 };

	for (size_t i = 0; i < n; i++)
		add_up(&sums, &r[i]);
	brd_buf_addz(
		out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"bread eval\"");
	add_sums(out, &sums);
	brd_buf_addz(out, ">\n");
	for (size_t i = 0; i < n; i++)
		add_suite(out, &r[i]);
	brd_buf_addz(out, "</testsuites>\n");
}

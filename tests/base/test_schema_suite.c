/* SPDX-License-Identifier: MIT */
/* The official suite of JSON Schema, draft 2020-12: all required cases, and those
 * optional ones that we mean to pass. BREAD_SCHEMA_SUITE names its folder; where
 * there is none the test is skipped. */
#include "test.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/schema.h"
#include "base/str.h"

#define DRAFT "draft2020-12"

static const char *folder;
static struct arena texts; /* of the remotes; they live as long as the program */

struct counts {
	size_t files, cases, failed;
};

static bool read_file(const char *path, struct arena *a, struct bread_str *ret)
{
	FILE *f = fopen(path, "rb");
	struct buf b;
	char chunk[4096];
	size_t n;

	if (!f)
		return false;
	brd_buf_init(&b, BUF_NO_LIMIT);
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		brd_buf_addn(&b, chunk, n);
	fclose(f);
	*ret = brd_arena_copy(a, brd_buf_str(&b));
	brd_buf_fini(&b);
	return true;
}

/* The suite's remotes are thought to be served by http://localhost:1234/. */
static struct bread_str lookup(struct bread_str uri, void *arg)
{
	static const struct bread_str base = { "http://localhost:1234/", 22 };
	struct bread_str text = { 0 };
	char path[1024];

	if (!brd_str_starts(uri, base))
		return text;
	snprintf(path, sizeof(path), "%s/remotes/%.*s", folder, (int)(uri.n - base.n),
		uri.p + base.n);
	if (!read_file(path, &texts, &text))
		text.p = NULL;
	return text;
}

static void run_cases(const char *file, struct jval group, const struct schema *s, struct arena *a,
	struct counts *n)
{
	struct json_iter it = brd_json_each(brd_json_get(group, "tests"));

	while (brd_json_next(&it)) {
		struct schema_fault fault = { 0 };
		bool valid = brd_json_bool(brd_json_get(it.value, "valid"), false);
		bool fits = s && brd_schema_check(s, brd_json_get(it.value, "data"), a, &fault);

		n->cases++;
		if (s && fits == valid && (fits || fault.text.n > 0))
			continue;
		n->failed++;
		print_error("%s: %s: %s (%.*s)\n", file,
			brd_json_strz(brd_json_get(group, "description"), a),
			brd_json_strz(brd_json_get(it.value, "description"), a), (int)fault.text.n,
			fault.text.p ? fault.text.p : "");
	}
}

static void run_schema(const char *file, struct jval group, struct arena *a, struct counts *n)
{
	struct bread_err err = { 0 };
	struct schema *s = NULL;

	if (brd_schema_new_with(
		    &s, brd_json_raw(brd_json_get(group, "schema")), lookup, NULL, &err))
		print_error("%s: %s\n", file, err.text);
	run_cases(file, group, s, a, n);
	brd_schema_unref(s);
}

static void run_file(const char *name, struct counts *n)
{
	struct arena a = { 0 };
	struct bread_str text;
	struct jval groups;
	struct json_iter it;
	char path[1024];

	snprintf(path, sizeof(path), "%s/tests/" DRAFT "/%s", folder, name);
	assert_true(read_file(path, &a, &text));
	assert_int_equal(brd_json_parse(&a, text, 0, &groups, NULL), 0);
	it = brd_json_each(groups);
	while (brd_json_next(&it))
		run_schema(name, it.value, &a, n);
	n->files++;
	brd_arena_fini(&a);
}

static void every_required_case_passes(void **state)
{
	struct counts n = { 0 };
	char path[1024];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/tests/" DRAFT, folder);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		if (brd_str_ends(brd_str(e->d_name), BRD_STR(".json")))
			run_file(e->d_name, &n);
	closedir(d);
	print_message("%zu files, %zu cases, %zu failed\n", n.files, n.cases, n.failed);
	assert_true(n.cases > 1000);
	assert_int_equal(n.failed, 0);
}

static void chosen_optional_cases_pass(void **state)
{
	static const char *const files[] = { "optional/bignum.json", "optional/float-overflow.json",
		"optional/no-schema.json", "optional/non-bmp-regex.json",
		"optional/refOfUnknownKeyword.json", "optional/unicode.json" };
	struct counts n = { 0 };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		run_file(files[i], &n);
	print_message("optional: %zu files, %zu cases, %zu failed\n", n.files, n.cases, n.failed);
	assert_int_equal(n.failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_required_case_passes),
		cmocka_unit_test(chosen_optional_cases_pass),
	};
	char path[1024];
	int r;

	folder = getenv("BREAD_SCHEMA_SUITE");
	snprintf(path, sizeof(path), "%s/tests/" DRAFT "/ref.json", folder ? folder : "");
	if (!folder || access(path, R_OK) != 0) {
		print_message("no suite at %s: skipped\n", path);
		return 77;
	}
	r = cmocka_run_group_tests(tests, NULL, NULL);
	brd_arena_fini(&texts);
	return r;
}

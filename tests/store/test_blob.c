/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include "bread/ext/blob.h"
#include "store/kit.h"

struct world {
	char dir[512];
	char options[900];
	struct loop *loop;
	struct bread_blob *blob;
	struct bread_err err;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	kit_dir(w->dir, sizeof(w->dir));
	w->blob = calloc(1, bread_blob_fs.size);
	w->blob->ops = &bread_blob_fs;
	assert_int_equal(brd_loop_new(&w->loop, NULL), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	bread_blob_fs.close(w->blob);
	free(w->blob);
	brd_loop_free(w->loop);
	kit_remove(w->dir);
	free(w);
	return 0;
}

static void opened(struct world *w, const char *more)
{
	snprintf(w->options, sizeof(w->options), "{\"dir\":\"%s/a b\"%s}", w->dir, more);
	if (bread_blob_fs.open(w->blob, brd_str(w->options), &w->err))
		fail_msg("%s", w->err.text);
}

static enum bread_code put(
	struct world *w, struct bread_blob_put *p, const char *bytes, const char *type)
{
	int ended = 0;

	*p = (struct bread_blob_put){ .bytes = brd_str(bytes), .media_type = brd_str(type) };
	bread_op_init(&p->op, w->loop, kit_ended, &ended);
	bread_blob_fs.put(w->blob, p);
	while (!ended)
		brd_loop_turn(w->loop, -1);
	return p->op.code;
}

static void expect_file(struct world *w, const char *key, const char *bytes)
{
	char path[800], have[100];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/a b/%s", w->dir, key);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	n = read(fd, have, sizeof(have));
	close(fd);
	assert_int_equal(n, strlen(bytes));
	assert_memory_equal(have, bytes, strlen(bytes));
}

static void file_is_written_under_a_new_key(void **state)
{
	struct world *w = *state;
	struct bread_blob_put p, q;
	char url[800];

	opened(w, "");
	assert_int_equal(put(w, &p, "picture", "image/png"), BREAD_OK);
	assert_int_equal(put(w, &q, "other", "x/y"), BREAD_OK);
	assert_string_not_equal(p.key, q.key);
	assert_int_equal(strlen(p.key), 40);
	assert_string_equal(p.key + 36, ".png");
	expect_file(w, p.key, "picture");
	expect_file(w, q.key, "other");
	snprintf(url, sizeof(url), "file://%s/a%%20b/%s", w->dir, p.key);
	assert_string_equal(p.url, url);
}

static void keys_may_be_counted_and_urls_prefixed(void **state)
{
	struct world *w = *state;
	struct bread_blob_put p;

	opened(w, ",\"keys\":\"count\",\"url\":\"https://files.example/x\"");
	assert_int_equal(put(w, &p, "1", ""), BREAD_OK);
	assert_string_equal(p.key, "blob-1");
	assert_int_equal(put(w, &p, "2", ""), BREAD_OK);
	assert_string_equal(p.key, "blob-2");
	assert_string_equal(p.url, "https://files.example/x/blob-2");
	expect_file(w, "blob-2", "2");
}

static void empty_file_is_a_file(void **state)
{
	struct world *w = *state;
	struct bread_blob_put p;

	opened(w, "");
	assert_int_equal(put(w, &p, "", "text/plain"), BREAD_OK);
	expect_file(w, p.key, "");
}

static void folder_that_went_away_is_named(void **state)
{
	struct world *w = *state;
	struct bread_blob_put p;
	char path[800];

	opened(w, "");
	snprintf(path, sizeof(path), "%s/a b", w->dir);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(put(w, &p, "x", ""), BREAD_E_UPSTREAM);
	assert_non_null(strstr(p.op.err.text, path));
}

static void options_are_checked(void **state)
{
	struct world *w = *state;
	static const char *const bad[] = { "[]", "{}", "{\"dir\":\"\"}", "no",
		"{\"dir\":\"/tmp\",\"keys\":\"random\"}", "{\"dir\":\"/none/at/all\"}" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(
			bread_blob_fs.open(w->blob, brd_str(bad[i]), &w->err), BREAD_E_INVALID);
		assert_string_equal(w->err.where, "blob.fs");
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(file_is_written_under_a_new_key),
		T(keys_may_be_counted_and_urls_prefixed),
		T(empty_file_is_a_file),
		T(folder_that_went_away_is_named),
		T(options_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

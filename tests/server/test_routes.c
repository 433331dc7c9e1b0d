/* SPDX-License-Identifier: MIT */
#include "test.h"
#include <stdlib.h>
#include "server/internal.h"

static struct bread_server s;

static void nothing(struct bread_request *req, void *arg)
{
}

static int setup(void **state)
{
	memset(&s, 0, sizeof(s));
	brd_route_add(&s, "GET", "/agents", nothing, (void *)"list");
	brd_route_add(&s, "GET", "/agents/:id", nothing, (void *)"one");
	brd_route_add(&s, "POST", "/agents/:id/run", nothing, (void *)"run");
	brd_route_add(&s, "POST", "/sessions/cleanup", nothing, (void *)"cleanup");
	brd_route_add(&s, "POST", "/sessions/:id", nothing, (void *)"post");
	brd_route_add(&s, "GET", "/runs/:id/crumbs/:seq", nothing, (void *)"crumb");
	return 0;
}

static int teardown(void **state)
{
	free(s.routes);
	brd_arena_fini(&s.arena);
	return 0;
}

static const char *found(const char *method, const char *path, struct bread_str params[PARAMS_MAX])
{
	struct bread_str none[PARAMS_MAX];
	const struct route *r =
		brd_route_find(&s, brd_str(method), brd_str(path), params ? params : none);

	return r ? r->arg : "";
}

static void the_first_that_fits_wins(void **state)
{
	assert_string_equal(found("GET", "/agents", NULL), "list");
	assert_string_equal(found("POST", "/sessions/cleanup", NULL), "cleanup");
	assert_string_equal(found("POST", "/sessions/other", NULL), "post");
}

static void parameters_take_one_segment(void **state)
{
	struct bread_str p[PARAMS_MAX];

	assert_string_equal(found("GET", "/runs/r-1/crumbs/17", p), "crumb");
	assert_str(p[0], "r-1");
	assert_str(p[1], "17");
	assert_string_equal(found("GET", "/agents/a/b", NULL), "");
	assert_string_equal(found("POST", "/agents//run", NULL), "");
}

static void nothing_else_fits(void **state)
{
	assert_string_equal(found("GET", "/agents/", NULL), "");
	assert_string_equal(found("POST", "/agents", NULL), "");
	assert_string_equal(found("GET", "/agents/a/run", NULL), "");
	assert_string_equal(found("GET", "/", NULL), "");
	assert_string_equal(found("GET", "", NULL), "");
	assert_string_equal(found("GET", "*", NULL), "");
}

static void head_finds_get(void **state)
{
	assert_string_equal(found("HEAD", "/agents", NULL), "list");
	assert_string_equal(found("HEAD", "/agents/a/run", NULL), "");
}

static void loopback_names_are_known(void **state)
{
	static const char *const yes[] = { "localhost", "LOCALHOST:3000", "127.0.0.1",
		"127.1.2.3:80", "[::1]", "[::1]:3000" };
	static const char *const no[] = { "", "example.com", "localhost.example.com",
		"127.example.com", "127.0.0.1.nip.io", "127.0.0", "[::2]", "1.127.0.0",
		"127.0.0.256" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		assert_true(brd_host_loopback(brd_str(yes[i])));
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_false(brd_host_loopback(brd_str(no[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_first_that_fits_wins, setup, teardown),
		cmocka_unit_test_setup_teardown(parameters_take_one_segment, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_else_fits, setup, teardown),
		cmocka_unit_test_setup_teardown(head_finds_get, setup, teardown),
		cmocka_unit_test(loopback_names_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

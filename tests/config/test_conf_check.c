/* SPDX-License-Identifier: MIT */
/* All faults of an object are heard, each once, nested ones too. */
#include <stdio.h>
#include "test.h"
#include "config/sample.h"

struct heard {
	char text[2048];
	unsigned count;
};

static void hear(const struct bread_err *err, void *arg)
{
	struct heard *h = arg;
	size_t n = strlen(h->text);

	h->count++;
	snprintf(h->text + n, sizeof(h->text) - n, "%s %s\n", err->where, err->text);
}

static unsigned check(struct heard *h, const char *text)
{
	struct arena a = { 0 };
	struct yaml_doc d;
	unsigned n;

	memset(h, 0, sizeof(*h));
	assert_int_equal(brd_yaml_parse(&d, &a, "f", brd_str(text), NULL), 0);
	n = brd_conf_check(SAMPLE, d.root, &d, "", hear, h);
	assert_int_equal(n, h->count);
	brd_arena_fini(&a);
	return n;
}

static void a_good_file_has_none(void **state)
{
	struct heard h;

	assert_int_equal(check(&h, "id: a\nserver: {port: 1}\n"), 0);
}

static void every_fault_is_heard_with_its_place(void **state)
{
	struct heard h;

	check(&h, "id: a\nstesp: 1\nsteps: many\nserver:\n  prot: 1\n  port: x\n");
	assert_int_equal(h.count, 4);
	assert_non_null(strstr(h.text, "f:2:1 "));
	assert_non_null(strstr(h.text, "f:3:8 "));
	assert_non_null(strstr(h.text, "f:5:3 "));
	assert_non_null(strstr(h.text, "f:6:9 "));
}

static void a_document_that_is_no_map_is_one_fault(void **state)
{
	struct heard h;

	assert_int_equal(check(&h, "[1, 2]\n"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_file_has_none),
		cmocka_unit_test(every_fault_is_heard_with_its_place),
		cmocka_unit_test(a_document_that_is_no_map_is_one_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What every test program includes: cmocka, in the order that it wants. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define assert_str(s, z) \
	do { \
		assert_int_equal((s).n, strlen(z)); \
		assert_memory_equal((s).p, (z), (s).n); \
	} while (0)

/* For tests that valgrind itself upsets: it keeps descriptors of its own, and its clock is
 * ten times too fast for what is charged by time. tools/check sets the variable. */
#define skip_under_valgrind() \
	do { \
		if (getenv("BREAD_TEST_VALGRIND")) \
			skip(); \
	} while (0)

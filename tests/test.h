/* SPDX-License-Identifier: MIT */
/* What every test program includes: cmocka, in the order that it wants. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define assert_str(s, z) \
	do { \
		assert_int_equal((s).n, strlen(z)); \
		assert_memory_equal((s).p, (z), (s).n); \
	} while (0)

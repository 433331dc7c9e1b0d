/* SPDX-License-Identifier: MIT */
/* What the lexeme of a JSON number is worth. Lexemes must be ones that the parser
 * let pass. For json*.c: brd_json_num, brd_json_int and brd_json_equal are for all. */
#pragma once
#include <stdbool.h>
#include "bread/types.h"

double brd_jnum_double(struct bread_str lexeme); /* the nearest; infinite when over the range */
bool brd_jnum_int(struct bread_str lexeme, int64_t *ret);    /* exact; false: none, or too big */
bool brd_jnum_equal(struct bread_str a, struct bread_str b); /* by value, exact */

/* SPDX-License-Identifier: MIT */
/* Jansson's word on a text, apart from our headers: both name JSON_STRING. */
#pragma once
#include <stddef.h>

enum verdict {
	REFUSED,
	TAKEN,
	NARROWER, /* refused for what RFC 8259 allows */
};

/* *ret_why: its message, until the next call. */
enum verdict jansson_verdict(const char *text, size_t n, const char **ret_why);

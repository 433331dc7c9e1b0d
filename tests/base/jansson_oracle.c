/* SPDX-License-Identifier: MIT */
#include "jansson_oracle.h"
#include <jansson.h>
#include <string.h>

static int narrower(const json_error_t *e)
{
	enum json_error_code code = json_error_code(e);

	return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
	       strstr(e->text, "invalid Unicode") || strstr(e->text, "too big");
}

enum verdict jansson_verdict(const char *text, size_t n, const char **ret_why)
{
	static json_error_t e;
	json_t *v = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);

	*ret_why = v ? "ok" : e.text;
	if (!v)
		return narrower(&e) ? NARROWER : REFUSED;
	json_decref(v);
	return TAKEN;
}

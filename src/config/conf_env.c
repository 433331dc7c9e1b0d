/* SPDX-License-Identifier: MIT */
/* Overrides from the environment.
 *
 * The name of a variable follows from the key. A variable that is empty counts
 * as not set, as container files set them so. */
#include <stdlib.h>
#include "base/err.h"
#include "config/conf_value.h"
#include "config/fault.h"

static int env_fault(const struct conf_field *f, const char *name, struct bread_str value,
	enum conf_fit fit, struct arena *a, struct bread_err *err)
{
	bool shows = f->type != CONF_STR && f->type != CONF_STRS && f->type != CONF_JSON;
	struct bread_str shown = brd_yaml_show(value, a);
	struct buf expected;
	int r;

	if (!brd_utf8_ok(value))
		return brd_fail(err, BREAD_E_INVALID, "environment", "%s is not UTF-8", name);
	if (fit == CONF_HAS_NUL)
		return brd_fail(
			err, BREAD_E_INVALID, "environment", "%s has a NUL (\\u0000) in it", name);
	brd_buf_init(&expected, BUF_NO_LIMIT);
	brd_conf_expected(f, &expected);
	if (shows)
		r = brd_fail(err, BREAD_E_INVALID, "environment", "%s is %.*s; %s is expected",
			name, BRD_ARG(shown), expected.data);
	else
		r = brd_fail(err, BREAD_E_INVALID, "environment", "%s does not fit; %s is expected",
			name, expected.data);
	brd_buf_fini(&expected);
	return r;
}

static int env_field(const struct conf_field *f, const char *key, void *slot, struct arena *a,
	struct bread_err *err)
{
	enum conf_fit fit = CONF_MISFIT;
	const char *value;
	struct buf name;
	int r = 0;

	brd_buf_init(&name, BUF_NO_LIMIT);
	brd_conf_env_name(key, &name);
	value = getenv(name.data);
	if (value && *value) {
		if (brd_utf8_ok(brd_str(value)))
			fit = brd_conf_take_text(f, brd_str(value), slot, a);
		if (fit != CONF_FITS)
			r = env_fault(f, name.data, brd_str(value), fit, a, err);
	}
	brd_buf_fini(&name);
	return r;
}

int brd_conf_env(const struct conf_field *fields, size_t n, void *out, const char *base,
	struct arena *a, struct bread_err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct conf_field *f = &fields[i];
		char *key = brd_conf_key(base, f->key, a);
		char *slot = (char *)out + f->offset;

		if (f->type == CONF_GROUP)
			r = brd_conf_env(f->sub, f->sub_count, slot, key, a, err);
		else
			r = env_field(f, key, slot, a, err);
	}
	return r;
}

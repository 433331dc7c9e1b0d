/* SPDX-License-Identifier: MIT */
/* Bodies of requests, read and checked.
 *
 * What is no JSON counts as {}, as the original has it; but what is JSON and would
 * be lost by that (it nests deeper than we read, or one of its bytes is no UTF-8) is
 * refused, and so is a known key with a value of the wrong type. A refusal names
 * the key and says what it takes. */
#include <string.h>
#include "ingress/bread/internal.h"

static void refuse(struct bread_request *req, struct bread_str text)
{
	brd_ingress_reply_invalid(req, "INVALID_BODY", text);
}

int brd_ingress_body(struct bread_request *req, struct bread_json **ret)
{
	struct bread_err err = { 0 };

	*ret = bread_json_read(bread_request_body(req), &err);
	if (*ret || strcmp(err.name, "JSON_SYNTAX") == 0)
		return 1;
	refuse(req, bread_request_printf(req, "The body cannot be read: %s", err.text));
	return 0;
}

static const char *const type_names[] = { "nothing", "null", "a boolean", "a number", "a string",
	"an array", "an object" };

static int refuse_type(
	struct bread_request *req, struct bread_json *body, const char *path, const char *wanted)
{
	enum bread_json_type is = bread_json_type(body, path);

	refuse(req,
		bread_request_printf(req, "%s must be %s, not %s", path, wanted, type_names[is]));
	return 0;
}

int brd_ingress_takes(struct bread_request *req, struct bread_json *body, const char *path,
	enum bread_json_type type)
{
	enum bread_json_type is = bread_json_type(body, path);

	if (is == BREAD_JSON_NONE || is == BREAD_JSON_NULL || is == type)
		return 1;
	return refuse_type(req, body, path, type_names[type]);
}

int brd_ingress_takes_tags(struct bread_request *req, struct bread_json *body, const char *path)
{
	struct bread_str key;

	if (!brd_ingress_takes(req, body, path, BREAD_JSON_OBJECT))
		return 0;
	key = bread_json_other(body, path, BREAD_JSON_STRING);
	if (!key.p)
		return 1;
	refuse(req,
		bread_request_printf(req, "%s.%.*s must be a string: a tag is a word for a word",
			path, key.n < 128 ? (int)key.n : 128, key.p));
	return 0;
}

int brd_ingress_takes_word(struct bread_request *req, struct bread_json *body, const char *path,
	const char *const words[], const char *wanted)
{
	enum bread_json_type is = bread_json_type(body, path);
	struct bread_str word = bread_json_string(body, path);

	if (is == BREAD_JSON_NONE || is == BREAD_JSON_NULL)
		return 1;
	if (is != BREAD_JSON_STRING)
		return refuse_type(req, body, path, wanted);
	for (size_t i = 0; words[i]; i++)
		if (brd_ingress_is(word, words[i]))
			return 1;
	refuse(req, bread_request_printf(req, "%s must be %s", path, wanted));
	return 0;
}

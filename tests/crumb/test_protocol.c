/* SPDX-License-Identifier: MIT */
/* Frames: the table is what upstream's decoder says to the same inputs. */
#include "test.h"
#include <stdio.h>
#include "crumb/protocol.h"

struct vector {
	const char *input;
	const char *refused; /* NULL: accepted */
	enum frame_type type;
	const char *run_id;
	double seq;
};

static const struct vector vectors[] = {
	{ "{\"v\":1,\"type\":\"crumb\",\"runId\":\"r\",\"seq\":3,\"crumb\":{\"type\":\"text:"
	  "delta\",\"delta\":\"x\"}}",
		NULL, FRAME_CRUMB, "r", 3 },
	{ "{\"v\":1,\"type\":\"subscribe\",\"runId\":\"r\",\"afterSeq\":7}", NULL, FRAME_SUBSCRIBE,
		"r", 7 },
	{ "", "invalid JSON", 0, NULL, 0 },
	{ "nope", "invalid JSON", 0, NULL, 0 },
	{ "{", "invalid JSON", 0, NULL, 0 },
	{ "null", "not an object", 0, NULL, 0 },
	{ "[]", "unsupported version \"undefined\" (expected 1)", 0, NULL, 0 },
	{ "\"str\"", "not an object", 0, NULL, 0 },
	{ "3", "not an object", 0, NULL, 0 },
	{ "true", "not an object", 0, NULL, 0 },
	{ "{}", "unsupported version \"undefined\" (expected 1)", 0, NULL, 0 },
	{ "{\"v\":2,\"type\":\"crumb\",\"runId\":\"r\",\"seq\":1,\"crumb\":{}}",
		"unsupported version \"2\" (expected 1)", 0, NULL, 0 },
	{ "{\"v\":\"1\",\"type\":\"crumb\",\"runId\":\"r\",\"seq\":1,\"crumb\":{}}",
		"unsupported version \"1\" (expected 1)", 0, NULL, 0 },
	{ "{\"type\":\"crumb\",\"runId\":\"r\",\"seq\":1,\"crumb\":{}}",
		"unsupported version \"undefined\" (expected 1)", 0, NULL, 0 },
	{ "{\"v\":null,\"runId\":\"r\"}", "unsupported version \"null\" (expected 1)", 0, NULL, 0 },
	{ "{\"v\":1}", "missing \"runId\"", 0, NULL, 0 },
	{ "{\"v\":1,\"runId\":5,\"type\":\"crumb\",\"seq\":1,\"crumb\":{}}", "missing \"runId\"", 0,
		NULL, 0 },
	{ "{\"v\":1,\"runId\":\"\",\"type\":\"crumb\",\"seq\":0,\"crumb\":{\"type\":\"x\"}}", NULL,
		FRAME_CRUMB, "", 0 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"crumb\",\"crumb\":{}}",
		"crumb frame missing \"seq\"/\"crumb\"", 0, NULL, 0 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"crumb\",\"seq\":\"1\",\"crumb\":{}}",
		"crumb frame missing \"seq\"/\"crumb\"", 0, NULL, 0 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"crumb\",\"seq\":1}",
		"crumb frame missing \"seq\"/\"crumb\"", 0, NULL, 0 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"crumb\",\"seq\":1,\"crumb\":{\"type\":\"anything\","
	  "\"unknown\":[1]}}",
		NULL, FRAME_CRUMB, "r", 1 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"crumb\",\"seq\":-1.5,\"crumb\":{\"type\":\"x\"},"
	  "\"extra\":true}",
		NULL, FRAME_CRUMB, "r", -1.5 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"subscribe\"}",
		"subscribe frame missing \"afterSeq\"", 0, NULL, 0 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"subscribe\",\"afterSeq\":\"0\"}",
		"subscribe frame missing \"afterSeq\"", 0, NULL, 0 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"subscribe\",\"afterSeq\":0,\"extra\":1}", NULL,
		FRAME_SUBSCRIBE, "r", 0 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"resume\"}", "unknown frame type \"resume\"", 0, NULL,
		0 },
	{ "{\"v\":1,\"runId\":\"r\"}", "unknown frame type \"undefined\"", 0, NULL, 0 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":null}", "unknown frame type \"null\"", 0, NULL, 0 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"crumb\",\"seq\":1,\"crumb\":{\"type\":\"agent:"
	  "error\",\"error\":{\"name\":\"BreadError\",\"code\":\"X\",\"message\":\"m\",\"context\":"
	  "{\"a\":1}}}}",
		NULL, FRAME_CRUMB, "r", 1 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"crumb\",\"seq\":1,\"crumb\":{\"type\":\"agent:"
	  "error\",\"error\":{\"message\":\"no code\"}}}",
		NULL, FRAME_CRUMB, "r", 1 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"crumb\",\"seq\":1,\"crumb\":{\"type\":\"agent:"
	  "error\",\"error\":{\"code\":\"only code\"}}}",
		NULL, FRAME_CRUMB, "r", 1 },
	{ "{\"v\":1,\"runId\":\"r\",\"type\":\"crumb\",\"seq\":1,\"crumb\":{\"type\":\"task:end\","
	  "\"error\":\"plain string\"}}",
		NULL, FRAME_CRUMB, "r", 1 },
	{ "  {\"v\":1,\"type\":\"subscribe\",\"runId\":\"r\",\"afterSeq\":7}\015\012", NULL,
		FRAME_SUBSCRIBE, "r", 7 },
	{ "\357\273\277{\"v\":1,\"type\":\"subscribe\",\"runId\":\"r\",\"afterSeq\":7}",
		"invalid JSON", 0, NULL, 0 },
	{ "{\"v\":1,\"type\":\"crumb\",\"runId\":\"r\",\"seq\":1,\"crumb\":null}",
		"crumb frame missing \"seq\"/\"crumb\"", 0, NULL, 0 },
	{ "{\"v\":1,\"type\":\"crumb\",\"runId\":\"r\",\"seq\":1,\"crumb\":7}",
		"crumb frame missing \"seq\"/\"crumb\"", 0, NULL, 0 },
	{ "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxxxxxxxxxxxxxxxxxxxxx",
		"invalid JSON", 0, NULL, 0 },
	{ "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxxxxxxxxxxxxxxxxxxxxxx",
		"invalid JSON", 0, NULL, 0 },
};

static void check(const struct vector *v)
{
	struct arena a = { 0 };
	struct frame f;
	struct bread_err err;
	int r = brd_frame_decode(brd_str(v->input), &a, &f, &err);

	if (v->refused) {
		char text[512];

		snprintf(text, sizeof(text), "Malformed Bread protocol frame: %s", v->refused);
		assert_int_equal(r, BREAD_E_INVALID);
		assert_string_equal(err.name, "PROTOCOL_DECODE_ERROR");
		assert_string_equal(err.text, text);
	} else {
		assert_int_equal(r, 0);
		assert_int_equal(f.type, v->type);
		assert_str(f.run_id, v->run_id);
		assert_true(f.seq == v->seq);
	}
	brd_arena_fini(&a);
}

static void decode_agrees_with_the_recorded_vectors(void **state)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		check(&vectors[i]);
}

static void raw_input_is_cut_at_200_units(void **state)
{
	struct arena a = { 0 };
	char text[801];

	memset(text, 'x', 200);
	text[200] = 0;
	assert_int_equal(brd_frame_raw(brd_str(text), &a).n, 200);
	memset(text, 'x', 201);
	text[201] = 0;
	assert_int_equal(brd_frame_raw(brd_str(text), &a).n, 203);
	for (int i = 0; i < 200; i++)
		memcpy(text + 4 * i, "\xf0\x9f\x8d\x9e", 5);
	assert_int_equal(brd_frame_raw(brd_str(text), &a).n, 403);
	brd_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_agrees_with_the_recorded_vectors),
		cmocka_unit_test(raw_input_is_cut_at_200_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

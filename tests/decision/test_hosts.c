/* SPDX-License-Identifier: MIT */
/* Where hosts are, how their keys are found, and what is said to them. */
#include <stdlib.h>
#include "decision/internal.h"
#include "test.h"

static const char *const variables[] = { "TYPESAFE_BASE_URL", "TYPESAFE_API_KEY", "KEV_BASE_URL",
	"KEV_API_KEY", "LIQUID_API_KEY", "CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_AUTH_TOKEN",
	"CLOUDFLARE_API_TOKEN", "PERPLEXITY_API_KEY", "DESK_KEY" };

static int forget(void **state)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		unsetenv(variables[i]);
	return 0;
}

struct access_case {
	const char *host, *env[3]; /* "NAME=value" */
	const char *base_url, *api_key, *api_key_env;
	const char *url, *key, *unset;
};

static char *copied(struct arena *a, const char *z)
{
	return z ? brd_arena_strz(a, brd_str(z)) : NULL;
}

static void check_access(const struct access_case *c)
{
	const struct decision_host *h = brd_decision_host(brd_str(c->host));
	struct arena a = { 0 };
	struct decision_conf conf = { .base_url = copied(&a, c->base_url),
		.api_key = copied(&a, c->api_key),
		.api_key_env = copied(&a, c->api_key_env) };
	struct host_access got;

	forget(NULL);
	for (size_t i = 0; i < 3 && c->env[i]; i++) {
		struct bread_str value = brd_str(c->env[i]), name = brd_str_split(&value, '=');

		setenv(brd_arena_strz(&a, name), value.p, 1);
	}
	brd_decision_access(h, &conf, &got, &a);
	if (c->unset) {
		assert_non_null(got.unset);
		assert_string_equal(got.unset, c->unset);
	} else {
		assert_null(got.unset);
		assert_str(got.key, c->key);
		assert_str(brd_decision_url(h, got.base, BRD_STR("@cf/x/clef flash?"), &a), c->url);
	}
	brd_arena_fini(&a);
}

static void each_host_has_its_address_and_key(void **state)
{
	static const struct access_case cases[] = {
		{ "typesafe", { "TYPESAFE_API_KEY=k" }, NULL, NULL, NULL,
			"https://api.typesafe.ai/v1/systemone", "k", NULL },
		{ "typesafe", { "TYPESAFE_API_KEY=k", "TYPESAFE_BASE_URL=http://h:1/" }, NULL, NULL,
			NULL, "http://h:1/v1/systemone", "k", NULL },
		{ "typesafe", { NULL }, NULL, NULL, NULL, NULL, NULL, "TYPESAFE_API_KEY" },
		{ "typesafe", { "TYPESAFE_API_KEY=" }, NULL, NULL, NULL, NULL, NULL,
			"TYPESAFE_API_KEY" },
		{ "typesafe", { NULL }, NULL, "own", NULL, "https://api.typesafe.ai/v1/systemone",
			"own", NULL },
		{ "typesafe", { "DESK_KEY=d", "TYPESAFE_API_KEY=k" }, NULL, NULL, "DESK_KEY",
			"https://api.typesafe.ai/v1/systemone", "d", NULL },
		{ "typesafe", { "TYPESAFE_API_KEY=k" }, NULL, NULL, "DESK_KEY", NULL, NULL,
			"DESK_KEY" },
		{ "kev", { NULL }, NULL, NULL, NULL, "http://127.0.0.1:8009/v1/systemone", "local",
			NULL },
		{ "kev", { "KEV_API_KEY=k", "KEV_BASE_URL=http://h:2" }, NULL, NULL, NULL,
			"http://h:2/v1/systemone", "k", NULL },
		{ "kev", { "KEV_BASE_URL=http://h:2" }, "http://own:3//", NULL, NULL,
			"http://own:3/v1/systemone", "local", NULL },
		{ "kev", { NULL }, "http://own:3/x/v1/systemone", NULL, NULL,
			"http://own:3/x/v1/systemone", "local", NULL },
		{ "liquid", { "LIQUID_API_KEY=k" }, NULL, NULL, NULL,
			"https://api.liquid.ai/decisions/v1/systemone", "k", NULL },
		{ "liquid", { NULL }, NULL, NULL, NULL, NULL, NULL, "LIQUID_API_KEY" },
		{ "decider", { NULL }, NULL, NULL, NULL, "http://127.0.0.1:8000/v1/systemone",
			"local", NULL },
		{ "strands", { NULL }, NULL, NULL, NULL, "http://127.0.0.1:8000/v1/systemone",
			"local", NULL },
		{ "ollama", { NULL }, NULL, NULL, NULL, "http://localhost:11434/v1/systemone",
			"ollama", NULL },
		{ "cloudflare",
			{ "CLOUDFLARE_ACCOUNT_ID=acc", "CLOUDFLARE_AUTH_TOKEN=t",
				"CLOUDFLARE_API_TOKEN=u" },
			NULL, NULL, NULL,
			"https://api.cloudflare.com/client/v4/accounts/acc/ai/run/@cf/x/"
			"clef%20flash%3F",
			"t", NULL },
		{ "cloudflare", { "CLOUDFLARE_ACCOUNT_ID=acc", "CLOUDFLARE_API_TOKEN=u" },
			"http://h:1/run", NULL, NULL, "http://h:1/run/@cf/x/clef%20flash%3F", "u",
			NULL },
		{ "cloudflare", { "CLOUDFLARE_ACCOUNT_ID=acc" }, NULL, NULL, NULL, NULL, NULL,
			"CLOUDFLARE_AUTH_TOKEN" },
		{ "cloudflare", { "CLOUDFLARE_AUTH_TOKEN=t" }, NULL, NULL, NULL, NULL, NULL,
			"CLOUDFLARE_ACCOUNT_ID" },
		{ "perplexity", { "PERPLEXITY_API_KEY=k" }, NULL, NULL, NULL,
			"https://api.perplexity.ai/v1/decisions", "k", NULL },
		{ "perplexity", { NULL }, NULL, NULL, NULL, NULL, NULL, "PERPLEXITY_API_KEY" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_access(&cases[i]);
}

static void a_model_has_its_name_on_the_wire(void **state)
{
	const struct decision_host *cf = brd_decision_host(BRD_STR("cloudflare"));

	assert_str(brd_decision_model_name(cf, BRD_STR("@cf/bread/clef-flash")), "clef-flash");
	assert_str(brd_decision_model_name(cf, BRD_STR("@cf/bread/clef")), "clef");
	assert_str(brd_decision_model_name(cf, BRD_STR("other")), "other");
	assert_str(brd_decision_model_name(brd_decision_host(BRD_STR("kev")), BRD_STR("x/clef")),
		"x/clef");
	assert_null(brd_decision_host(BRD_STR("scripted")));
}

static void a_request_says_what_the_wire_wants(void **state)
{
#define LEVELS \
	"{\"0\":null,\"1\":null,\"2\":null,\"3\":null,\"4\":null,\"5\":null,\"6\":null,\"7\":" \
	"null," \
	"\"8\":null,\"9\":null}"
	static const struct {
		enum bread_question type;
		const char *state, *body;
	} cases[] = {
		{ BREAD_QUESTION_CHOICE, "\"hi\"",
			"{\"model\":\"m\",\"state\":\"hi\",\"questions\":{\"q0\":{\"type\":"
			"\"choice\",\"instructions\":\"T?\",\"criteria\":{\"a\":null,\"b\\\"\":"
			"null}"
			"}}}" },
		{ BREAD_QUESTION_SCORE, "{\"a\":1}",
			"{\"model\":\"m\",\"state\":{\"a\":1},\"questions\":{\"q0\":{\"type\":"
			"\"score\",\"instructions\":\"T?\",\"criteria\":" LEVELS "}}}" },
		{ BREAD_QUESTION_NOUL, "[1,null]",
			"{\"model\":\"m\",\"state\":[1,null],\"questions\":{\"q0\":{\"type\":"
			"\"noul\",\"instructions\":\"T?\"}}}" },
		{ BREAD_QUESTION_NOUL, "7.5",
			"{\"model\":\"m\",\"state\":\"7.5\",\"questions\":{\"q0\":{\"type\":"
			"\"noul\",\"instructions\":\"T?\"}}}" },
		{ BREAD_QUESTION_NOUL, "true",
			"{\"model\":\"m\",\"state\":\"true\",\"questions\":{\"q0\":{\"type\":"
			"\"noul\",\"instructions\":\"T?\"}}}" },
		{ BREAD_QUESTION_NOUL, "null",
			"{\"model\":\"m\",\"state\":null,\"questions\":{\"q0\":{\"type\":\"noul\","
			"\"instructions\":\"T?\"}}}" },
		{ BREAD_QUESTION_NOUL, "",
			"{\"model\":\"m\",\"state\":null,\"questions\":{\"q0\":{\"type\":\"noul\","
			"\"instructions\":\"T?\"}}}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bread_decision_call call = { .type = cases[i].type,
			.state = brd_str(cases[i].state),
			.text = BRD_STR("T?") };
		struct arena a = { 0 };
		struct buf b;

		if (call.type == BREAD_QUESTION_CHOICE)
			call.options = BRD_STR("[\"a\",\"b\\\"\"]");
		brd_buf_init(&b, BUF_NO_LIMIT);
		assert_int_equal(brd_wire_request(&b, &call, BRD_STR("m"), &a), 0);
		assert_string_equal(b.data, cases[i].body);
		brd_buf_fini(&b);
		brd_arena_fini(&a);
	}
}

static void an_answer_may_be_wrapped(void **state)
{
	static const struct {
		const char *body;
		enum json_type type;
	} cases[] = {
		{ "{\"answers\":{\"q0\":{\"type\":\"noul\"}}}", JSON_OBJECT },
		{ "{\"result\":{\"answers\":{\"q0\":{\"type\":\"noul\"}}}}", JSON_OBJECT },
		{ "{\"answers\":{\"q0\":null}}", JSON_NULL },
		{ "{\"answers\":{\"q1\":{}}}", JSON_NONE },
		{ "{\"answers\":[]}", JSON_NONE },
		{ "[]", JSON_NONE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct arena a = { 0 };
		struct jval v;

		assert_int_equal(brd_json_parse(&a, brd_str(cases[i].body), 0, &v, NULL), 0);
		assert_int_equal(brd_json_type(brd_wire_answer(v)), cases[i].type);
		brd_arena_fini(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_host_has_its_address_and_key, forget),
		cmocka_unit_test(a_model_has_its_name_on_the_wire),
		cmocka_unit_test(a_request_says_what_the_wire_wants),
		cmocka_unit_test(an_answer_may_be_wrapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

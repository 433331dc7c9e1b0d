/* SPDX-License-Identifier: MIT */
/* What bounds a tree of runs as a whole (contract C14). What is refused is told to the model that
 * asked for it, and its run goes on. */
#include "run/run_fixture.h"
#include "instance/internal.h"

#define MODEL(name) "\"model\":{\"provider\":\"mock\",\"model\":\"" name "\"}"
#define ROSTER(name, more) "\"supervisor\":{\"agents\":[{\"agentId\":\"" name "\"}]" more "}"

/* Each of them delegates in its first turn, and ends with what it was told. */
#define DELEGATES(name, to) \
	"\"" name "\":{\"when\":[{\"match\":{\"role\":\"tool\"},\"stream\":[{\"text\":\"{{" \
	"result}}\"}]}," \
	"{\"match\":{},\"stream\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"core_delegate\"," \
	"\"args\":" \
	"{\"agentId\":\"" to "\",\"input\":\"x\"}}}]}]}"
#define SAYS(name, text) \
	"\"" name "\":{\"when\":[{\"match\":{},\"stream\":[{\"text\":\"" text "\"}],\"usage\":" \
	"{\"input\":60,\"output\":40}}]}"
#define CHAIN "{" DELEGATES("a", "b") "," DELEGATES("b", "c") "," SAYS("c", "deep") "}"

static struct bread *chain(const char *limits)
{
	struct bread *b = fixture_new(CHAIN, limits);

	fixture_agent(b, "c", "{" MODEL("c") "}");
	fixture_agent(b, "b", "{" MODEL("b") "," ROSTER("c", "") "}");
	fixture_agent(b, "a", "{" MODEL("a") "," ROSTER("b", "") "}");
	return b;
}

/* Gives how often a model was called; the instance goes. */
static uint64_t calls_of(struct bread *b, struct seen *s)
{
	struct bread_stats stats;

	fixture_run(b, "a", "\"x\"", s);
	bread_stats(b, &stats);
	bread_free(b);
	assert_int_equal(s->status, BREAD_RUN_COMPLETED);
	return stats.model_calls;
}

static void runs_are_nested_so_deep_and_no_deeper(void **state)
{
	struct seen s = { 0 };

	assert_int_equal(calls_of(chain(NULL), &s), 5);
	assert_non_null(strstr(s.output, "deep"));
	seen_fini(&s);
	assert_int_equal(calls_of(chain("\"limits\":{\"depth\":3}"), &s), 5);
	assert_non_null(strstr(s.output, "deep"));
	seen_fini(&s);
	assert_int_equal(calls_of(chain("\"limits\":{\"depth\":2}"), &s), 4);
	assert_non_null(strstr(s.output, "2 deep (limits.depth)"));
	seen_fini(&s);
}

static void without_a_word_the_depth_is_eight(void **state)
{
	struct bread *b = fixture_new("{" SAYS("m", "x") "}", NULL);

	assert_int_equal(b->env.depth_max, 8);
	assert_int_equal(b->env.tree_steps, 0);
	assert_int_equal(b->env.tree_tokens, 0);
	bread_free(b);
}

/* Who has asked for more hears that there is none, and ends with its next message. */
static void model_calls_are_counted_for_the_tree(void **state)
{
	struct seen s = { 0 };

	assert_int_equal(calls_of(chain("\"limits\":{\"treeSteps\":2}"), &s), 4);
	assert_non_null(strstr(s.output, "budget of the whole run is spent"));
	seen_fini(&s);
}

#define TWICE \
	"{\"a\":{\"when\":[{\"match\":{\"count\":1},\"stream\":[{\"tool_call\":{\"id\":\"c1\"," \
	"\"name\":" \
	"\"core_delegate\",\"args\":{\"agentId\":\"c\",\"input\":\"x\"}}}]},{\"match\":{" \
	"\"count\":3}," \
	"\"stream\":[{\"tool_call\":{\"id\":\"c2\",\"name\":\"core_delegate\",\"args\":{" \
	"\"agentId\":" \
	"\"c\",\"input\":\"x\"}}}]},{\"match\":{},\"stream\":[{\"text\":\"{{result}}\"}]}]}" \
	"," SAYS("c", "fine") "}"

static struct bread *twice(const char *limits)
{
	struct bread *b = fixture_new(TWICE, limits);

	fixture_agent(b, "c", "{" MODEL("c") "}");
	fixture_agent(b, "a", "{" MODEL("a") "," ROSTER("c", "") "}");
	return b;
}

static void tokens_are_counted_for_the_tree(void **state)
{
	struct seen s = { 0 };

	assert_int_equal(calls_of(twice("\"limits\":{\"treeTokens\":1000000}"), &s), 5);
	seen_fini(&s);
	assert_int_equal(calls_of(twice("\"limits\":{\"treeTokens\":50}"), &s), 3);
	seen_fini(&s);
}

static void nobody_is_entered_again_below_itself(void **state)
{
	struct bread *b = fixture_new("{" DELEGATES("a", "b") "," DELEGATES("b", "a") "}", NULL);
	struct seen s = { 0 };

	fixture_agent(b, "b", "{" MODEL("b") "," ROSTER("a", "") "}");
	fixture_agent(b, "a", "{" MODEL("a") "," ROSTER("b", "") "}");
	fixture_run(b, "a", "\"x\"", &s);
	bread_free(b);
	assert_int_equal(s.status, BREAD_RUN_COMPLETED);
	assert_non_null(strstr(s.output, "is at work above this call already"));
	seen_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_nested_so_deep_and_no_deeper),
		cmocka_unit_test(without_a_word_the_depth_is_eight),
		cmocka_unit_test(model_calls_are_counted_for_the_tree),
		cmocka_unit_test(tokens_are_counted_for_the_tree),
		cmocka_unit_test(nobody_is_entered_again_below_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* SKILL.md as recorded. */
#include <stdio.h>
#include "base/jsonw.h"
#include "config/yaml.h"
#include "run/skill.h"
#include "test.h"

static struct arena arena;
static struct yaml_doc vectors;

static struct bread_str str(struct jval v, const char *path)
{
	return brd_json_str(brd_json_path(v, path), &arena);
}

static struct agent_def *with(struct bread_str id, struct bread_str text)
{
	struct agent_def *d, *loaded;
	struct bread_err err = { 0 };
	struct buf b;
	struct jsonw w;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_buf_addz(&b, "{\"model\":{\"provider\":\"p\",\"model\":\"m\"},\"prompt\":\"BASE\","
			 "\"skills\":[");
	w = brd_jsonw(&b);
	brd_jw_obj(&w);
	brd_jw_kstr(&w, "id", id);
	brd_jw_kstr(&w, "file", BRD_STR("<path of SKILL.md>"));
	brd_jw_kstr(&w, "text", text);
	brd_jw_end_obj(&w);
	brd_buf_addz(&b, "]}");
	if (brd_agent_def_new(&d, "a", brd_buf_str(&b), NULL, &err))
		fail_msg("%s", err.text);
	assert_int_equal(brd_agent_def_with_skill(&loaded, d, id, &err), 0);
	brd_agent_def_unref(d);
	brd_buf_fini(&b);
	return loaded;
}

static void check(struct jval v)
{
	struct agent_def *d = with(str(v, "id"), str(v, "skill_md"));
	struct bread_str prompt, injected = str(v, "injected"),
				 meta = str(v, "meta_only.description");
	struct buf b;

	assert_ptr_equal(d->skill, &d->skills[0]);
	assert_true(brd_str_eq(brd_str(d->skill->name), str(v, "loaded.meta.name")));
	assert_true(brd_str_eq(brd_str(d->skill->description), str(v, "loaded.meta.description")));
	assert_true(brd_str_eq(d->skill->body, str(v, "loaded.body")));
	if (!meta.n)
		meta = str(v, "meta_only.name");
	assert_true(brd_str_eq(brd_str(d->skill->summary), meta));
	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_agent_def_prompt(d, BRD_STR(""), &b);
	prompt = brd_buf_str(&b);
	assert_true(brd_str_starts(prompt, injected));
	assert_true(brd_str_starts(brd_sub(prompt, injected.n, prompt.n - injected.n),
		BRD_STR("\n\n## Available Skills\n")));
	brd_buf_fini(&b);
	brd_agent_def_unref(d);
}

static void skills_are_read_and_injected_as_recorded(void **state)
{
	assert_int_equal(brd_json_count(vectors.root), 13);
	for (struct json_iter it = brd_json_each(vectors.root); brd_json_next(&it);)
		check(it.value);
}

static void an_id_that_can_be_none_is_refused(void **state)
{
	struct bread_err err = { 0 };

	assert_int_equal(brd_skill_check_id(BRD_STR("../../etc"), &err), BREAD_E_INVALID);
	assert_string_equal(err.name, "INVALID_NAME");
	assert_string_equal(err.text, "skill name \"../../etc\" must match /^[a-z][a-z0-9_]*$/ "
				      "(lowercase snake_case, starting with a letter)");
	assert_string_equal(err.context, "{\"kind\":\"skill\",\"value\":\"../../etc\"}");
	assert_int_equal(brd_skill_check_id(BRD_STR(""), &err), BREAD_E_INVALID);
	assert_int_equal(brd_skill_check_id(BRD_STR("a_1"), &err), 0);
}

static int set_up(void **state)
{
	return brd_yaml_load(&vectors, &arena, getenv("VECTORS"), NULL);
}

static int tear_down(void **state)
{
	brd_arena_fini(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(skills_are_read_and_injected_as_recorded),
		cmocka_unit_test(an_id_that_can_be_none_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: MIT */
#include "test.h"
#include "base/base64.h"
#include "base/str.h"

static const struct {
	const char *plain, *coded;
} vectors[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xff\xef\xbe", "/+++" },
};

static void codes_and_decodes_the_vectors(void **state)
{
	struct buf b;

	brd_buf_init(&b, 8);
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		brd_buf_clear(&b);
		brd_base64_add(&b, vectors[i].plain, strlen(vectors[i].plain));
		assert_str(brd_buf_str(&b), vectors[i].coded);
		assert_int_equal(b.data[b.len], 0);
		brd_buf_clear(&b);
		assert_true(brd_base64_decode(&b, brd_str(vectors[i].coded)));
		assert_str(brd_buf_str(&b), vectors[i].plain);
	}
	brd_buf_fini(&b);
}

static void refuses_what_is_not_base64(void **state)
{
	static const char *const bad[] = { "Z", "Zg", "Zg=", "Zg===", "====", "Zm9v\n", "Zm 9",
		"Zh==", "Zm9=", "Zg==Zg==", "=Zg=", "Zm-_", "Z===" };
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(brd_base64_decode(&b, brd_str(bad[i])));
	brd_buf_fini(&b);
}

static void decoding_fits_in_exactly_its_limit(void **state)
{
	struct buf b;

	brd_buf_init(&b, 4);
	assert_true(brd_base64_decode(&b, BRD_STR("Zm9vYg==")));
	assert_false(b.bad);
	assert_str(brd_buf_str(&b), "foob");
	brd_buf_fini(&b);
}

static void all_bytes_come_back(void **state)
{
	unsigned char all[256];
	struct buf coded, plain;

	brd_buf_init(&coded, BUF_NO_LIMIT);
	brd_buf_init(&plain, BUF_NO_LIMIT);
	for (unsigned i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	brd_base64_add(&coded, all, 256);
	assert_true(brd_base64_decode(&plain, brd_buf_str(&coded)));
	assert_int_equal(plain.len, 256);
	assert_memory_equal(plain.data, all, 256);
	brd_buf_fini(&coded);
	brd_buf_fini(&plain);
}

static void hex_is_lower_case(void **state)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	brd_hex_add(&b, "\x00\x1f\xab\xff", 4);
	assert_str(brd_buf_str(&b), "001fabff");
	brd_buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_and_decodes_the_vectors),
		cmocka_unit_test(refuses_what_is_not_base64),
		cmocka_unit_test(decoding_fits_in_exactly_its_limit),
		cmocka_unit_test(all_bytes_come_back),
		cmocka_unit_test(hex_is_lower_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

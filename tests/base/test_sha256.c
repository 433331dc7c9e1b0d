/* SPDX-License-Identifier: MIT */
#include "base/base64.h"
#include "base/sha256.h"
#include "test.h"

static void expect(const char *text, size_t step, const char *sum)
{
	unsigned char out[SHA256_LEN];
	struct bread_str rest = { text, strlen(text) };
	struct sha256 s;
	struct buf hex;

	brd_sha256_init(&s);
	while (rest.n) {
		size_t n = rest.n < step ? rest.n : step;

		brd_sha256_add(&s, (struct bread_str){ rest.p, n });
		rest.p += n;
		rest.n -= n;
	}
	brd_sha256_end(&s, out);
	brd_buf_init(&hex, 128);
	brd_hex_add(&hex, out, sizeof(out));
	assert_string_equal(hex.data, sum);
	brd_buf_fini(&hex);
}

static void the_standards_examples_hold(void **state)
{
	expect("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void pieces_of_any_size_make_the_same_sum(void **state)
{
	char text[1001];

	memset(text, 'a', 1000);
	text[1000] = 0;
	for (size_t step = 1; step < 130; step++)
		expect(text, step,
			"41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

static void lengths_around_a_block_are_padded(void **state)
{
	static const struct {
		size_t n;
		const char *sum;
	} cases[] = {
		{ 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
		{ 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
		{ 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34" },
		{ 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
		{ 65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0" },
	};
	char text[66];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memset(text, 'a', sizeof(text));
		text[cases[i].n] = 0;
		expect(text, 7, cases[i].sum);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_standards_examples_hold),
		cmocka_unit_test(pieces_of_any_size_make_the_same_sum),
		cmocka_unit_test(lengths_around_a_block_are_padded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

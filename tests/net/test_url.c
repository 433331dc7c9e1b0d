/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "test.h"
#include "base/str.h"
#include "net/url.h"

static void http_urls_are_taken(void **state)
{
	const char *good[] = { "http://localhost", "https://example.com/a?b=c#d",
		"HTTPS://EXAMPLE.com", "http://127.0.0.1:8080/", "http://[::1]:80/x",
		"https://host/%20?q=@" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(brd_url_check(brd_str(good[i]), NULL), 0);
}

static void others_are_refused_with_a_reason(void **state)
{
	const char *bad[] = { "", "example.com", "/path", "ftp://host/", "file:///etc/passwd",
		"http://", "https://user@host/", "https://user:pw@host/", "https://:pw@host/",
		"http://ho st/", "http://host/\n", "javascript:alert(1)", "http://host:99999/",
		"gopher://host/", "http://[::1/", "mailto:a@b" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bread_err err = { 0 };

		assert_int_equal(brd_url_check(brd_str(bad[i]), &err), BREAD_E_INVALID);
		assert_true(err.text[0] != '\0');
	}
}

static void a_nul_inside_is_refused(void **state)
{
	assert_int_equal(brd_url_check(BRD_STR("http://a\0b/"), NULL), BREAD_E_INVALID);
}

static void too_long_is_refused(void **state)
{
	static char z[10000];

	memset(z, 'a', sizeof(z));
	memcpy(z, "http://", 7);
	assert_int_equal(brd_url_check((struct bread_str){ z, sizeof(z) }, NULL), BREAD_E_INVALID);
}

static bool is_public(const char *text)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		return brd_addr_public(&in);
	assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	return brd_addr_public(&in6);
}

static void public_addresses(void **state)
{
	const char *yes[] = { "8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1",
		"100.128.0.1", "192.167.1.1", "223.255.255.255", "2606:4700::1111",
		"2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(is_public(yes[i]));
}

static void all_others(void **state)
{
	const char *no[] = { "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1",
		"127.255.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.0.1",
		"192.0.0.8", "192.0.2.1", "198.18.0.1", "198.19.1.1", "203.0.113.9", "224.0.0.1",
		"239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fc00::1",
		"fd12::1", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
		"64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:a00:1::1", "2002:7f00:1::1",
		"2001:0:1::1", "2001:db8::1", "::127.0.0.1", "3fff::1", "100::1" };

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(is_public(no[i]));
}

static void other_families_are_not_public(void **state)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	assert_false(brd_addr_public(&un));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(http_urls_are_taken),
		cmocka_unit_test(others_are_refused_with_a_reason),
		cmocka_unit_test(a_nul_inside_is_refused),
		cmocka_unit_test(too_long_is_refused),
		cmocka_unit_test(public_addresses),
		cmocka_unit_test(all_others),
		cmocka_unit_test(other_families_are_not_public),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

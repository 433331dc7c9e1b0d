/* SPDX-License-Identifier: MIT */
/* The outbound guard. URLs are read by libcurl's parser, since it is libcurl that
 * will call them: two parsers that disagree are how guards are passed by. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/err.h"
#include "base/mem.h"
#include "net/curl.h"
#include "net/url.h"

#define URL_MAX ((size_t)8 * 1024)

static int refuse(struct bread_err *err, const char *why)
{
	return brd_fail_as(err, BREAD_E_INVALID, "url", "net.url", "%s", why);
}

static bool has_blank_or_control(struct bread_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
			return true;
	return false;
}

/* A part of the URL is there and not empty. */
static bool has_part(CURLU *u, CURLUPart part)
{
	char *z = NULL;
	bool has = curl_url_get(u, part, &z, 0) == CURLUE_OK && z && z[0];

	curl_free(z);
	return has;
}

static bool is_http(CURLU *u)
{
	char *z = NULL;
	bool is = curl_url_get(u, CURLUPART_SCHEME, &z, 0) == CURLUE_OK &&
		  (strcmp(z, "http") == 0 || strcmp(z, "https") == 0);

	curl_free(z);
	return is;
}

static int check_parts(CURLU *u, const char *url, struct bread_err *err)
{
	if (curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
		return refuse(err, "this is no URL; write it as https://host/path");
	if (!is_http(u))
		return refuse(err, "the URL must begin with http:// or https://");
	if (!has_part(u, CURLUPART_HOST))
		return refuse(err, "the URL has no host; write it as https://host/path");
	if (has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD))
		return refuse(err, "the URL holds a user or password; put them into a header");
	return 0;
}

int brd_url_check(struct bread_str url, struct bread_err *err)
{
	CURLU *u;
	char *z;
	int r;

	if (!url.n)
		return refuse(err, "the URL is empty");
	if (url.n > URL_MAX)
		return refuse(err, "the URL is over 8 KiB long");
	if (has_blank_or_control(url))
		return refuse(err, "the URL holds a blank or a control character; write it as %20");
	r = brd_curl_load(err);
	if (r)
		return r;
	u = curl_url();
	z = brd_strndup(url);
	r = check_parts(u, z, err);
	free(z);
	curl_url_cleanup(u);
	return r;
}

/* ---- addresses ---- */

struct net4 {
	uint32_t net;
	unsigned bits;
};

static const struct net4 not_public4[] = {
	{ 0x00000000, 8 },  /* this network, unspecified */
	{ 0x0a000000, 8 },  /* private */
	{ 0x64400000, 10 }, /* carriers' private */
	{ 0x7f000000, 8 },  /* loopback */
	{ 0xa9fe0000, 16 }, /* link-local, where clouds keep their metadata */
	{ 0xac100000, 12 }, /* private */
	{ 0xc0000000, 24 }, /* protocol assignments */
	{ 0xc0000200, 24 }, /* documentation */
	{ 0xc0586300, 24 }, /* old 6to4 relays */
	{ 0xc0a80000, 16 }, /* private */
	{ 0xc6120000, 15 }, /* benchmarks */
	{ 0xc6336400, 24 }, /* documentation */
	{ 0xcb007100, 24 }, /* documentation */
	{ 0xe0000000, 4 },  /* multicast */
	{ 0xf0000000, 4 },  /* reserved, broadcast */
};

static bool public4(uint32_t addr)
{
	for (size_t i = 0; i < sizeof(not_public4) / sizeof(not_public4[0]); i++)
		if ((addr ^ not_public4[i].net) >> (32 - not_public4[i].bits) == 0)
			return false;
	return true;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Only 2000::/3 is given out, and within it some blocks are not public. Forms that
 * carry an IPv4 address are judged by that. */
static bool public6(const uint8_t a[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t nat64[12] = { 0x00, 0x64, 0xff, 0x9b };

	if (memcmp(a, mapped, 12) == 0 || memcmp(a, nat64, 12) == 0)
		return public4(be32(a + 12));
	if ((a[0] & 0xe0) != 0x20)
		return false;
	if (be32(a) >> 16 == 0x2002) /* 6to4 */
		return public4(be32(a + 2));
	if (be32(a) >> 9 == 0x20010000 >> 9) /* Teredo and other assignments */
		return false;
	if (be32(a) >> 4 == 0x3fff0000 >> 4) /* documentation */
		return false;
	return be32(a) != 0x20010db8; /* documentation */
}

bool brd_addr_public(const void *sa)
{
	sa_family_t family;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	memcpy(&family, (const char *)sa + offsetof(struct sockaddr, sa_family), sizeof(family));
	if (family == AF_INET) {
		memcpy(&in, sa, sizeof(in));
		return public4(ntohl(in.sin_addr.s_addr));
	}
	if (family == AF_INET6) {
		memcpy(&in6, sa, sizeof(in6));
		return public6(in6.sin6_addr.s6_addr);
	}
	return false;
}

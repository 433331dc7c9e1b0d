/* SPDX-License-Identifier: MIT */
/* libcurl, loaded by the first who needs it.
 *
 * It brings some thirty libraries (GnuTLS, Kerberos, LDAP, …): 4 MB of memory and a third of
 * the time to start, for a server that may never call anyone. Include this instead of
 * curl/curl.h; the functions listed here are called by their usual names, after
 * brd_curl_load has said yes. */
#pragma once
#include <curl/curl.h>
#include "bread/types.h"

#define CURL_FUNCTIONS(F) \
	F(easy_cleanup) \
	F(easy_getinfo) \
	F(easy_init) \
	F(easy_pause) \
	F(easy_setopt) \
	F(easy_strerror) \
	F(free) \
	F(global_init) \
	F(multi_add_handle) \
	F(multi_assign) \
	F(multi_cleanup) \
	F(multi_info_read) \
	F(multi_init) \
	F(multi_remove_handle) \
	F(multi_setopt) \
	F(multi_socket_action) \
	F(slist_append) \
	F(slist_free_all) \
	F(url) \
	F(url_cleanup) \
	F(url_get) \
	F(url_set)

#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

struct curl_api {
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

extern struct curl_api brd_curl;

/* Loads and sets it up, once; from any thread. BREAD_E_BUSY: it cannot be loaded. */
int brd_curl_load(struct bread_err *err);

#define curl_easy_cleanup brd_curl.easy_cleanup
#define curl_easy_getinfo brd_curl.easy_getinfo
#define curl_easy_init brd_curl.easy_init
#define curl_easy_pause brd_curl.easy_pause
#define curl_easy_setopt brd_curl.easy_setopt
#define curl_easy_strerror brd_curl.easy_strerror
#define curl_free brd_curl.free
#define curl_global_init brd_curl.global_init
#define curl_multi_add_handle brd_curl.multi_add_handle
#define curl_multi_assign brd_curl.multi_assign
#define curl_multi_cleanup brd_curl.multi_cleanup
#define curl_multi_info_read brd_curl.multi_info_read
#define curl_multi_init brd_curl.multi_init
#define curl_multi_remove_handle brd_curl.multi_remove_handle
#define curl_multi_setopt brd_curl.multi_setopt
#define curl_multi_socket_action brd_curl.multi_socket_action
#define curl_slist_append brd_curl.slist_append
#define curl_slist_free_all brd_curl.slist_free_all
#define curl_url brd_curl.url
#define curl_url_cleanup brd_curl.url_cleanup
#define curl_url_get brd_curl.url_get
#define curl_url_set brd_curl.url_set

/* SPDX-License-Identifier: MIT */
/* See curl.h. What was loaded stays: its own threads may outlive any client. */
#include "net/curl.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include "base/err.h"

#define SONAME "libcurl.so.4"

struct curl_api brd_curl;

static char fault[160]; /* empty: it is there */

static void load(void)
{
	static const char *const names[] = {
#define CURL_NAME(name) "curl_" #name,
		CURL_FUNCTIONS(CURL_NAME)
	};
	void **slots = (void **)&brd_curl; /* one pointer a name, in that order */
	void *lib = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		snprintf(fault, sizeof(fault), "%s", dlerror());
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		slots[i] = dlsym(lib, names[i]);
		if (!slots[i]) {
			snprintf(fault, sizeof(fault), SONAME " has no %s", names[i]);
			return;
		}
	}
	if (brd_curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		snprintf(fault, sizeof(fault), "it could not be set up");
}

int brd_curl_load(struct bread_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	if (!fault[0])
		return 0;
	return brd_fail(err, BREAD_E_BUSY, "net.curl",
		"libcurl cannot be used (%s); install it (libcurl4)", fault);
}

/* SPDX-License-Identifier: MIT */
/* Which bread this is: what the build file says. */
#include "bread/types.h"

#ifndef BREAD_VERSION /* the build file gives it */
#define BREAD_VERSION "0.0.0"
#endif

const char *bread_version(void)
{
	return BREAD_VERSION;
}

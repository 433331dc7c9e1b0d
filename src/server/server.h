/* SPDX-License-Identifier: MIT */
/* One listener per loop over the instance: routes, viewers, limits, health, metrics. */
#pragma once
#include "bread/ext/ingress.h"
#include "bread/server.h"

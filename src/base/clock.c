/* SPDX-License-Identifier: MIT */
/* Time, which tests can turn by hand.
 *
 * The monotonic clock never goes back, also not at a thaw: what a test turned it
 * forward by stays added. The wall clock goes back to the true time then. */
#include "base/clock.h"
#include <stdatomic.h>
#include <time.h>
#include "base/err.h"

static atomic_bool frozen;
static _Atomic int64_t wall_us, mono_us; /* while frozen */
static _Atomic int64_t ahead_us;         /* mono is so far before the system's */

static int64_t system_us(clockid_t id)
{
	struct timespec t;

	brd_assert(clock_gettime(id, &t) == 0);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t brd_clock_wall_us(void)
{
	return atomic_load(&frozen) ? atomic_load(&wall_us) : system_us(CLOCK_REALTIME);
}

int64_t brd_clock_wall(void)
{
	return brd_clock_wall_us() / 1000;
}

int64_t brd_clock_mono_us(void)
{
	if (atomic_load(&frozen))
		return atomic_load(&mono_us);
	return system_us(CLOCK_MONOTONIC) + atomic_load(&ahead_us);
}

int64_t brd_clock_mono(void)
{
	return brd_clock_mono_us() / 1000;
}

void brd_clock_freeze(int64_t wall_ms)
{
	atomic_store(&mono_us, brd_clock_mono_us());
	atomic_store(&wall_us, wall_ms * 1000);
	atomic_store(&frozen, true);
}

void brd_clock_turn(int64_t ms)
{
	brd_assert(atomic_load(&frozen) && ms >= 0);
	atomic_fetch_add(&wall_us, ms * 1000);
	atomic_fetch_add(&mono_us, ms * 1000);
}

void brd_clock_thaw(void)
{
	int64_t ahead = atomic_load(&mono_us) - system_us(CLOCK_MONOTONIC);

	if (!atomic_load(&frozen))
		return;
	if (ahead > atomic_load(&ahead_us))
		atomic_store(&ahead_us, ahead);
	atomic_store(&frozen, false);
}

bool brd_clock_frozen(void)
{
	return atomic_load(&frozen);
}

/* SPDX-License-Identifier: MIT */
/* Time, which tests can turn by hand. Thread-safe. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

int64_t brd_clock_wall(void); /* milliseconds since 1970; for stamps that people read */
int64_t brd_clock_wall_us(void);
int64_t brd_clock_mono(void); /* milliseconds; never goes back; for waiting */
int64_t brd_clock_mono_us(void);

/* From here on both clocks stand still and move only by brd_clock_turn. */
void brd_clock_freeze(int64_t wall_ms);
void brd_clock_turn(int64_t ms);
void brd_clock_thaw(void);
bool brd_clock_frozen(void);

/* SPDX-License-Identifier: MIT */
/* UUID version 7 (RFC 9562) with a counter, and the system's random source.
 *
 * The stamp and the counter behind it only go up: when the counter runs over
 * within a millisecond, or the wall clock goes back, the stamp goes ahead of the
 * clock by what is needed. Random bytes are fetched for several ids at a time; a
 * child made by fork() without exec() must make none. */
#include "base/uuid.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include "base/clock.h"
#include "base/err.h"

#define COUNTER_MOST 0xfffu
#define NAME_MOST 128 /* bytes of an id or a name; UUID_MAX has room for it */

static struct {
	pthread_mutex_t lock;
	uint64_t stamp;   /* milliseconds, of the last id */
	unsigned counter; /* 12 bits, of the last id */
	size_t left;      /* unused bytes at the end of pool */
	unsigned char pool[640];
} maker = { .lock = PTHREAD_MUTEX_INITIALIZER };

void brd_random(void *p, size_t n)
{
	unsigned char *at = p;

	while (n) {
		ssize_t got = getrandom(at, n, 0);

		if (got < 0) {
			brd_assert(errno == EINTR);
			continue;
		}
		at += got;
		n -= (size_t)got;
	}
}

static void pool_take(unsigned char *to, size_t n)
{
	if (maker.left < n) {
		brd_random(maker.pool, sizeof(maker.pool));
		maker.left = sizeof(maker.pool);
	}
	memcpy(to, maker.pool + (sizeof(maker.pool) - maker.left), n);
	maker.left -= n;
}

/* A new millisecond starts its counter at a random place in the lower half. */
static void next_stamp(void)
{
	uint64_t now = (uint64_t)brd_clock_wall();
	unsigned char seed[2];

	if (now <= maker.stamp && maker.counter < COUNTER_MOST) {
		maker.counter++;
		return;
	}
	maker.stamp = now > maker.stamp ? now : maker.stamp + 1;
	pool_take(seed, sizeof(seed));
	maker.counter = (seed[0] | (unsigned)seed[1] << 8) & (COUNTER_MOST >> 1);
}

static void print(char out[UUID_LEN + 1], const unsigned char bytes[16])
{
	static const char hex[] = "0123456789abcdef";
	char *to = out;

	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = hex[bytes[i] >> 4];
		*to++ = hex[bytes[i] & 15];
	}
	*to = 0;
}

void brd_uuid7(char out[UUID_LEN + 1])
{
	unsigned char bytes[16];

	pthread_mutex_lock(&maker.lock);
	next_stamp();
	for (int i = 0; i < 6; i++)
		bytes[i] = (unsigned char)(maker.stamp >> (40 - 8 * i));
	bytes[6] = (unsigned char)(0x70 | maker.counter >> 8);
	bytes[7] = (unsigned char)maker.counter;
	pool_take(bytes + 8, 8);
	pthread_mutex_unlock(&maker.lock);
	bytes[8] = (unsigned char)(0x80 | (bytes[8] & 0x3f));
	print(out, bytes);
}

static bool id_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == ':' || c == '-';
}

bool brd_id_ok(struct bread_str id)
{
	if (id.n < 1 || id.n > NAME_MOST)
		return false;
	for (size_t i = 0; i < id.n; i++) {
		if (!id_char(id.p[i]))
			return false;
	}
	return true;
}

bool brd_name_ok(struct bread_str name)
{
	if (name.n == 0 || name.n > NAME_MOST || name.p[0] < 'a' || name.p[0] > 'z')
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'))
			return false;
	}
	return true;
}

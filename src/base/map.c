/* SPDX-License-Identifier: MIT */
/* The one hash map: open addressing, linear probing, at most three quarters full.
 *
 * Keys come from peers, who may choose them so that they fall on one slot. So the
 * hash is SipHash-1-3 under a key that each process draws anew; the order in
 * which brd_map_next finds entries is therefore another one in each process. */
#include "base/map.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/str.h"
#include "base/uuid.h"

/* Not const: its address must be nobody else's, and a constant may share one with "". */
static char tombstone[1];

static uint64_t secret[2];
static pthread_once_t secret_once = PTHREAD_ONCE_INIT;

static void draw_secret(void)
{
	brd_random(secret, sizeof(secret));
}

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
}

static uint64_t hash_of(struct bread_str s)
{
	uint64_t v[4], word = 0;
	size_t i = 0;

	pthread_once(&secret_once, draw_secret);
	v[0] = secret[0] ^ 0x736f6d6570736575u;
	v[1] = secret[1] ^ 0x646f72616e646f6du;
	v[2] = secret[0] ^ 0x6c7967656e657261u;
	v[3] = secret[1] ^ 0x7465646279746573u;
	for (; i + 8 <= s.n; i += 8) {
		memcpy(&word, s.p + i, 8);
		sip_word(v, word);
	}
	word = 0;
	memcpy(&word, s.p + i, s.n - i);
	sip_word(v, word ^ (uint64_t)s.n << 56);
	v[2] ^= 0xff;
	for (int n = 0; n < 3; n++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static bool is_entry(const struct map_slot *s)
{
	return s->key.p && s->key.p != tombstone;
}

static struct bread_str with_bytes(struct bread_str key) /* the empty one needs a p, too */
{
	return key.p ? key : BRD_STR("");
}

/* The key's slot, or NULL. There is always an empty slot that ends the search. */
static struct map_slot *find(const struct map *m, struct bread_str key, uint64_t hash)
{
	if (m->count == 0)
		return NULL;
	for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct map_slot *s = &m->slots[i];

		if (!s->key.p)
			return NULL;
		if (s->hash == hash && s->key.p != tombstone && brd_str_eq(s->key, key))
			return s;
	}
}

/* The key is in no slot yet; takes an empty one, never a tombstone. */
static void insert(struct map *m, struct map_slot entry)
{
	size_t i = entry.hash & (m->cap - 1);

	while (m->slots[i].key.p)
		i = (i + 1) & (m->cap - 1);
	m->slots[i] = entry;
	m->count++;
	m->used++;
}

/* Without tombstones, in a table that the entries fill by a half at most. */
static void rehash(struct map *m)
{
	struct map old = *m;
	size_t cap = 8;

	while (cap < (old.count + 1) * 2)
		cap *= 2;
	*m = (struct map){ brd_array(cap, sizeof(*m->slots)), cap, 0, 0 };
	for (size_t i = 0; i < old.cap; i++) {
		if (is_entry(&old.slots[i]))
			insert(m, old.slots[i]);
	}
	free(old.slots);
}

void brd_map_fini(struct map *m)
{
	free(m->slots);
	*m = (struct map){ 0 };
}

void *brd_map_get(const struct map *m, struct bread_str key)
{
	struct map_slot *s;

	if (m->count == 0)
		return NULL;
	key = with_bytes(key);
	s = find(m, key, hash_of(key));
	return s ? s->value : NULL;
}

void *brd_map_put(struct map *m, struct bread_str key, void *value)
{
	uint64_t hash;
	struct map_slot *s;

	key = with_bytes(key);
	hash = hash_of(key);
	s = find(m, key, hash);
	if (s) {
		void *old = s->value;

		s->key = key; /* the old one may go with the old value */
		s->value = value;
		return old;
	}
	if ((m->used + 1) * 4 > m->cap * 3)
		rehash(m);
	insert(m, (struct map_slot){ key, value, hash });
	return NULL;
}

void *brd_map_del(struct map *m, struct bread_str key)
{
	struct map_slot *s;
	void *old;

	key = with_bytes(key);
	s = find(m, key, hash_of(key));
	if (!s)
		return NULL;
	old = s->value;
	*s = (struct map_slot){ .key = { tombstone, 0 } };
	m->count--;
	return old;
}

bool brd_map_next(const struct map *m, size_t *at, struct map_slot **ret)
{
	for (; *at < m->cap; (*at)++) {
		if (is_entry(&m->slots[*at])) {
			*ret = &m->slots[(*at)++];
			return true;
		}
	}
	return false;
}

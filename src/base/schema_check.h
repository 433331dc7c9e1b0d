/* SPDX-License-Identifier: MIT */
/* What the checking files of the JSON Schema share: the state of one check. */
#pragma once
#include "base/schema_impl.h"

/* The way from the top of the instance to a value: on the stack, innermost first. */
struct schema_spot {
	const struct schema_spot *outer; /* NULL: the top */
	struct jval key;                 /* JSON_NONE: a member of an array */
	size_t index;
};

struct schema_told { /* the fault to report, so far */
	bool have;
	unsigned depth; /* of its place */
	unsigned rank;  /* the higher the better it explains */
	struct schema_fault fault;
};

/* Which members of one container were looked at: bits in schema_check.bits. NULL
 * where nobody wants to know. */
struct schema_marks {
	size_t at, words;
};

struct schema_check {
	const struct schema *s;
	int64_t steps; /* left */
	unsigned depth;
	bool stop; /* given up: every answer is no from here on, whatever stands around it */
	bool tell; /* faults are wanted; else only yes or no */
	struct schema_told told;
	struct arena *out;    /* of the faults */
	struct arena scratch; /* decoded strings */
	struct map decoded;   /* address of a token with escapes: struct schema_decoded */
	struct schema_matcher *matcher;
	uint64_t *bits; /* a stack of schema_marks */
	size_t bits_used, bits_cap;
	bool *entered;              /* by schema_res.index; only with dynamic references */
	struct schema_node **bound; /* by number of the dynamic anchor: the outermost */
};

/* Nodes inside nodes; some 300 bytes of stack each, 1.5 KiB under ASan. */
#define SCHEMA_DEPTH 4000

bool brd_schema_eval(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m);
bool brd_schema_logic(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m);
bool brd_schema_array(struct schema_check *c, const struct schema_array *r, struct jval v,
	const struct schema_spot *at, struct schema_marks *m);
bool brd_schema_object(struct schema_check *c, const struct schema_object *r, struct jval v,
	const struct schema_spot *at, struct schema_marks *m);
bool brd_schema_unevaluated(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, const struct schema_marks *seen);

/* The same, without telling faults: for what may fail without harm. */
bool brd_schema_eval_quiet(struct schema_check *c, const struct schema_node *n, struct jval v,
	const struct schema_spot *at, struct schema_marks *m);

/* The value of a string with escapes; decoded once a check, so that memory stays in
 * proportion to the instance however often it is looked at. */
struct bread_str brd_schema_decode(struct schema_check *c, struct jval v);

static inline struct bread_str schema_decoded(struct schema_check *c, struct jval v)
{
	if (v.tok->plain)
		return (struct bread_str){ v.text + v.tok->at + 1, v.tok->len - 2 };
	return brd_schema_decode(c, v);
}

/* Sets stop; false. */
bool brd_schema_give_up(struct schema_check *c, const struct schema_spot *at, const char *why);

/* n steps of work; false when that was too many. */
static inline bool schema_charge(struct schema_check *c, const struct schema_spot *at, uint64_t n)
{
	c->steps -= n < INT32_MAX ? (int64_t)n : INT32_MAX;
	return c->steps >= 0 || brd_schema_give_up(c, at, "the check takes too many steps");
}

/* Marks. push makes an empty set for n members; pop forgets it and, when into is
 * not NULL, adds it there. Sets are popped in reverse order. */
struct schema_marks brd_schema_marks_push(struct schema_check *c, size_t n);
void brd_schema_marks_pop(
	struct schema_check *c, const struct schema_marks *m, const struct schema_marks *into);
void brd_schema_mark_all(struct schema_check *c, const struct schema_marks *m);

static inline void schema_mark(struct schema_check *c, const struct schema_marks *m, size_t i)
{
	if (m)
		c->bits[m->at + i / 64] |= (uint64_t)1 << i % 64;
}

static inline bool schema_marked(
	const struct schema_check *c, const struct schema_marks *m, size_t i)
{
	return c->bits[m->at + i / 64] >> i % 64 & 1;
}

/* schema_unique.c: true when no two members of the array are equal; else their
 * indexes. Gives up (and is true) when that takes too many steps. */
bool brd_schema_unique(
	struct schema_check *c, struct jval v, const struct schema_spot *at, size_t ret_twins[2]);

/* schema_fault.c: tells a fault, if it is wanted and explains more than the one
 * told before; false. */
__attribute__((format(printf, 4, 5))) bool brd_schema_fault(struct schema_check *c,
	const struct schema_spot *at, const char *keyword, const char *fmt, ...);
bool brd_schema_fault_type(
	struct schema_check *c, const struct schema_spot *at, unsigned types, struct jval v);
bool brd_schema_fault_values(struct schema_check *c, const struct schema_spot *at,
	const char *keyword, const struct schema_values *values);
bool brd_schema_fault_extra(struct schema_check *c, const struct schema_spot *at,
	const struct schema_object *r, const char *keyword, struct bread_str name);
unsigned brd_schema_spot_depth(const struct schema_spot *at);

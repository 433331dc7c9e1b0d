/* SPDX-License-Identifier: MIT */
/* Doubly linked lists whose links live in the things they link.
 *
 * A zeroed link is in no list. brd_list_of turns a link into its owner. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define brd_list_of(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))
#define brd_list_each(it, head) for (struct list *it = (head)->next; it != (head); it = it->next)
/* the same, when the body may remove it */
#define brd_list_each_safe(it, head) \
	for (struct list *it = (head)->next, *it##_n = it->next; it != (head); \
		it = it##_n, it##_n = it->next)

static inline void brd_list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool brd_list_empty(const struct list *head)
{
	return head->next == head;
}

static inline bool brd_list_linked(const struct list *l)
{
	return l->next != NULL;
}

static inline void brd_list_push(struct list *head, struct list *l) /* at the end */
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static inline void brd_list_push_front(struct list *head, struct list *l)
{
	brd_list_push(head->next, l);
}

static inline void brd_list_remove(struct list *l) /* one in no list, too */
{
	if (!l->next)
		return;
	l->prev->next = l->next;
	l->next->prev = l->prev;
	l->next = l->prev = NULL;
}

static inline struct list *brd_list_pop(struct list *head) /* the first, or NULL */
{
	struct list *l = head->next;

	if (l == head)
		return NULL;
	brd_list_remove(l);
	return l;
}

/* Moves all of from behind the end of head. */
static inline void brd_list_splice(struct list *head, struct list *from)
{
	if (brd_list_empty(from))
		return;
	from->next->prev = head->prev;
	head->prev->next = from->next;
	from->prev->next = head;
	head->prev = from->prev;
	brd_list_init(from);
}

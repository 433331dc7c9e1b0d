/* SPDX-License-Identifier: MIT */
/* See watch.h. inotify watches a folder, not what is below it: each folder below
 * agents/, tasks/ and pipelines/ has a watch of its own, and the set is made anew after each burst.
 * Editors write beside and rename, so names are looked at and not events, and a
 * name that has come and gone is no change. */
#include "cli/watch.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "loop/loop.h"
#include "project/files.h"

#define QUIET_MS 200
#define FOLDERS_MAX 1024
#define DEPTH_MAX 8
#define PATHS_MAX 64

struct folder {
	uv_fs_event_t handle; /* first: it is freed as one */
	struct watch *watch;
	bool seen; /* in this round */
	char path[];
};

struct watch {
	struct bread *b;
	void (*changed)(const char *const *paths, size_t n, void *arg);
	void *arg;
	struct folder *folders[FOLDERS_MAX];
	size_t count;
	struct timer quiet;
	char *paths[PATHS_MAX];
	size_t path_count;
};

static void on_closed(uv_handle_t *h)
{
	free(h);
}

/* Folders of definitions: all that is below them is watched. */
static const char *const trees[] = { "agents", "tasks", "pipelines" };

static bool is_tree(const char *name)
{
	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++)
		if (!strcmp(name, trees[i]))
			return true;
	return false;
}

static bool matters(const struct folder *f, const char *name)
{
	struct bread_str n = brd_str(name);

	if (!name || name[0] == '.' || name[0] == '#' || strchr(name, '~'))
		return false;
	if (!strcmp(f->path, ".")) /* the store is here, too */
		return brd_str_ends(n, BRD_STR(".yaml")) || is_tree(name);
	return true;
}

static void on_quiet(struct timer *t);

static void on_event(uv_fs_event_t *h, const char *name, int events, int status)
{
	struct folder *f = brd_list_of(h, struct folder, handle);
	struct watch *w = f->watch;
	struct arena a = { 0 };
	const char *path;
	bool known = false;

	if (status || !matters(f, name))
		return;
	path = strcmp(f->path, ".") ? brd_arena_printf(&a, "%s/%s", f->path, name).p : name;
	for (size_t i = 0; i < w->path_count; i++)
		known = known || !strcmp(w->paths[i], path);
	if (!known && w->path_count < PATHS_MAX)
		w->paths[w->path_count++] = brd_strdup(path);
	brd_timer_start(&w->quiet, brd_instance_loop(w->b, 0), QUIET_MS, on_quiet);
	brd_arena_fini(&a);
}

/* ---- the set of folders ---- */

static struct folder *find(struct watch *w, const char *path)
{
	for (size_t i = 0; i < w->count; i++)
		if (!strcmp(w->folders[i]->path, path))
			return w->folders[i];
	return NULL;
}

static void add(struct watch *w, const char *path)
{
	struct folder *f = find(w, path);

	if (f || w->count == FOLDERS_MAX) {
		if (f)
			f->seen = true;
		return;
	}
	f = brd_alloc(sizeof(*f) + strlen(path) + 1);
	memcpy(f->path, path, strlen(path) + 1);
	f->watch = w;
	f->seen = true;
	uv_fs_event_init(brd_loop_uv(brd_instance_loop(w->b, 0)), &f->handle);
	uv_fs_event_start(&f->handle, on_event, path, 0);
	uv_unref((uv_handle_t *)&f->handle);
	w->folders[w->count++] = f;
}

static void add_tree(struct watch *w, const char *path, int depth)
{
	struct arena a = { 0 };
	struct names l;

	if (!brd_is_dir(path))
		return;
	add(w, path);
	l = brd_list_dir(&a, path, "");
	for (size_t i = 0; i < l.n && depth < DEPTH_MAX; i++)
		add_tree(w, brd_arena_printf(&a, "%s/%s", path, l.v[i]).p, depth + 1);
	brd_arena_fini(&a);
}

static void renew(struct watch *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->count; i++)
		w->folders[i]->seen = false;
	add(w, ".");
	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++)
		add_tree(w, trees[i], 0);
	for (size_t i = 0; i < w->count; i++)
		if (w->folders[i]->seen)
			w->folders[kept++] = w->folders[i];
		else
			uv_close((uv_handle_t *)&w->folders[i]->handle, on_closed);
	w->count = kept;
}

/* Files that editors and sed make beside the real one are gone by now. */
static void drop_passing(struct watch *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->path_count; i++) {
		struct bread_str p = brd_str(w->paths[i]);
		bool ours = brd_str_ends(p, BRD_STR(".yaml")) || brd_str_ends(p, BRD_STR(".md"));

		if (ours || !access(w->paths[i], F_OK))
			w->paths[kept++] = w->paths[i];
		else
			free(w->paths[i]);
	}
	w->path_count = kept;
}

static void forget_paths(struct watch *w)
{
	while (w->path_count)
		free(w->paths[--w->path_count]);
}

static void on_quiet(struct timer *t)
{
	struct watch *w = brd_list_of(t, struct watch, quiet);

	renew(w);
	drop_passing(w);
	if (w->path_count)
		w->changed((const char *const *)w->paths, w->path_count, w->arg);
	forget_paths(w);
}

/* ---- life ---- */

struct watch *cli_watch_new(
	struct bread *b, void (*changed)(const char *const *paths, size_t n, void *arg), void *arg)
{
	struct watch *w = brd_alloc(sizeof(*w));

	w->b = b;
	w->changed = changed;
	w->arg = arg;
	renew(w);
	return w;
}

void cli_watch_free(struct watch *w)
{
	if (!w)
		return;
	brd_timer_stop(&w->quiet);
	for (size_t i = 0; i < w->count; i++)
		uv_close((uv_handle_t *)&w->folders[i]->handle, on_closed);
	forget_paths(w);
	free(w);
}

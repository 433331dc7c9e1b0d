/* SPDX-License-Identifier: MIT */
/* Shared objects: found, loaded, asked for their struct, and refused with a reason when that is
 * not one of ours. */
#include "script/plugin.h"
#include <dlfcn.h>
#include "base/err.h"
#include "config/conf.h"

struct options {
	char *file, *kind;
	struct jval options;
};

#define AT(member) offsetof(struct options, member)

static const struct conf_field fields[] = {
	{ .key = "file",
		.type = CONF_STR,
		.offset = AT(file),
		.required = true,
		.doc = "The shared object." },
	{ .key = "kind",
		.type = CONF_STR,
		.offset = AT(kind),
		.doc = "Which of its kinds of tools." },
	{ .key = "options", .type = CONF_JSON, .offset = AT(options), .doc = "What it is told." },
};

static int read_options(
	struct options *ret, struct bread_str options, struct arena *a, struct bread_err *err)
{
	struct jval v;

	if (brd_json_parse(a, brd_arena_copy(a, options), 0, &v, NULL))
		return brd_fail(err, BREAD_E_INVALID, "plugin", "plugin is not JSON");
	if (brd_json_type(v) == JSON_STRING) {
		ret->file = brd_json_strz(v, a);
		return 0;
	}
	if (brd_json_type(v) != JSON_OBJECT)
		return brd_fail(err, BREAD_E_INVALID, "plugin",
			"plugin must be the name of a file, or an object with `file`");
	return brd_conf_read(fields, CONF_COUNT(fields), v, ret, NULL, "plugin", a, err);
}

/* dlopen would look for a bare name in the system's folders. */
static char *path_of(const char *file, const char *dir, struct arena *a)
{
	if (file[0] == '/')
		return brd_arena_strz(a, brd_str(file));
	return brd_arena_strz(a, brd_arena_printf(a, "%s/%s", dir ? dir : ".", file));
}

static int check(const struct bread_plugin *p, const char *path, struct bread_err *err)
{
	if (!p)
		return brd_fail(err, BREAD_E_INVALID, path, "its bread_plugin() gave nothing");
	if (p->version != BREAD_PLUGIN_VERSION)
		return brd_fail(err, BREAD_E_INVALID, path,
			"it was made for version %u of plugins, this is %d; build it anew",
			p->version, BREAD_PLUGIN_VERSION);
	if (p->size != sizeof(*p))
		return brd_fail(err, BREAD_E_INVALID, path,
			"its struct bread_plugin has %u bytes, ours %zu; build it with the headers "
			"of this version",
			p->size, sizeof(*p));
	if (!p->name)
		return brd_fail(err, BREAD_E_INVALID, path, "it has no name");
	return 0;
}

static int load(struct plugin *ret, const char *path, struct bread_err *err)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	bread_plugin_fn *fn;
	int r;

	if (!object)
		return brd_fail(
			err, BREAD_E_INVALID, "plugin", "it cannot be loaded: %s", dlerror());
	*(void **)&fn = dlsym(object, BREAD_PLUGIN_SYMBOL);
	if (!fn)
		r = brd_fail(err, BREAD_E_INVALID, path,
			"it exports no function " BREAD_PLUGIN_SYMBOL "()");
	else
		r = check(fn(), path, err);
	if (r) {
		dlclose(object);
		return r;
	}
	ret->object = object;
	ret->it = fn();
	return 0;
}

int brd_plugin_open(struct plugin *ret, struct bread_str options, const char *dir,
	struct bread_str *ret_options, const char **ret_kind, struct arena *a,
	struct bread_err *err)
{
	struct options o = { 0 };
	int r = read_options(&o, options, a, err);

	if (r)
		return r;
	*ret_options = brd_json_raw(o.options);
	if (!ret_options->n)
		*ret_options = BRD_STR("{}");
	*ret_kind = o.kind;
	return load(ret, path_of(o.file, dir, a), err);
}

void brd_plugin_close(struct plugin *p)
{
	if (p->object)
		dlclose(p->object);
	p->object = NULL;
}

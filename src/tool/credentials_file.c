/* SPDX-License-Identifier: MIT */
/* Credentials in files: a folder with a file a name (as container platforms mount
 * secrets), or one YAML or JSON file of names and texts. Read anew for each question,
 * so that a rotated secret is seen. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/mem.h"
#include "config/yaml.h"
#include "loop/work.h"
#include "tool/credentials_impl.h"

struct file_ask {
	struct credentials *from;
	struct credential_ask *a;
	struct work work;
};

static int file_open(struct credentials *c, struct jval v, const char *dir, struct bread_err *err)
{
	return brd_credentials_path(c, v, "path", dir, &c->path, err);
}

/* Up to its limit; one newline at the end is the editor's. */
static char *read_value(int fd)
{
	char *text = brd_alloc(CREDENTIAL_MAX + 1), *value;
	size_t n = 0;
	ssize_t got;

	while (n <= CREDENTIAL_MAX && (got = read(fd, text + n, CREDENTIAL_MAX + 1 - n)) > 0)
		n += (size_t)got;
	if (n && text[n - 1] == '\n')
		n--;
	value = n <= CREDENTIAL_MAX ? brd_strndup((struct bread_str){ text, n }) : NULL;
	explicit_bzero(text, CREDENTIAL_MAX + 1);
	free(text);
	return value;
}

/* The name was checked: it has no slash and does not begin with a dot. */
static char *from_folder(const char *dir, const char *name)
{
	char path[PATH_MAX];
	char *value;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	value = read_value(fd);
	close(fd);
	return value;
}

static enum bread_code from_file(struct file_ask *f, struct bread_err *err)
{
	struct arena a = { 0 };
	struct bread_err cause = { 0 };
	struct yaml_doc doc;
	int r = brd_yaml_load(&doc, &a, f->from->path, &cause);

	/* the place and no more: the text may have a piece of a secret in it */
	if (r)
		brd_fail(err, BREAD_E_UPSTREAM, "credentials",
			"the file of credentials cannot be read (%s)", cause.where);
	for (size_t i = 0; !r && i < f->a->count; i++) {
		struct jval v = brd_json_get(doc.root, f->a->names[i]);

		if (brd_json_type(v) == JSON_STRING)
			f->a->values[i] = brd_strndup(brd_json_str(v, &a));
		else if (brd_json_type(v) > JSON_NULL)
			f->a->values[i] = brd_strndup(brd_json_raw(v));
	}
	brd_arena_fini(&a);
	return r ? BREAD_E_UPSTREAM : BREAD_OK;
}

static enum bread_code run(struct work *w, struct bread_err *err)
{
	struct file_ask *f = w->arg;
	struct stat st;

	for (size_t i = 0; i < f->a->count; i++)
		if (brd_credential_check(f->a->names[i], err))
			return BREAD_E_INVALID;
	if (stat(f->from->path, &st))
		return brd_fail(err, BREAD_E_UPSTREAM, "credentials",
			"%s, where credentials are kept, is not there", f->from->path);
	if (!S_ISDIR(st.st_mode))
		return from_file(f, err);
	for (size_t i = 0; i < f->a->count; i++)
		f->a->values[i] = from_folder(f->from->path, f->a->names[i]);
	return BREAD_OK;
}

static void file_ask(struct credentials *c, struct credential_ask *a)
{
	struct file_ask *f = brd_alloc(sizeof(*f));

	f->from = c;
	f->a = a;
	f->work = (struct work){ .run = run, .arg = f };
	a->priv = f;
	brd_work_start(&f->work, &a->op);
}

const struct credentials_kind brd_credentials_file = { "file", file_open, file_ask };

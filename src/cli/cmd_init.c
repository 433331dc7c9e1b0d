/* SPDX-License-Identifier: MIT */
/* bread init: a project that runs at once, on answers that are written down. All
 * is said in its files, nothing by defaults; nothing that exists is overwritten. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/uuid.h"
#include "cli/cli.h"
#include "model/model.h"

struct init_plan {
	const char *dir;
	const char *name, *provider, *model;
	bool scripted;
	struct arena *arena;
};

static const char main_file[] =
	"# What this project is made of. `bread config reference` lists all keys.\n"
	"store: sqlite           # bread.db; runs and sessions outlive the process\n"
	"transport: stream       # crumbs reach viewers within this process\n"
	"ingress:                # the first one answers callers that accept anything\n"
	"  - http-sse\n"
	"  - http-chunked\n"
	"\n"
	"providers:\n";

static const char scripted_entry[] =
	"  scripted:             # answers from a file; no network, no key\n"
	"    file: models.yaml\n";

static const char models_file[] =
	"# Answers of the scripted provider: what {{input}} stands for is what was said last.\n"
	"models:\n"
	"  hello:\n"
	"    when:\n"
	"      - stream:\n"
	"          - text: \"Hello! You said: {{input}}\"\n"
	"            each: word\n"
	"            delay_ms: 30\n";

static const char prompt_file[] = "You are a friendly assistant. Answer in one sentence.\n";

static const char ignore_file[] = "bread.db\nbread.db-shm\nbread.db-wal\n.env\n";

/* ---- questions ---- */

static const char *ask(struct init_plan *p, const char *question, const char *dflt)
{
	char line[256];

	fprintf(stderr, "%s [%s] ", question, dflt);
	fflush(stderr);
	if (!fgets(line, sizeof(line), stdin))
		return dflt;
	line[strcspn(line, "\r\n")] = 0;
	return line[0] ? brd_arena_strz(p->arena, brd_str(line)) : dflt;
}

static const struct provider_entry *entry_of(const char *name)
{
	size_t n;
	const struct provider_entry *all = brd_provider_catalogue(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}

static bool plan_ok(const struct init_plan *p)
{
	if (!brd_id_ok(brd_str(p->name)) || p->name[0] == '.')
		cli_error("\"%s\" cannot be an agent's name; letters, digits, . _ : - are allowed",
			p->name);
	else if (!entry_of(p->provider))
		cli_error("provider \"%s\" is not known; see `bread provider list`", p->provider);
	else if (!p->scripted && !p->model[0])
		cli_error("provider \"%s\" needs --model", p->provider);
	else
		return true;
	return false;
}

/* What an option says, else what is asked, else the default. */
static const char *choose(struct init_plan *p, struct cli_args *a, const char *option,
	const char *question, const char *dflt)
{
	const char *given = cli_value(a, option);

	if (given)
		return given;
	return cli_on(a, "yes") || !isatty(STDIN_FILENO) ? dflt : ask(p, question, dflt);
}

static bool make_plan(struct init_plan *p, struct cli_args *a)
{
	p->dir = a->word_count ? a->words[0] : ".";
	p->arena = &a->arena;
	p->name = choose(p, a, "name", "Name of the first agent", "hello");
	p->provider =
		choose(p, a, "provider", "Model provider (see bread provider list)", "scripted");
	p->scripted = !strcmp(p->provider, "scripted");
	p->model = p->scripted ? "hello" : choose(p, a, "model", "Model", "");
	return plan_ok(p);
}

/* ---- files ---- */

struct new_file {
	const char *path;
	struct bread_str text;
};

static int make_dir(const char *path)
{
	if (!mkdir(path, 0777) || errno == EEXIST)
		return 0;
	cli_error("%s cannot be made: %s", path, strerror(errno));
	return EXIT_FAILED;
}

static int make_dirs(const struct init_plan *p)
{
	int r = make_dir(p->dir);

	if (!r)
		r = make_dir(brd_arena_printf(p->arena, "%s/agents", p->dir).p);
	if (!r)
		r = make_dir(brd_arena_printf(p->arena, "%s/agents/%s", p->dir, p->name).p);
	return r;
}

static int write_file(const struct new_file *f)
{
	int fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	ssize_t n = fd >= 0 ? write(fd, f->text.p, f->text.n) : -1;

	if (fd >= 0 && close(fd))
		n = -1;
	if (n == (ssize_t)f->text.n)
		return 0;
	cli_error("%s cannot be written: %s", f->path, strerror(errno));
	return EXIT_FAILED;
}

static const char *below(const struct init_plan *p, const char *rel)
{
	return brd_arena_printf(p->arena, "%s/%s", p->dir, rel).p;
}

static struct bread_str agent_file(const struct init_plan *p)
{
	return brd_arena_printf(p->arena,
		"description: Says hello.\n"
		"model:\n"
		"  provider: %s\n"
		"  model: \"%s\"\n"
		"inputSchema:\n"
		"  type: string\n"
		"output:\n"
		"  format: text\n",
		p->provider, p->model);
}

/* Files in the order in which they are written; how many. */
static size_t plan_files(const struct init_plan *p, struct new_file *f)
{
	size_t n = 0;
	const char *agent = brd_arena_printf(p->arena, "agents/%s", p->name).p;
	struct bread_str entry = p->scripted
					 ? brd_str(scripted_entry)
					 : brd_arena_printf(p->arena, "  %s: {}\n", p->provider);

	f[n++] = (struct new_file){ below(p, "bread.yaml"),
		brd_arena_printf(p->arena, "%s%.*s", main_file, BRD_ARG(entry)) };
	f[n++] = (struct new_file){ below(p, brd_arena_printf(p->arena, "%s/agent.yaml", agent).p),
		agent_file(p) };
	f[n++] = (struct new_file){ below(p, brd_arena_printf(p->arena, "%s/prompt.md", agent).p),
		brd_str(prompt_file) };
	if (p->scripted)
		f[n++] = (struct new_file){ below(p, "models.yaml"), brd_str(models_file) };
	if (access(below(p, ".gitignore"), F_OK)) /* one that is there is its owner's */
		f[n++] = (struct new_file){ below(p, ".gitignore"), brd_str(ignore_file) };
	return n;
}

static int write_all(const struct init_plan *p)
{
	struct new_file files[8];
	size_t n = plan_files(p, files);
	int r = 0;

	for (size_t i = 0; i < n; i++)
		if (!access(files[i].path, F_OK)) {
			cli_error("%s exists; nothing was written", files[i].path);
			return EXIT_FAILED;
		}
	r = make_dirs(p);
	for (size_t i = 0; i < n && !r; i++)
		r = write_file(&files[i]);
	return r;
}

static void say_next(const struct init_plan *p)
{
	const struct provider_entry *e = entry_of(p->provider);
	const char *cwd = strcmp(p->dir, ".") ? p->dir : NULL;

	cli_say("Made a project in %s", cwd ? cwd : "this folder");
	if (!e->key_optional && e->key_env)
		cli_error("Set %s before it runs.", e->key_env);
	cli_error("Try: bread invoke %s \"hi\"%s%s", p->name, cwd ? " --cwd " : "", cwd ? cwd : "");
	cli_error("  or: bread dev%s%s", cwd ? " --cwd " : "", cwd ? cwd : "");
}

static int run(struct cli_args *a)
{
	struct init_plan p = { 0 };
	int r = cli_enter(a);

	if (r)
		return r;
	if (!make_plan(&p, a))
		return EXIT_USAGE;
	r = write_all(&p);
	if (!r)
		say_next(&p);
	return r;
}

static const struct cli_option options[] = {
	{ .name = "yes", .letter = 'y', .doc = "asks nothing" },
	{ .name = "name", .value = "NAME", .doc = "of the first agent (default hello)" },
	{ .name = "provider",
		.value = "NAME",
		.doc = "where its model is (default scripted: answers from a file)" },
	{ .name = "model", .value = "MODEL", .doc = "the provider's name for the model" },
	{ 0 },
};

const struct cli_command cli_init = {
	.name = "init",
	.usage = "[DIR]",
	.doc = "Makes a project that runs at once.",
	.options = options,
	.words_max = 1,
	.run = run,
};

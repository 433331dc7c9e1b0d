/* SPDX-License-Identifier: MIT */
#include "folder.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "test.h"

#define TEMPLATE "/tmp/bread-load-XXXXXX"

char folder[] = TEMPLATE;

static char *path(const char *rel)
{
	static char whole[256];

	snprintf(whole, sizeof(whole), "%s/%s", folder, rel);
	return whole;
}

const char *folder_at(const char *rel)
{
	return path(rel);
}

void folder_put(const char *rel, const char *text)
{
	char *to = path(rel);
	FILE *f;

	for (char *p = strchr(to + strlen(folder) + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		mkdir(to, 0777);
		*p = '/';
	}
	f = fopen(to, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

int folder_set_up(void **state)
{
	strcpy(folder, TEMPLATE);
	if (!mkdtemp(folder))
		return -1;
	folder_put("bread.yaml", "store: {type: sqlite, path: x.db}\ntransport: stream\n"
				 "providers: {scripted: {file: models.yaml}}\n");
	folder_put("models.yaml", "models: {m: {when: [{stream: [{text: hello}]}]}}\n");
	folder_put("agents/a/agent.yaml", AGENT);
	folder_put("agents/a/prompt.md", "be good\n");
	folder_put("agents/a/tools/add.yaml", "description: adds\ncommand: [sh, -c, 'echo 1']\n");
	folder_put("agents/b/agent.yaml", AGENT);
	return 0;
}

int folder_tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

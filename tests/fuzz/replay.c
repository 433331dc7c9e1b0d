/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target over files and folders of files, without a fuzzer.
 *
 * So a corpus is also a test in every build and under every sanitizer. Says how
 * many inputs ran; a folder that is not there or empty is a failure. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static size_t replay_file(const char *path, size_t size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data =
		malloc(size); /* exactly as large, so that a sanitizer sees one byte too far */

	if (!f || (!data && size) || fread(data, 1, size, f) != size) {
		fprintf(stderr, "%s cannot be read\n", path);
		exit(1);
	}
	fclose(f);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 1;
}

static size_t replay(const char *path)
{
	struct dirent **entries;
	struct stat st;
	size_t count = 0;
	int n;

	if (stat(path, &st) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return replay_file(path, (size_t)st.st_size);
	n = scandir(path, &entries, visible, by_name);
	for (int i = 0; i < n; i++) {
		char *inner = NULL;

		if (asprintf(&inner, "%s/%s", path, entries[i]->d_name) > 0)
			count += replay(inner);
		free(inner);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return count;
}

int main(int argc, char **argv)
{
	size_t count = 0;

	for (int i = 1; i < argc; i++)
		count += replay(argv[i]);
	printf("%zu inputs\n", count);
	return count > 0 ? 0 : 1;
}

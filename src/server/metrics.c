/* SPDX-License-Identifier: MIT */
/* GET /metrics: Prometheus text 0.0.4.
 *
 * Figures are read where they are counted; a scrape takes no lock that a run needs and
 * asks the store nothing. Labels come from our own tables (methods, patterns of routes,
 * names of framings), never from a request, so the number of series is bounded. */
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/clock.h"
#include "server/internal.h"

static void family(struct buf *b, const char *name, const char *type, const char *help)
{
	brd_buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(struct buf *b, const char *name, const char *type, const char *help, double v)
{
	family(b, name, type, help);
	brd_buf_addf(b, "%s ", name);
	brd_json_num_add(b, v);
	brd_buf_addc(b, '\n');
}

/* ---- runs, tokens, store ---- */

static void add_runs(struct buf *b, const struct bread_stats *st)
{
	one(b, "bread_runs_started_total", "counter", "Runs started.", (double)st->runs_started);
	family(b, "bread_runs_finished_total", "counter", "Runs that ended or were suspended.");
	brd_buf_addf(b,
		"bread_runs_finished_total{status=\"completed\"} %llu\n"
		"bread_runs_finished_total{status=\"failed\"} %llu\n"
		"bread_runs_finished_total{status=\"cancelled\"} %llu\n"
		"bread_runs_finished_total{status=\"suspended\"} %llu\n",
		(unsigned long long)st->runs_completed, (unsigned long long)st->runs_failed,
		(unsigned long long)st->runs_cancelled, (unsigned long long)st->runs_suspended);
	one(b, "bread_runs_active", "gauge", "Runs that are live in this process.",
		(double)st->runs_active);
	one(b, "bread_crumbs_total", "counter", "Crumbs emitted.", (double)st->crumbs);
	family(b, "bread_tool_calls_total", "counter", "Tool calls that ended.");
	brd_buf_addf(b,
		"bread_tool_calls_total{status=\"ok\"} %llu\n"
		"bread_tool_calls_total{status=\"error\"} %llu\n",
		(unsigned long long)(st->tool_calls - st->tool_errors),
		(unsigned long long)st->tool_errors);
	family(b, "bread_model_requests_total", "counter", "Requests to models that ended.");
	brd_buf_addf(b,
		"bread_model_requests_total{status=\"ok\"} %llu\n"
		"bread_model_requests_total{status=\"error\"} %llu\n",
		(unsigned long long)(st->model_calls - st->model_errors),
		(unsigned long long)st->model_errors);
	family(b, "bread_tokens_total", "counter", "Tokens that providers counted.");
	brd_buf_addf(b,
		"bread_tokens_total{type=\"input\"} %lld\nbread_tokens_total{type=\"output\"} "
		"%lld\n",
		(long long)st->input_tokens, (long long)st->output_tokens);
}

static void add_store(struct buf *b, const struct bread_stats *st)
{
	family(b, "bread_store_operations_total", "counter", "Commits and reads.");
	brd_buf_addf(b,
		"bread_store_operations_total{operation=\"commit\"} %llu\n"
		"bread_store_operations_total{operation=\"read\"} %llu\n",
		(unsigned long long)st->store_commits, (unsigned long long)st->store_reads);
	one(b, "bread_store_failures_total", "counter", "Commits and reads that failed.",
		(double)st->store_failures);
	family(b, "bread_store_operation_seconds_total", "counter", "Time spent in them.");
	brd_buf_addf(b,
		"bread_store_operation_seconds_total{operation=\"commit\"} %.6f\n"
		"bread_store_operation_seconds_total{operation=\"read\"} %.6f\n",
		(double)st->store_commit_us / 1e6, (double)st->store_read_us / 1e6);
	one(b, "bread_store_up", "gauge", "1: the store's last work went well.", st->store_ok);
	one(b, "bread_transport_up", "gauge", "1: crumbs reach the viewers of this process.", 1);
	one(b, "bread_topics", "gauge", "Runs with a publisher or viewers here.",
		(double)st->topics);
}

/* ---- HTTP ---- */

static uint64_t sum_status(const struct bread_server *s, size_t route, size_t status)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->shard_count; i++)
		n += s->shards[i].stats[route].status[status];
	return n;
}

static void labels(struct buf *b, const struct bread_server *s, size_t route)
{
	if (route == s->route_count)
		brd_buf_addz(b, "method=\"_other\",route=\"_other\"");
	else
		brd_buf_addf(b, "method=\"%.*s\",route=\"%.*s\"", BRD_ARG(s->routes[route].method),
			BRD_ARG(s->routes[route].pattern));
}

static void add_requests(struct buf *b, const struct bread_server *s)
{
	family(b, "bread_http_requests_total", "counter", "Requests answered.");
	for (size_t r = 0; r <= s->route_count; r++) {
		for (size_t i = 0; i < STATUSES; i++) {
			uint64_t n = sum_status(s, r, i);

			if (!n && brd_statuses[i] != 200)
				continue;
			brd_buf_addz(b, "bread_http_requests_total{");
			labels(b, s, r);
			if (brd_statuses[i])
				brd_buf_addf(b, ",status=\"%d\"} ", brd_statuses[i]);
			else
				brd_buf_addz(b, ",status=\"_other\"} ");
			brd_buf_addu(b, n);
			brd_buf_addc(b, '\n');
		}
	}
}

static void add_duration(struct buf *b, const struct bread_server *s, size_t route)
{
	uint64_t total = 0, us = 0, n = 0;

	for (size_t k = 0; k < s->shard_count; k++) {
		us += s->shards[k].stats[route].sum_us;
		n += s->shards[k].stats[route].count;
	}
	if (n == 0)
		return;
	for (size_t i = 0; i <= BUCKETS; i++) {
		for (size_t k = 0; i < BUCKETS && k < s->shard_count; k++)
			total += s->shards[k].stats[route].bucket[i];
		brd_buf_addz(b, "bread_http_request_duration_seconds_bucket{");
		labels(b, s, route);
		if (i < BUCKETS)
			brd_buf_addf(b, ",le=\"%g\"} %llu\n", (double)brd_bucket_us[i] / 1e6,
				(unsigned long long)total);
		else
			brd_buf_addf(b, ",le=\"+Inf\"} %llu\n", (unsigned long long)n);
	}
	brd_buf_addz(b, "bread_http_request_duration_seconds_sum{");
	labels(b, s, route);
	brd_buf_addf(b, "} %.6f\nbread_http_request_duration_seconds_count{", (double)us / 1e6);
	labels(b, s, route);
	brd_buf_addf(b, "} %llu\n", (unsigned long long)n);
}

static int64_t streams_of(const struct bread_server *s, const struct bread_framing *f)
{
	int64_t n = 0;

	for (size_t k = 0; k < s->shard_count; k++) {
		const struct shard *sh = &s->shards[k];
		size_t count = atomic_load_explicit(&sh->wire_count, memory_order_acquire);

		for (size_t i = 0; i < count; i++)
			if (sh->wires[i].framing == f)
				n += sh->wires[i].open;
	}
	return n;
}

/* Framings are met by shards at different times; the first shard that has one shows it. */
static bool shown_before(const struct bread_server *s, size_t shard, const struct bread_framing *f)
{
	for (size_t k = 0; k < shard; k++) {
		size_t count = atomic_load_explicit(&s->shards[k].wire_count, memory_order_acquire);

		for (size_t i = 0; i < count; i++)
			if (s->shards[k].wires[i].framing == f)
				return true;
	}
	return false;
}

static void add_streams(struct buf *b, const struct bread_server *s)
{
	uint64_t drops[DROPS] = { 0 }, resumes[RESUMES] = { 0 };

	family(b, "bread_streams_open", "gauge", "Streams of runs that are open.");
	for (size_t k = 0; k < s->shard_count; k++) {
		const struct shard *sh = &s->shards[k];
		size_t count = atomic_load_explicit(&sh->wire_count, memory_order_acquire);

		for (size_t i = 0; i < DROPS; i++)
			drops[i] += sh->drops[i];
		for (size_t i = 0; i < RESUMES; i++)
			resumes[i] += sh->resumes[i];
		for (size_t i = 0; i < count; i++)
			if (!shown_before(s, k, sh->wires[i].framing))
				brd_buf_addf(b, "bread_streams_open{transport=\"%s\"} %lld\n",
					sh->wires[i].framing->name,
					(long long)streams_of(s, sh->wires[i].framing));
	}
	family(b, "bread_stream_drops_total", "counter", "Streams that ended before their run.");
	brd_buf_addf(b,
		"bread_stream_drops_total{result=\"dead\"} %llu\n"
		"bread_stream_drops_total{result=\"drained\"} %llu\n",
		(unsigned long long)drops[DROP_DEAD], (unsigned long long)drops[DROP_DRAINED]);
	family(b, "bread_stream_resumes_total", "counter", "Streams asked for from a place on.");
	brd_buf_addf(b,
		"bread_stream_resumes_total{result=\"ok\"} %llu\n"
		"bread_stream_resumes_total{result=\"invalid\"} %llu\n",
		(unsigned long long)resumes[RESUME_OK],
		(unsigned long long)resumes[RESUME_INVALID]);
}

static void add_http(struct buf *b, const struct bread_server *s)
{
	int64_t in_flight = 0;

	for (size_t k = 0; k < s->shard_count; k++)
		in_flight += s->shards[k].in_flight;
	add_requests(b, s);
	family(b, "bread_http_request_duration_seconds", "histogram", "Time to an answer's head.");
	for (size_t r = 0; r <= s->route_count; r++)
		add_duration(b, s, r);
	one(b, "bread_http_in_flight", "gauge", "Requests without an answer yet.",
		(double)in_flight);
	add_streams(b, s);
}

/* ---- the process ---- */

static double count_dir(const char *path)
{
	DIR *d = opendir(path);
	double n = 0;

	if (!d)
		return 0;
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void add_process(struct buf *b, const struct bread_server *s)
{
	unsigned long size = 0, resident = 0;
	struct rusage ru;
	struct rlimit files;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f) {
		if (fscanf(f, "%lu %lu", &size, &resident) != 2)
			size = resident = 0;
		fclose(f);
	}
	getrusage(RUSAGE_SELF, &ru);
	one(b, "process_cpu_seconds_total", "counter", "User and system time.",
		(double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
			(double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6);
	one(b, "process_resident_memory_bytes", "gauge", "Resident memory.",
		(double)resident * (double)sysconf(_SC_PAGESIZE));
	one(b, "process_virtual_memory_bytes", "gauge", "Virtual memory.",
		(double)size * (double)sysconf(_SC_PAGESIZE));
	one(b, "process_open_fds", "gauge", "Open file descriptors.", count_dir("/proc/self/fd"));
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		one(b, "process_max_fds", "gauge", "Limit of open file descriptors.",
			(double)files.rlim_cur);
	one(b, "process_threads", "gauge", "Threads.", count_dir("/proc/self/task"));
	one(b, "process_start_time_seconds", "gauge", "When the server began to listen.",
		(double)s->started_wall / 1000);
}

static void metrics(struct bread_request *req, void *arg)
{
	struct bread_server *s = arg;
	struct bread_stats st;
	struct buf b;

	bread_stats(s->bread, &st);
	brd_buf_init(&b, BUF_NO_LIMIT);
	family(&b, "bread_build_info", "gauge", "The version that runs.");
	brd_buf_addf(&b, "bread_build_info{version=\"%s\"} 1\n", bread_version());
	add_runs(&b, &st);
	add_store(&b, &st);
	add_http(&b, s);
	add_process(&b, s);
	bread_reply(
		req, 200, "text/plain; version=0.0.4; charset=utf-8", BRD_STR(""), brd_buf_str(&b));
	brd_buf_fini(&b);
}

void brd_metrics_mount(struct bread_server *s)
{
	brd_route_add(s, "GET", "/metrics", metrics, s);
}

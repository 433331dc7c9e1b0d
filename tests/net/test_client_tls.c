/* SPDX-License-Identifier: MIT */
/* The client against our own server through TLS, both on one loop. */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "test.h"
#include "base/str.h"
#include "net/client.h"
#include "net/server.h"

#define LARGE ((size_t)3 << 20)

static char dir[64], cert[96], key[96], other[96];
static char *large;
static struct loop *loop;
static struct http_server *server;
static struct http_client *client;

/* What a call gave. */
static struct http_call *call;
static struct bread_op op;
static struct buf body;
static bool pausing;

/* ---- files ---- */

static FILE *create(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	return f;
}

static void add_extension(X509 *x, int nid, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	assert_non_null(e);
	X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
}

/* One that signs itself, for the address 127.0.0.1 only. */
static void write_cert(const char *path, EVP_PKEY *k)
{
	X509 *x = X509_new();
	FILE *f = create(path);

	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
		(const unsigned char *)"bread test", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	add_extension(x, NID_subject_alt_name, "IP:127.0.0.1");
	add_extension(x, NID_basic_constraints, "critical,CA:TRUE");
	X509_set_pubkey(x, k);
	X509_sign(x, k, EVP_sha256());
	PEM_write_X509(f, x);
	fclose(f);
	X509_free(x);
}

static int make_files(void **state)
{
	EVP_PKEY *k = EVP_EC_gen("P-256"), *k2 = EVP_EC_gen("P-256");
	FILE *f;

	strcpy(dir, "/tmp/bread-tls-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(cert, sizeof(cert), "%s/cert.pem", dir);
	snprintf(key, sizeof(key), "%s/key.pem", dir);
	snprintf(other, sizeof(other), "%s/other.pem", dir);
	f = create(key);
	PEM_write_PrivateKey(f, k, NULL, NULL, 0, NULL, NULL);
	fclose(f);
	write_cert(cert, k);
	write_cert(other, k2);
	EVP_PKEY_free(k);
	EVP_PKEY_free(k2);
	large = malloc(LARGE);
	memset(large, 'x', LARGE);
	return 0;
}

static int drop_files(void **state)
{
	free(large);
	unlink(cert);
	unlink(key);
	unlink(other);
	return rmdir(dir);
}

/* ---- both sides ---- */

static void on_request(struct http_req *req, void *arg)
{
	struct bread_str none = { NULL, 0 };

	if (brd_str_is(brd_http_req_head(req)->path, "/large"))
		brd_http_reply(req, 200, "text/plain", none, (struct bread_str){ large, LARGE });
	else
		brd_http_reply(req, 200, "text/plain", none, BRD_STR("hello"));
}

static int start(void **state)
{
	struct http_server_conf c = { .host = "127.0.0.1",
		.max_body = 1 << 20,
		.tls_cert = cert,
		.tls_key = key,
		.on_request = on_request };
	struct bread_err err;

	pausing = false;
	brd_buf_init(&body, 2 * LARGE);
	assert_int_equal(brd_loop_new(&loop, &err), 0);
	assert_int_equal(brd_http_server_new(&server, loop, &c, &err), 0);
	assert_int_equal(brd_http_client_new(&client, loop, &err), 0);
	return 0;
}

static int stop(void **state)
{
	brd_http_call_free(call);
	brd_http_client_free(client);
	brd_http_server_free(server);
	while (brd_loop_turn(loop, 0))
		;
	brd_loop_free(loop);
	brd_buf_fini(&body);
	return 0;
}

static bool on_data(void *arg, struct bread_str bytes)
{
	brd_buf_add(&body, bytes);
	if (pausing)
		brd_http_call_pause(call, true);
	return true;
}

static void fetch(const char *host, const char *path, const char *ca_file)
{
	struct http_call_spec spec = { .method = "GET", .ca_file = ca_file, .on_data = on_data };
	char url[128];

	snprintf(url, sizeof(url), "https://%s:%d%s", host, brd_http_server_port(server), path);
	spec.url = url;
	bread_op_init(&op, loop, NULL, NULL);
	call = brd_http_call_start(client, &spec, &op);
	while (bread_op_running(&op)) {
		brd_loop_turn(loop, pausing ? 1 : -1);
		brd_http_call_pause(call, false);
	}
}

static void trusts_the_file_that_was_given(void **state)
{
	fetch("127.0.0.1", "/", cert);
	assert_int_equal(op.code, BREAD_OK);
	assert_int_equal(brd_http_call_status(call), 200);
	assert_string_equal(body.data, "hello");
}

static void a_large_answer_with_pauses(void **state)
{
	pausing = true;
	fetch("127.0.0.1", "/large", cert);
	assert_int_equal(op.code, BREAD_OK);
	assert_int_equal(body.len, LARGE);
}

static void expect_tls_trouble(void)
{
	assert_int_equal(op.code, BREAD_E_UPSTREAM);
	assert_string_equal(op.err.name, "tls");
	assert_int_equal(brd_http_call_status(call), 0);
}

static void does_not_trust_what_the_system_does_not(void **state)
{
	fetch("127.0.0.1", "/", NULL);
	expect_tls_trouble();
}

static void does_not_trust_another_certificate(void **state)
{
	fetch("127.0.0.1", "/", other);
	expect_tls_trouble();
}

static void does_not_trust_another_host(void **state)
{
	fetch("localhost", "/", cert);
	expect_tls_trouble();
}

static void a_missing_file_is_named(void **state)
{
	fetch("127.0.0.1", "/", "/no/such/ca.pem");
	expect_tls_trouble();
	assert_non_null(strstr(op.err.text, "/no/such/ca.pem"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(trusts_the_file_that_was_given),
		T(a_large_answer_with_pauses),
		T(does_not_trust_what_the_system_does_not),
		T(does_not_trust_another_certificate),
		T(does_not_trust_another_host),
		T(a_missing_file_is_named),
	};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}

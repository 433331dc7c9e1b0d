/* SPDX-License-Identifier: MIT */
/* TLS: the same exchanges through OpenSSL, and what is said about bad files. */
#include "test.h"
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "nettest.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define TURNS_MAX 5000

static struct rig rig;
static struct peer peer; /* its socket; the bytes go through tls */
static SSL_CTX *ctx;
static SSL *tls;
static char dir[64], cert[96], key[96], other_key[96];

/* ---- files ---- */

static EVP_PKEY *write_key(const char *path)
{
	EVP_PKEY *k = EVP_EC_gen("P-256");
	FILE *f = fopen(path, "w");

	PEM_write_PrivateKey(f, k, NULL, NULL, 0, NULL, NULL);
	fclose(f);
	return k;
}

static void write_cert(EVP_PKEY *k)
{
	X509 *x = X509_new();
	FILE *f = fopen(cert, "w");

	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
		(const unsigned char *)"localhost", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	X509_set_pubkey(x, k);
	X509_sign(x, k, EVP_sha256());
	PEM_write_X509(f, x);
	fclose(f);
	X509_free(x);
}

static int make_files(void **state)
{
	EVP_PKEY *k;

	strcpy(dir, "/tmp/bread-tls-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(cert, sizeof(cert), "%s/cert.pem", dir);
	snprintf(key, sizeof(key), "%s/key.pem", dir);
	snprintf(other_key, sizeof(other_key), "%s/other.pem", dir);
	EVP_PKEY_free(write_key(other_key));
	k = write_key(key);
	write_cert(k);
	EVP_PKEY_free(k);
	return 0;
}

static int drop_files(void **state)
{
	unlink(cert);
	unlink(key);
	unlink(other_key);
	rmdir(dir);
	return 0;
}

/* ---- a peer that speaks TLS ---- */

static int start(void **state)
{
	rig_start(&rig,
		(struct http_server_conf){ .tls_cert = cert, .tls_key = key, .stall_ms = 5000 });
	peer_open(&peer, &rig);
	ctx = SSL_CTX_new(TLS_client_method());
	tls = SSL_new(ctx);
	SSL_set_fd(tls, peer.fd);
	SSL_set_connect_state(tls);
	return 0;
}

static int stop(void **state)
{
	SSL_free(tls);
	SSL_CTX_free(ctx);
	peer_close(&peer);
	rig_stop(&rig);
	return 0;
}

static bool shake(void)
{
	for (int i = 0; i < TURNS_MAX; i++) {
		int r = SSL_do_handshake(tls), e = SSL_get_error(tls, r);

		if (r == 1)
			return true;
		if (e != SSL_ERROR_WANT_READ && e != SSL_ERROR_WANT_WRITE && e != SSL_ERROR_SYSCALL)
			return false;
		brd_loop_turn(rig.loop, 1);
	}
	return false;
}

static void sayn(const char *z, size_t n)
{
	for (int i = 0; n && i < TURNS_MAX; i++) {
		int r = SSL_write(tls, z, (int)(n > 16384 ? 16384 : n));

		if (r > 0) {
			z += r;
			n -= (size_t)r;
		}
		brd_loop_turn(rig.loop, 0);
	}
	assert_int_equal(n, 0);
}

static void say(const char *z)
{
	sayn(z, strlen(z));
}

static bool hear(void)
{
	static char in[16384];
	int r = SSL_read(tls, in, sizeof(in));

	if (r > 0)
		brd_buf_addn(&peer.got, in, (size_t)r);
	else
		peer.eof |= SSL_get_error(tls, r) == SSL_ERROR_ZERO_RETURN;
	return r > 0;
}

static void await(const char *text)
{
	for (int i = 0; i < TURNS_MAX; i++) {
		while (hear())
			;
		if (brd_str_find(brd_buf_str(&peer.got), brd_str(text)) >= 0)
			return;
		brd_loop_turn(rig.loop, 1);
	}
	fail_msg("'%s' did not come", text);
}

static void await_bytes(size_t n)
{
	for (int i = 0; i < TURNS_MAX && peer.got.len < n; i++) {
		while (hear())
			;
		brd_loop_turn(rig.loop, 1);
	}
	assert_true(peer.got.len >= n);
}

/* ---- the tests ---- */

static void answers_through_tls(void **state)
{
	const unsigned char *proto;
	unsigned n;

	SSL_set_alpn_protos(tls, (const unsigned char *)"\x02h2\x08http/1.1", 12);
	assert_true(shake());
	SSL_get0_alpn_selected(tls, &proto, &n);
	assert_int_equal(n, 8);
	assert_memory_equal(proto, "http/1.1", 8);
	say("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
	await("\r\n\r\nhi");
	say(GET("/head?again"));
	await("GET /head again 1.1\n");
}

static void speaks_tls_1_2_and_not_1_1(void **state)
{
	SSL_set_max_proto_version(tls, TLS1_2_VERSION);
	assert_true(shake());
	say(GET("/echo"));
	await("Content-Length: 0");
}

static void refuses_tls_1_1(void **state)
{
	SSL_set_security_level(tls, 0);
	SSL_set_min_proto_version(tls, TLS1_VERSION);
	SSL_set_max_proto_version(tls, TLS1_1_VERSION);
	assert_false(shake());
}

static void refuses_peers_that_speak_h2_only(void **state)
{
	SSL_set_alpn_protos(tls, (const unsigned char *)"\x02h2", 3);
	assert_false(shake());
}

static void drops_a_peer_that_speaks_plain(void **state)
{
	peer_send(&peer, GET("/echo"));
	peer_await_end(&peer);
}

static void reads_many_requests_from_one_record(void **state)
{
	struct buf b;

	brd_buf_init(&b, BUF_NO_LIMIT);
	for (int i = 0; i < 100; i++)
		brd_buf_addz(&b, i == 50 ? GET("/hold") : GET("/echo"));
	brd_buf_addz(&b, GET("/head?last"));
	assert_true(shake());
	sayn(b.data, b.len);
	rig_until_held(&rig, 1);
	brd_http_reply(rig.held[0], 200, NULL, BRD_STR(""), BRD_STR("held"));
	await("GET /head last 1.1\n");
	brd_buf_fini(&b);
}

static void takes_a_large_body(void **state)
{
	size_t n = 1 << 20;
	char *big = malloc(n);

	memset(big, 'q', n);
	assert_true(shake());
	say("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n");
	sayn(big, n);
	await_bytes(n);
	await("qqqq");
	free(big);
}

static void sends_a_large_answer(void **state)
{
	assert_true(shake());
	say(GET("/big?n=9000000") GET("/echo"));
	rig_turns(&rig, 20);
	await_bytes(9000000);
	await("Content-Length: 0");
}

static void streams_from_many_pieces(void **state)
{
	enum { N = 300 };
	struct iovec v[N];
	size_t sum = 0;
	char *z = malloc(N * 20000), *body;

	assert_true(shake());
	say(GET("/stream"));
	rig_until_held(&rig, 1);
	for (int i = 0; i < N; i++) {
		v[i] = (struct iovec){ z + sum, (size_t)(i % 3 ? i * 7 : i * 60) };
		memset(v[i].iov_base, 'a' + i % 26, v[i].iov_len);
		sum += v[i].iov_len;
	}
	assert_false(brd_http_stream_write(rig.held[0], v, N));
	for (int i = 0; i < TURNS_MAX && !rig.writable; i++) {
		hear();
		brd_loop_turn(rig.loop, 0);
	}
	brd_http_stream_end(rig.held[0]);
	await("0\r\n\r\n");
	body = strstr(peer.got.data, "\r\n\r\n") + 4;
	assert_int_equal(peer.got.len - (size_t)(body - peer.got.data), sum + 5);
	assert_memory_equal(body, z, sum);
	free(z);
}

static void says_goodbye(void **state)
{
	assert_true(shake());
	say("GET /echo HTTP/1.0\r\n\r\n");
	for (int i = 0; i < TURNS_MAX && !peer.eof; i++) {
		hear();
		brd_loop_turn(rig.loop, 1);
	}
	assert_true(peer.eof); /* a close_notify, not only the end of the connection */
}

static void hears_of_the_leaving(void **state)
{
	assert_true(shake());
	say(GET("/stream"));
	rig_until_held(&rig, 1);
	SSL_shutdown(tls);
	shutdown(peer.fd, SHUT_WR);
	rig_until_closed(&rig, 1);
}

static void a_handshake_has_ten_seconds(void **state)
{
	brd_clock_freeze(1000000);
	rig_turns(&rig, 3);
	peer_send(&peer, "\x16\x03");
	rig_turns(&rig, 3);
	brd_clock_turn(60000);
	peer_await_end(&peer);
	brd_clock_thaw();
}

/* ---- bad files ---- */

static void fail_to_start(const char *c, const char *k, const char *part)
{
	struct http_server_conf conf = { .host = "127.0.0.1", .tls_cert = c, .tls_key = k };
	struct bread_err err = { 0 };
	struct http_server *s = NULL;
	struct loop *l;

	assert_int_equal(brd_loop_new(&l, &err), 0);
	assert_int_equal(brd_http_server_new(&s, l, &conf, &err), BREAD_E_INVALID);
	if (!strstr(err.text, part))
		fail_msg("'%s' is not in: %s", part, err.text);
	brd_loop_free(l);
}

static void says_what_is_wrong_with_the_files(void **state)
{
	char missing[128];

	snprintf(missing, sizeof(missing), "%s/none.pem", dir);
	fail_to_start(missing, key, "none.pem: no such file");
	fail_to_start(cert, missing, "cannot read the TLS key");
	fail_to_start(cert, NULL, "set server.tls.key");
	fail_to_start(NULL, key, "set server.tls.cert");
	fail_to_start(key, key, "is not a PEM certificate");
	fail_to_start(cert, cert, "is not a PEM key");
	fail_to_start(cert, other_key, "does not belong to the certificate");
}

static void asks_nobody_for_a_password(void **state)
{
	EVP_PKEY *k = EVP_EC_gen("P-256");
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/locked.pem", dir);
	f = fopen(path, "w");
	PEM_write_PrivateKey(
		f, k, EVP_aes_128_cbc(), (const unsigned char *)"secret", 6, NULL, NULL);
	fclose(f);
	fail_to_start(cert, path, "without a password");
	unlink(path);
	EVP_PKEY_free(k);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_through_tls),
		TEST(speaks_tls_1_2_and_not_1_1),
		TEST(refuses_tls_1_1),
		TEST(refuses_peers_that_speak_h2_only),
		TEST(drops_a_peer_that_speaks_plain),
		TEST(reads_many_requests_from_one_record),
		TEST(takes_a_large_body),
		TEST(sends_a_large_answer),
		TEST(streams_from_many_pieces),
		TEST(says_goodbye),
		TEST(hears_of_the_leaving),
		TEST(a_handshake_has_ten_seconds),
		cmocka_unit_test(says_what_is_wrong_with_the_files),
		cmocka_unit_test(asks_nobody_for_a_password),
	};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}

/* SPDX-License-Identifier: MIT */
/* TLS for the server: OpenSSL on the socket itself, never waiting.
 *
 * TLS 1.2 and up, ALPN http/1.1. Buffers are given back while a connection is
 * silent, which makes it 12 KB instead of 44. OpenSSL writes with write(2), so it
 * relies on SIGPIPE being ignored (the loop sees to that). */
#include "net/server_priv.h"
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>
#include "base/err.h"

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
	const unsigned char *in, unsigned in_len, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";
	unsigned char *picked;

	if (SSL_select_next_proto(&picked, out_len, ours, sizeof(ours) - 1, in, in_len) !=
		OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = picked;
	return SSL_TLSEXT_ERR_OK;
}

/* A server has nobody to ask. */
static int no_password(char *buf, int size, int writes, void *arg)
{
	return -1;
}

static const char *reason(void)
{
	const char *text = ERR_reason_error_string(ERR_peek_last_error());

	return text ? text : "unknown trouble";
}

static int check_file(const char *path, const char *what, const char *key, struct bread_err *err)
{
	if (!path)
		return brd_fail(err, BREAD_E_INVALID, "net.tls",
			"TLS needs a certificate and a key; set server.tls.%s", key);
	if (access(path, R_OK))
		return brd_fail(err, BREAD_E_INVALID, "net.tls",
			"cannot read the TLS %s %s: %s; set server.tls.%s", what, path,
			brd_errno(errno), key);
	return 0;
}

static int load_key(SSL_CTX *t, const char *key, struct bread_err *err)
{
	if (SSL_CTX_use_PrivateKey_file(t, key, SSL_FILETYPE_PEM) == 1 &&
		SSL_CTX_check_private_key(t) == 1)
		return 0;
	if (ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH)
		return brd_fail(err, BREAD_E_INVALID, "net.tls",
			"the TLS key %s does not belong to the certificate; set server.tls.key",
			key);
	return brd_fail(err, BREAD_E_INVALID, "net.tls",
		"%s is not a PEM key that can be used without a password (%s); set server.tls.key",
		key, reason());
}

static int load(SSL_CTX *t, const char *cert, const char *key, struct bread_err *err)
{
	int r = check_file(cert, "certificate", "cert", err);

	if (r == 0)
		r = check_file(key, "key", "key", err);
	if (r)
		return r;
	ERR_clear_error();
	if (SSL_CTX_use_certificate_chain_file(t, cert) != 1)
		return brd_fail(err, BREAD_E_INVALID, "net.tls",
			"%s is not a PEM certificate (%s); set server.tls.cert", cert, reason());
	return load_key(t, key, err);
}

static void set_up(SSL_CTX *t)
{
	SSL_CTX_set_min_proto_version(t, TLS1_2_VERSION);
	SSL_CTX_set_mode(t, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_options(t, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
				       SSL_OP_IGNORE_UNEXPECTED_EOF |
				       SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_session_cache_mode(t, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_default_passwd_cb(t, no_password);
	SSL_CTX_set_alpn_select_cb(t, select_alpn, NULL);
}

int brd_tls_new(struct ssl_ctx_st **ret, const char *cert, const char *key, struct bread_err *err)
{
	SSL_CTX *t = SSL_CTX_new(TLS_server_method());
	int r;

	if (!t)
		return brd_fail(
			err, BREAD_E_UPSTREAM, "net.tls", "OpenSSL does not start: %s", reason());
	set_up(t);
	r = load(t, cert, key, err);
	if (r) {
		SSL_CTX_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void brd_tls_free(struct ssl_ctx_st *t)
{
	SSL_CTX_free(t);
}

struct ssl_st *brd_tls_open(struct ssl_ctx_st *t, int fd)
{
	SSL *ssl = SSL_new(t);

	if (!ssl || SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_accept_state(ssl);
	return ssl;
}

void brd_tls_close(struct ssl_st *t)
{
	SSL_free(t);
}

static int trouble(SSL *t, int r)
{
	int e = SSL_get_error(t, r);

	return e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE ? TLS_AGAIN : TLS_GONE;
}

int brd_tls_handshake(struct ssl_st *t, bool *ret_writes)
{
	int r;

	*ret_writes = false;
	ERR_clear_error();
	r = SSL_do_handshake(t);
	if (r == 1)
		return 1;
	*ret_writes = SSL_get_error(t, r) == SSL_ERROR_WANT_WRITE;
	return trouble(t, r);
}

ptrdiff_t brd_tls_read(struct ssl_st *t, char *out, size_t n)
{
	int r;

	ERR_clear_error();
	r = SSL_read(t, out, n < INT_MAX ? (int)n : INT_MAX);
	if (r > 0)
		return r;
	return SSL_get_error(t, r) == SSL_ERROR_ZERO_RETURN ? 0 : trouble(t, r);
}

ptrdiff_t brd_tls_write(struct ssl_st *t, const char *p, size_t n)
{
	int r;

	ERR_clear_error();
	r = SSL_write(t, p, n < INT_MAX ? (int)n : INT_MAX);
	return r > 0 ? r : trouble(t, r);
}

bool brd_tls_has_more(struct ssl_st *t)
{
	return SSL_has_pending(t);
}

void brd_tls_bye(struct ssl_st *t)
{
	ERR_clear_error();
	if (SSL_is_init_finished(t))
		SSL_shutdown(t);
	ERR_clear_error();
}

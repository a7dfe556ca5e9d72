// OpenSSL 3.0: what of it is a macro or a union, as functions.
#pragma once
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>

// SSL

static inline int tls_context_at_least_1_2(SSL_CTX *context) {
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

static inline void tls_context_forget_sessions(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline void tls_context_read_ahead(SSL_CTX *context) { SSL_CTX_set_read_ahead(context, 1); }

static inline unsigned long tls_context_options(SSL_CTX *context) {
    return SSL_CTX_set_options(
        context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
}

static inline int tls_context_add_chain(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

static inline long tls_set_server_name(SSL *ssl, const char *name) { return SSL_set_tlsext_host_name(ssl, name); }

/// What `SSL_VERIFY_PEER` and a callback are set with; the callback sees what is wrong with a peer.
static inline void tls_verify_peer(SSL *ssl, int (*callback)(int, X509_STORE_CTX *)) {
    SSL_set_verify(ssl, SSL_VERIFY_PEER, callback);
}

static inline void *tls_owner_of_store(X509_STORE_CTX *store) {
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    return ssl ? SSL_get_app_data(ssl) : 0;
}

static inline void tls_set_owner(SSL *ssl, void *owner) { SSL_set_app_data(ssl, owner); }

static inline int tls_error_reason(unsigned long error) { return ERR_GET_REASON(error); }
static inline int tls_error_is_system(unsigned long error) { return ERR_SYSTEM_ERROR(error) ? ERR_GET_REASON(error) : 0; }

// BIO

static inline void tls_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }
static inline void tls_bio_retry_read(BIO *bio) { BIO_set_retry_read(bio); }

/// A BIO that reads memory it does not own.
static inline BIO *tls_memory_reader(const void *bytes, int count) { return BIO_new_mem_buf(bytes, count); }

static inline long tls_memory_contents(BIO *bio, char **bytes) { return BIO_get_mem_data(bio, bytes); }

// Certificates

/// Calls back with each name a certificate is for: DNS names as text, addresses as bytes.
static inline void tls_each_name(
    const X509 *certificate, void *context,
    void (*each)(void *context, int isAddress, const unsigned char *bytes, int count)) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, 0, 0);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_DNS)
            each(context, 0, ASN1_STRING_get0_data(name->d.dNSName), ASN1_STRING_length(name->d.dNSName));
        if (name->type == GEN_IPADD)
            each(context, 1, ASN1_STRING_get0_data(name->d.iPAddress), ASN1_STRING_length(name->d.iPAddress));
    }
    GENERAL_NAMES_free(names);
}

/// 1 and "year-month-day" of a time in a certificate, or 0.
static inline int tls_date(const ASN1_TIME *time, int *year, int *month, int *day) {
    struct tm t;
    if (ASN1_TIME_to_tm(time, &t) != 1) return 0;
    *year = t.tm_year + 1900;
    *month = t.tm_mon + 1;
    *day = t.tm_mday;
    return 1;
}

/// A name on one line, `O = x, CN = y`.
static inline int tls_print_name(BIO *bio, const X509_NAME *name) {
    return X509_NAME_print_ex(bio, name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
}

/// Adds an extension from its text form.
static inline int tls_add_extension(X509 *certificate, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, 0, 0, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(0, &context, nid, value);
    if (!extension) return 0;
    int added = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

// Keys and ciphers

static inline EVP_PKEY *tls_new_p256_key(void) { return EVP_EC_gen("P-256"); }

static inline int tls_gcm_set_tag(EVP_CIPHER_CTX *context, const void *tag) {
    return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, (void *)tag);
}

static inline int tls_gcm_get_tag(EVP_CIPHER_CTX *context, void *tag) {
    return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag);
}

/// SHA-256 when the key has gone in, inside and outside: a message then costs its own blocks and one more.
/// OpenSSL's own HMAC object is set up anew for each message, which costs more than the hashing of a token.
struct tls_hmac_sha256 {
    SHA256_CTX inner, outer;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Writes 32 bytes. Not by the library's one call for it, which looks its algorithm up by name each time: for something
/// short that is most of what it costs.
static inline void tls_sha256(const void *bytes, unsigned long count, unsigned char *digest) {
    SHA256_CTX state;
    SHA256_Init(&state);
    SHA256_Update(&state, bytes, count);
    SHA256_Final(digest, &state);
}

static inline void tls_hmac_sha256_begin(struct tls_hmac_sha256 *hmac, const void *key, unsigned long count) {
    unsigned char block[SHA256_CBLOCK] = {0};
    if (count > sizeof block)
        tls_sha256(key, count, block);
    else if (count > 0)
        memcpy(block, key, count);
    for (unsigned i = 0; i < sizeof block; i++) block[i] ^= 0x36;
    SHA256_Init(&hmac->inner);
    SHA256_Update(&hmac->inner, block, sizeof block);
    for (unsigned i = 0; i < sizeof block; i++) block[i] ^= 0x36 ^ 0x5c;
    SHA256_Init(&hmac->outer);
    SHA256_Update(&hmac->outer, block, sizeof block);
    OPENSSL_cleanse(block, sizeof block);
}

/// Writes 32 bytes.
static inline void tls_hmac_sha256(
    const struct tls_hmac_sha256 *hmac, const void *message, unsigned long count, unsigned char *code) {
    SHA256_CTX state = hmac->inner;
    SHA256_Update(&state, message, count);
    SHA256_Final(code, &state);
    state = hmac->outer;
    SHA256_Update(&state, code, SHA256_DIGEST_LENGTH);
    SHA256_Final(code, &state);
}

#pragma GCC diagnostic pop

// The key, the certificate, and OpenSSL's settings for all connections.
#include "identity.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/srtp.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

static X509 *self_signed(EVP_PKEY *key) {
    X509 *certificate = X509_new();
    if (!certificate) return NULL;
    uint64_t serial = 1;
    const unsigned char *name = (const unsigned char *)"burnish";
    const long day = 86400;
    bool good = RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
                X509_set_version(certificate, X509_VERSION_3) == 1 &&
                ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1 | 1) == 1 &&
                // A clock that is a day off at the peer does no harm: browsers compare the fingerprint alone.
                X509_gmtime_adj(X509_getm_notBefore(certificate), -day) &&
                X509_gmtime_adj(X509_getm_notAfter(certificate), 30 * day) && X509_set_pubkey(certificate, key) == 1 &&
                X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, name, -1, -1, 0) ==
                    1 &&
                X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1 &&
                X509_sign(certificate, key, EVP_sha256()) > 0;
    if (good) return certificate;
    X509_free(certificate);
    return NULL;
}

static bool configure(SSL_CTX *context, X509 *certificate, EVP_PKEY *key) {
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_QUERY_MTU |
                                     SSL_OP_SINGLE_ECDH_USE | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(context, 1);
    // A certificate of a peer has about 300 bytes.
    SSL_CTX_set_max_cert_list(context, 16 << 10);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_cert_verify_callback(context, burnish_verify_fingerprint, NULL);
    return SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) == 1 &&
           SSL_CTX_set_max_proto_version(context, DTLS1_2_VERSION) == 1 &&
           SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1 &&
           // Forward secrecy and AES-GCM only, which all of WebRTC has (RFC 8827, 6.5). A peer's certificate may be RSA.
           SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM") == 1 &&
           // Short lists make a short first flight, which a peer may get before it has shown that it is there.
           SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1 &&
           SSL_CTX_set1_sigalgs_list(context, "ECDSA+SHA256:ECDSA+SHA384:RSA-PSS+SHA256:RSA+SHA256:RSA+SHA384") == 1 &&
           // This function alone returns 0 for success.
           SSL_CTX_set_tlsext_use_srtp(context, "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80") == 0;
}

burnish_dtls_identity *burnish_dtls_identity_create(void) {
    burnish_dtls_identity *identity = calloc(1, sizeof *identity);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = key ? self_signed(key) : NULL;
    SSL_CTX *context = certificate ? SSL_CTX_new(DTLS_method()) : NULL;
    unsigned int size = 0;
    bool good = identity && context && configure(context, certificate, key) &&
                X509_digest(certificate, EVP_sha256(), identity->sha256, &size) == 1 && size == sizeof identity->sha256;
    X509_free(certificate);
    EVP_PKEY_free(key);
    if (good) {
        identity->context = context;
        return identity;
    }
    SSL_CTX_free(context);
    free(identity);
    return NULL;
}

void burnish_dtls_identity_free(burnish_dtls_identity *identity) {
    if (!identity) return;
    SSL_CTX_free(identity->context);
    free(identity);
}

void burnish_dtls_identity_sha256(const burnish_dtls_identity *identity, uint8_t digest[32]) {
    memcpy(digest, identity->sha256, sizeof identity->sha256);
}

void burnish_hmac_sha1(const uint8_t *key, size_t key_size, const uint8_t *first, size_t first_size,
                       const uint8_t *second, size_t second_size, uint8_t digest[20]) {
    uint8_t message[2048];
    memset(digest, 0, 20);
    if (first_size + second_size > sizeof message) return;
    if (first_size > 0) memcpy(message, first, first_size);
    if (second_size > 0) memcpy(message + first_size, second, second_size);
    unsigned int size = 20;
    HMAC(EVP_sha1(), key_size > 0 ? key : message, (int)key_size, message, first_size + second_size, digest, &size);
}

bool burnish_bytes_equal(const uint8_t *a, const uint8_t *b, size_t count) { return CRYPTO_memcmp(a, b, count) == 0; }

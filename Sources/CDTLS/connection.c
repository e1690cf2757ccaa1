// A peer's connection: OpenSSL's SSL object between two sides of a BIO that keeps the ends of datagrams.
#include "identity.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/srtp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A datagram that waits to be sent.
struct datagram {
    struct datagram *next;
    size_t count;
    uint8_t bytes[];
};

struct burnish_dtls {
    SSL *ssl;
    burnish_dtls_fingerprint fingerprint;
    burnish_dtls_state state;
    int mtu;
    /// The datagram that is being read; NULL when OpenSSL has read it.
    const uint8_t *incoming;
    size_t incoming_count;
    /// What is to be sent, the oldest first.
    struct datagram *first, **last;
    unsigned waiting;
    char fault[120];
};

/// A flight has at most five datagrams. More than this wait only if nobody fetches them.
enum { most_waiting = 64 };

// MARK: The BIO

static int datagram_write(BIO *bio, const char *bytes, int count) {
    burnish_dtls *connection = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (count <= 0) return 0;
    // As on a network: what has no room is lost.
    if (connection->waiting >= most_waiting) return count;
    struct datagram *datagram = malloc(sizeof *datagram + (size_t)count);
    if (!datagram) return count;
    datagram->next = NULL;
    datagram->count = (size_t)count;
    memcpy(datagram->bytes, bytes, (size_t)count);
    *connection->last = datagram;
    connection->last = &datagram->next;
    connection->waiting++;
    return count;
}

static int datagram_read(BIO *bio, char *bytes, int room) {
    burnish_dtls *connection = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (!connection->incoming || room <= 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t count = connection->incoming_count < (size_t)room ? connection->incoming_count : (size_t)room;
    memcpy(bytes, connection->incoming, count);
    connection->incoming = NULL;
    return (int)count;
}

static long datagram_control(BIO *bio, int command, long number, void *pointer) {
    (void)number;
    (void)pointer;
    burnish_dtls *connection = BIO_get_data(bio);
    switch (command) {
    case BIO_CTRL_FLUSH: return 1;
    case BIO_CTRL_DGRAM_QUERY_MTU:
    case BIO_CTRL_DGRAM_GET_FALLBACK_MTU: return connection ? connection->mtu : 1200;
    // The MTU that we name is that of the payload.
    case BIO_CTRL_DGRAM_GET_MTU_OVERHEAD: return 0;
    case BIO_CTRL_WPENDING: return 0;
    case BIO_CTRL_PENDING: return connection && connection->incoming ? (long)connection->incoming_count : 0;
    default: return 0;
    }
}

static int datagram_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *method;

static void make_method(void) {
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams in memory");
    if (!method) return;
    BIO_meth_set_write(method, datagram_write);
    BIO_meth_set_read(method, datagram_read);
    BIO_meth_set_ctrl(method, datagram_control);
    BIO_meth_set_create(method, datagram_create);
}

BIO_METHOD *burnish_datagram_method(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_method);
    return method;
}

// MARK: The fingerprint

static const EVP_MD *function_of(burnish_dtls_hash hash) {
    switch (hash) {
    case burnish_dtls_sha224: return EVP_sha224();
    case burnish_dtls_sha256: return EVP_sha256();
    case burnish_dtls_sha384: return EVP_sha384();
    case burnish_dtls_sha512: return EVP_sha512();
    }
    return NULL;
}

size_t burnish_dtls_digest_size(burnish_dtls_hash hash) {
    const EVP_MD *function = function_of(hash);
    return function ? (size_t)EVP_MD_get_size(function) : 0;
}

int burnish_verify_fingerprint(X509_STORE_CTX *store, void *unused) {
    (void)unused;
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    burnish_dtls *connection = ssl ? SSL_get_app_data(ssl) : NULL;
    X509 *certificate = X509_STORE_CTX_get0_cert(store);
    const EVP_MD *function = connection ? function_of(connection->fingerprint.hash) : NULL;
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (function && certificate && X509_digest(certificate, function, digest, &size) == 1 &&
        size <= burnish_dtls_largest_digest) {
        for (uint32_t i = 0; i < connection->fingerprint.count && i < burnish_dtls_most_digests; i++)
            if (memcmp(digest, connection->fingerprint.digests[i], size) == 0) return 1;
    }
    if (connection) connection->state = burnish_dtls_wrong_fingerprint;
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
}

// MARK: Making and freeing

/// How long OpenSSL waits before it sends a flight again, in microseconds.
static unsigned int next_wait(SSL *ssl, unsigned int last) {
    (void)ssl;
    const unsigned int shortest = 200000, longest = 3200000;
    if (last == 0) return shortest;
    return last < longest / 2 ? last * 2 : longest;
}

burnish_dtls *burnish_dtls_create(burnish_dtls_identity *identity, const burnish_dtls_fingerprint *fingerprint,
                                  bool is_client, int mtu) {
    burnish_dtls *connection = calloc(1, sizeof *connection);
    BIO_METHOD *datagrams = burnish_datagram_method();
    SSL *ssl = connection && datagrams ? SSL_new(identity->context) : NULL;
    BIO *bio = ssl ? BIO_new(datagrams) : NULL;
    if (!bio) {
        SSL_free(ssl);
        free(connection);
        return NULL;
    }
    connection->ssl = ssl;
    connection->mtu = mtu;
    connection->fingerprint = *fingerprint;
    connection->last = &connection->first;
    BIO_set_data(bio, connection);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, connection);
    SSL_set_mtu(ssl, mtu);
    DTLS_set_timer_cb(ssl, next_wait);
    if (is_client) SSL_set_connect_state(ssl);
    else SSL_set_accept_state(ssl);
    return connection;
}

void burnish_dtls_free(burnish_dtls *connection) {
    if (!connection) return;
    SSL_free(connection->ssl);
    while (connection->first) {
        struct datagram *next = connection->first->next;
        free(connection->first);
        connection->first = next;
    }
    free(connection);
}

// MARK: The handshake

static burnish_dtls_state fail(burnish_dtls *connection) {
    unsigned long code = ERR_peek_error();
    const char *library = ERR_lib_error_string(code), *reason = ERR_reason_error_string(code);
    snprintf(connection->fault, sizeof connection->fault, "%s: %s", library ? library : "OpenSSL",
             reason ? reason : "no reason given");
    ERR_clear_error();
    if (connection->state == burnish_dtls_pending) connection->state = burnish_dtls_failed;
    return connection->state;
}

/// Goes on with the handshake, or reads what comes after it.
static burnish_dtls_state proceed(burnish_dtls *connection) {
    // OpenSSL's errors are kept for each thread, and others of this thread may have left some.
    ERR_clear_error();
    if (connection->state == burnish_dtls_pending) {
        int result = SSL_do_handshake(connection->ssl);
        if (result != 1) {
            int why = SSL_get_error(connection->ssl, result);
            if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return connection->state;
            return fail(connection);
        }
        if (!SSL_get_selected_srtp_profile(connection->ssl)) return connection->state = burnish_dtls_no_profile;
        connection->state = burnish_dtls_connected;
    }
    // Application data belongs to data channels, which we do not have. It is read and dropped.
    uint8_t dropped[2048];
    for (int turns = 0; turns < 16; turns++) {
        // Records that were dropped leave errors behind, which SSL_get_error would take for this call's.
        ERR_clear_error();
        int result = SSL_read(connection->ssl, dropped, sizeof dropped);
        if (result > 0) continue;
        int why = SSL_get_error(connection->ssl, result);
        if (why == SSL_ERROR_ZERO_RETURN) connection->state = burnish_dtls_closed;
        // A fatal alert of the peer. After the handshake its records are authenticated.
        if (why == SSL_ERROR_SSL) connection->state = burnish_dtls_closed;
        ERR_clear_error();
        break;
    }
    return connection->state;
}

static bool is_over(const burnish_dtls *connection) {
    return connection->state != burnish_dtls_pending && connection->state != burnish_dtls_connected;
}

/// Whether a record may be shown to OpenSSL.
///
/// - An alert that is not encrypted can be forged by anybody. A peer that really gives up shows by its silence.
/// - An encrypted record that is shorter than AES-GCM's own 24 bytes makes OpenSSL 3.0 end the connection with an internal error,
///   although RFC 6347 (4.1.2.7) lets bad records be dropped. Anybody can send one.
static bool is_safe(const uint8_t *record, size_t length) {
    const uint8_t alert = 21;
    const size_t shortest = 24;
    bool is_encrypted = record[3] != 0 || record[4] != 0;
    return is_encrypted ? length >= shortest : record[0] != alert;
}

burnish_dtls_state burnish_dtls_receive(burnish_dtls *connection, const uint8_t *bytes, size_t count) {
    // Each record as though it were a datagram: type 1, version 2, epoch 2, number 6, length 2.
    enum { header = 13 };
    while (!is_over(connection) && count >= header) {
        size_t length = (size_t)bytes[11] << 8 | bytes[12];
        if (length > count - header) break;
        if (is_safe(bytes, length)) {
            connection->incoming = bytes;
            connection->incoming_count = header + length;
            proceed(connection);
            connection->incoming = NULL;
        }
        bytes += header + length;
        count -= header + length;
    }
    return connection->state;
}

burnish_dtls_state burnish_dtls_advance(burnish_dtls *connection) {
    if (is_over(connection)) return connection->state;
    if (connection->state == burnish_dtls_connected) return connection->state;
    ERR_clear_error();
    if (DTLSv1_handle_timeout(connection->ssl) < 0) return fail(connection);
    return proceed(connection);
}

int64_t burnish_dtls_timeout(burnish_dtls *connection) {
    struct timeval left;
    if (connection->state != burnish_dtls_pending || !DTLSv1_get_timeout(connection->ssl, &left)) return -1;
    return (int64_t)left.tv_sec * 1000000 + left.tv_usec;
}

void burnish_dtls_close(burnish_dtls *connection) {
    if (connection->state == burnish_dtls_connected) SSL_shutdown(connection->ssl);
    ERR_clear_error();
    if (!is_over(connection)) connection->state = burnish_dtls_closed;
}

size_t burnish_dtls_next_datagram(burnish_dtls *connection, uint8_t *bytes, size_t room) {
    while (connection->first) {
        struct datagram *datagram = connection->first;
        connection->first = datagram->next;
        if (!connection->first) connection->last = &connection->first;
        connection->waiting--;
        size_t count = datagram->count;
        bool fits = count <= room;
        if (fits) memcpy(bytes, datagram->bytes, count);
        free(datagram);
        if (fits) return count;
    }
    return 0;
}

const char *burnish_dtls_fault(const burnish_dtls *connection) { return connection->fault; }

// MARK: Keys

bool burnish_dtls_export(burnish_dtls *connection, burnish_dtls_keys *keys) {
    if (connection->state != burnish_dtls_connected) return false;
    SRTP_PROTECTION_PROFILE *profile = SSL_get_selected_srtp_profile(connection->ssl);
    size_t salt;
    switch (profile ? profile->id : 0) {
    case SRTP_AEAD_AES_128_GCM: keys->profile = burnish_dtls_aead_aes_128_gcm, salt = 12; break;
    case SRTP_AES128_CM_SHA1_80: keys->profile = burnish_dtls_aes_cm_128_sha1_80, salt = 14; break;
    default: return false;
    }
    static const char label[] = "EXTRACTOR-dtls_srtp";
    const size_t key = 16;
    // The client's key, the server's key, the client's salt, the server's salt.
    uint8_t material[60];
    if (SSL_export_keying_material(connection->ssl, material, 2 * (key + salt), label, sizeof label - 1, NULL, 0, 0) !=
        1)
        return false;
    uint8_t *client = SSL_is_server(connection->ssl) ? keys->remote : keys->local;
    uint8_t *server = SSL_is_server(connection->ssl) ? keys->local : keys->remote;
    memcpy(client, material, key);
    memcpy(server, material + key, key);
    memcpy(client + key, material + 2 * key, salt);
    memcpy(server + key, material + 2 * key + salt, salt);
    OPENSSL_cleanse(material, sizeof material);
    return true;
}

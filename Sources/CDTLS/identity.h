#pragma once

#include "CDTLS.h"

#include <openssl/ssl.h>

struct burnish_dtls_identity {
    SSL_CTX *context;
    uint8_t sha256[32];
};

/// The BIO that keeps the ends of datagrams. Its data is a `burnish_dtls`.
BIO_METHOD *burnish_datagram_method(void);

/// Decides about the peer's certificate by its fingerprint alone.
int burnish_verify_fingerprint(X509_STORE_CTX *store, void *unused);

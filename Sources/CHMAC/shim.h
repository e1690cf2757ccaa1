// OpenSSL 3.0 (Debian 12) and 3.5 (13).
#pragma once

#include <openssl/crypto.h>
#include <openssl/hmac.h>

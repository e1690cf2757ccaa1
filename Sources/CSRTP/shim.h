// libsrtp 2.5. Debian builds it with NSS, which loads libraries when it is first used and unloads them after the last use:
// Sources/WebRTC/SRTP keeps one session for the process's life.
#pragma once

#include <srtp2/srtp.h>

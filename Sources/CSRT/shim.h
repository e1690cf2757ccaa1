// libsrt 1.5.1, linked statically from libsrt-openssl-dev (see Package.swift for why). Static inlines only for what
// Swift cannot import.
#pragma once

#include <srt/srt.h>

// libqrencode 4.1 (Debian 12 and 13).
#pragma once

#include <qrencode.h>

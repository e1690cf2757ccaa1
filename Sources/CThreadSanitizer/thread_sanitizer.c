#include "thread_sanitizer.h"

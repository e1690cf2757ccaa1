#define _GNU_SOURCE
#include "CAffinity.h"

#include <errno.h>
#include <sched.h>

int burnish_allowed_processors(unsigned long *words, size_t count) {
    return sched_getaffinity(0, count * sizeof *words, (cpu_set_t *)words) ? errno : 0;
}

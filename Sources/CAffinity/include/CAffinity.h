// The processors of a thread, which Swift's own view of glibc leaves out (they need _GNU_SOURCE).
#ifndef CAFFINITY_H
#define CAFFINITY_H

#include <stddef.h>

// Sets a bit for each processor that is there and that the calling thread may run on, from the lowest bit of words[0] on. Returns 0,
// or an error number: EINVAL where the kernel's own set has more than `count` words.
int burnish_allowed_processors(unsigned long *words, size_t count);

#endif

#ifndef BURNISH_THREAD_SANITIZER_H
#define BURNISH_THREAD_SANITIZER_H

// Tells LLVM's thread sanitizer which memory a lock orders. It does not see this by itself: Swift's `Mutex` is a futex on
// Linux, and the sanitizer knows only pthread's locks and the atomics of code that it has compiled.
//
// The two functions are the sanitizer's own (sanitizer/tsan_interface.h). In a build without the sanitizer the weak symbols
// are null, and a call costs one comparison.

extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

/// This thread now sees what others wrote before they released `address`.
static inline void burnish_tsan_acquire(void *address) {
    if (__tsan_acquire) __tsan_acquire(address);
}

/// A thread that acquires `address` from now on sees what this one has written.
static inline void burnish_tsan_release(void *address) {
    if (__tsan_release) __tsan_release(address);
}

#endif

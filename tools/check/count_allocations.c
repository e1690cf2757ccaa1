// The malloc interposer of all checks: preload it (LD_PRELOAD) and it counts heap allocations, in two ways.
//
// By thread. The program calls burnish_count(1) and burnish_count(0), which it finds with dlsym. Only the calling
// thread's allocations between the two calls count. burnish_counted_swift() is how many Swift's runtime made,
// burnish_counted_others() is how many all other code made.
//
// By call stack, when COUNT_ALLOCATIONS_FILE is set. SIGUSR1 begins, SIGUSR2 ends and writes the stacks of all threads to
// that file. tools/check/allocations makes a table of them.
//
// File: "maps" (the process's /proc/self/maps), a line "stacks N LOST DEPTH", then N records of DEPTH 64-bit return
// addresses.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 24, RECORDS = 200000 };

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

// Initial-exec: dynamic TLS would allocate on first use.
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
THREAD_LOCAL int inside; // this library's own calls may allocate
THREAD_LOCAL int counting;
THREAD_LOCAL long by_swift, by_others;

static atomic_int recording;
static atomic_uint recorded;
static void *(*records)[DEPTH];

void burnish_count(int on) { counting = on; }
long burnish_counted_swift(void) { return by_swift; }
long burnish_counted_others(void) { return by_others; }

static void count_call(void *caller) {
    int record = atomic_load_explicit(&recording, memory_order_relaxed);
    if (!(counting || record) || inside) return;
    inside = 1;
    if (counting) {
        Dl_info info;
        if (dladdr(caller, &info) && strstr(info.dli_fname, "libswift")) by_swift++;
        else by_others++;
    }
    if (record) {
        unsigned slot = atomic_fetch_add(&recorded, 1);
        if (slot < RECORDS) {
            int n = backtrace(records[slot], DEPTH);
            if (n < DEPTH) records[slot][n] = NULL;
        }
    }
    inside = 0;
}
#define COUNT() count_call(__builtin_return_address(0))

void *malloc(size_t size) {
    COUNT();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    COUNT();
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    COUNT();
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    COUNT();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    COUNT();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    COUNT();
    void *memory = __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *block = memory;
    return 0;
}

static void put(int file, const void *bytes, size_t size) {
    while (size > 0) {
        ssize_t n = write(file, bytes, size);
        if (n <= 0) return;
        bytes = (const char *)bytes + n;
        size -= (size_t)n;
    }
}

static void begin(int number) {
    (void)number;
    atomic_store(&recorded, 0);
    atomic_store(&recording, 1);
}

static void end(int number) {
    (void)number;
    int error = errno;
    atomic_store(&recording, 0);
    int file = open(getenv("COUNT_ALLOCATIONS_FILE"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file >= 0) {
        int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
        static char buffer[65536];
        ssize_t n;
        while (maps >= 0 && (n = read(maps, buffer, sizeof buffer)) > 0) put(file, buffer, (size_t)n);
        if (maps >= 0) close(maps);
        unsigned all = atomic_load(&recorded);
        unsigned kept = all < RECORDS ? all : RECORDS;
        n = snprintf(buffer, sizeof buffer, "stacks %u %u %d\n", kept, all - kept, DEPTH);
        put(file, buffer, (size_t)n);
        put(file, records, kept * sizeof *records);
        close(file);
    }
    errno = error;
}

__attribute__((constructor)) static void install(void) {
    if (!getenv("COUNT_ALLOCATIONS_FILE")) return;
    records = __libc_calloc(RECORDS, sizeof *records);
    void *warm[2];
    backtrace(warm, 2); // loads libgcc now: its first use allocates
    struct sigaction action = {.sa_flags = SA_RESTART};
    action.sa_handler = begin;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = end;
    sigaction(SIGUSR2, &action, NULL);
}

// Landlock by its system calls: glibc 2.36 has no wrappers, and Debian 12's headers end at version 2.
// The kernel's documentation: Documentation/userspace-api/landlock.rst.
#define _GNU_SOURCE
#include "CSandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Grows with the versions. The kernel is told how much of it we mean.
struct ruleset {
    uint64_t files;
    uint64_t network;
    uint64_t scope;
};

/// Packed in the kernel's interface.
struct path_rule {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

enum { rule_path = 1, flag_version = 1 };

enum {
    files_execute = 1 << 0,
    files_write = 1 << 1,
    files_read = 1 << 2,
    files_read_folder = 1 << 3,
    /// The 13 rights of version 1: execute, write, read, read folder, two that remove, seven that make.
    files_1 = (1 << 13) - 1,
    files_refer = 1 << 13,
    files_truncate = 1 << 14,
    files_device = 1 << 15,
    tcp_bind_and_connect = 3,
    scope_abstract_sockets_and_signals = 3,
};

int burnish_landlock_version(void) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, flag_version);
    return version < 0 ? 0 : (int)version;
}

int burnish_thread_count(void) {
    DIR *folder = opendir("/proc/self/task");
    if (!folder) return 0;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

int burnish_forgo_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno; }

static int allow_reading(int rules, const char *path) {
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) return errno == ENOENT || errno == EACCES ? 0 : errno;
    struct stat status;
    if (fstat(file, &status) != 0) return errno;
    struct path_rule rule = {.allowed = files_read, .parent = file};
    if (S_ISDIR(status.st_mode)) rule.allowed |= files_read_folder;
    return syscall(SYS_landlock_add_rule, rules, rule_path, &rule, 0) == 0 ? 0 : errno;
}

static int allow_writing(int rules, const char *path, uint64_t rights) {
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) return errno;
    struct path_rule rule = {.allowed = rights, .parent = file};
    return syscall(SYS_landlock_add_rule, rules, rule_path, &rule, 0) == 0 ? 0 : errno;
}

int burnish_landlock_enter(int version, const char *const *readable, size_t count, const char *writable) {
    struct ruleset set = {.files = files_1};
    size_t size = sizeof set.files;
    if (version >= 2) set.files |= files_refer;
    if (version >= 3) set.files |= files_truncate;
    if (version >= 5) set.files |= files_device;
    if (version >= 4) {
        set.network = tcp_bind_and_connect;
        size += sizeof set.network;
    }
    if (version >= 6) {
        set.scope = scope_abstract_sockets_and_signals;
        size += sizeof set.scope;
    }
    int rules = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
    if (rules < 0) return errno;
    int fault = 0;
    for (size_t i = 0; i < count && fault == 0; i++) fault = allow_reading(rules, readable[i]);
    if (fault == 0 && writable)
        fault = allow_writing(rules, writable, files_read | files_write | (version >= 3 ? files_truncate : 0));
    if (fault == 0 && syscall(SYS_landlock_restrict_self, rules, 0) != 0) fault = errno;
    close(rules);
    return fault;
}

// What Linux offers a process that gives up rights for good: Landlock (files, TCP, signals) and a seccomp filter (system calls).
//
// Each function returns 0 or a positive errno.
#pragma once

#include <stddef.h>

/// The first Landlock version that knows every right used here: files (1), renames (2), truncation (3), TCP (4), devices (5),
/// signals and abstract sockets (6).
enum { burnish_landlock_newest = 6 };

/// The kernel's Landlock version; 0 where it has none.
int burnish_landlock_version(void);

/// How many threads the process has; 0 where /proc does not say.
int burnish_thread_count(void);

/// Gives up the right to gain rights by executing a program (no_new_privs). The two functions below need it.
int burnish_forgo_privileges(void);

/// Denies the calling thread, and the threads that it starts later, all files but `readable`, all TCP, and signals and abstract
/// sockets beyond this process. What is open stays open.
/// - Parameters:
///   - version: at most what the kernel has; 1 or more.
///   - readable: files and folders that may be opened for reading. Those that do not exist are left out. Each keeps one
///     descriptor open: /proc may forget the inode that the rule is about once nothing uses it.
///   - writable: a file that may be written to, besides; NULL for none.
int burnish_landlock_enter(int version, const char *const *readable, size_t count, const char *writable);

/// Denies all threads of the process every system call that `filter.c` does not list. Those of `filter.c`'s second list end the
/// process with SIGSYS.
/// - Parameter may_open: 0 where no file may be opened; 1 for reading; 2 for writing, too, as Landlock allows it.
int burnish_filter_enter(int may_open);

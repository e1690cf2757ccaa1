#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <unistd.h>

int burnish_spawn(const char *path, char *const arguments[], char *const environment[], int control, int errors,
                  pid_t *process) {
    // The actions below overwrite the descriptors 0 to 3 in the child, so the two that it needs must lie above them.
    int high_control = fcntl(control, F_DUPFD_CLOEXEC, 4);
    int high_errors = fcntl(errors, F_DUPFD_CLOEXEC, 4);
    if (high_control < 0 || high_errors < 0) {
        int failure = errno;
        if (high_control >= 0) close(high_control);
        if (high_errors >= 0) close(high_errors);
        return failure;
    }

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    int failure = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!failure) failure = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&actions, high_errors, 2);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&actions, high_control, 3);
    if (!failure) failure = posix_spawn_file_actions_addclosefrom_np(&actions, 4);

    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

    if (!failure) failure = posix_spawn(process, path, &actions, &attributes, arguments, environment);

    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(high_control);
    close(high_errors);
    return failure;
}

int burnish_process_descriptor(pid_t process) { return pidfd_open(process, 0); }

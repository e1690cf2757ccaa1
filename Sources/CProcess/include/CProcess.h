// Processes of Linux that Swift's own view of glibc leaves out (they need _GNU_SOURCE).
#ifndef CPROCESS_H
#define CPROCESS_H

#include <sys/types.h>

// Starts a program in a process group of its own, with default signal handling and no blocked signals. The program has
// /dev/null as standard input and output, `errors` as standard error, `control` as descriptor 3, and no other descriptor.
// `arguments` and `environment` end with NULL. Returns 0 and the process's number, or an error number.
int burnish_spawn(const char *path, char *const arguments[], char *const environment[], int control, int errors,
                  pid_t *process);

// A descriptor (close-on-exec) that becomes readable when the process ends, or -1 and errno.
int burnish_process_descriptor(pid_t process);

#endif

// The system calls that a worker needs. The list was found by running streams of every kind under it
// (docs/design/sandbox.md says how to repeat that).
//
// Calls that every frame makes have no conditions on their arguments: the kernel then answers from a bit map and does not run
// the filter's program.
#define _GNU_SOURCE
#include "CSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LENGTH(list) (sizeof(list) / sizeof *(list))

// clang-format off
static const int allowed[] = {
    // Open files and sockets.
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(pwrite64),
    SCMP_SYS(preadv), SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(close), SCMP_SYS(dup), SCMP_SYS(fcntl), SCMP_SYS(fsync),
    SCMP_SYS(fdatasync), SCMP_SYS(getdents64), SCMP_SYS(fadvise64), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(recvfrom),
    SCMP_SYS(sendto), SCMP_SYS(recvmmsg), SCMP_SYS(sendmmsg), SCMP_SYS(bind), SCMP_SYS(connect), SCMP_SYS(shutdown), SCMP_SYS(accept),
    SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(getsockopt),
    // Waiting.
    SCMP_SYS(futex), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(eventfd2),
    SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep), SCMP_SYS(restart_syscall), SCMP_SYS(sched_yield),
    // Time and what the machine is like.
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(times),
    SCMP_SYS(getrusage), SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(getcpu), SCMP_SYS(sched_getaffinity),
    SCMP_SYS(getrandom),
    // Memory that is not executed.
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(membarrier),
    // Threads and signals of this process.
    SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
    SCMP_SYS(getegid), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigtimedwait), SCMP_SYS(sigaltstack), SCMP_SYS(exit), SCMP_SYS(exit_group),
};

/// No honest worker makes these calls. One that does is not asked again: it ends, and its supervisor starts a new one.
static const int deadly[] = {
    // Programs and other processes.
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp),
    // The kernel.
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load),
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup), SCMP_SYS(add_key),
    SCMP_SYS(request_key), SCMP_SYS(keyctl), SCMP_SYS(reboot), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    // Another view of the file system or of the machine.
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen), SCMP_SYS(pivot_root),
    SCMP_SYS(chroot), SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(open_by_handle_at), SCMP_SYS(swapon), SCMP_SYS(swapoff),
};
// clang-format on

/// What libsrt and our endpoints set. Others reach far into the kernel: SO_ATTACH_FILTER loads a program.
static const struct {
    int level, option;
} socket_options[] = {
    {SOL_SOCKET, SO_RCVBUF},
    {SOL_SOCKET, SO_SNDBUF},
    {SOL_SOCKET, SO_RCVTIMEO},
    {SOL_SOCKET, SO_SNDTIMEO},
    {SOL_SOCKET, SO_REUSEADDR},
    {SOL_SOCKET, SO_TIMESTAMPNS},
    {SOL_SOCKET, SO_BINDTODEVICE},
    {IPPROTO_IP, IP_TTL},
    {IPPROTO_IP, IP_TOS},
    {IPPROTO_IP, IP_PKTINFO},
    {IPPROTO_IP, IP_ADD_MEMBERSHIP},
    {IPPROTO_IP, IP_DROP_MEMBERSHIP},
    {IPPROTO_IP, IP_MULTICAST_TTL},
    {IPPROTO_IP, IP_MULTICAST_LOOP},
    {IPPROTO_IP, IP_MULTICAST_IF},
    {IPPROTO_IPV6, IPV6_V6ONLY},
    {IPPROTO_IPV6, IPV6_RECVPKTINFO},
    {IPPROTO_IPV6, IPV6_UNICAST_HOPS},
    {IPPROTO_IPV6, IPV6_MULTICAST_HOPS},
    {IPPROTO_IPV6, IPV6_MULTICAST_IF},
    {IPPROTO_IPV6, IPV6_TCLASS},
    {IPPROTO_IPV6, IPV6_JOIN_GROUP},
    {IPPROTO_IPV6, IPV6_LEAVE_GROUP},
};

/// Calls that pass their flags in memory, where a filter cannot see them. glibc then uses the older call.
static const int unknown_here[] = {SCMP_SYS(clone3), SCMP_SYS(openat2), SCMP_SYS(faccessat2)};

/// One rule; the first fault is kept.
static void rule(int *fault, scmp_filter_ctx filter, int call, const struct scmp_arg_cmp *conditions, unsigned count) {
    if (*fault == 0) *fault = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, count, conditions);
}

#define ALLOW_IF(call, ...) \
    rule(fault, filter, SCMP_SYS(call), (const struct scmp_arg_cmp[]){__VA_ARGS__}, \
         LENGTH(((const struct scmp_arg_cmp[]){__VA_ARGS__})))
#define HAS(argument, mask, bits) SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, (uint64_t)(mask), (uint64_t)(bits))
// An `int` argument: the upper half of its register may hold anything.
#define IS(argument, value) SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint32_t)(value))

static void allow_by_argument(scmp_filter_ctx filter, int may_open, int *fault) {
    if (may_open == 2) {
        // Landlock says which files.
        rule(fault, filter, SCMP_SYS(openat), NULL, 0);
        rule(fault, filter, SCMP_SYS(open), NULL, 0);
        rule(fault, filter, SCMP_SYS(ftruncate), NULL, 0);
    } else if (may_open) {
        // Landlock says which files; here: for reading only.
        const int changing = O_ACCMODE | O_CREAT | O_TRUNC;
        ALLOW_IF(openat, HAS(2, changing, O_RDONLY));
        ALLOW_IF(open, HAS(1, changing, O_RDONLY));
    }
    // `fstat` of glibc 2.33 and newer.
    ALLOW_IF(newfstatat, IS(3, AT_EMPTY_PATH));

    const int protocols[] = {0, IPPROTO_UDP}, families[] = {AF_INET, AF_INET6};
    for (unsigned family = 0; family < LENGTH(families); family++) {
        for (unsigned protocol = 0; protocol < LENGTH(protocols); protocol++) {
            const int type = ~(SOCK_CLOEXEC | SOCK_NONBLOCK);
            ALLOW_IF(socket, IS(0, families[family]), HAS(1, (uint32_t)type, SOCK_DGRAM), IS(2, protocols[protocol]));
        }
    }
    for (unsigned i = 0; i < LENGTH(socket_options); i++)
        ALLOW_IF(setsockopt, IS(1, socket_options[i].level), IS(2, socket_options[i].option));
    // The number of a network interface, for multicast groups.
    ALLOW_IF(ioctl, IS(1, SIOCGIFINDEX));

    ALLOW_IF(mmap, HAS(2, PROT_EXEC, 0));
    ALLOW_IF(mprotect, HAS(2, PROT_EXEC, 0));

    // Threads, but neither processes nor namespaces.
    const uint64_t thread = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;
    const uint64_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                CLONE_NEWPID | CLONE_NEWNET | CLONE_PTRACE;
    ALLOW_IF(clone, HAS(0, thread | namespaces, thread));
    ALLOW_IF(prctl, IS(0, PR_SET_NAME));
    ALLOW_IF(prctl, IS(0, PR_GET_NAME));
#ifdef SYS_arch_prctl
    // AMX: the kernels ask for its registers (Sources/CKernels/cpu.c).
    ALLOW_IF(arch_prctl, IS(0, 0x1023));
#endif
    // Limits: to read one's own. `abort` sends a signal to the calling thread.
    ALLOW_IF(prlimit64, IS(0, 0), SCMP_A2(SCMP_CMP_EQ, 0));
    ALLOW_IF(tgkill, IS(0, getpid()));
    // A thread may give way to others (`Media.StageThread` has this niceness only).
    ALLOW_IF(setpriority, IS(0, PRIO_PROCESS), IS(1, 0), IS(2, 10));
}

int burnish_filter_enter(int may_open) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter) return ENOMEM;
    int result = 0, *fault = &result;
    for (size_t i = 0; i < LENGTH(allowed); i++) rule(fault, filter, allowed[i], NULL, 0);
    allow_by_argument(filter, may_open, fault);
    for (size_t i = 0; i < LENGTH(deadly) && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, deadly[i], 0);
    for (size_t i = 0; i < LENGTH(unknown_here) && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), unknown_here[i], 0);

    if (result == 0) result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (result == 0) result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    // A tree instead of a list, for the calls whose arguments count.
    if (result == 0) result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    // Kernels before 5.16 would turn off speculative stores in a filtered process. That slows kernels down, and helps only
    // where one process runs code of two owners.
    if (result == 0) result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
    if (result == 0) result = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
    if (result == 0) result = seccomp_load(filter);
    seccomp_release(filter);
    return result < 0 ? -result : result;
}

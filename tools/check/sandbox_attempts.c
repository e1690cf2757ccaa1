// Does what an attacker would do inside a worker, from the worker's own threads, in the middle of a stream. To preload:
// - from the decoder's thread, at its 20th packet (libavcodec is called there);
// - from libsrt's receiving thread, at its 200th datagram.
// Prints a line for each attempt: the thread's name, the attempt, its errno; 0 means that it succeeded.
// BURNISH_DEADLY=CALL makes the decoder's thread do what must end the process.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/// Made before the sandbox is entered, as though the worker had inherited them.
static int tcp_socket, tcp_listener, local_socket, local_listener;
static struct sockaddr_in tcp_address = {.sin_family = AF_INET};
static struct sockaddr_un local_address = {.sun_family = AF_UNIX};
static socklen_t local_length;
static const char *deadly;

__attribute__((constructor)) static void prepare(void) {
    deadly = getenv("BURNISH_DEADLY");
    tcp_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof tcp_address;
    tcp_listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(tcp_listener, (struct sockaddr *)&tcp_address, length);
    listen(tcp_listener, 1);
    getsockname(tcp_listener, (struct sockaddr *)&tcp_address, &length);
    tcp_socket = socket(AF_INET, SOCK_STREAM, 0);
    local_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                               (size_t)sprintf(local_address.sun_path + 1, "burnish-attempts-%d", getpid()));
    local_listener = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(local_listener, (struct sockaddr *)&local_address, local_length);
    listen(local_listener, 1);
    local_socket = socket(AF_UNIX, SOCK_STREAM, 0);
}

static _Thread_local char thread_name[16];

static void say(const char *attempt, long result) {
    int code = result < 0 ? errno : 0;
    char line[128];
    int length = snprintf(line, sizeof line, "attempt %s %s %d\n", thread_name, attempt, code);
    if (write(2, line, (size_t)length) != length) abort();
}

/// A process that has come into being ends at once; its parent reports it.
static long child(long result) {
    if (result == 0) _exit(0);
    return result;
}

static void attempt_all(void) {
    prctl(PR_GET_NAME, thread_name);
    say("read-file", open("/etc/passwd", O_RDONLY));
    say("read-folder", open("/", O_RDONLY | O_DIRECTORY));
    say("read-memory", open("/proc/self/mem", O_RDONLY));
    say("read-environment", open("/proc/1/environ", O_RDONLY));
    say("write-file", open("/tmp/burnish-attempt", O_WRONLY | O_CREAT, 0600));
    say("append-file", openat(AT_FDCWD, "/etc/passwd", O_RDWR | O_APPEND));
    say("openat2", syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0));
    say("remove-file", unlink("/tmp/burnish-attempt"));
    say("rename-file", rename("/tmp/burnish-attempt", "/tmp/burnish-attempt-2"));
    say("make-folder", mkdir("/tmp/burnish-attempt-folder", 0700));
    say("link", symlink("/etc/passwd", "/tmp/burnish-attempt-link"));
    say("mode", chmod("/tmp", 0777));
    say("fork", child(syscall(SYS_fork)));
    say("clone", child(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)));
    say("clone3", child(syscall(SYS_clone3, NULL, 0)));
    say("signal-parent", kill(getppid(), 0));
    say("signal-all", kill(-1, 0));
    say("priority", setpriority(PRIO_PROCESS, 0, -5));
    say("dumpable", prctl(PR_SET_DUMPABLE, 1));
    say("local-socket", socket(AF_UNIX, SOCK_STREAM, 0));
    say("local-pair", socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0}));
    say("tcp-socket", socket(AF_INET, SOCK_STREAM, 0));
    say("tcp6-socket", socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
    say("raw-socket", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    say("ping-socket", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
    say("netlink-socket", socket(AF_NETLINK, SOCK_RAW, 0));
    say("packet-socket", socket(AF_PACKET, SOCK_DGRAM, 0));
    say("socket-program", setsockopt(tcp_socket, SOL_SOCKET, SO_ATTACH_FILTER, NULL, 0));
    say("inherited-tcp", connect(tcp_socket, (struct sockaddr *)&tcp_address, sizeof tcp_address));
    say("inherited-local", connect(local_socket, (struct sockaddr *)&local_address, local_length));
    say("listen", listen(tcp_listener, 5));
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("executable-page", mprotect(page, 4096, PROT_READ | PROT_EXEC));
    munmap(page, 4096);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("executable-map", page == MAP_FAILED ? -1 : 0);
}

static void die(const char *call) {
    char *arguments[] = {"/bin/true", NULL};
    if (strcmp(call, "execve") == 0) execve(arguments[0], arguments, arguments + 1);
    if (strcmp(call, "ptrace") == 0) ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    if (strcmp(call, "unshare") == 0) unshare(CLONE_NEWUSER);
    if (strcmp(call, "bpf") == 0) syscall(SYS_bpf, 0, NULL, 0);
    if (strcmp(call, "init_module") == 0) syscall(SYS_init_module, NULL, 0, NULL);
    if (strcmp(call, "io_uring_setup") == 0) syscall(SYS_io_uring_setup, 1, NULL);
        // The system calls of 32-bit programs have other numbers.
#ifdef __x86_64__
    if (strcmp(call, "int80") == 0) __asm__ volatile("int $0x80" ::"a"(20) : "memory");
#endif
    say(call, 0);
}

int avcodec_send_packet(void *decoder, const void *packet);
int avcodec_send_packet(void *decoder, const void *packet) {
    static int (*original)(void *, const void *);
    static atomic_int calls;
    if (!original) original = (int (*)(void *, const void *))dlsym(RTLD_NEXT, "avcodec_send_packet");
    if (atomic_fetch_add(&calls, 1) == 20) {
        if (deadly) die(deadly);
        else attempt_all();
    }
    return original(decoder, packet);
}

ssize_t recvmsg(int socket, struct msghdr *message, int flags) {
    static ssize_t (*original)(int, struct msghdr *, int);
    static atomic_int calls;
    if (!original) original = (ssize_t(*)(int, struct msghdr *, int))dlsym(RTLD_NEXT, "recvmsg");
    char name[16];
    if (!deadly && prctl(PR_GET_NAME, name) == 0 && strncmp(name, "SRT:RcvQ", 8) == 0 &&
        atomic_fetch_add(&calls, 1) == 200)
        attempt_all();
    return original(socket, message, flags);
}

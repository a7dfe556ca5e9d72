// What Glibc's Swift module leaves out of Linux: epoll, eventfd, and the calls that Swift
// cannot reach because they are variadic or macros.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/// Opens or creates a file; `open` itself is variadic.
static inline int linux_open(const char *path, int flags, unsigned mode) {
    return open(path, flags | O_CLOEXEC, mode);
}

/// Asks the processor for a piece of memory that is soon written, and does not wait for it.
static inline void linux_prefetch(const void *memory) { __builtin_prefetch(memory, 1); }

/// How much freed memory the allocator keeps, and how large a piece must be to be mapped by itself.
static inline void linux_keep_freed_memory(int kept_bytes, int mapped_bytes) {
    mallopt(M_TRIM_THRESHOLD, kept_bytes);
    mallopt(M_MMAP_THRESHOLD, mapped_bytes);
}

// In glibc's library, and in its header for GNU sources only.
extern int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until);

/// Waits for a semaphore, at most for the time given, whatever is done to the machine's date.
static inline int linux_wait_semaphore(sem_t *semaphore, long long milliseconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += milliseconds % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec += 1;
        until.tv_nsec -= 1000000000;
    }
    return sem_clockwait(semaphore, CLOCK_MONOTONIC, &until);
}

/// Nanoseconds since boot, suspended time included.
static inline long long linux_boottime_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (long long)t.tv_sec * 1000000000LL + t.tv_nsec;
}

/// Nanoseconds since 1970.
static inline long long linux_walltime_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (long long)t.tv_sec * 1000000000LL + t.tv_nsec;
}

/// How much later than asked the waits of the calling thread may end.
static inline int linux_set_timer_slack(unsigned long nanoseconds) {
    return prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
}

/// Adds or changes what an epoll instance watches of a descriptor; the token comes back with its events.
static inline int linux_epoll_set(int epoll, int operation, int fd, unsigned events, unsigned long long token) {
    struct epoll_event event;
    event.events = events;
    event.data.u64 = token;
    return epoll_ctl(epoll, operation, fd, &event);
}

/// `epoll_event` is packed and holds a union: read here, not in Swift.
static inline unsigned long long linux_epoll_token(const struct epoll_event *events, int index) {
    return events[index].data.u64;
}

static inline unsigned linux_epoll_events(const struct epoll_event *events, int index) {
    return events[index].events;
}

/// EPOLLET is bit 31, which C spells as a negative number.
static inline unsigned linux_epoll_edge(void) { return 1u << 31; }

static inline int linux_socket_option(int fd, int level, int name, int value) {
    return setsockopt(fd, level, name, &value, sizeof value);
}

/// Makes `close` drop what was not sent and tell the peer by RST.
static inline int linux_reset_on_close(int fd) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

/// The error a socket has kept for us, or 0.
static inline int linux_socket_error(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

/// A connected or connecting TCP socket; -1 and errno when even that fails.
static inline int linux_tcp_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
}

// GNU's, which the headers declare only to those who ask before the first of them.
extern int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags);

static inline int linux_accept(int listener) {
    return accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/// Two pieces in one call, without SIGPIPE.
static inline long linux_send_both(int fd, const void *a, unsigned long aCount, const void *b, unsigned long bCount) {
    struct iovec pieces[2] = {{(void *)a, aCount}, {(void *)b, bCount}};
    struct msghdr message = {0};
    message.msg_iov = pieces;
    message.msg_iovlen = 2;
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static inline long linux_send(int fd, const void *bytes, unsigned long count) {
    return send(fd, bytes, count, MSG_NOSIGNAL);
}

/// Leaves every signal to the thread that waits for signals.
static inline void linux_block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, 0);
}

// GNU's as well.
extern const char *strerrordesc_np(int code);
extern int pthread_setname_np(pthread_t thread, const char *name);

/// Static text for an error number, or NULL.
static inline const char *linux_error_words(int code) { return strerrordesc_np(code); }

/// At most 15 bytes are kept.
static inline void linux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

/// Raises the nice value of the calling thread, which on Linux has one of its own. It needs no privilege. Returns 0 or -1.
static inline int linux_nice_thread(int nice) { return setpriority(PRIO_PROCESS, 0, nice); }

extern int pipe2(int ends[2], int flags);

/// Both ends are closed in children.
static inline int linux_pipe(int *ends) { return pipe2(ends, O_CLOEXEC); }

// What Glibc's Swift module leaves out of Linux: epoll, eventfd, and the calls that Swift
// cannot reach because they are variadic or macros.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/// Opens or creates a file; `open` itself is variadic.
static inline int linux_open(const char *path, int flags, unsigned mode) {
    return open(path, flags | O_CLOEXEC, mode);
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

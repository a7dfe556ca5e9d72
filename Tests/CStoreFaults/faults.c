#define _GNU_SOURCE
#include "CStoreFaults.h"
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static _Thread_local int armed, seen, first, last, failure;

void store_faults_arm(int after, int count, int error) {
    armed = 1;
    seen = 0;
    first = after;
    last = after + count;
    failure = error;
}

int store_faults_disarm(void) {
    armed = 0;
    return seen;
}

static int fails(void) {
    if (!armed) return 0;
    int number = seen++;
    if (number < first || number >= last) return 0;
    if (failure == STORE_FAULTS_KILL) kill(getpid(), SIGKILL);
    errno = failure;
    return 1;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
    return fails() ? -1 : syscall(SYS_pwrite64, fd, bytes, size, at);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    return fails() ? -1 : syscall(SYS_write, fd, bytes, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    return fails() ? -1 : syscall(SYS_writev, fd, parts, count);
}

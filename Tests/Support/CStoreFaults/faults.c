#define _GNU_SOURCE
#include "CStoreFaults.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// The plan of the failures: the writes with the numbers first_failing to below first_succeeding fail.
static _Thread_local int armed, write_count, first_failing, first_succeeding, failure;

void store_faults_arm(int after, int count, int error) {
    armed = 1;
    write_count = 0;
    first_failing = after;
    first_succeeding = after + count;
    failure = error;
}

int store_faults_disarm(void) {
    armed = 0;
    return write_count;
}

// The record of the calls. A full record drops further lines.
static _Thread_local int recording;
static _Thread_local char record[1 << 14], last_line[300];

void store_calls_record(void) {
    recording = 1;
    record[0] = last_line[0] = 0;
}

const char *store_calls_recorded(void) {
    recording = 0;
    return record;
}

static void note_path(const char *operation, const char *path) {
    if (!recording) return;
    const char *slash = strrchr(path, '/');
    char line[300];
    snprintf(line, sizeof line, "%s %.200s\n", operation, slash ? slash + 1 : path);
    if (strcmp(line, last_line) == 0 || strlen(record) + strlen(line) >= sizeof record) return;
    strcpy(last_line, line);
    strcat(record, line);
}

static void note_file(const char *operation, int fd) {
    if (!recording) return;
    char link[40], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return;
    path[size] = 0;
    note_path(operation, path);
}

// Counts a write. Returns 1, with errno set, if it must fail.
static int fails(void) {
    if (!armed) return 0;
    int number = write_count++;
    if (number < first_failing || number >= first_succeeding) return 0;
    if (failure == STORE_FAULTS_KILL) kill(getpid(), SIGKILL);
    errno = failure;
    return 1;
}

// The definitions that replace libc's. Each calls the kernel itself.

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
    note_file("write", fd);
    return fails() ? -1 : syscall(SYS_pwrite64, fd, bytes, size, at);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    note_file("write", fd);
    return fails() ? -1 : syscall(SYS_write, fd, bytes, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    note_file("write", fd);
    return fails() ? -1 : syscall(SYS_writev, fd, parts, count);
}

int fsync(int fd) {
    note_file("sync", fd);
    return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    note_file("sync", fd);
    return syscall(SYS_fdatasync, fd);
}

int rename(const char *from, const char *to) {
    note_path("rename", to);
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

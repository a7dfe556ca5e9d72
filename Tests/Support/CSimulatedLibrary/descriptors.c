#define _GNU_SOURCE
#include "simulated_library.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

// The network of the simulation. A TCP socket is a local socket of the system, whose address names the port, because a
// local socket passes its bytes on at once, in the same order in every run. Each descriptor belongs to the process that
// made it, so that a kill closes it.

enum { DESCRIPTORS_MAX = 1 << 16, FIRST_PORT = 50000 };

static int32_t owners[DESCRIPTORS_MAX];
static uint16_t ports[DESCRIPTORS_MAX];
static uint16_t last_port = FIRST_PORT;

static int own(int descriptor) {
    if (descriptor >= 0 && descriptor < DESCRIPTORS_MAX) {
        owners[descriptor] = simulated_process_current();
        ports[descriptor] = 0;
    }
    return descriptor;
}

void simulated_descriptors_close(int32_t process) {
    for (int descriptor = 0; process != 0 && descriptor < DESCRIPTORS_MAX; descriptor++)
        if (owners[descriptor] == process) close(descriptor);
}

void simulated_descriptor_signal(int descriptor) { eventfd_write(descriptor, 1); }

pid_t simulated_fork(void) { return fork(); }

// MARK: The functions of libc that make descriptors

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < DESCRIPTORS_MAX) owners[descriptor] = 0;
    return (int)syscall(SYS_close, descriptor);
}

static int open_at(const char *path, int flags, mode_t mode) {
    return own((int)syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

static mode_t mode_argument(int flags, va_list arguments) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_argument(flags, arguments);
    va_end(arguments);
    return open_at(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_argument(flags, arguments);
    va_end(arguments);
    return open_at(path, flags, mode);
}

int epoll_create1(int flags) { return own((int)syscall(SYS_epoll_create1, flags)); }

int eventfd(unsigned count, int flags) { return own((int)syscall(SYS_eventfd2, count, flags)); }

// MARK: Sockets

static bool is_internet(int family) {
    return simulated_machine_is_on() && (family == AF_INET || family == AF_INET6);
}

int socket(int family, int type, int protocol) {
    if (is_internet(family)) return own((int)syscall(SYS_socket, AF_UNIX, type, 0));
    return own((int)syscall(SYS_socket, family, type, protocol));
}

static uint16_t port_of(const struct sockaddr *address) {
    return ntohs(address->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                                : ((const struct sockaddr_in *)address)->sin_port);
}

/// Returns the local address that stands for a port of the simulation, and its length.
static socklen_t local_address(uint16_t port, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    // The leading zero byte keeps the address out of the file system.
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "flotilla-simulation-%d-%d",
                          (int)getpid(), port);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int bind(int descriptor, const struct sockaddr *address, socklen_t length) {
    if (!is_internet(address->sa_family)) return (int)syscall(SYS_bind, descriptor, address, length);
    uint16_t port = port_of(address);
    if (port == 0) port = ++last_port;
    struct sockaddr_un local;
    socklen_t local_length = local_address(port, &local);
    int code = (int)syscall(SYS_bind, descriptor, &local, local_length);
    if (code == 0) ports[descriptor] = port;
    return code;
}

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    if (!is_internet(address->sa_family)) return (int)syscall(SYS_connect, descriptor, address, length);
    struct sockaddr_un local;
    socklen_t local_length = local_address(port_of(address), &local);
    return (int)syscall(SYS_connect, descriptor, &local, local_length);
}

int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags) {
    if (simulated_machine_is_on()) address = 0, length = 0;
    return own((int)syscall(SYS_accept4, listener, address, length, flags));
}

/// Writes the address of this machine with a port.
static int write_address(uint16_t port, struct sockaddr *address, socklen_t *length) {
    struct sockaddr_in made = {0};
    made.sin_family = AF_INET;
    made.sin_port = htons(port);
    made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memcpy(address, &made, *length < sizeof made ? *length : sizeof made);
    *length = sizeof made;
    return 0;
}

int getsockname(int descriptor, struct sockaddr *address, socklen_t *length) {
    if (!simulated_machine_is_on()) return (int)syscall(SYS_getsockname, descriptor, address, length);
    return write_address(ports[descriptor], address, length);
}

int getpeername(int descriptor, struct sockaddr *address, socklen_t *length) {
    if (!simulated_machine_is_on()) return (int)syscall(SYS_getpeername, descriptor, address, length);
    return write_address(FIRST_PORT, address, length);
}

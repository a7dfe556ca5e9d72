// libmicrohttpd, as Debian ships it (0.9.75): its variadic calls, and what Linux knows of a socket.
#pragma once
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

typedef struct mhd_settings {
    /// Negative for a server without one, to which connections are added.
    int listen_socket;
    int is_ipv6;
    unsigned threads;
    unsigned connections_max;
    unsigned connections_per_peer_max;
    size_t connection_memory_bytes;
    MHD_AccessHandlerCallback handle;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback notify;
    void *(*uri)(void *context, const char *uri, struct MHD_Connection *connection);
    void *context;
} mhd_settings;

/// NULL when threads or memory are short. It owns the socket from then on.
static inline struct MHD_Daemon *mhd_start(const mhd_settings *s) {
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    if (s->is_ipv6) flags |= MHD_USE_IPv6;
    struct MHD_OptionItem more[3];
    unsigned count = 0;
    if (s->listen_socket >= 0)
        more[count++] = (struct MHD_OptionItem){MHD_OPTION_LISTEN_SOCKET, s->listen_socket, NULL};
    else
        flags |= MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC;
    if (s->threads > 1)
        more[count++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, s->threads, NULL};
    more[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return MHD_start_daemon(
        flags, 0, NULL, NULL, s->handle, s->context,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_CONNECTION_LIMIT, s->connections_max,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, s->connections_per_peer_max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, s->connection_memory_bytes,
        MHD_OPTION_NOTIFY_COMPLETED, s->completed, s->context,
        MHD_OPTION_NOTIFY_CONNECTION, s->notify, s->context,
        MHD_OPTION_URI_LOG_CALLBACK, s->uri, s->context,
        MHD_OPTION_ARRAY, more,
        MHD_OPTION_END);
}

/// Gives the server a connected socket, which it closes, also if it refuses it because of a limit.
static inline int mhd_add(struct MHD_Daemon *daemon, int descriptor, const void *peer, unsigned peer_length) {
    return MHD_add_connection(daemon, descriptor, (const struct sockaddr *)peer, (socklen_t)peer_length) == MHD_YES;
}

/// The descriptor, or -1.
static inline int mhd_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/// What `notify` left for the connection.
static inline void *mhd_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/// Bytes from the request line to the empty line after the headers; 0 before they are there.
static inline size_t mhd_head_bytes(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

/// The peer's address without the port: `192.0.2.1`, `2001:db8::1`; an IPv4 peer of an IPv6 socket
/// reads like any IPv4 peer.
static inline void mhd_peer(struct MHD_Connection *connection, char out[INET6_ADDRSTRLEN]) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    out[0] = 0;
    if (!info || !info->client_addr) return;
    if (info->client_addr->sa_family == AF_INET6) {
        const struct in6_addr *address = &((const struct sockaddr_in6 *)info->client_addr)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(address))
            inet_ntop(AF_INET, (const uint8_t *)address + 12, out, INET6_ADDRSTRLEN);
        else
            inet_ntop(AF_INET6, address, out, INET6_ADDRSTRLEN);
    } else if (info->client_addr->sa_family == AF_INET) {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)info->client_addr)->sin_addr, out, INET6_ADDRSTRLEN);
    }
}

/// Bytes the peer has sent on this connection so far. The C library's `tcp_info` ends before the
/// field `tcpi_bytes_received`, which the kernel has at this offset since 4.1.
static inline uint64_t mhd_bytes_received(int descriptor) {
    enum { offset = 128, size = 8 };
    char info[offset + size];
    socklen_t length = sizeof info;
    uint64_t received = 0;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, info, &length) == 0 && length == sizeof info)
        memcpy(&received, info + offset, size);
    return received;
}

// The library's enumerations, as Swift finds them whatever attributes they carry.
static const enum MHD_Result mhd_yes = MHD_YES;
static const enum MHD_Result mhd_no = MHD_NO;
static const enum MHD_ResponseMemoryMode mhd_copy = MHD_RESPMEM_MUST_COPY;

static inline int mhd_is_start(enum MHD_ConnectionNotificationCode change) {
    return change == MHD_CONNECTION_NOTIFY_STARTED;
}

static inline void mhd_header_lines(struct MHD_Connection *connection, MHD_KeyValueIteratorN each, void *context) {
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, each, context);
}

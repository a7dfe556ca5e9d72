internal import CLinux
internal import Glibc

/// The settings of a connection.
package struct TCPOptions: Sendable {
    /// The limit in milliseconds for unacknowledged bytes (TCP_USER_TIMEOUT). Beyond it the connection ends.
    /// The bytes of a peer that does not read count as unacknowledged. Nil means the kernel's limit, about 15
    /// minutes.
    package var unacknowledgedMillisecondsMax: Int?
    /// The idle seconds before the kernel probes the peer. The connection ends after 3 failed probes.
    package var keepAliveSeconds = 30
    /// The waiting bytes at which `send` returns false. `writable` comes when half of them are sent.
    package var highWaterBytes = 1024 * 1024
    /// The limit of waiting bytes. Beyond it the connection ends, because an owner that ignores `false` has a
    /// bug.
    package var outboundBytesMax = 256 * 1024 * 1024
    /// Whether the delegate gets `inputEnded` at the peer's last byte, instead of an immediate close.
    package var keepsOpenAfterInputEnds = false

    package init() {}

    func apply(to descriptor: Int32) {
        // These options are optional, so errors are ignored.
        _ = linux_socket_option(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        _ = linux_socket_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        _ = linux_socket_option(
            descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, Int32(clamping: keepAliveSeconds))
        _ = linux_socket_option(
            descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, Int32(clamping: max(1, keepAliveSeconds / 3)))
        _ = linux_socket_option(descriptor, Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
        if let limit = unacknowledgedMillisecondsMax {
            _ = linux_socket_option(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(clamping: limit))
        }
    }
}

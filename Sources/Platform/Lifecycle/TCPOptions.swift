internal import CLinux
internal import Glibc

/// The settings of a TCP connection.
package struct TCPOptions: Sendable {
    /// The time for which sent bytes may be unacknowledged (TCP_USER_TIMEOUT). Then the connection ends.
    /// Bytes that wait because the peer does not read count too. Nil means the kernel's limit, about 15
    /// minutes.
    package var unacknowledgedMillisecondsMax: Int?
    /// The idle time before the kernel probes the peer. The connection ends after three failed probes.
    package var keepAliveSeconds = 30
    /// The number of waiting bytes at which `send` returns false. `didBecomeWritable` comes at half of it.
    package var highWaterBytes = 1024 * 1024
    /// The limit of waiting bytes. Beyond it the connection ends, because its owner has ignored that `send`
    /// returned false.
    package var outboundBytesMax = 256 * 1024 * 1024
    /// Whether the delegate gets `inputDidEnd` after the peer's last byte. Otherwise the connection closes
    /// then.
    package var keepsOpenAfterInputEnds = false
    /// Returns the reason why a connection to this address is forbidden, or nil if it is allowed. If any address of
    /// the host is forbidden, no connection is made. The addresses are checked after each lookup, because a name can
    /// get other addresses between a check and the connection.
    package var addressProblem: (@Sendable (SocketAddress) -> String?)?

    package init() {}

    func apply(to descriptor: Int32) {
        // A connection works without these options, so errors are ignored.
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

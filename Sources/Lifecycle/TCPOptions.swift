internal import CLinux
internal import Glibc

/// How a connection treats its peer.
package struct TCPOptions: Sendable {
    /// Unacknowledged bytes after this many milliseconds end the connection (TCP_USER_TIMEOUT); the
    /// kernel counts a peer that does not read among them. Nil leaves it to the kernel's quarter hour.
    package var unacknowledgedMillisecondsMax: Int?
    /// Idle seconds after which the kernel asks whether the peer is there; given up after 3 questions.
    package var keepAliveSeconds = 30
    /// Bytes waiting at which `send` says stop; `writable` comes when half of them are gone.
    package var highWaterBytes = 1024 * 1024
    /// Bytes waiting beyond which the connection is ended: an owner that does not stop has a fault.
    package var outboundBytesMax = 256 * 1024 * 1024
    /// Ask `inputEnded` when the peer has sent its last byte, instead of closing at once.
    package var keepsOpenAfterInputEnds = false

    package init() {}

    func apply(to descriptor: Int32) {
        // What the kernel refuses here is a comfort, not a need.
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

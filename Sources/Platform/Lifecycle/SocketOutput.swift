internal import CLinux
internal import Glibc

/// The sending side of a non-blocking socket: the waiting bytes, and whether the kernel's buffer is full.
/// Only EAGAIN sets that state, and only an event of the loop clears it.
struct SocketOutput: ~Copyable {
    var pendingBytes = OutboundBuffer()
    private var isBlocked = false

    init() {}

    var canSend: Bool { !isBlocked }

    /// Notes that the kernel has space. Returns whether it had none before.
    mutating func unblock() -> Bool {
        defer { isBlocked = false }
        return isBlocked
    }

    /// Sends until no bytes wait or the kernel's buffer is full.
    mutating func flush(to descriptor: Int32) throws(SystemError) {
        while !pendingBytes.isEmpty, !isBlocked {
            let bytes = unsafe pendingBytes.bytes
            let sent = unsafe linux_send(descriptor, bytes.baseAddress, UInt(bytes.count))
            if sent >= 0 {
                pendingBytes.consume(count: sent)
            } else {
                try handleSendError(code: errno)
            }
        }
    }

    /// Sends the waiting and the new bytes in one call. Only bytes that the kernel does not accept are
    /// copied.
    mutating func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(SystemError) {
        let first = unsafe pendingBytes.bytes
        let sent =
            if unsafe first.isEmpty {
                unsafe linux_send(descriptor, bytes.baseAddress, UInt(bytes.count))
            } else {
                unsafe linux_send_both(
                    descriptor, first.baseAddress, UInt(first.count), bytes.baseAddress, UInt(bytes.count))
            }
        if sent < 0 { try handleSendError(code: errno) }
        let taken = max(0, sent)
        let fromWaiting = min(taken, first.count)
        pendingBytes.consume(count: fromWaiting)
        unsafe pendingBytes.append(UnsafeRawBufferPointer(rebasing: bytes[(taken - fromWaiting)...]))
        try flush(to: descriptor)
    }

    private mutating func handleSendError(code: Int32) throws(SystemError) {
        guard code != EINTR else { return }
        guard code == EAGAIN else { throw SystemError(action: "send to the peer", code: code) }
        isBlocked = true
    }
}

internal import CLinux
internal import Glibc

/// The sending side of a non-blocking socket: the bytes that wait, and whether the kernel's buffer is full.
struct SocketOutput: ~Copyable {
    var pendingBytes = OutboundBuffer()
    /// Whether the kernel's buffer is full. EAGAIN sets it. The next event `writable` clears it, by
    /// `unblock`.
    private var isBlocked = false

    init() {}

    var canSend: Bool { !isBlocked }

    /// Notes that the kernel has space. Returns whether it had none before.
    mutating func unblock() -> Bool {
        let wasBlocked = isBlocked
        isBlocked = false
        return wasBlocked
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

    /// Sends the bytes that wait and the new bytes in one system call. Only bytes that the kernel does not
    /// accept are copied.
    mutating func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(SystemError) {
        let pending = unsafe pendingBytes.bytes
        let result =
            if unsafe pending.isEmpty {
                unsafe linux_send(descriptor, bytes.baseAddress, UInt(bytes.count))
            } else {
                unsafe linux_send_both(
                    descriptor, pending.baseAddress, UInt(pending.count), bytes.baseAddress,
                    UInt(bytes.count))
            }
        if result < 0 { try handleSendError(code: errno) }
        let sentCount = max(0, result)
        let sentPendingCount = min(sentCount, pending.count)
        pendingBytes.consume(count: sentPendingCount)
        unsafe pendingBytes.append(
            UnsafeRawBufferPointer(rebasing: bytes[(sentCount - sentPendingCount)...]))
        // The loop reports that the socket is writable only after EAGAIN, so the rest is sent until then.
        try flush(to: descriptor)
    }

    private mutating func handleSendError(code: Int32) throws(SystemError) {
        guard code != EINTR else { return }
        guard code == EAGAIN else { throw SystemError(action: "send to the peer", code: code) }
        isBlocked = true
    }
}

internal import CLinux
internal import CRdKafka
internal import Glibc

/// A file descriptor that is readable while the client's queue has work. An event loop waits on it.
///
/// The library writes to it when its queue stops being empty, and not again before the queue was empty. So
/// the reader clears it first and then reads the queue. A reader that leaves something in the queue calls
/// `signal`.
final class WakeupDescriptor: Sendable {
    let descriptor: Int32

    init() throws(ConfigurationError) {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else {
            let reason = unsafe String(cString: strerror(errno))
            throw ConfigurationError(problems: [
                "cannot open a file descriptor for a kafka client: \(reason); raise the limit (ulimit -n)"
            ])
        }
    }

    deinit { close(descriptor) }

    /// Lets the library write to the descriptor when the queue stops being empty.
    func attach(to queue: OpaquePointer) {
        // An eventfd counts in eight bytes.
        var one: UInt64 = 1
        unsafe rd_kafka_queue_io_event_enable(queue, descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Makes the descriptor unreadable. Call it before the queue is read.
    func clear() {
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, MemoryLayout<UInt64>.size)
    }

    /// Makes the descriptor readable.
    func signal() { eventfd_write(descriptor, 1) }
}

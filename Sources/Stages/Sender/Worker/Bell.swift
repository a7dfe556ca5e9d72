internal import Kafka
internal import Lifecycle

/// A signal that rings when a queue of Kafka may have records. Polling each queue in every turn would cost as
/// much as the pushes of a small turn.
final class Bell: EventHandler {
    private let descriptor: Int32
    private(set) var isRinging = true
    /// Nil after the sender is gone. The loop may report the descriptor for a moment longer.
    private unowned(safe) var sender: SenderLoop?

    init(of descriptor: Int32, for sender: SenderLoop) {
        self.descriptor = descriptor
        self.sender = sender
    }

    func register(on loop: EventLoop) throws { try loop.register(descriptor, for: .readable, self) }

    func deregister(from loop: EventLoop) {
        loop.deregister(descriptor)
        sender = nil
    }

    /// Notes that the queue has more records, or may have.
    func ring() {
        isRinging = true
        sender?.hook()
    }

    /// Returns whether to poll now, and stops the ringing.
    func answer() -> Bool {
        defer { isRinging = false }
        return isRinging
    }

    func ready(_ readiness: Readiness) { ring() }
    func loopEnds() {}
}

/// The bells of a loop, one for each queue.
struct Bells {
    let jobs: Bell
    let receipts: Bell
    let notes: Bell
    var deliveries: Bell

    init(of sender: SenderLoop) {
        jobs = Bell(of: sender.consumer.descriptor, for: sender)
        receipts = Bell(of: sender.receipts.descriptor, for: sender)
        notes = Bell(of: sender.notes.descriptor, for: sender)
        deliveries = Bell(of: sender.writer.descriptor, for: sender)
    }

    var all: [Bell] { [jobs, receipts, notes, deliveries] }
}

internal import Kafka
internal import Lifecycle

/// A signal that a queue of the Kafka library may have records. Without it each step would poll each queue, which costs
/// as much as the pushes of a small step.
final class WakeupSignal: EventHandler {
    private let descriptor: Int32
    private(set) var isRaised = true
    /// Nil after `deregister`. The loop may report the descriptor for a moment longer. Before that, the sender exists:
    /// only the loop's thread calls this object, and `LoopOwned` keeps the sender until the thread has ended.
    private unowned(safe) var sender: SenderLoop?

    init(of descriptor: Int32, for sender: SenderLoop) {
        self.descriptor = descriptor
        self.sender = sender
    }

    func register(on loop: EventLoop) throws { try loop.register(descriptor, for: .readable, handler: self) }

    func deregister(from loop: EventLoop) {
        loop.deregister(descriptor)
        sender = nil
    }

    /// Notes that the queue may have more records, and asks for a step.
    func raise() {
        isRaised = true
        sender?.requestStep()
    }

    /// Returns whether the signal was raised, and lowers it.
    func take() -> Bool {
        let wasRaised = isRaised
        isRaised = false
        return wasRaised
    }

    func didBecomeReady(_ readiness: Readiness) { raise() }
    func loopWillEnd() {}
}

/// The signals of a loop, one for each queue.
struct WakeupSignals {
    let jobs: WakeupSignal
    let receipts: WakeupSignal
    let superseded: WakeupSignal
    /// The signal of the producer. It changes with the producer.
    var deliveries: WakeupSignal

    init(of sender: SenderLoop) {
        jobs = WakeupSignal(of: sender.consumer.descriptor, for: sender)
        receipts = WakeupSignal(of: sender.receipts.descriptor, for: sender)
        superseded = WakeupSignal(of: sender.superseded.descriptor, for: sender)
        deliveries = WakeupSignal(of: sender.writer.descriptor, for: sender)
    }

    var all: [WakeupSignal] { [jobs, receipts, superseded, deliveries] }
}

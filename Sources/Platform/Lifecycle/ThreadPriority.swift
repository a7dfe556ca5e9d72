internal import CLinux

/// The share of the processors that a thread gets while they are all busy. Threads that it starts get the same share, for
/// example those of its Kafka clients.
///
/// A nice value compares only threads of one control group, so a stage with a container or a service of its own keeps its
/// share of the machine.
package enum ThreadPriority: Sendable {
    /// Work on the way of a send to the phones.
    case normal
    /// Work that can wait for a moment: reports of phones, and queries. Anyone can take the key out of an app and cause
    /// much of this work.
    case background

    /// A thread with this nice value gets a tenth of the share of a normal one, so it slows down and never stops.
    private static let backgroundNiceValue: Int32 = 10

    /// Applies the priority to the calling thread. A failure changes only the order of work under load.
    func applyToCurrentThread() {
        switch self {
        case .normal: break
        case .background: _ = linux_nice_thread(Self.backgroundNiceValue)
        }
    }
}

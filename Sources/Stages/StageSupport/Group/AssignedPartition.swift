package import Lifecycle

/// One partition number that this process owns, in all topics of a group's subscription.
package protocol AssignedPartition {
    init(partition: Int32, assignedAt now: Instant)

    var partition: Int32 { get }
    var state: PartitionState { get set }
    /// The time of the assignment, or of the newest start-over, for metrics.
    var restoringSince: Instant { get set }
    /// The name for operators, such as `lane 3`.
    var name: String { get }

    /// Returns the offset of the next record to read, or nil for the topic's beginning.
    ///
    /// - Parameter topic: the topic's index in the subscription.
    func nextOffset(in topic: Int) -> Int64?
    /// Returns the newest committed offset, or nil before the first commit.
    func committedOffset(in topic: Int) -> Int64?
    /// Whether a record that was read is not committed at the end of an iteration.
    func hasUncommittedRecords(in topic: Int) -> Bool
    /// Notes that everything below `offset` is committed.
    mutating func markCommitted(below offset: Int64, in topic: Int)
    /// Continues at the offset that the group has committed.
    mutating func resume(at offset: Int64?, in topic: Int)
}

/// The state of a partition's records.
package enum PartitionState: Equatable, Sendable {
    /// The records wait until the loop has read the state that they need, such as a view.
    case restoring
    /// The records are read and decided.
    case serving
    /// The next records are gone. The partition is checked regularly until it can continue. The text is for operators.
    case outOfRange(String)
    /// The results of the records cannot be written now. The partition waits until they can. The text is for operators.
    case setAside(String)
}

extension AssignedPartition {
    package func committedOffset(in topic: Int) -> Int64? { nextOffset(in: topic) }
    package func hasUncommittedRecords(in topic: Int) -> Bool { false }

    package var isServing: Bool { state == .serving }

    /// Whether the next record can be read.
    package var isReadable: Bool {
        switch state {
        case .restoring, .serving: true
        case .outOfRange, .setAside: false
        }
    }

    /// The reason why the records wait, for operators. Nil while they are served.
    package var readinessProblem: String? {
        switch state {
        case .serving: nil
        case .restoring: "\(name) is being restored"
        case .outOfRange(let text): "\(name) stopped: \(text)"
        case .setAside(let text): "\(name) waits: \(text)"
        }
    }
}

/// A partition whose records are committed in their order.
package protocol PositionedPartition: AssignedPartition {
    var positions: ReadPositions { get set }
}

extension PositionedPartition {
    package func nextOffset(in topic: Int) -> Int64? { positions[topic].committed }
    package mutating func resume(at offset: Int64?, in topic: Int) { positions[topic].resume(at: offset) }
    package mutating func markCommitted(below offset: Int64, in topic: Int) {
        positions[topic].markCommitted(below: offset)
    }
}

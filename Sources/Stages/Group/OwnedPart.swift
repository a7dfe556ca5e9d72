package import Lifecycle

/// What a member of a group owns: one partition number in each of its topics.
package protocol OwnedPart {
    init(_ partition: Int32, at now: Instant)

    var partition: Int32 { get }
    var condition: PartCondition { get set }
    /// Since it was assigned, or what it needs began to be read again.
    var restoringSince: Instant { get set }
    /// For a person, as `lane 3`.
    var name: String { get }

    /// Where records are read on; nil for a topic's beginning.
    ///
    /// - Parameter topic: its index in the subscription.
    func next(in topic: Int) -> Int64?
    /// The newest offset that was committed; nil if there is none.
    func committed(in topic: Int) -> Int64?
    /// Whether a record was read and is not committed, when the loop ends its turn.
    func hasWaiting(in topic: Int) -> Bool
    /// Notes that everything below `offset` is committed.
    mutating func reached(_ offset: Int64, in topic: Int)
    /// The newest word of the group about where to read on.
    mutating func begin(at offset: Int64?, in topic: Int)
}

/// Whether its records flow.
package enum PartCondition: Equatable, Sendable {
    /// What its records need is read to the end first. They wait.
    case restoring
    case serving
    /// The next records are gone. The partition is looked at again and again until it can continue.
    case outOfRange(String)
}

extension OwnedPart {
    package func committed(in topic: Int) -> Int64? { next(in: topic) }
    package func hasWaiting(in topic: Int) -> Bool { false }

    package var isServing: Bool { condition == .serving }

    /// Its next record is there.
    package var isReadable: Bool {
        if case .outOfRange = condition { false } else { true }
    }

    /// Why its records wait, for a person; nil when they flow.
    package var obstacle: String? {
        switch condition {
        case .serving: nil
        case .restoring: "\(name) is being restored"
        case .outOfRange(let text): "\(name) stopped: \(text)"
        }
    }
}

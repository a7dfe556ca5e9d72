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
    /// The newest word of the group about where to read on.
    mutating func begin(at offset: Int64?, in topic: Int)
}

/// Whether its records flow.
package enum PartCondition: Equatable, Sendable {
    /// What its records need is read to the end first. They wait.
    case restoring
    case serving
    /// The records that come next are gone; a person decides where to go on.
    case outOfRange(String)
}

extension OwnedPart {
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

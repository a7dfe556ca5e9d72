package import Kafka

/// The place of a process in its group. Without one, it is not ready.
package enum Membership: Sendable {
    /// The group has not offered partitions yet.
    case joining
    /// The newest offer counts, also if it has no partitions.
    case joined
    /// The group has taken the partitions away without asking, and has not offered any since.
    case lost

    package mutating func handle(_ event: ConsumerEvent) {
        switch event {
        case .offered: self = .joined
        case .lost: self = .lost
        case .revoked, .suspended, .reachedEnd, .committed, .queryCompleted, .failed: break
        }
    }

    /// The reason why this process owns nothing, for operators; nil if it is a member.
    package var readinessProblem: String? {
        switch self {
        case .joining: "this process is joining its group"
        case .joined: nil
        case .lost: "the partitions of this process were lost; it joins its group again"
        }
    }
}

package import Kafka

/// Whether a process is a member of its group. It is ready only as a member.
package enum Membership: Sendable {
    /// The group has not offered partitions yet.
    case joining
    /// The group has made an offer, perhaps without partitions.
    case joined
    /// The group has taken the partitions away without asking, and has not offered any since.
    case lost

    /// Notes an event of the group.
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

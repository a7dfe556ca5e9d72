internal import Lifecycle

/// The requests to the group to commit offsets. A request waits until the one before it is answered. Only the last
/// commit, before the partitions are given back, does not wait.
struct OffsetCommits {
    /// The request that waits for its answer.
    private enum Request: Sendable, Hashable {
        case none
        case pending([DeliveryActions.OffsetCommit])
        /// The last commit before the partitions are given back.
        case last
    }

    /// The meaning of the group's answer.
    enum Answer {
        /// The answer belongs to an earlier assignment, or a last commit has overtaken its request. So it says
        /// nothing about the offsets of the newest request.
        case outdated
        /// The last commit was answered. Whether it was refused no longer matters.
        case lastIsDone
        /// The offsets are not committed. A later commit has them again.
        case refused
        case done([DeliveryActions.OffsetCommit])
    }

    private var request = Request.none
    /// Number of the newest request.
    private var number = 0
    /// Time of the next commit of advanced offsets.
    private(set) var nextDue = Instant(nanoseconds: 0)

    var isIdle: Bool { request == .none }
    var isLastAsked: Bool { request == .last }

    /// Sets the time of the next commit of advanced offsets.
    mutating func postpone(until due: Instant) { nextDue = due }

    /// Asks the group to commit offsets.
    mutating func ask(
        for offsets: [DeliveryActions.OffsetCommit], isLast: Bool, into actions: inout DeliveryActions
    ) {
        if offsets.isEmpty, !isLast { return }
        number += 1
        // The order of the commits decides the order in which lanes begin.
        actions.commits = offsets.sorted { ($0.lane, $0.topic.rawValue) < ($1.lane, $1.topic.rawValue) }
        actions.commitNumber = number
        if isLast { actions.isLastCommit = true }
        request = isLast ? .last : .pending(actions.commits)
    }

    /// Handles the group's answer to a request.
    ///
    /// - Parameter isAccepted: false if the group refused it.
    mutating func answered(_ answeredNumber: Int, isAccepted: Bool) -> Answer {
        guard answeredNumber == number else { return .outdated }
        let answeredRequest = request
        request = .none
        switch answeredRequest {
        case .last: return .lastIsDone
        case .pending(let offsets): return isAccepted ? .done(offsets) : .refused
        // The request was forgotten.
        case .none: return .outdated
        }
    }

    /// Forgets the request, because the lanes are gone.
    mutating func forget() { request = .none }
}

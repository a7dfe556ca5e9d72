/// A member's view of its partitions: the pending rebalance step, the epoch of its records, and the paused
/// partitions. A pure value; the consumer carries out what it decides.
package struct AssignmentState: Sendable {
    package enum Pending: Sendable, Equatable {
        case assignment([TopicPartition])
        case revocation([TopicPartition])
        case loss([TopicPartition])
    }

    /// A number that grows whenever partitions come or go. Work read in one epoch is never committed in
    /// another.
    package private(set) var epoch = 0
    package private(set) var partitions: Set<TopicPartition> = []
    package private(set) var paused: Set<TopicPartition> = []
    /// Whether the process was stopped for so long that the group may have reassigned the partitions. It
    /// stays true until a later commit proves that it did not.
    package private(set) var isSuspect = false
    private var commitsAsked = 0
    private var commitsAnswered = 0
    /// Answers to commits from before the stop prove nothing about the time after it.
    private var commitsBeforeStop = 0
    /// A change that the stage knows and has not answered.
    package private(set) var pending: Pending?

    package init() {}

    package mutating func offered(_ partitions: [TopicPartition]) { pending = .assignment(partitions) }

    /// The group revokes the partitions. This member keeps them until it releases them.
    package mutating func revoked(_ partitions: [TopicPartition]) { pending = .revocation(partitions) }

    /// The group has reassigned the partitions. Records that were read from them belong to another member
    /// now.
    package mutating func lost(_ partitions: [TopicPartition]) {
        pending = .loss(partitions)
        epoch += 1
    }

    /// Notes that the process was stopped. Returns false if it has no partitions to lose.
    package mutating func suspended() -> Bool {
        if partitions.isEmpty { return false }
        isSuspect = true
        commitsBeforeStop = commitsAsked
        return true
    }

    /// Notes that a commit was requested and answered after the stop.
    package mutating func confirmed() { isSuspect = false }

    /// The number of commits without an answer.
    package var commitsOpen: Int { commitsAsked - commitsAnswered }

    package mutating func commitAsked() { commitsAsked += 1 }

    /// Notes the answer to a commit. Only a member that still owns its partitions can commit. Answers come in
    /// order.
    package mutating func commitAnswered(_ outcome: CommitOutcome) {
        commitsAnswered += 1
        if outcome == .committed, commitsAnswered > commitsBeforeStop { isSuspect = false }
    }

    package mutating func assigned(_ partitions: some Sequence<TopicPartition>) {
        pending = nil
        self.partitions = Set(partitions)
        paused = []
        isSuspect = false
        epoch += 1
    }

    package mutating func released() {
        if case .loss = pending {} else { epoch += 1 }
        pending = nil
        partitions = []
        paused = []
    }

    /// Returns the partitions that this member owns and that were not paused before.
    package mutating func pause(_ partitions: [TopicPartition]) -> [TopicPartition] {
        let fresh = partitions.filter { self.partitions.contains($0) && !paused.contains($0) }
        paused.formUnion(fresh)
        return fresh
    }

    /// Returns the partitions that were paused. To resume any other partition may rewind it to records that
    /// were read already.
    package mutating func resume(_ partitions: [TopicPartition]) -> [TopicPartition] {
        let held = partitions.filter { paused.contains($0) }
        paused.subtract(held)
        return held
    }
}

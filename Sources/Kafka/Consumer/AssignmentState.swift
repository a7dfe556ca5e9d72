/// What a member knows about its partitions: whose turn it is in a rebalance, which assignment its
/// records belong to, and what it has paused. Values only; the consumer does what this decides.
package struct AssignmentState: Sendable {
    package enum Pending: Sendable, Equatable {
        case assignment([TopicPartition])
        case revocation([TopicPartition])
        case loss([TopicPartition])
    }

    /// Grows whenever partitions come or go. Work read in one epoch is not committed in another.
    package private(set) var epoch = 0
    package private(set) var partitions: Set<TopicPartition> = []
    package private(set) var paused: Set<TopicPartition> = []
    /// The process was stopped for so long that the group may have given the partitions away, and
    /// nothing has shown since that it did not.
    package private(set) var isSuspect = false
    private var commitsAsked = 0
    private var commitsAnswered = 0
    /// Answers to what was asked before the stop prove nothing about the time after it.
    private var commitsBeforeStop = 0
    /// A change that the stage has been told of and has not answered.
    package private(set) var pending: Pending?

    package init() {}

    package mutating func offered(_ partitions: [TopicPartition]) { pending = .assignment(partitions) }

    /// The group wants the partitions back. They stay ours until released.
    package mutating func revoked(_ partitions: [TopicPartition]) { pending = .revocation(partitions) }

    /// The group has taken the partitions: whatever was read from them is another's now.
    package mutating func lost(_ partitions: [TopicPartition]) {
        pending = .loss(partitions)
        epoch += 1
    }

    /// The process was stopped; false when it has no partitions to lose.
    package mutating func suspended() -> Bool {
        if partitions.isEmpty { return false }
        isSuspect = true
        commitsBeforeStop = commitsAsked
        return true
    }

    /// A commit was asked for and answered after the stop.
    package mutating func confirmed() { isSuspect = false }

    /// Commits that were asked for and not answered.
    package var commitsOpen: Int { commitsAsked - commitsAnswered }

    package mutating func commitAsked() { commitsAsked += 1 }

    /// Only a member whose partitions these still are can commit. Answers come in order.
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

    /// Those of `partitions` that are ours and not yet paused.
    package mutating func pause(_ partitions: [TopicPartition]) -> [TopicPartition] {
        let fresh = partitions.filter { self.partitions.contains($0) && !paused.contains($0) }
        paused.formUnion(fresh)
        return fresh
    }

    /// Those of `partitions` that are paused: resuming another one may take it back to records
    /// that were read already.
    package mutating func resume(_ partitions: [TopicPartition]) -> [TopicPartition] {
        let held = partitions.filter { paused.contains($0) }
        paused.subtract(held)
        return held
    }
}

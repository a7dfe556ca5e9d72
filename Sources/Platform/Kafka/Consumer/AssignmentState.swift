/// A member's view of its partitions: the pending rebalance step, the epoch of its records, and the paused
/// partitions. A pure value; the consumer carries out what it decides.
package struct AssignmentState: Sendable {
    package enum PendingRebalance: Sendable, Equatable {
        case assignment([TopicPartition])
        case revocation([TopicPartition])
        case loss([TopicPartition])
    }

    /// A number that grows whenever partitions come or go. Work read in one epoch is never committed in
    /// another.
    package private(set) var epoch = 0
    package private(set) var partitions: Set<TopicPartition> = []
    package private(set) var pausedPartitions: Set<TopicPartition> = []
    /// Whether the process was stopped for so long that the group may have reassigned the partitions. It
    /// stays true until a later commit proves that it did not.
    package private(set) var isSuspect = false
    private var requestedCommits = 0
    private var completedCommits = 0
    /// Answers to commits from before the stop prove nothing about the time after it.
    private var commitsBeforeSuspension = 0
    /// A change that the stage knows and has not answered.
    package private(set) var pendingRebalance: PendingRebalance?

    package init() {}

    package mutating func recordOffer(of partitions: [TopicPartition]) {
        pendingRebalance = .assignment(partitions)
    }

    /// The group revokes the partitions. This member keeps them until it releases them.
    package mutating func recordRevocation(of partitions: [TopicPartition]) {
        pendingRebalance = .revocation(partitions)
    }

    /// The group has reassigned the partitions. Records that were read from them belong to another member
    /// now.
    package mutating func recordLoss(of partitions: [TopicPartition]) {
        pendingRebalance = .loss(partitions)
        epoch += 1
    }

    /// Notes that the process was stopped. Returns false if it has no partitions to lose.
    package mutating func recordSuspension() -> Bool {
        if partitions.isEmpty { return false }
        isSuspect = true
        commitsBeforeSuspension = requestedCommits
        return true
    }

    /// Notes that a commit was requested and answered after the stop.
    package mutating func confirmOwnership() { isSuspect = false }

    /// The number of commits without an answer.
    package var openCommits: Int { requestedCommits - completedCommits }

    package mutating func recordCommitRequest() { requestedCommits += 1 }

    /// Notes the answer to a commit. Only a member that still owns its partitions can commit. Answers come in
    /// order.
    package mutating func recordCommitOutcome(_ outcome: CommitOutcome) {
        completedCommits += 1
        if outcome == .committed, completedCommits > commitsBeforeSuspension { isSuspect = false }
    }

    package mutating func recordAssignment(of partitions: some Sequence<TopicPartition>) {
        pendingRebalance = nil
        self.partitions = Set(partitions)
        pausedPartitions = []
        isSuspect = false
        epoch += 1
    }

    package mutating func recordRelease() {
        if case .loss = pendingRebalance {} else { epoch += 1 }
        pendingRebalance = nil
        partitions = []
        pausedPartitions = []
    }

    /// Returns the partitions that this member owns and that were not paused before.
    package mutating func pause(_ partitions: [TopicPartition]) -> [TopicPartition] {
        let fresh = partitions.filter { self.partitions.contains($0) && !pausedPartitions.contains($0) }
        pausedPartitions.formUnion(fresh)
        return fresh
    }

    /// Returns the partitions that were paused. To resume any other partition may rewind it to records that
    /// were read already.
    package mutating func resume(_ partitions: [TopicPartition]) -> [TopicPartition] {
        let held = partitions.filter { pausedPartitions.contains($0) }
        pausedPartitions.subtract(held)
        return held
    }
}

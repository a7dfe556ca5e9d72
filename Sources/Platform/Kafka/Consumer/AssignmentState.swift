/// A group member's view of its partitions: the pending rebalance step, the epoch of its records, and the
/// paused partitions. It is a pure value. The consumer records events here and calls the library.
package struct AssignmentState: Sendable {
    /// A change of the assignment that the stage knows and has not answered.
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
    /// Whether the process was suspended for so long that the group may have reassigned the partitions. It stays true
    /// until a commit succeeds that was requested afterwards, because only the owner of partitions can commit.
    package private(set) var isUncertain = false
    package private(set) var pendingRebalance: PendingRebalance?

    // The number of asynchronous commits. They are answered in the order of their requests.
    private var requestedCommits = 0
    private var completedCommits = 0
    /// The commits that were requested before the suspension. Their answers prove nothing about the time
    /// after it.
    private var commitsBeforeSuspension = 0

    package init() {}

    /// Notes that the group offers the partitions.
    package mutating func recordOffer(of partitions: [TopicPartition]) {
        pendingRebalance = .assignment(partitions)
    }

    /// Notes that the group revokes the partitions. This member keeps them until it releases them.
    package mutating func recordRevocation(of partitions: [TopicPartition]) {
        pendingRebalance = .revocation(partitions)
    }

    /// Notes that the group has reassigned the partitions. Records that were read from them belong to another
    /// member now.
    package mutating func recordLoss(of partitions: [TopicPartition]) {
        pendingRebalance = .loss(partitions)
        epoch += 1
    }

    /// Notes that the process was suspended for long. Returns false if it has no partitions to lose.
    package mutating func recordSuspension() -> Bool {
        if partitions.isEmpty { return false }
        isUncertain = true
        commitsBeforeSuspension = requestedCommits
        return true
    }

    /// Notes that a commit that was requested after the suspension has succeeded.
    package mutating func confirmOwnership() { isUncertain = false }

    /// The number of commits without an answer.
    package var openCommits: Int { requestedCommits - completedCommits }

    package mutating func recordCommitRequest() { requestedCommits += 1 }

    /// Notes the answer to an asynchronous commit, which may have been requested before the suspension. Only a
    /// member that still owns its partitions can commit.
    package mutating func recordCommitOutcome(_ outcome: CommitOutcome) {
        completedCommits += 1
        let wasRequestedAfterSuspension = completedCommits > commitsBeforeSuspension
        if outcome == .committed, wasRequestedAfterSuspension { isUncertain = false }
    }

    /// Notes that this member has taken the partitions.
    package mutating func recordAssignment(of partitions: some Sequence<TopicPartition>) {
        pendingRebalance = nil
        self.partitions = Set(partitions)
        pausedPartitions = []
        isUncertain = false
        epoch += 1
    }

    /// Notes that this member has released all partitions. A loss has already begun a new epoch.
    package mutating func recordRelease() {
        if case .loss = pendingRebalance {} else { epoch += 1 }
        pendingRebalance = nil
        partitions = []
        pausedPartitions = []
    }

    /// Pauses partitions. Returns those that the library must pause: this member owns them, and they were not
    /// paused.
    package mutating func pause(_ partitions: [TopicPartition]) -> [TopicPartition] {
        let newlyPaused = partitions.filter {
            self.partitions.contains($0) && !pausedPartitions.contains($0)
        }
        pausedPartitions.formUnion(newlyPaused)
        return newlyPaused
    }

    /// Resumes partitions. Returns those that the library must resume: they were paused. To resume any other
    /// partition may rewind it to records that were read already.
    package mutating func resume(_ partitions: [TopicPartition]) -> [TopicPartition] {
        let resumed = partitions.filter { pausedPartitions.contains($0) }
        pausedPartitions.subtract(resumed)
        return resumed
    }
}

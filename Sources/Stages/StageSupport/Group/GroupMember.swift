package import Kafka
internal import Lifecycle
package import Telemetry
package import Topics

/// The membership of a loop in a consumer group, and the partitions that it reads as a member: where each continues,
/// and whether its records are served. Pinned to the loop's thread.
///
/// A new assignment and every failure are handled in one way: the loop starts over. It reads again from the committed
/// offsets, after it has read the state that the records need, such as a view, to its end (`StartOverState`). A partition
/// counts as assigned as soon as the group offers it. The consumer accepts the offer in the first step.
///
///     due ──► offsetsRequested ──► done
///      ▲              │              │
///      └──────────────┴──────────────┘  anything fails, or the group offers partitions
///
/// No call waits for the answer to a query: it comes as an event. `+StartOver` has these steps, and `+Reading` serves
/// the partitions afterwards. `+Gaps` handles offsets that are out of range, and `+Ends` commits ends.
/// `+SetAside` handles partitions whose results cannot be written.
package final class GroupMember<Part: AssignedPartition> {
    /// The progress of a start-over.
    enum StartOverState {
        /// The next try is due at this time.
        case due(Instant)
        /// The committed offsets of these partitions are asked for, and the answer has not come yet.
        case offsetsRequested(OffsetQueryID, [Int32])
        /// No start-over is due. Each partition has its state, or nothing is assigned.
        case done
    }

    let consumer: Consumer
    let layout: TopicLayout
    /// The consumer's subscription. All topics have the same partitions, and an assigned partition number is assigned
    /// in all.
    let topics: [TopicName]
    /// Topics with the same partitions that the loop reads by another consumer. Their offsets are committed in this
    /// group.
    let followedTopics: [TopicName]
    /// The loop's transactions, of which some commit ends.
    let transaction: TransactionRunner
    let log: Log
    /// The clocks of the loop.
    let time: StageTime
    /// Counts the start-overs.
    let startedOver: Counter
    /// The time from the assignment of a partition, or from a start-over, until it is served.
    let restoreSeconds: Histogram
    /// Set before the first event.
    package weak var owner: (any GroupMemberOwner)?

    /// Whether the loop has joined the group, for `readinessProblems`.
    private var membership = Membership.joining
    /// The numbers of the newest offer.
    private var offeredNumbers = OfferedNumbers(of: [])
    /// The partitions of the newest offer, by number. They are here before the consumer accepts the offer, and their
    /// records wait until then.
    package var assignedPartitions: [Int32: Part] = [:]

    // MARK: Starting over

    /// The group's offer of partitions, until the consumer has accepted it.
    var offerToAccept: [TopicPartition]?
    var startOverState = StartOverState.done
    /// The pause before the next step. It grows with each failure, and is reset when a partition is served.
    var startOverPause = StartOverPause()

    // MARK: Positions, which `resetPositions` forgets at each start-over

    /// Partitions that have the state that their records need, but not the position to read from.
    var partitionsAwaitingPosition: Set<Int32> = []
    /// Partitions that the client has stopped, because their offset was out of range.
    var stoppedPartitions: Set<TopicPartition> = []
    /// Whether the consumer has to start again from changed positions.
    var mustStartReading = false
    /// The first offsets of partitions of which the group has committed nothing yet.
    var firstOffsets: [TopicPartition: Int64] = [:]
    /// The partitions that wait for their first offset.
    var awaitedFirstOffsets = AwaitedWatermarks()
    /// Ends of partitions that were reached and are not committed.
    var uncommittedEnds: UncommittedEnds
    var waitingPartitions = WaitingPartitions()

    // MARK: Waiting work

    /// For each assigned partition that is set aside, the partitions of other topics that have to take
    /// records again.
    var setAsidePartitions: [Int32: Set<TopicPartition>] = [:]
    /// Whether the loop has records that are not committed. The loop sets it. While it is true, no end is
    /// committed, because these records lie below the end.
    package var isHoldingRecords = false

    package init(
        consumer: Consumer, layout: TopicLayout, topics: [TopicName], followedTopics: [TopicName] = [],
        transaction: TransactionRunner, log: Log, time: StageTime, startedOver: Counter,
        restoreSeconds: Histogram
    ) {
        self.consumer = consumer
        self.layout = layout
        self.topics = topics
        self.followedTopics = followedTopics
        self.transaction = transaction
        self.log = log
        self.time = time
        uncommittedEnds = UncommittedEnds(now: time.now())
        self.startedOver = startedOver
        self.restoreSeconds = restoreSeconds
    }

    // MARK: Names

    func topicPartition(of topic: TopicName, number partition: Int32) -> TopicPartition {
        TopicPartition(layout.name(of: topic), partition)
    }

    /// Returns the partitions with these numbers in all topics.
    func topicPartitions(numbered numbers: some Sequence<Int32>) -> [TopicPartition] {
        numbers.flatMap { partition in topics.map { topicPartition(of: $0, number: partition) } }
    }

    /// The index of a partition's topic in the subscription.
    func topicIndex(of partition: TopicPartition) -> Int? {
        topics.firstIndex { layout.name(of: $0) == partition.topic }
    }

    var topicNames: String { topics.map(layout.name).joined(separator: ", ") }

    // MARK: State

    /// Whether a start-over is due or under way. Until it is done, the offsets to read from are unknown.
    package var isStartingOver: Bool {
        if case .done = startOverState { false } else { true }
    }

    /// Whether a partition waits for the state that its records need.
    package var isRestoring: Bool { assignedPartitions.values.contains { $0.state == .restoring } }

    /// Whether records of the partition may be decided. Records of other partitions are read again when these are
    /// served.
    package func isServing(_ partition: Int32) -> Bool { assignedPartitions[partition]?.isServing == true }

    /// The reasons why records wait, for operators.
    package var readinessProblems: [String] {
        if let problem = membership.readinessProblem { return [problem] }
        return (offeredNumbers.readinessProblem.map { [$0] } ?? [])
            + assignedPartitions.values.sorted { $0.partition < $1.partition }.compactMap(\.readinessProblem)
    }

    /// Returns the number of partitions that wait for an operator.
    ///
    /// - Parameter areFilesBlocked: whether the files that the partitions need cannot be written.
    package func stuckPartitionCount(areFilesBlocked: Bool) -> Int {
        offeredNumbers.incomplete.count
            + assignedPartitions.values.count { !$0.isServing && (areFilesBlocked || !$0.isReadable) }
    }

    /// Commits the ends of quiet partitions, so that the group's offsets do not expire, and leaves the group. Nothing
    /// else has to be committed, because the next owner reads the rest again.
    package func leave() throws {
        if !isStartingOver { try commitEnds() }
        assignedPartitions.removeAll()
        if !consumer.close() {
            log.warning("the group could not be left in time; it notices after one session")
        }
    }

    // MARK: Events

    package func handle(_ event: ConsumerEvent) throws {
        membership.handle(event)
        switch event {
        case .offered(let partitions): try noteOffer(of: partitions)
        case .revoked, .lost:
            try releasePartitions()
            try consumer.release()
        case .suspended(let milliseconds):
            log.warning(
                "this process was stopped for a while; it commits nothing of partitions that it has lost",
                .field("milliseconds", milliseconds))
        case .reachedEnd(let partition, let offset):
            uncommittedEnds.recordEnd(of: partition, at: offset, now: time.now())
        case .queryCompleted(let id, let answer): try handle(answer, to: id)
        // The answer to `commit`, which this loop never calls, because it commits in transactions.
        case .committed: break
        case .failed(let failure): try handle(failure)
        }
    }

    private func handle(_ failure: ConsumerFailure) throws {
        switch failure {
        case .outOfRange(let partition, _): handleOutOfRange(partition)
        case .partition, .client:
            log.warning("records cannot be read now", .field("topics", topicNames), .field("error", failure))
        case .unusable: throw StageFailure.client(failure.description)
        }
    }

    private func handle(_ answer: OffsetQueryResult, to id: OffsetQueryID) throws {
        if case .offsetsRequested(let askedID, let numbers) = startOverState, askedID == id {
            return try handleCommittedOffsets(answer, of: numbers)
        }
        // `awaitedFirstOffsets` and `handleGapAnswer` ignore answers to other queries.
        let found = awaitedFirstOffsets.handle(answer, to: id, at: time.now())
        for answer in found { firstOffsets[answer.partition] = answer.watermarks.low }
        if !found.isEmpty { mustStartReading = true }
        handleGapAnswer(answer, to: id)
    }

    /// Notes an offer of the group. The first step of starting over accepts it, and nothing is read until then.
    private func noteOffer(of partitions: [TopicPartition]) throws {
        // The offer replaces all partitions.
        try releasePartitions()
        offerToAccept = partitions
        let now = time.now()
        offeredNumbers = OfferedNumbers(partitions, of: topics.map(layout.name))
        for number in offeredNumbers.complete {
            assignedPartitions[number] = Part(partition: number, assignedAt: now)
        }
        if let problem = offeredNumbers.readinessProblem {
            log.error("partitions are not assigned in all topics", .field("reason", problem))
        }
        startOverState = .due(now)
        log.info("partitions assigned", .field("count", assignedPartitions.count))
        owner?.partitionsAssigned(assignedPartitions.keys.sorted())
    }

    /// Forgets the assignment. Without partitions nothing starts over.
    private func releasePartitions() throws {
        try owner?.partitionsRevoked()
        assignedPartitions.removeAll()
        setAsidePartitions = [:]
        offerToAccept = nil
        offeredNumbers = OfferedNumbers(of: [])
        startOverState = .done
        resetPositions()
    }

    /// Forgets everything about positions, because the committed offsets are read again.
    func resetPositions() {
        partitionsAwaitingPosition = []
        stoppedPartitions = []
        mustStartReading = false
        firstOffsets = [:]
        awaitedFirstOffsets.removeAll()
        uncommittedEnds.removeAll()
        waitingPartitions = WaitingPartitions()
    }
}

package import Kafka
internal import Lifecycle
package import Telemetry
package import Topics

/// The partitions that a loop reads as a member of a group: which ones it owns, where each continues, and whether its
/// records flow. Pinned to the loop's thread.
///
///     offered ──► due ──► asked ──► done
///                  ▲        │        │
///                  └────────┴────────┘  anything fails: start over
///
/// One repair serves everything that goes wrong, and every beginning: the loop starts over. It reads again from the
/// committed offsets, after it has read what the records need to its end. No call waits for Kafka: questions are asked,
/// and their answers come as events.
package final class GroupMember<Part: AssignedPartition> {
    /// The progress of a start-over.
    enum StartOverState {
        /// The next try is due at this time.
        case due(Instant)
        /// The committed offsets of these partitions are asked for.
        case offsetsRequested(OffsetQueryID, [Int32])
        /// Every partition restores or flows.
        case done
    }

    /// The pause before the loop starts over. It doubles with each failure, up to the second figure.
    private static var retryPauseMillisecondsMin: Int { 10 }
    private static var retryPauseMillisecondsMax: Int { 5000 }

    let consumer: Consumer
    let layout: TopicLayout
    /// The consumer's subscription. All topics have the same partitions.
    let topics: [TopicName]
    let followedTopics: [TopicName]
    let transaction: TransactionRunner
    let log: Log
    let time: StageTime
    private let startedOver: Counter
    private let restoreSeconds: Histogram
    /// Set before the first event.
    package weak var owner: (any GroupMemberOwner)?

    /// The group's offer, until it is answered.
    private var offeredPartitions: [TopicPartition]?
    /// The partitions of the newest assignment, by number.
    package var assignedPartitions: [Int32: Part] = [:]
    private var startOverState = StartOverState.done
    private var membership = Membership.joining
    private var retryPauseMilliseconds = 0
    /// Partitions that have what their records need, and whose beginning is not known yet.
    private var partitionsAwaitingPosition: Set<Int32> = []
    /// Partitions that the client has stopped, because their offset was out of range.
    var stoppedPartitions: Set<TopicPartition> = []
    /// Whether positions have changed that the client has to be given.
    private var mustStartReading = false
    /// The first offsets of partitions of which the group has committed nothing yet, and the partitions that wait for theirs.
    private var firstOffsets: [TopicPartition: Int64] = [:]
    private var awaitedEnds = AwaitedEnds()
    var uncommittedEnds: UncommittedEnds
    var openGaps = OpenGaps()
    /// Whether records are in hand that are not committed. Then no end is committed, because they lie below it.
    package var isHoldingRecords = false

    /// - Parameter followed: topics with the same partitions that the loop reads by another consumer. Their offsets
    ///   are committed in this group.
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

    func topicPartition(of topic: TopicName, number partition: Int32) -> TopicPartition {
        TopicPartition(layout.name(of: topic), partition)
    }

    func topicPartitions(numbered numbers: some Sequence<Int32>) -> [TopicPartition] {
        numbers.flatMap { partition in topics.map { topicPartition(of: $0, number: partition) } }
    }

    /// The index of a partition's topic in the subscription.
    func topicIndex(of partition: TopicPartition) -> Int? {
        topics.firstIndex { layout.name(of: $0) == partition.topic }
    }

    var topicNames: String { topics.map(layout.name).joined(separator: ", ") }

    // MARK: State

    /// Whether the offsets to read from are not known yet.
    package var mustStartOver: Bool {
        if case .done = startOverState { false } else { true }
    }

    package var isRestoring: Bool { assignedPartitions.values.contains { $0.state == .restoring } }

    /// Whether records of the partition may be worked on. Others are read again when the partition flows.
    package func isServing(_ partition: Int32) -> Bool { assignedPartitions[partition]?.isServing == true }

    /// The reasons why records wait, for a person.
    package var readinessProblems: [String] {
        if let problem = membership.readinessProblem { return [problem] }
        return assignedPartitions.values.sorted { $0.partition < $1.partition }.compactMap(\.readinessProblem)
    }

    /// The number of partitions that wait and do not continue by themselves.
    ///
    /// - Parameter isBlocked: whether the files that they need cannot be written.
    package func stuckPartitionCount(isBlocked: Bool) -> Int {
        assignedPartitions.values.count { !$0.isServing && (isBlocked || !$0.isReadable) }
    }

    /// Ends in order: everything that was read is committed, or its next owner reads it again.
    package func leave() throws {
        if !mustStartOver { try commitEnds() }
        assignedPartitions.removeAll()
        if !consumer.close() {
            log.warning("the group could not be left in time; it notices after one session")
        }
    }

    // MARK: Events

    package func handle(_ event: ConsumerEvent) throws {
        membership.handle(event)
        switch event {
        case .offered(let partitions): try acceptOffer(of: partitions)
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
        if case .offsetsRequested(id, let numbers) = startOverState {
            return try handleCommittedOffsets(answer, of: numbers)
        }
        let found = awaitedEnds.handle(answer, to: id, at: time.now())
        for end in found { firstOffsets[end.partition] = end.ends.low }
        if !found.isEmpty { mustStartReading = true }
        try handleGapAnswer(answer, to: id)
    }

    /// Takes an offer, which starting over answers. Nothing is read until then.
    ///
    /// All topics have the same partitions and the same members, so all parts of a partition number come to one member.
    /// A partition that is offered in part waits for the next offer.
    private func acceptOffer(of partitions: [TopicPartition]) throws {
        try releasePartitions()
        offeredPartitions = partitions
        let now = time.now()
        let parts = Dictionary(grouping: partitions, by: \.partition)
        for (partition, offered) in parts where offered.count == topics.count {
            assignedPartitions[partition] = Part(partition: partition, assignedAt: now)
        }
        if assignedPartitions.count != parts.count {
            log.error(
                "topics are not assigned alike; do all members run the same version?",
                .field("topics", topicNames))
        }
        startOverState = .due(now)
        log.info("partitions assigned", .field("count", assignedPartitions.count))
        owner?.partitionsAssigned(assignedPartitions.keys.sorted())
    }

    private func releasePartitions() throws {
        try owner?.partitionsRevoked()
        assignedPartitions.removeAll()
        offeredPartitions = nil
        startOverState = .done
        resetPositions()
    }

    private func resetPositions() {
        partitionsAwaitingPosition = []
        stoppedPartitions = []
        mustStartReading = false
        firstOffsets = [:]
        awaitedEnds.removeAll()
        uncommittedEnds.removeAll()
        openGaps = OpenGaps()
    }

    // MARK: Starting over

    package func startOverLater(logging message: StaticString, reason: String) {
        log.warning(message, .field("reason", reason))
        startOverLater()
    }

    /// Drops the records in hand and everything that was read ahead. The loop reads them again from the committed
    /// offsets.
    package func startOverLater() {
        startedOver.add()
        scheduleStart()
        let flowing = assignedPartitions.values.filter(\.isServing).map(\.partition)
        consumer.pause(topicPartitions(numbered: flowing))
        for partition in assignedPartitions.keys { assignedPartitions[partition]?.state = .restoring }
        resetPositions()
    }

    private func scheduleStart() {
        retryPauseMilliseconds = min(
            max(Self.retryPauseMillisecondsMin, retryPauseMilliseconds * 2), Self.retryPauseMillisecondsMax)
        startOverState = .due(time.now().advanced(byMilliseconds: retryPauseMilliseconds))
    }

    /// Takes the next step, once per turn.
    ///
    /// The order matters. First the group gets the answer to its offer, because it waits for that. Then the committed
    /// offsets are asked for; they are stable only when no transaction holds newer ones. Then the loop reads what the
    /// records need, up to the ends as they are after that. A record therefore never meets a state that lacks the results
    /// of the records before it.
    package func performDueWork() throws {
        switch startOverState {
        case .done: try continueReading()
        case .offsetsRequested: break
        case .due(let due): if time.now() >= due { try requestCommittedOffsets() }
        }
    }

    private func requestCommittedOffsets() throws {
        guard let owner else { return }
        do throws(KafkaError) {
            if let partitions = offeredPartitions { try consumer.assignPaused(partitions) }
            offeredPartitions = nil
        } catch {
            if error.code.isAccessRefused { throw error }
            return retryStart(because: error.description)
        }
        if assignedPartitions.isEmpty {
            startOverState = .done
            return
        }
        let numbers = assignedPartitions.keys.sorted()
        guard try owner.isReadyToRestore(numbers) else { return }
        if let obstacle = try transaction.prepare(withinMilliseconds: BlockingCallLimit.millisecondsMax) {
            return retryStart(because: obstacle)
        }
        let asked =
            topicPartitions(numbered: numbers)
            + followedTopics.flatMap { name in numbers.map { topicPartition(of: name, number: $0) } }
        startOverState = .offsetsRequested(consumer.submit(.committedOffsets(asked)), numbers)
    }

    private func handleCommittedOffsets(_ answer: OffsetQueryResult, of numbers: [Int32]) throws {
        guard case .committedOffsets(let offsets) = answer else {
            guard case .failed(_, let error) = answer else { return }
            if error.code.isAccessRefused { throw error }
            return retryStart(because: error.description)
        }
        let others = recordCommittedOffsets(offsets)
        startReadingAll()
        guard case .offsetsRequested = startOverState else { return }
        try owner?.startRestoring(numbers, followedOffsets: others)
        let now = time.now()
        for partition in numbers {
            assignedPartitions[partition]?.state = .restoring
            assignedPartitions[partition]?.restoringSince = now
        }
        startOverState = .done
    }

    /// - Returns: the offsets in the topics that are only followed.
    private func recordCommittedOffsets(_ committed: [CommittedOffset]) -> [CommittedOffset] {
        var others: [CommittedOffset] = []
        var withoutOffset: Set<TopicPartition> = []
        for offset in committed {
            guard let topic = topicIndex(of: offset.partition) else {
                others.append(offset)
                continue
            }
            assignedPartitions[offset.partition.partition]?.resume(at: offset.offset, in: topic)
            if offset.offset == nil { withoutOffset.insert(offset.partition) }
        }
        awaitedEnds.add(withoutOffset, at: time.now())
        awaitedEnds.submitDueQuery(at: time.now(), with: consumer.submit)
        return others
    }

    /// Lets the records of a partition flow from its new position, in the next turn.
    func resumeServing(_ partition: Int32) {
        assignedPartitions[partition]?.state = .restoring
        partitionsAwaitingPosition.insert(partition)
        mustStartReading = true
    }

    /// Gives the client every partition whose position is known, from that position. Those that flow go on. No batch is in
    /// hand then, because its records come again.
    private func startReadingAll() {
        var starts: [PartitionStart] = []
        for partition in topicPartitions(numbered: assignedPartitions.keys.sorted()) {
            if let next = position(of: partition) {
                starts.append(PartitionStart(partition: partition, position: .offset(next)))
            }
        }
        do throws(KafkaError) {
            try consumer.startReading(at: starts)
        } catch {
            return retryStart(because: error.description)
        }
        stoppedPartitions = []
        mustStartReading = false
    }

    private func position(of partition: TopicPartition) -> Int64? {
        guard let topic = topicIndex(of: partition) else { return nil }
        return assignedPartitions[partition.partition]?.nextOffset(in: topic) ?? firstOffsets[partition]
    }

    private func retryStart(because reason: String) {
        log.warning(
            "cannot begin to read now; trying again", .field("topics", topicNames), .field("reason", reason))
        scheduleStart()
    }

    // MARK: Flowing

    /// Lets the records of a partition flow, because everything that they need is there. If the partition's beginning
    /// is not known yet, they flow as soon as it is.
    package func startServing(_ partition: Int32) {
        guard !mustStartOver, let part = assignedPartitions[partition], part.state == .restoring else {
            return
        }
        if let gap = stoppedPartitions.first(where: { $0.partition == partition }) { return inspect(gap) }
        guard !mustStartReading, resumeReading(topicsAt: Array(topics.indices), of: partition) else {
            if !mustStartOver { partitionsAwaitingPosition.insert(partition) }
            return
        }
        partitionsAwaitingPosition.remove(partition)
        assignedPartitions[partition]?.state = .serving
        retryPauseMilliseconds = 0
        restoreSeconds.observe(time.now().seconds(since: part.restoringSince))
        owner?.partitionStartedServing(partition)
    }

    /// Reads on in some topics of a partition.
    ///
    /// - Parameter indices: the topics, by their index in the subscription.
    /// - Returns: false if a position is not known yet, or if the loop has to start over.
    package func resumeReading(topicsAt indices: [Int], of partition: Int32) -> Bool {
        var starts: [PartitionStart] = []
        for index in indices {
            let place = topicPartition(of: topics[index], number: partition)
            guard let next = position(of: place) else { return false }
            starts.append(PartitionStart(partition: place, position: .offset(next)))
        }
        do {
            // A pause remembers the position, and a resume goes back to it. The seek therefore comes last.
            consumer.resume(starts.map(\.partition))
            try consumer.seek(to: starts, withinMilliseconds: BlockingCallLimit.millisecondsMax)
            return true
        } catch {
            log.warning(
                "cannot continue reading now; trying again", .field("topics", topicNames),
                .field("error", error))
            startOverLater()
            return false
        }
    }

    private func continueReading() throws {
        let now = time.now()
        if mustStartReading { startReadingAll() }
        if mustStartOver { return }
        awaitedEnds.submitDueQuery(at: now, with: consumer.submit)
        for partition in partitionsAwaitingPosition.sorted() { startServing(partition) }
        recheckGaps(at: now)
        if !isHoldingRecords, uncommittedEnds.isDue(at: now) { try commitEnds() }
    }
}

/// The limit of one call in a loop's turn that may wait for Kafka. It is a tenth of the usual session, so that a loop
/// keeps its membership and its leases.
package enum BlockingCallLimit {
    package static let millisecondsMax = 1000
}

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
    enum Start {
        /// The next try is due at this time.
        case due(Instant)
        /// The committed offsets of these partitions are asked for.
        case asked(OffsetQueryID, [Int32])
        /// Every partition restores or flows.
        case done
    }

    /// The pause before the loop starts over. It doubles with each failure, up to the second figure.
    private static var pauseMillisecondsMin: Int { 10 }
    private static var pauseMillisecondsMax: Int { 5000 }

    let consumer: Consumer
    let layout: TopicLayout
    /// The consumer's subscription. All topics have the same partitions.
    let topics: [TopicName]
    let followed: [TopicName]
    let transaction: TransactionRunner
    let log: Log
    let time: StageTime
    private let startedOver: Counter
    private let restoreSeconds: Histogram
    /// Set before the first event.
    package weak var owner: (any GroupMemberOwner)?

    /// The group's offer, until it is answered.
    private var offered: [TopicPartition]?
    /// The partitions of the newest assignment, by number.
    package var owned: [Int32: Part] = [:]
    private var start = Start.done
    private var membership = Membership.joining
    private var pauseMilliseconds = 0
    /// Partitions that have what their records need, and whose beginning is not known yet.
    private var complete: Set<Int32> = []
    /// Partitions that the client has stopped, because their offset was out of range.
    var stopped: Set<TopicPartition> = []
    /// Whether positions have changed that the client has to be given.
    private var mustBegin = false
    /// The first offsets of partitions of which the group has committed nothing yet, and the partitions that wait for theirs.
    private var beginnings: [TopicPartition: Int64] = [:]
    private var awaited = AwaitedEnds()
    var ends: UncommittedEnds
    var gaps = OpenGaps()
    /// Whether records are in hand that are not committed. Then no end is committed, because they lie below it.
    package var isHoldingRecords = false

    /// - Parameter followed: topics with the same partitions that the loop reads by another consumer. Their offsets
    ///   are committed in this group.
    package init(
        _ consumer: Consumer, layout: TopicLayout, topics: [TopicName], followed: [TopicName] = [],
        transaction: TransactionRunner, log: Log, time: StageTime, startedOver: Counter,
        restoreSeconds: Histogram
    ) {
        self.consumer = consumer
        self.layout = layout
        self.topics = topics
        self.followed = followed
        self.transaction = transaction
        self.log = log
        self.time = time
        ends = UncommittedEnds(now: time.now())
        self.startedOver = startedOver
        self.restoreSeconds = restoreSeconds
    }

    func place(_ topic: TopicName, _ partition: Int32) -> TopicPartition {
        TopicPartition(layout.name(of: topic), partition)
    }

    func partitions(_ numbers: some Sequence<Int32>) -> [TopicPartition] {
        numbers.flatMap { partition in topics.map { place($0, partition) } }
    }

    /// The index of a partition's topic in the subscription.
    func index(of partition: TopicPartition) -> Int? {
        topics.firstIndex { layout.name(of: $0) == partition.topic }
    }

    var names: String { topics.map(layout.name).joined(separator: ", ") }

    // MARK: State

    /// Whether the offsets to read from are not known yet.
    package var mustStartOver: Bool {
        if case .done = start { false } else { true }
    }

    package var isRestoring: Bool { owned.values.contains { $0.state == .restoring } }

    /// Whether records of the partition may be worked on. Others are read again when the partition flows.
    package func serves(_ partition: Int32) -> Bool { owned[partition]?.isServing == true }

    /// The reasons why records wait, for a person.
    package var obstacles: [String] {
        if let problem = membership.problem { return [problem] }
        return owned.values.sorted { $0.partition < $1.partition }.compactMap(\.readinessProblem)
    }

    /// The number of partitions that wait and do not continue by themselves.
    ///
    /// - Parameter isBlocked: whether the files that they need cannot be written.
    package func stuck(isBlocked: Bool) -> Int {
        owned.values.count { !$0.isServing && (isBlocked || !$0.isReadable) }
    }

    /// Ends in order: everything that was read is committed, or its next owner reads it again.
    package func leave() throws {
        if !mustStartOver { try commitEnds() }
        owned.removeAll()
        if !consumer.close() {
            log.warning("the group could not be left in time; it notices after one session")
        }
    }

    // MARK: Events

    package func hear(_ event: ConsumerEvent) throws {
        membership.hear(event)
        switch event {
        case .offered(let partitions): try takeOver(partitions)
        case .revoked, .lost:
            try letGo()
            try consumer.release()
        case .suspended(let milliseconds):
            log.warning(
                "this process was stopped for a while; it commits nothing of partitions that it has lost",
                .field("milliseconds", milliseconds))
        case .reachedEnd(let partition, let offset):
            ends.recordEnd(of: partition, at: offset, now: time.now())
        case .queryCompleted(let id, let answer): try hear(answer, to: id)
        case .committed: break
        case .failed(let failure): try hear(failure)
        }
    }

    private func hear(_ failure: ConsumerFailure) throws {
        switch failure {
        case .outOfRange(let partition, _): hearOutOfRange(partition)
        case .partition, .client:
            log.warning("records cannot be read now", .field("topics", names), .field("error", failure))
        case .rebuild: throw StageFailure.client(failure.description)
        }
    }

    private func hear(_ answer: OffsetQueryResult, to id: OffsetQueryID) throws {
        if case .asked(id, let numbers) = start { return try hearCommitted(answer, of: numbers) }
        let found = awaited.take(answer, to: id, at: time.now())
        for end in found { beginnings[end.partition] = end.ends.low }
        if !found.isEmpty { mustBegin = true }
        try hearGap(answer, to: id)
    }

    /// Takes an offer, which starting over answers. Nothing is read until then.
    ///
    /// All topics have the same partitions and the same members, so all parts of a partition number come to one member.
    /// A partition that is offered in part waits for the next offer.
    private func takeOver(_ partitions: [TopicPartition]) throws {
        try letGo()
        offered = partitions
        let now = time.now()
        let parts = Dictionary(grouping: partitions, by: \.partition)
        for (partition, offered) in parts where offered.count == topics.count {
            owned[partition] = Part(partition: partition, assignedAt: now)
        }
        if owned.count != parts.count {
            log.error(
                "topics are not assigned alike; do all members run the same version?",
                .field("topics", names))
        }
        start = .due(now)
        log.info("partitions assigned", .field("count", owned.count))
        owner?.assigned(owned.keys.sorted())
    }

    private func letGo() throws {
        try owner?.letGo()
        owned.removeAll()
        offered = nil
        start = .done
        forgetPositions()
    }

    private func forgetPositions() {
        complete = []
        stopped = []
        mustBegin = false
        beginnings = [:]
        awaited.forgetAll()
        ends.removeAll()
        gaps = OpenGaps()
    }

    // MARK: Starting over

    package func giveUp(_ message: StaticString, _ reason: String) {
        log.warning(message, .field("reason", reason))
        startOverLater()
    }

    /// Drops the records in hand and everything that was read ahead. The loop reads them again from the committed
    /// offsets.
    package func startOverLater() {
        startedOver.add()
        beginLater()
        let flowing = owned.values.filter(\.isServing).map(\.partition)
        consumer.pause(partitions(flowing))
        for partition in owned.keys { owned[partition]?.state = .restoring }
        forgetPositions()
    }

    private func beginLater() {
        pauseMilliseconds = min(
            max(Self.pauseMillisecondsMin, pauseMilliseconds * 2), Self.pauseMillisecondsMax)
        start = .due(time.now().advanced(byMilliseconds: pauseMilliseconds))
    }

    /// Takes the next step, once per turn.
    ///
    /// The order matters. First the group gets the answer to its offer, because it waits for that. Then the committed
    /// offsets are asked for; they are stable only when no transaction holds newer ones. Then the loop reads what the
    /// records need, up to the ends as they are after that. A record therefore never meets a state that lacks the results
    /// of the records before it.
    package func startOver() throws {
        switch start {
        case .done: try goOn()
        case .asked: break
        case .due(let due): if time.now() >= due { try askForOffsets() }
        }
    }

    private func askForOffsets() throws {
        guard let owner else { return }
        do throws(KafkaError) {
            if let partitions = offered { try consumer.assignPaused(partitions) }
            offered = nil
        } catch {
            if error.code.isAccessRefused { throw error }
            return startOverAgain(error.description)
        }
        if owned.isEmpty {
            start = .done
            return
        }
        let numbers = owned.keys.sorted()
        guard try owner.isReadyToBegin(numbers) else { return }
        if let obstacle = try transaction.prepare(withinMilliseconds: GroupQuestion.millisecondsMax) {
            return startOverAgain(obstacle)
        }
        let asked = partitions(numbers) + followed.flatMap { name in numbers.map { place(name, $0) } }
        start = .asked(consumer.submit(.committedOffsets(asked)), numbers)
    }

    private func hearCommitted(_ answer: OffsetQueryResult, of numbers: [Int32]) throws {
        guard case .committedOffsets(let offsets) = answer else {
            guard case .failed(_, let error) = answer else { return }
            if error.code.isAccessRefused { throw error }
            return startOverAgain(error.description)
        }
        let others = learn(offsets)
        beginAll()
        guard case .asked = start else { return }
        try owner?.begin(numbers, followed: others)
        let now = time.now()
        for partition in numbers {
            owned[partition]?.state = .restoring
            owned[partition]?.restoringSince = now
        }
        start = .done
    }

    /// - Returns: the offsets in the topics that are only followed.
    private func learn(_ committed: [CommittedOffset]) -> [CommittedOffset] {
        var others: [CommittedOffset] = []
        var withoutOffset: Set<TopicPartition> = []
        for offset in committed {
            guard let topic = index(of: offset.partition) else {
                others.append(offset)
                continue
            }
            owned[offset.partition.partition]?.begin(at: offset.offset, in: topic)
            if offset.offset == nil { withoutOffset.insert(offset.partition) }
        }
        awaited.want(withoutOffset, at: time.now())
        awaited.ask(at: time.now(), consumer.submit)
        return others
    }

    /// Lets the records of a partition flow from its new position, in the next turn.
    func flowAgain(_ partition: Int32) {
        owned[partition]?.state = .restoring
        complete.insert(partition)
        mustBegin = true
    }

    /// Gives the client every partition whose position is known, from that position. Those that flow go on. No batch is in
    /// hand then, because its records come again.
    private func beginAll() {
        var starts: [PartitionStart] = []
        for partition in partitions(owned.keys.sorted()) {
            if let next = position(of: partition) {
                starts.append(PartitionStart(partition: partition, position: .offset(next)))
            }
        }
        do throws(KafkaError) {
            try consumer.startReading(at: starts)
        } catch {
            return startOverAgain(error.description)
        }
        stopped = []
        mustBegin = false
    }

    private func position(of partition: TopicPartition) -> Int64? {
        guard let topic = index(of: partition) else { return nil }
        return owned[partition.partition]?.next(in: topic) ?? beginnings[partition]
    }

    private func startOverAgain(_ reason: String) {
        log.warning(
            "cannot begin to read now; trying again", .field("topics", names), .field("reason", reason))
        beginLater()
    }

    // MARK: Flowing

    /// Lets the records of a partition flow, because everything that they need is there. If the partition's beginning
    /// is not known yet, they flow as soon as it is.
    package func serve(_ partition: Int32) {
        guard !mustStartOver, let part = owned[partition], part.state == .restoring else { return }
        if let gap = stopped.first(where: { $0.partition == partition }) { return lookAt(gap) }
        guard !mustBegin, resume(Array(topics.indices), of: partition) else {
            if !mustStartOver { complete.insert(partition) }
            return
        }
        complete.remove(partition)
        owned[partition]?.state = .serving
        pauseMilliseconds = 0
        restoreSeconds.observe(time.now().seconds(since: part.restoringSince))
        owner?.flows(partition)
    }

    /// Reads on in some topics of a partition.
    ///
    /// - Parameter indices: the topics, by their index in the subscription.
    /// - Returns: false if a position is not known yet, or if the loop has to start over.
    package func resume(_ indices: [Int], of partition: Int32) -> Bool {
        var starts: [PartitionStart] = []
        for index in indices {
            let place = place(topics[index], partition)
            guard let next = position(of: place) else { return false }
            starts.append(PartitionStart(partition: place, position: .offset(next)))
        }
        do {
            // A pause remembers the position, and a resume goes back to it. The seek therefore comes last.
            consumer.resume(starts.map(\.partition))
            try consumer.seek(to: starts, withinMilliseconds: GroupQuestion.millisecondsMax)
            return true
        } catch {
            log.warning(
                "cannot continue reading now; trying again", .field("topics", names), .field("error", error))
            startOverLater()
            return false
        }
    }

    private func goOn() throws {
        let now = time.now()
        if mustBegin { beginAll() }
        if mustStartOver { return }
        awaited.ask(at: now, consumer.submit)
        for partition in complete.sorted() { serve(partition) }
        lookAtGaps(at: now)
        if !isHoldingRecords, ends.isDue(at: now) { try commitEnds() }
    }
}

/// The limit of one call in a loop's turn that may wait for Kafka. It is a tenth of the usual session, so that a loop
/// keeps its membership and its leases.
package enum GroupQuestion {
    package static let millisecondsMax = 1000
}

package import Kafka
internal import Lifecycle
package import Telemetry

/// What a loop reads as a member of a group: which partitions are its own, where each goes on, and whether its
/// records flow. Pinned to the loop's thread.
///
/// There is one repair for everything that goes wrong, and one way to begin: starting over. What is not committed
/// is read again from the committed offsets, and what the records need is read anew to its end before they flow.
package final class GroupMember<Part: OwnedPart> {
    /// The pause before starting over begins with this, doubles, and grows to the other while it keeps failing.
    private static var pauseMillisecondsMin: Int { 10 }
    private static var pauseMillisecondsMax: Int { 5000 }

    private let consumer: Consumer
    private let topics: [String]
    private let followed: [String]
    private let transaction: StageTransaction
    private let log: Log
    private let startedOver: Counter
    private let restoreSeconds: Histogram
    /// Set before the first event.
    package weak var owner: (any GroupMemberOwner)?

    /// What the group offers, as long as it is not answered.
    private var offered: [TopicPartition]?
    /// By number; those of the newest assignment.
    package var owned: [Int32: Part] = [:]
    /// The offsets from which everything has to be read again are not known yet.
    package private(set) var mustStartOver = false
    private var nextStartOver = Instant.now()
    private var pauseMilliseconds = 0
    /// Where partitions of which nothing is committed begin, as it was when the committed offsets were asked for.
    private var beginnings: [TopicPartition: PartitionStart] = [:]

    /// - Parameters:
    ///   - topics: the consumer's subscription, whose topics all have the same partitions.
    ///   - followed: topics with the same partitions that are read elsewhere, but whose offsets are committed in
    ///     this group.
    package init(
        _ consumer: Consumer, topics: [String], followed: [String] = [], transaction: StageTransaction,
        log: Log, startedOver: Counter, restoreSeconds: Histogram
    ) {
        self.consumer = consumer
        self.topics = topics
        self.followed = followed
        self.transaction = transaction
        self.log = log
        self.startedOver = startedOver
        self.restoreSeconds = restoreSeconds
    }

    private func partitions(_ numbers: some Sequence<Int32>) -> [TopicPartition] {
        numbers.flatMap { partition in topics.map { TopicPartition($0, partition) } }
    }

    // MARK: What is ours

    package var isRestoring: Bool { owned.values.contains { $0.condition == .restoring } }

    /// Nothing in the batch is of a partition whose records wait: then it was read before they had to, and is
    /// read again.
    package func serves(_ batch: borrowing RecordBatch) -> Bool {
        var served: Int32?
        for index in 0..<batch.count {
            let partition = batch[index].partition
            if partition == served { continue }
            guard owned[partition]?.isServing == true else { return false }
            served = partition
        }
        return true
    }

    /// Why records wait, for a person.
    package var obstacles: [String] {
        owned.values.sorted { $0.partition < $1.partition }.compactMap(\.obstacle)
    }

    /// How many wait and do not go on by themselves.
    ///
    /// - Parameter isBlocked: what they need cannot be written.
    package func stuck(isBlocked: Bool) -> Int {
        owned.values.count { !$0.isServing && (isBlocked || !$0.isReadable) }
    }

    /// The end in order: what was read is committed, or is read again by whoever comes next.
    package func leave() {
        owned.removeAll()
        if !consumer.close() { log.warning("the group could not be left in time; it finds out by itself") }
    }

    // MARK: Coming and going

    package func hear(_ event: ConsumerEvent) throws {
        switch event {
        case .offered(let partitions): try takeOver(partitions)
        case .revoked, .lost:
            try letGo()
            try consumer.release()
        case .suspended(let milliseconds):
            log.warning(
                "this process was stopped for a while; what is not ours any more will not be committed",
                .field("milliseconds", milliseconds))
        case .end, .committed: break
        case .failed(let failure): try hear(failure)
        }
    }

    private func hear(_ failure: ConsumerFailure) throws {
        switch failure {
        case .outOfRange(let partition, _):
            owned[partition.partition]?.condition = .outOfRange(failure.description)
            consumer.pause(partitions([partition.partition]))
            log.error(
                "records were deleted before they were read; set the group's offset to go on",
                .field("partition", partition.description), .field("error", failure))
        case .partition, .client:
            log.warning("records cannot be read now", .field("topics", names), .field("error", failure))
        case .rebuild: throw StageFailure.client(failure.description)
        case .fenced: throw SharedIdentity(failure)
        }
    }

    private var names: String { topics.joined(separator: ", ") }

    /// An offer, which starting over answers. Where each partition goes on is found out there, in one way for all
    /// occasions; until then nothing is read.
    ///
    /// All topics have the same partitions and the same members, so that all parts of one come to the same
    /// member. One that is offered in part is another's, too: it waits for the next offer.
    private func takeOver(_ partitions: [TopicPartition]) throws {
        try letGo()
        offered = partitions
        let now = Instant.now()
        let parts = Dictionary(grouping: partitions, by: \.partition)
        for (partition, offered) in parts where offered.count == topics.count {
            owned[partition] = Part(partition, at: now)
        }
        if owned.count != parts.count {
            log.error(
                "topics are not assigned alike; do all members run the same version?",
                .field("topics", names))
        }
        mustStartOver = true
        nextStartOver = now
        log.info("partitions assigned", .field("count", owned.count))
        owner?.assigned(owned.keys.sorted())
    }

    private func letGo() throws {
        try owner?.letGo()
        owned.removeAll()
        offered = nil
        mustStartOver = false
    }

    // MARK: Starting over

    package func giveUp(_ message: StaticString, _ reason: String) {
        log.warning(message, .field("reason", reason))
        startOverLater()
    }

    /// What is in hand, and everything read ahead, is read again from the committed offsets.
    package func startOverLater() {
        startedOver.add()
        beginLater()
        let flowing = owned.values.filter(\.isServing).map(\.partition)
        consumer.pause(partitions(flowing))
        for partition in flowing { owned[partition]?.condition = .restoring }
    }

    private func beginLater() {
        mustStartOver = true
        pauseMilliseconds = min(
            max(Self.pauseMillisecondsMin, pauseMilliseconds * 2), Self.pauseMillisecondsMax)
        nextStartOver = Instant.now().advanced(byMilliseconds: pauseMilliseconds)
    }

    /// First the answer to an offer, for which the group waits; then the committed offsets, which are stable only when
    /// no transaction holds newer ones; then what the records need, up to the ends as they are after that. So no
    /// record meets a state that lacks what the records before it have made. What does not succeed is tried in a
    /// later turn.
    package func startOver() throws {
        guard mustStartOver, let owner, Instant.now() >= nextStartOver else { return }
        do throws(KafkaError) {
            try answerOffer()
        } catch {
            if error.code.isAccessRefused { throw error }
            return startOverAgain(error.description)
        }
        if owned.isEmpty {
            mustStartOver = false
            return
        }
        let numbers = owned.keys.sorted()
        guard try owner.isReadyToBegin(numbers) else { return }
        if let obstacle = try transaction.prepare(withinMilliseconds: GroupQuestion.millisecondsMax) {
            return startOverAgain(obstacle)
        }
        let others: [CommittedOffset]
        do {
            others = try learnOffsets(of: numbers)
        } catch {
            if error.code.isAccessRefused { throw error }
            return startOverAgain(error.description)
        }
        if let obstacle = try owner.begin(numbers, followed: others) { return startOverAgain(obstacle) }
        let now = Instant.now()
        for partition in numbers {
            if owned[partition]?.isReadable == true { owned[partition]?.condition = .restoring }
            owned[partition]?.restoringSince = now
        }
        mustStartOver = false
    }

    /// From then on the partitions are ours, and nothing of them is read yet.
    private func answerOffer() throws(KafkaError) {
        guard let partitions = offered else { return }
        try consumer.hold(partitions, withinMilliseconds: GroupQuestion.millisecondsMax)
        offered = nil
    }

    /// - Returns: the offsets in the topics that are only followed.
    private func learnOffsets(of numbers: [Int32]) throws(KafkaError) -> [CommittedOffset] {
        let asked =
            partitions(numbers) + followed.flatMap { name in numbers.map { TopicPartition(name, $0) } }
        let committed = try consumer.committed(asked, withinMilliseconds: GroupQuestion.millisecondsMax)
        var starts: [PartitionStart] = []
        var others: [CommittedOffset] = []
        for offset in committed {
            guard let topic = topics.firstIndex(of: offset.partition.topic) else {
                others.append(offset)
                continue
            }
            let partition = offset.partition.partition
            owned[partition]?.begin(at: offset.offset, in: topic)
            if owned[partition]?.isReadable == true { starts.append(offset.start) }
        }
        starts = try consumer.resolve(starts, withinMilliseconds: GroupQuestion.millisecondsMax)
        beginnings = Dictionary(uniqueKeysWithValues: starts.map { ($0.partition, $0) })
        try consumer.seek(starts, withinMilliseconds: GroupQuestion.millisecondsMax)
        return others
    }

    private func startOverAgain(_ reason: String) {
        log.warning(
            "cannot begin to read now; trying again", .field("topics", names), .field("reason", reason))
        beginLater()
    }

    // MARK: Flowing

    /// What the partition's records need is there: they flow. False when it cannot be begun now.
    package func serve(_ partition: Int32) -> Bool {
        guard !mustStartOver, let part = owned[partition], part.condition == .restoring,
            resume(Array(topics.indices), of: partition)
        else { return false }
        owned[partition]?.condition = .serving
        pauseMilliseconds = 0
        restoreSeconds.observe(Instant.now().seconds(since: part.restoringSince))
        return true
    }

    /// A pause remembers a position of its own, of before; so the right one is set once more behind it.
    ///
    /// - Parameter indices: of topics in the subscription.
    package func resume(_ indices: [Int], of partition: Int32) -> Bool {
        guard let part = owned[partition] else { return false }
        let starts = indices.map { index in
            let place = TopicPartition(topics[index], partition)
            guard let next = part.next(in: index) else {
                return beginnings[place] ?? PartitionStart(place, .beginning)
            }
            return PartitionStart(place, .offset(next))
        }
        consumer.resume(starts.map(\.partition))
        do {
            try consumer.seek(starts, withinMilliseconds: GroupQuestion.millisecondsMax)
            return true
        } catch {
            log.warning(
                "cannot go on reading now; trying again", .field("topics", names), .field("error", error))
            startOverLater()
            return false
        }
    }
}

/// One question to the cluster in a loop's turn.
package enum GroupQuestion {
    /// How long it may hold up the turn.
    package static let millisecondsMax = 5000
}

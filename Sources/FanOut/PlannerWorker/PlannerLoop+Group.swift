internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Telemetry
internal import Topics

extension PlannedTopic {
    var name: TopicName { self == .sends ? .sends : .sendsTimed }

    /// - Parameter number: the topic's index in the subscription.
    init(number: Int) { self = number == 0 ? .sends : .timed }
}

extension PlannerLoop {
    /// How long one question to the cluster may hold up a turn.
    static let askMilliseconds = 5000
    /// The pause before starting over grows to this when it keeps failing.
    static let pauseMillisecondsMax = 5000

    func take(_ event: ConsumerEvent) throws {
        switch event {
        case .offered(let places): try takeOver(places)
        case .revoked, .lost:
            try letGo()
            try consumer.release()
        case .suspended(let milliseconds):
            log.warning(
                "this process was stopped for a while; what is not ours any more will not be committed",
                .field("milliseconds", milliseconds))
        case .end, .committed: break
        case .failed(let failure): try take(failure)
        }
    }

    private func take(_ failure: ConsumerFailure) throws {
        switch failure {
        case .outOfRange(let place, _):
            owned[place.partition]?.condition = .outOfRange(failure.description)
            consumer.pause(partitions([place.partition]))
            log.error(
                "sends were deleted before they were read; set the group's offset to go on",
                .field("partition", place.partition), .field("error", failure))
        case .partition, .client: log.warning("sends cannot be read now", .field("error", failure))
        case .rebuild: throw StageFailure.client(failure.description)
        case .fenced: throw SharedIdentity(failure)
        }
    }

    func partition(_ number: Int32, of topic: PlannedTopic) -> TopicPartition {
        TopicPartition(layout.name(topic.name), number)
    }

    private func partitions(_ numbers: some Sequence<Int32>) -> [TopicPartition] {
        numbers.flatMap { number in PlannedTopic.allCases.map { partition(number, of: $0) } }
    }

    /// The answer to an offer. Where each partition begins is found out afterwards, in one way for all
    /// occasions; until then nothing is read.
    ///
    /// Both topics have the same partitions and the same members, so that both parts of one come to the same
    /// member. One that is offered in part is another's, too: it waits for the next offer.
    private func takeOver(_ places: [TopicPartition]) throws {
        try letGo()
        try consumer.assign(places.map { PartitionStart($0, .beginning) })
        consumer.pause(places)
        let now = Instant.now()
        let parts = Dictionary(grouping: places, by: \.partition)
        for (number, topics) in parts where topics.count == PlannedTopic.allCases.count {
            owned[number] = PlannedPartition(number, at: now)
        }
        if owned.count != parts.count {
            log.error("sends and sends.timed are not assigned alike; do all members run the same version?")
        }
        clock.keep(owned.keys)
        held.keep(owned.keys)
        views.keep(owned.keys)
        log.info("partitions assigned", .field("count", owned.count))
        onStep(.assigned)
        mustStartOver = !owned.isEmpty
        nextStartOver = now
    }

    private func letGo() throws {
        try views.letGo()
        owned.removeAll()
        walk = GroupWalk()
        mustStartOver = false
    }

    /// The batch in hand, and everything read ahead, is read again from the committed offsets.
    func startOverLater() {
        mustStartOver = true
        metrics.shared.startedOver.add()
        pauseMilliseconds = min(max(10, pauseMilliseconds * 2), Self.pauseMillisecondsMax)
        nextStartOver = Instant.now().advanced(byMilliseconds: pauseMilliseconds)
        let flowing = owned.values.filter(\.isServing).map(\.number)
        consumer.pause(partitions(flowing))
        for number in flowing { owned[number]?.condition = .restoring }
    }

    /// First the committed offsets, which are stable only when no transaction holds newer ones; then the
    /// views up to the ends as they are after that. So no send is planned from rows that lack what the sends
    /// before it have made. What does not succeed is tried in a later turn.
    func startOver() throws {
        guard mustStartOver, views.blockage == nil, apps.isReady, Instant.now() >= nextStartOver,
            try views.openNext(of: owned.keys)
        else { return }
        if let obstacle = try transaction.prepare(withinMilliseconds: Self.askMilliseconds) {
            return startOverAgain(obstacle)
        }
        let readable = owned.values.filter(\.isReadable).map(\.number)
        do {
            let committed = try consumer.committed(
                partitions(owned.keys), withinMilliseconds: Self.askMilliseconds)
            for offset in committed { begin(offset) }
            try consumer.seek(
                committed.filter { readable.contains($0.partition.partition) }.map(\.start),
                withinMilliseconds: Self.askMilliseconds)
        } catch {
            if error.code.isAccessRefused { throw error }
            return startOverAgain(error.description)
        }
        try views.begin(owned.keys)
        let now = Instant.now()
        for number in readable {
            owned[number]?.condition = .restoring
            owned[number]?.restoringSince = now
        }
        mustStartOver = false
    }

    private func begin(_ offset: CommittedOffset) {
        let topic: PlannedTopic = offset.partition.topic == layout.name(.sends) ? .sends : .timed
        let number = offset.partition.partition
        if owned[number]?.positions[topic] == nil {
            owned[number]?.positions[topic] = ReadPosition(committed: offset.offset)
        } else {
            owned[number]?.positions[topic]?.begin(at: offset.offset)
        }
    }

    private func startOverAgain(_ reason: String) {
        log.warning("cannot begin to read sends now; trying again", .field("reason", reason))
        pauseMilliseconds = min(max(10, pauseMilliseconds * 2), Self.pauseMillisecondsMax)
        nextStartOver = Instant.now().advanced(byMilliseconds: pauseMilliseconds)
    }
}

extension PlannerLoop: TopicViewsOwner {
    /// Of this machine, for the age of files alone. A file that is taken for older is rebuilt, and what one that
    /// is taken for younger has too much is too old for any send (`GroupRow.isKept`).
    var decisionTime: Int64 { WallTime.now().milliseconds }

    func reached(_ step: TopicViews.Step) { onStep(step == .opened ? .viewOpened : .viewSettled) }

    func ends(of partition: TopicPartition) -> Watermarks? { writer.ends(of: partition) }

    func readViews(waitMilliseconds: Int32) throws {
        for number in try views.read(waitMilliseconds: waitMilliseconds) { finishRestoring(number) }
    }

    private func finishRestoring(_ number: Int32) {
        guard !mustStartOver, let own = owned[number], own.condition == .restoring, resume(own) else {
            return
        }
        owned[number]?.condition = .serving
        if !own.isWalked { walk.begin(number) }
        pauseMilliseconds = 0
        metrics.restoreSeconds.observe(Instant.now().seconds(since: own.restoringSince))
        onStep(.restored)
    }

    /// A pause remembers a position of its own, of before; so the right one is set once more behind it.
    private func resume(_ own: PlannedPartition) -> Bool {
        let starts = PlannedTopic.allCases.map { topic in
            let committed = own.positions[topic]?.committed
            return PartitionStart(
                partition(own.number, of: topic), committed.map { .offset($0) } ?? .beginning)
        }
        consumer.resume(starts.map(\.partition))
        do {
            try consumer.seek(starts, withinMilliseconds: Self.askMilliseconds)
            return true
        } catch {
            log.warning("cannot go on with sends now; trying again", .field("error", error))
            startOverLater()
            return false
        }
    }
}

internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Telemetry
internal import Topics

extension ExpanderLoop {
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
            consumer.pause(places(of: [place.partition]))
            log.error(
                "expansions were deleted before they were read; set the group's offset to go on",
                .field("lane", place.partition), .field("error", failure))
        case .partition, .client: log.warning("expansions cannot be read now", .field("error", failure))
        case .rebuild: throw StageFailure.client(failure.description)
        case .fenced: throw SharedIdentity(failure)
        }
    }

    func place(_ topic: ExpandedTopic, _ number: Int32) -> TopicPartition {
        TopicPartition(layout.name(topic.name), number)
    }

    private func places(of numbers: some Sequence<Int32>) -> [TopicPartition] {
        numbers.flatMap { number in ExpandedTopic.allCases.map { place($0, number) } }
    }

    /// The answer to an offer. Where each lane begins is found out afterwards, in one way for all occasions;
    /// until then nothing is read.
    ///
    /// Both topics have the same partitions and the same members, so that both parts of one come to the same
    /// member. One that is offered in part is another's, too: it waits for the next offer.
    private func takeOver(_ places: [TopicPartition]) throws {
        try letGo()
        try consumer.assign(places.map { PartitionStart($0, .beginning) })
        consumer.pause(places)
        let now = Instant.now()
        let parts = Dictionary(grouping: places, by: \.partition)
        for (number, topics) in parts where topics.count == ExpandedTopic.allCases.count {
            owned[number] = OwnedLane(number, at: now)
        }
        if owned.count != parts.count {
            log.error(
                "expansions and expansions.urgent are not assigned alike; do all members run the same version?"
            )
        }
        starts.keep(owned.keys)
        registry.keep(owned.keys)
        log.info("lanes assigned", .field("count", owned.count))
        onStep(.assigned)
        mustStartOver = !owned.isEmpty
        nextStartOver = now
    }

    private func letGo() throws {
        try starts.letGo()
        registry.letGo()
        owned.removeAll()
        mustStartOver = false
    }

    /// What is in hand, and everything read ahead, is read again from the committed offsets.
    func startOverLater() {
        mustStartOver = true
        metrics.shared.startedOver.add()
        pauseMilliseconds = min(max(10, pauseMilliseconds * 2), Self.pauseMillisecondsMax)
        nextStartOver = Instant.now().advanced(byMilliseconds: pauseMilliseconds)
        let flowing = owned.values.filter(\.isServing)
        consumer.pause(places(of: flowing.map(\.number)))
        for lane in flowing { lane.condition = .restoring }
    }

    /// First the committed offsets, which are stable only when no transaction holds newer ones; then the views
    /// up to the ends as they are after that. So no page is made of rows that lack what the pages before it
    /// have made. What does not succeed is tried in a later turn.
    func startOver() throws {
        guard mustStartOver, starts.blockage == nil, registry.blockage == nil, catalog != nil,
            Instant.now() >= nextStartOver, try starts.openNext(of: owned.keys),
            try registry.openNext(of: owned.keys)
        else { return }
        if let obstacle = try transaction.prepare(withinMilliseconds: Self.askMilliseconds) {
            return startOverAgain(obstacle)
        }
        let registryTopic = layout.name(.registry)
        var registryOffsets: [Int32: Int64?] = [:]
        do {
            let asked = places(of: owned.keys) + owned.keys.map { TopicPartition(registryTopic, $0) }
            let committed = try consumer.committed(asked, withinMilliseconds: Self.askMilliseconds)
            for offset in committed {
                let place = offset.partition
                if place.topic == registryTopic {
                    registryOffsets[place.partition] = .some(offset.offset)
                    owned[place.partition]?.registryCommitted = offset.offset
                } else {
                    let topic: ExpandedTopic =
                        place.topic == layout.name(.expansionsUrgent) ? .urgent : .usual
                    owned[place.partition]?.queues[topic]?.begin(at: offset.offset)
                }
            }
            try consumer.seek(
                committed.filter {
                    $0.partition.topic != registryTopic && owned[$0.partition.partition]?.isReadable == true
                }.map(\.start), withinMilliseconds: Self.askMilliseconds)
        } catch {
            if error.code.isAccessRefused { throw error }
            return startOverAgain(error.description)
        }
        guard try registry.begin(registryOffsets) else {
            return startOverAgain("the cluster did not say where the registry ends")
        }
        try starts.begin(owned.keys)
        let now = Instant.now()
        for lane in owned.values {
            lane.hasStarts = false
            lane.worker = nil
            lane.isPaused = false
            if lane.isReadable { lane.condition = .restoring }
            lane.restoringSince = now
        }
        mustStartOver = false
    }

    private func startOverAgain(_ reason: String) {
        log.warning("cannot begin to read expansions now; trying again", .field("reason", reason))
        pauseMilliseconds = min(max(10, pauseMilliseconds * 2), Self.pauseMillisecondsMax)
        nextStartOver = Instant.now().advanced(byMilliseconds: pauseMilliseconds)
    }

    func giveUp(_ message: StaticString, _ reason: String) {
        log.warning(message, .field("reason", reason))
        startOverLater()
    }
}

extension ExpanderLoop: TopicViewsOwner {
    /// Of this machine, for the age of files alone.
    var decisionTime: Int64 { clock().milliseconds }

    func reached(_ step: TopicViews.Step) { onStep(step == .opened ? .viewOpened : .viewSettled) }

    func ends(of partition: TopicPartition) -> Watermarks? { writer.ends(of: partition) }

    func readViews(waitMilliseconds: Int32) throws {
        for number in try starts.read(waitMilliseconds: waitMilliseconds) { owned[number]?.hasStarts = true }
        try registry.read(waitMilliseconds: 0)
        // A lane whose file was damaged is gone from it, and where there was no room, something was not taken.
        if !mustStartOver, registry.blockage != nil || owned.keys.contains(where: { registry[$0] == nil }) {
            startOverLater()
        }
        if mustStartOver { return }
        for lane in owned.values where lane.condition == .restoring { try finishRestoring(lane) }
    }

    /// News can be heard as soon as `starts` is there; pages wait for the registry, too.
    private func finishRestoring(_ lane: OwnedLane) throws {
        guard lane.hasStarts, registry.isReady(lane.number), let file = registry[lane.number] else { return }
        if lane.worker == nil {
            let table = StartsTable(of: lane.number, in: starts, reader: reader, log: log)
            lane.worker = LaneWorker(file, table, jobsPerSheet: settings.jobsPerSheet)
        }
        guard registry.isComplete(lane.number), resume(lane) else { return }
        lane.condition = .serving
        pauseMilliseconds = 0
        metrics.restoreSeconds.observe(Instant.now().seconds(since: lane.restoringSince))
        onStep(.restored)
    }

    /// A pause remembers a position of its own, of before; so the right one is set once more behind it.
    private func resume(_ lane: OwnedLane) -> Bool { resume(ExpandedTopic.allCases, of: lane) }

    func resume(_ topics: [ExpandedTopic], of lane: OwnedLane) -> Bool {
        let starts = topics.map { topic in
            let next = lane.queues[topic]?.next
            return PartitionStart(place(topic, lane.number), next.map { .offset($0) } ?? .beginning)
        }
        consumer.resume(starts.map(\.partition))
        do {
            try consumer.seek(starts, withinMilliseconds: Self.askMilliseconds)
            return true
        } catch {
            log.warning("cannot go on with expansions now; trying again", .field("error", error))
            startOverLater()
            return false
        }
    }

    func pause(_ topic: ExpandedTopic, of lane: OwnedLane) { consumer.pause([place(topic, lane.number)]) }
}

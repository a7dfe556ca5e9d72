internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Telemetry

extension IngestLoop {
    /// How long one question to the cluster may hold up a turn.
    static let askMilliseconds = 5000
    /// The pause before starting over grows to this when it keeps failing.
    static let pauseMillisecondsMax = 5000

    func take(_ event: ConsumerEvent) throws {
        switch event {
        case .offered(let partitions): try takeOver(partitions)
        case .revoked, .lost:
            try letGo()
            try reports.release()
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
            reports.pause([place])
            log.error(
                "reports were deleted before they were read; set the group's offset to go on",
                .field("partition", place.partition), .field("error", failure))
        case .partition, .client: log.warning("reports cannot be read now", .field("error", failure))
        case .rebuild: throw StageFailure.client(failure.description)
        case .fenced: throw SharedIdentity(failure)
        }
    }

    /// The answer to an offer. Where each partition begins is found out afterwards, in one way for all
    /// occasions; until then nothing is read.
    private func takeOver(_ partitions: [TopicPartition]) throws {
        try letGo()
        try reports.assign(partitions.map { PartitionStart($0, .beginning) })
        reports.pause(partitions)
        let now = Instant.now()
        for place in partitions { owned[place.partition] = OwnedPartition(place.partition, at: now) }
        clockCheck.keep(owned.keys)
        views.keep(owned.keys)
        log.info("partitions assigned", .field("count", partitions.count))
        onStep(.assigned)
        mustStartOver = !partitions.isEmpty
        nextStartOver = now
    }

    private func letGo() throws {
        try views.letGo()
        owned.removeAll()
        mustStartOver = false
    }

    /// The batch in hand, and everything read ahead, is read again from the committed offsets.
    func startOverLater() {
        mustStartOver = true
        metrics.startedOver.add()
        pauseMilliseconds = min(max(10, pauseMilliseconds * 2), Self.pauseMillisecondsMax)
        nextStartOver = Instant.now().advanced(byMilliseconds: pauseMilliseconds)
        let flowing = owned.values.filter(\.isServing).map { TopicPartition(reportsTopic, $0.number) }
        reports.pause(flowing)
        for number in owned.keys where owned[number]?.isServing == true {
            owned[number]?.condition = .restoring
        }
    }

    /// First the committed offsets, which are stable only when no transaction holds newer ones; then the
    /// views up to the ends as they are after that. So no report is merged into a state that lacks what
    /// the reports before it have made. What does not succeed is tried in a later turn.
    func startOver() throws {
        guard mustStartOver, views.blockage == nil, wrongClock == nil, merger.isReady,
            Instant.now() >= nextStartOver, try views.openNext(of: owned.keys)
        else { return }
        if let obstacle = try transaction.prepare(withinMilliseconds: Self.askMilliseconds) {
            return startOverAgain(obstacle)
        }
        let places = owned.keys.map { TopicPartition(reportsTopic, $0) }
        do {
            let committed = try reports.committed(places, withinMilliseconds: Self.askMilliseconds)
            for offset in committed { owned[offset.partition.partition]?.committed = offset.offset }
            try askForYoungReports(places)
            try reports.seek(
                committed.filter { owned[$0.partition.partition]?.isReadable == true }.map(\.start),
                withinMilliseconds: Self.askMilliseconds)
        } catch {
            if error.code.isAccessRefused { throw error }
            return startOverAgain(error.description)
        }
        try views.begin(owned.keys)
        let now = Instant.now()
        for number in owned.keys {
            if owned[number]?.isReadable == true { owned[number]?.condition = .restoring }
            owned[number]?.restoringSince = now
        }
        mustStartOver = false
    }

    private func startOverAgain(_ reason: String) {
        log.warning("cannot begin to read reports now; trying again", .field("reason", reason))
        pauseMilliseconds = min(max(10, pauseMilliseconds * 2), Self.pauseMillisecondsMax)
        nextStartOver = Instant.now().advanced(byMilliseconds: pauseMilliseconds)
    }
}

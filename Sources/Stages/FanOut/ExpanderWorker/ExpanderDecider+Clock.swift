internal import Kafka
internal import Lifecycle
internal import Registry
internal import StageSupport
internal import Telemetry
internal import Topics

extension ExpanderDecider {
    /// The pause between two questions for young records.
    private static let queryIntervalMilliseconds = 10_000
    /// The topics of this stage whose records the cluster stamps.
    private static let stampedTopics = [TopicName.sends, .progress, .jobs]

    /// The time for decisions and an upper bound of the time, in milliseconds since 1970.
    var times: (now: Int64, latest: Int64) {
        let now = stage.time.now()
        stage.clock.observe(machineTime: stage.time.wall().milliseconds, at: now)
        return (stage.clock.decisionTime(at: now) ?? 0, stage.clock.latestTime(at: now))
    }

    /// Gives the registration times of tokens to the clock. They come from the cluster's stamps.
    func observeRegistrationTimes() {
        let now = stage.time.now()
        for index in 0..<registryChanges.count {
            stage.clock.observe(recordedTime: registryChanges.row(at: index).registeredAt, at: now)
        }
    }

    /// Asks for records that are at most a few minutes old by this machine's clock. If there is one, the
    /// clock is not ahead. The loop calls it once a second.
    func queryYoungRecords(at now: Instant) {
        guard now >= nextYoungRecordsQuery, stage.clock.lacksConfirmingStamps else { return }
        nextYoungRecordsQuery = now.advanced(byMilliseconds: Self.queryIntervalMilliseconds)
        let since = stage.time.wall().milliseconds - ClusterClock.toleranceMilliseconds
        let partitions = Self.stampedTopics.flatMap { topic in
            (0..<Int32(partitioner.laneCount)).map { stage.topicPartition(of: topic, number: $0) }
        }
        youngRecordsQuery = stage.consumer.submit(.firstRecords(sinceMilliseconds: since, partitions))
    }

    /// Takes the answer to the newest question for young records.
    func handle(_ event: ConsumerEvent) {
        guard case .queryCompleted(youngRecordsQuery, .firstRecords(let since, let found)) = event else {
            return
        }
        if found.values.contains(where: { $0 != nil }) {
            stage.clock.observe(stamp: since, at: stage.time.now())
        }
    }
}

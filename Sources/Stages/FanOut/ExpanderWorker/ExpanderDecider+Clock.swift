internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Registry
internal import StageSupport
internal import Telemetry
internal import Topics

extension ExpanderDecider {
    /// The pause between two questions for young records.
    private static let betweenQuestionsMilliseconds = 10_000
    /// The topics of this stage whose records the cluster stamps.
    private static let stampedTopics = [TopicName.sends, .progress, .jobs]

    /// The time for decisions and an upper bound of the time, in milliseconds since 1970.
    var times: (now: Int64, latest: Int64) {
        let now = stage.time.now()
        stage.clock.tick(machine: stage.time.wall().milliseconds, at: now)
        return (stage.clock.decisionTime(at: now) ?? 0, stage.clock.latest(at: now))
    }

    /// Gives the registration times of tokens to the clock. They come from the cluster's stamps.
    func noteNews() {
        let now = stage.time.now()
        for index in 0..<news.count { stage.clock.sawRecorded(news.row(at: index).registeredAt, at: now) }
    }

    /// Asks for records that are at most a few minutes old by this machine's clock. If there is one, the
    /// clock is not ahead. The loop calls it once a second.
    func askTheTime(_ now: Instant) {
        guard now >= nextQuestion, stage.clock.isUnconfirmed else { return }
        nextQuestion = now.advanced(byMilliseconds: Self.betweenQuestionsMilliseconds)
        let since = stage.time.wall().milliseconds - ClusterClock.toleranceMilliseconds
        let partitions = Self.stampedTopics.flatMap { topic in
            (0..<Int32(lanes.laneCount)).map { stage.place(topic, $0) }
        }
        youngRecords = stage.consumer.submit(.firstRecords(sinceMilliseconds: since, partitions))
    }

    /// Takes the answer to the newest question for young records.
    func hear(_ event: ConsumerEvent) {
        guard case .queryCompleted(youngRecords, .firstRecords(let since, let found)) = event else { return }
        if found.values.contains(where: { $0 != nil }) { stage.clock.saw(since, at: stage.time.now()) }
    }
}

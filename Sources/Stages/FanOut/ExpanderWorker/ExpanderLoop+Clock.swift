internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Registry
internal import StageSupport
internal import Telemetry
internal import Topics

extension ExpanderLoop {
    /// The pause between two questions for young records.
    private static let betweenQuestionsMilliseconds = 10_000
    /// The topics of this stage whose records the cluster stamps.
    private static let stampedTopics = [TopicName.sends, .progress, .jobs]

    /// The time for decisions and an upper bound of the time, in milliseconds since 1970.
    var times: (now: Int64, latest: Int64) {
        let now = Instant.now()
        time.tick(machine: clock().milliseconds, at: now)
        return (time.decisionTime(at: now) ?? 0, time.latest(at: now))
    }

    /// Gives the stamps of the current batch to the clock.
    func noteStamps() {
        let now = Instant.now()
        for index in 0..<batch.count where batch[index].isStampedByCluster {
            if let stamp = batch[index].timestamp { time.saw(stamp, at: now) }
        }
    }

    /// Gives the registration times of tokens to the clock. They come from the cluster's stamps.
    func noteNews() {
        let now = Instant.now()
        for index in 0..<news.count { time.sawRecorded(news.row(index).registeredAt, at: now) }
    }

    /// Asks for records that are at most a few minutes old by this machine's clock. If there is one, the
    /// clock is not ahead. The loop calls it once a second.
    func askTheTime(_ now: Instant) {
        let wall = clock().milliseconds
        guard now >= nextQuestion, time.isUnconfirmed(at: now) else { return }
        nextQuestion = now.advanced(byMilliseconds: Self.betweenQuestionsMilliseconds)
        let since = wall - ClusterClock.toleranceMilliseconds
        let partitions = Self.stampedTopics.flatMap { topic in
            (0..<Int32(lanes.count)).map { TopicPartition(layout.name(topic), $0) }
        }
        youngRecords = consumer.ask(.records(sinceMilliseconds: since, partitions))
    }

    /// Takes the answer to the newest question for young records.
    func hearYoungRecords(_ event: ConsumerEvent) {
        guard case .answered(youngRecords, .records(let since, let found)) = event else { return }
        if found.values.contains(where: { $0 != nil }) { time.saw(since, at: .now()) }
    }
}

internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Registry
internal import Telemetry
internal import Topics

extension ExpanderLoop {
    /// The pause between two questions for young records.
    private static let betweenQuestionsMilliseconds = 10_000
    /// Topics of this stage that the cluster stamps.
    private static let stampedTopics = [TopicName.sends, .progress, .jobs]

    /// The time to decide by, and one that is no earlier than it is; milliseconds since 1970. Where nothing is
    /// known of the cluster's, there is nothing to decide yet.
    var times: (now: Int64, latest: Int64) {
        let (wall, now) = (clock().milliseconds, Instant.now())
        return (provenTime.time(by: wall, at: now) ?? wall, provenTime.latest(by: wall, at: now))
    }

    /// The same, where it is known; what cannot be taken back waits for that.
    var surelyPast: Int64? { provenTime.time(by: clock().milliseconds, at: .now()) }

    /// What the batch in hand shows.
    func noteStamps() {
        let now = Instant.now()
        for index in 0..<batch.count where batch[index].isStampedByCluster {
            if let stamp = batch[index].timestamp { provenTime.saw(stamp, at: now) }
        }
    }

    /// A token was registered by the cluster's time.
    func noteNews() {
        let now = Instant.now()
        for index in 0..<news.count { provenTime.saw(news.row(index).registeredAt, at: now) }
    }

    /// Once a second: whether there is a record that by our clock is hardly a few minutes old; then ours is not
    /// ahead.
    func askTheTime(_ now: Instant) {
        let wall = clock().milliseconds
        guard now >= nextQuestion, !provenTime.proves(wall, at: now) else { return }
        nextQuestion = now.advanced(byMilliseconds: Self.betweenQuestionsMilliseconds)
        let time = wall - ProvenTime.toleranceMilliseconds
        let partitions = Self.stampedTopics.flatMap { topic in
            (0..<Int32(lanes.count)).map { TopicPartition(layout.name(topic), $0) }
        }
        youngRecords = consumer.ask(.records(sinceMilliseconds: time, partitions))
    }

    /// Takes an answer to the newest question for young records.
    func hearYoungRecords(_ event: ConsumerEvent) {
        guard case .answered(youngRecords, .records(let time, let found)) = event else { return }
        if found.values.contains(where: { $0 != nil }) { provenTime.saw(time, at: .now()) }
    }
}

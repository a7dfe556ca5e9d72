internal import JSON
package import Kafka
package import Lifecycle
internal import RecordFormat
package import Telemetry

/// The writer of this process's record in the topic `members`. It repeats the record regularly. Confined to its loop.
package final class MemberAnnouncer {
    /// The interval between repetitions. They preserve the record although the topic deletes records after a day, and
    /// they replace a lost record. So no delivery is checked.
    package static let repeatMilliseconds = 10_000
    /// The longest wait of `end` for the deletion of the record.
    private static let deletionMilliseconds = 2000

    private let producer: BackgroundProducer
    private let topic: String
    private let loop: EventLoop
    private var makeRecord: (() -> any MembersRecord)?
    /// The key of the written record, which `end` deletes.
    private var writtenKey: [UInt8]?
    private var timer: LoopTimer?
    private let log: Log

    package init(
        cluster: Cluster, topic: String, on loop: EventLoop, log: Log, metrics: Metrics
    ) throws {
        producer = try cluster.makeBackgroundProducer(log: log, metrics: metrics)
        self.topic = topic
        self.log = log
        self.loop = loop
    }

    /// Writes the record now and at each repetition. A second call writes again at once.
    ///
    /// - Parameter makeRecord: Returns the current record. Its time is set here.
    package func announce(_ makeRecord: @escaping () -> any MembersRecord) {
        self.makeRecord = makeRecord
        writeRecord()
    }

    private func writeRecord() {
        guard var record = makeRecord?() else { return }
        record.at = WallTime.now().milliseconds
        let (key, value) = (record.key, record.encoded())
        writtenKey = key
        send(key: key, value: value)
        let timer = self.timer ?? LoopTimer(on: loop) { [unowned self] in writeRecord() }
        self.timer = timer
        timer.schedule(at: Instant.now().advanced(byMilliseconds: Self.repeatMilliseconds))
    }

    private func send(key: [UInt8], value: [UInt8]?) {
        do {
            try producer.send(toTopic: topic, key: key, value: value)
        } catch {
            log.warning("cannot write to members; the next repetition tries again", .field("error", error))
        }
    }

    /// Deletes the record, so that no process queries this one any more. Blocks for at most two seconds.
    package func end() {
        timer?.cancel()
        // The closure may retain the object that answers queries, so it is released.
        makeRecord = nil
        guard let key = writtenKey else { return }
        send(key: key, value: nil)
        producer.flush(withinMilliseconds: Self.deletionMilliseconds)
    }
}

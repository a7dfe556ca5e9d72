internal import Kafka
internal import Lifecycle
internal import Registry
internal import Stages
internal import Store
internal import Telemetry
internal import Topics

/// The registry's files of the lanes that are ours, and what is read for them. Pinned to the loop's thread.
///
/// A file is a cache of its topic: what goes wrong with one has one repair, it is built anew. What was told of
/// a lane's news counts when the loop's transaction has committed the offset; until then it is told again.
final class RegistryLanes {
    /// One lane's file on its way to the topic's end.
    private final class Entry {
        var lane: Lane
        /// While the file holds nothing: everything below the committed offset goes through it, sorted.
        var restore: LaneRestore?
        /// The next offset to be taken.
        var taken: Int64
        var asOf: WallTime
        /// Records that were taken and are not entered.
        var waiting = 0
        /// It has been to the end of everything that was written.
        var isComplete = false

        init(_ lane: Lane, asOf: WallTime) {
            self.lane = lane
            self.asOf = asOf
            taken = lane.applied ?? 0
        }

        func hear(_ record: borrowing Kafka.Record) throws(StoreError) {
            if let restore, record.offset < lane.newsBegins ?? .max {
                try restore.hear(key: record.key, value: record.value, offset: record.offset)
            } else {
                try finishRestore()
                waiting += 1
                try lane.hear(key: record.key, value: record.value, offset: record.offset)
            }
            taken = max(taken, record.offset + 1)
            if let time = record.timestamp { asOf = WallTime(milliseconds: time) }
        }

        /// Reads from the file's offset once more.
        func begin(newsBegins: Int64) throws(StoreError) {
            try lane.beginAgain(newsBegins: newsBegins)
            taken = lane.applied ?? 0
            waiting = 0
            isComplete = false
        }

        func finishRestore() throws(StoreError) {
            guard let restore else { return }
            let offset = min(taken, lane.newsBegins ?? taken)
            try restore.finish(Applied(offset: offset, asOf: asOf))
            self.restore = nil
        }
    }

    /// How long a disk without room is left alone.
    private static let retryMilliseconds = 1000
    private static let ageMarginMilliseconds: Int64 = 3_600_000
    /// What is read ahead; in memory small records are several times as much.
    private static let prefetchKibibytesMax = 8192
    /// How long a fetch waits for something new.
    private static let fetchMilliseconds = 250
    /// Records of a turn while lanes are restored, which sort them.
    private static let restoredMax = 10_000
    /// The same when all are entered as they come: nearly always they are of one lane, and a file keeps the memory of
    /// its largest transaction, in which each row can take several pages of its own.
    private static let enteredMax = 250
    private static let batchBytesMax = 16 << 20
    /// What restores sort in memory, those of all lanes together.
    private static let restoreBytesMax = 48 << 20
    /// Of one lane; a smaller run makes more files than can be read side by side.
    private static let restoreBytesMin = 2 << 20

    private let topic: String
    private let directory: String
    private let limits: Store.Limits
    private let boot: BootID
    private let cluster: String
    private let consumer: Consumer
    private let log: Log
    private let metrics: LaneMetrics
    private var batch = RecordBatch(recordsMax: restoredMax, bytesMax: batchBytesMax)
    /// Open files, kept over a rebalance: most lanes come back.
    private var entries: [Int32: Entry] = [:]
    /// Lanes whose news the loop enters.
    private var served: Set<Int32> = []
    /// Lanes that are paused until the loop serves them.
    private var held: Set<Int32> = []
    private(set) var blockage: Blockage?
    /// The last reading took as many as it may: there are probably more.
    private(set) var hasMore = false

    init(
        topic: String, directory: String, limits: Store.Limits, kafka: KafkaSettings, log: Log,
        metrics: Metrics
    ) throws {
        self.topic = topic
        self.directory = directory
        self.limits = limits
        self.log = log
        self.metrics = LaneMetrics(metrics)
        boot = try BootID.current()
        var options = ConsumerOptions(.manual)
        options.prefetchKibibytesMax = Self.prefetchKibibytesMax
        // As with views: a start waits for ends, and a new token for the fetch of another lane.
        options.fetchWaitMilliseconds = Self.fetchMilliseconds
        consumer = try Consumer(kafka, options, name: "expander-registry", log: log, metrics: metrics)
        guard let cluster = consumer.clusterID(withinMilliseconds: StageTransaction.startMilliseconds) else {
            throw StageFailure.client("the cluster did not tell its id; check kafka.brokers")
        }
        self.cluster = cluster
    }

    /// Readable while there is something to read.
    var descriptor: Int32 { consumer.descriptor }

    subscript(partition: Int32) -> Lane? { entries[partition]?.lane }

    /// Whether pages of the lane may be served.
    func isComplete(_ partition: Int32) -> Bool { entries[partition]?.isComplete ?? false }

    /// Whether it is complete, or has so much in hand that it must be entered before more is read.
    func isReady(_ partition: Int32) -> Bool {
        guard let entry = entries[partition], entry.restore == nil else { return false }
        return entry.isComplete || isFull(entry)
    }

    /// Where the group's offset is when what was taken is entered.
    func taken(_ partition: Int32) -> Int64 { entries[partition]?.taken ?? 0 }

    /// Whether everything that was taken stands in the file, so that a page shows it. What another owner has told
    /// everybody of is no news to them, and has to be entered all the same.
    func isEntered(_ partition: Int32) -> Bool {
        guard let entry = entries[partition] else { return true }
        return entry.restore == nil && entry.lane.applied ?? 0 >= entry.taken
    }

    // MARK: Opening

    func keep(_ numbers: some Collection<Int32>) {
        for partition in entries.keys where !numbers.contains(partition) {
            if let entry = entries.removeValue(forKey: partition) { close(entry) }
        }
    }

    /// One file a turn: a large one is read through before it is believed, and a member must poll.
    ///
    /// - Returns: whether all are open.
    func openNext(of numbers: some Collection<Int32>) throws -> Bool {
        let closed = numbers.filter { entries[$0] == nil }.sorted()
        guard let partition = closed.first else { return true }
        do throws(StoreError) {
            entries[partition] = Entry(try makeLane(partition), asOf: .now())
        } catch {
            guard error.passes else { throw error }
            block(error)
            return false
        }
        return closed.count == 1
    }

    private func makeLane(_ partition: Int32) throws(StoreError) -> Lane {
        try Lane(
            "\(directory)/registry-\(partition)", Store.TopicPartition(topic, partition), origin: cluster,
            ageMaxMilliseconds: TopicLayout.deleteRetentionMilliseconds - Self.ageMarginMilliseconds,
            limits: limits, now: .now(), boot: boot, log: log, metrics: metrics)
    }

    // MARK: Reading

    /// Reads on from the offsets that the group has committed. Rows above them are news, whatever the files hold.
    ///
    /// - Parameter committed: nil for a lane without a committed offset. Its file may be older than that: Kafka expires
    ///   offsets. News then begin behind the file. Without a file, the lane was never begun: nothing up to its first end
    ///   is news.
    func begin(_ committed: [Int32: Int64?]) throws {
        held = []
        var starts: [PartitionStart] = []
        for (partition, offset) in committed {
            guard let entry = try opened(partition) else { continue }
            let place = Kafka.TopicPartition(topic, partition)
            try entry.begin(newsBegins: offset ?? entry.lane.applied ?? .max)
            if entry.lane.applied == nil {
                entry.restore = LaneRestore(
                    entry.lane, runBytesMax: max(Self.restoreBytesMin, Self.restoreBytesMax / committed.count)
                )
            }
            if offset == 0 { try finishRestore(entry, partition) }
            let start = entry.restore == nil ? entry.lane.start : nil
            starts.append(
                PartitionStart(place, start.map { $0 > 0 ? .offset($0) : .beginning } ?? .beginning))
        }
        try consumer.assign(starts)
    }

    /// The lane's file, open. One whose restore was interrupted is opened again, which empties it.
    private func opened(_ partition: Int32) throws -> Entry? {
        guard let known = entries[partition], known.restore != nil else { return entries[partition] }
        close(known)
        entries[partition] = nil
        _ = try openNext(of: [partition])
        return entries[partition]
    }

    func letGo() {
        held = []
        served = []
        try? consumer.release()
    }

    /// The loop enters what is read of the lane from now on.
    func serve(_ partition: Int32) {
        served.insert(partition)
        guard held.remove(partition) != nil else { return }
        consumer.resume([Kafka.TopicPartition(topic, partition)])
    }

    /// Takes what the topic has. It is entered, and told, by `commit`.
    func read(waitMilliseconds: Int32) throws {
        hasMore = false
        if blockage != nil || mustEnterFirst() { return }
        fitBatch()
        let events = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        defer { batch.clear() }
        hasMore = batch.count >= batch.recordsMax
        for index in 0..<batch.count {
            let partition = batch[index].partition
            guard let entry = entries[partition] else { continue }
            let record = batch[index]
            do throws(StoreError) {
                try entry.hear(record)
            } catch {
                return try repair(partition, error)
            }
        }
        for event in events {
            switch event {
            case .end(let place, let offset): try reached(offset, place)
            case .failed(.outOfRange(let place, let text)):
                return try repair(place.partition, .corrupt(path: place.description, what: text))
            case .failed(.rebuild(let error)):
                throw StageFailure.client(error.description)
            case .failed(let failure):
                log.warning("the registry cannot be read now", .field("error", failure))
            default: break
            }
        }
    }

    /// Whether a lane has as much in hand as it should. A lane that the loop does not serve yet, because its other files
    /// are being restored, is paused alone. The other lanes read on.
    private func mustEnterFirst() -> Bool {
        for (partition, entry) in entries where isFull(entry) {
            if served.contains(partition) { return true }
            if held.insert(partition).inserted { consumer.pause([Kafka.TopicPartition(topic, partition)]) }
        }
        return false
    }

    private var isRestoring: Bool { entries.values.contains { $0.restore != nil } }

    /// It has as much in hand as one transaction of its file should enter.
    private func isFull(_ entry: Entry) -> Bool {
        guard entry.restore == nil else { return false }
        // What others restore must not wait for this one.
        return entry.lane.isFull || (entry.waiting >= Self.enteredMax && !isRestoring)
    }

    private func fitBatch() {
        let recordsMax = isRestoring ? Self.restoredMax : Self.enteredMax
        if batch.recordsMax == recordsMax { return }
        batch = RecordBatch(recordsMax: recordsMax, bytesMax: Self.batchBytesMax)
    }

    /// The end of a reader of committed records is where the oldest open transaction begins; complete is the
    /// lane at the end of everything that was written.
    private func reached(_ offset: Int64, _ place: Kafka.TopicPartition) throws {
        guard let entry = entries[place.partition] else { return }
        entry.taken = max(entry.taken, offset)
        entry.asOf = .now()
        guard let ends = consumer.knownWatermarks(of: place), entry.taken >= ends.high else { return }
        if entry.lane.newsBegins == .max { entry.lane.newsBegins = offset }
        try finishRestore(entry, place.partition)
        entry.isComplete = true
    }

    private func finishRestore(_ entry: Entry, _ partition: Int32) throws {
        do throws(StoreError) {
            try entry.finishRestore()
        } catch {
            try repair(partition, error)
        }
    }

    // MARK: Entering

    /// Enters what was taken, and tells what became new by it.
    func commit(_ partition: Int32, tellingInto news: inout LaneNews) throws(StoreError) {
        news.removeAll()
        guard let entry = entries[partition], entry.restore == nil else { return }
        try entry.lane.commit(Applied(offset: entry.taken, asOf: entry.asOf), tellingInto: &news)
        entry.waiting = 0
    }

    // MARK: Trouble

    func block(_ error: StoreError) {
        log.error("no room for the registry of this process; its work waits", .field("error", error))
        blockage = Blockage(
            retryAt: Instant.now().advanced(byMilliseconds: Self.retryMilliseconds), why: error.description)
    }

    func retryBlocked(_ now: Instant) {
        if let blocked = blockage, now >= blocked.retryAt { blockage = nil }
    }

    /// The file goes, and is built anew; the loop starts over.
    func repair(_ partition: Int32, _ error: StoreError) throws {
        if error.passes { return block(error) }
        guard error.isCorruption else { throw error }
        log.warning(
            "the registry's file is damaged, it is built anew from its topic", .field("lane", partition),
            .field("error", error))
        if let entry = entries.removeValue(forKey: partition) { try entry.lane.condemn(error.description) }
    }

    private func close(_ entry: Entry) {
        do throws(StoreError) {
            try entry.lane.close()
        } catch {
            log.warning(
                "the registry's file was not closed in order; it is looked at more closely at the next start",
                .field("error", error))
        }
    }

    func finish() {
        batch.clear()
        _ = consumer.close()
        for entry in entries.values { close(entry) }
        entries.removeAll()
    }
}

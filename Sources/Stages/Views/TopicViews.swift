package import Kafka
package import Lifecycle
package import Store
package import Telemetry
internal import Topics

/// The disk has no room: every view waits, because they share it.
package struct Blockage: Sendable {
    package var retryAt: Instant
    package var why: String

    package init(retryAt: Instant, why: String) {
        self.retryAt = retryAt
        self.why = why
    }
}

/// The loop whose views these are.
package protocol TopicViewsOwner: AnyObject {
    /// The time to decide by, in milliseconds since 1970.
    var decisionTime: Int64 { get }
    /// What is in hand, and everything read ahead, has to be read again.
    func startOverLater()
    func reached(_ step: TopicViews.Step)
}

/// The views of a loop's partitions of one compacted topic, and over each what the loop has committed and the
/// view has not read back. Pinned to the loop's thread.
///
/// What goes wrong here has one repair, the loop's: it starts over, from the committed offsets and with views
/// that are read to the end of everything that was written.
package final class TopicViews {
    package enum Step: Sendable { case opened, settled }

    /// How long a disk without room is left alone.
    private static let retryMilliseconds = 1000
    /// What is read ahead; in memory small records are several times as much.
    private static let prefetchKibibytesMax = 8192
    /// Of one partition in one answer of a broker, as it comes, which is compressed: answers have some of each.
    private static let partitionKibibytesMax = 256
    /// How long a fetch waits for something new. What an idle installation costs is above all these fetches.
    private static let fetchMilliseconds = 250
    /// Records that one turn takes and enters. What waits in a loop for its turn waits as long as that takes.
    private static let recordsMax = 3000
    /// Rows of one file that one of its transactions enters: a file keeps the memory of its largest, and each row can
    /// take pages of its own.
    private static let enteredMax = 250

    private let form: TopicViewForm
    private let directory: String
    private let limits: Limits
    private let boot: BootID
    private let cluster: String
    private let consumer: Consumer
    private let log: Log
    private let metrics: TopicViewMetrics
    /// Set before the first call.
    package weak var owner: (any TopicViewsOwner)?
    private var batch = RecordBatch(recordsMax: recordsMax, bytesMax: 16 << 20)
    /// Open files, kept over a rebalance: most partitions come back.
    private var files: [Int32: TopicView] = [:]
    /// Of the partitions that are ours.
    package var overlays: [Int32: Overlay] = [:]
    package private(set) var blockage: Blockage?
    /// Records of the last reading.
    package private(set) var readCount = 0
    /// The newest question of `refreshAsOf`.
    private var endsQuestion: QuestionID?
    /// A view was opened, and another one is to be opened in the next turn.
    package private(set) var isOpening = false

    /// - Parameters:
    ///   - directory: a view's own lies in it, with the partition's number behind the table's name.
    ///   - name: the consumer's, in metrics.
    package init(
        _ form: TopicViewForm, directory: String, limits: Limits, kafka: KafkaSettings, name: String,
        log: Log, metrics: Metrics, numbers: TopicViewMetrics
    ) throws {
        self.form = form
        self.directory = directory
        self.limits = limits
        self.log = log
        self.metrics = numbers
        boot = try BootID.current()
        var options = ConsumerOptions(.manual)
        options.prefetchKibibytesMax = Self.prefetchKibibytesMax
        options.partitionKibibytesMax = Self.partitionKibibytesMax
        // Where nothing is, its end is told when a fetch has waited; and a start waits for the ends.
        options.fetchWaitMilliseconds = Self.fetchMilliseconds
        consumer = try Consumer(kafka, options, name: name, log: log, metrics: metrics)
        guard let cluster = consumer.clusterID(withinMilliseconds: StageTransaction.startMilliseconds)
        else {
            throw StageFailure.client("the cluster did not tell its id; check kafka.brokers")
        }
        self.cluster = cluster
    }

    /// Readable while there is something to read.
    package var descriptor: Int32 { consumer.descriptor }

    package subscript(partition: Int32) -> TopicView? { files[partition] }
    package var overlayRows: Int { overlays.values.reduce(0) { $0 + $1.count } }
    package var overlayBytes: Int { overlays.values.reduce(0) { $0 + $1.bytes } }

    /// Rows that were repeated, and are known in memory alone.
    package var repeatedRows: Int { overlays.values.reduce(0) { $0 + $1.repeatedCount } }

    private var now: WallTime { WallTime(milliseconds: owner?.decisionTime ?? 0) }

    // MARK: Opening

    /// Others' files are closed.
    package func keep(_ numbers: some Collection<Int32>) {
        overlays = overlays.filter { numbers.contains($0.key) }
        for partition in files.keys where !numbers.contains(partition) {
            if let view = files.removeValue(forKey: partition) { close(view) }
        }
    }

    /// One file a turn: a large one is read through before it is believed, and a member must poll.
    ///
    /// - Returns: whether all are open.
    package func openNext(of numbers: some Collection<Int32>) throws -> Bool {
        let closed = numbers.filter { files[$0] == nil }.sorted()
        isOpening = false
        guard let partition = closed.first else { return true }
        guard let view = try open(partition) else { return false }
        files[partition] = view
        isOpening = closed.count > 1
        return !isOpening
    }

    private func open(_ partition: Int32) throws -> TopicView? {
        do throws(StoreError) {
            let view = try makeView(partition)
            tell(view)
            owner?.reached(.opened)
            return view
        } catch {
            guard error.passes else { throw error }
            block(error)
            return nil
        }
    }

    private func makeView(_ partition: Int32) throws(StoreError) -> TopicView {
        try TopicView(
            form, partition: partition, directory: "\(directory)/\(form.table)-\(partition)",
            cluster: cluster,
            deleteRetentionMilliseconds: TopicLayout.deleteRetentionMilliseconds, limits: limits,
            now: now,
            boot: boot)
    }

    private func tell(_ view: TopicView) {
        metrics.opened(view.beginning)
        switch view.beginning {
        case .discarded(let reason):
            log.warning(
                "view discarded, it is built anew from its topic",
                .field("partition", view.place.partition),
                .field("reason", reason.description))
        case .empty, .resumed:
            log.debug(
                "view opened", .field("partition", view.place.partition), .field("offset", view.applied))
        }
    }

    private func close(_ view: TopicView) {
        do throws(StoreError) {
            try view.close()
        } catch {
            log.warning(
                "view not closed in order; it is looked at more closely at the next start",
                .field("partition", view.place.partition), .field("error", error))
        }
    }

    // MARK: Reading

    /// Reads on behind what the files have. What was committed before has been written, and is read back.
    package func begin(_ numbers: some Collection<Int32>) throws {
        try keepRepeated()
        overlays = Dictionary(uniqueKeysWithValues: numbers.map { ($0, Overlay()) })
        try consumer.assign(numbers.compactMap { files[$0]?.start })
    }

    /// Nothing is ours any more.
    package func letGo() throws {
        try keepRepeated()
        overlays = [:]
        try? consumer.release()
    }

    /// Takes what the topic has, and enters it.
    ///
    /// - Returns: the partitions whose views were read to the end of everything that was written.
    package func read(waitMilliseconds: Int32) throws -> [Int32] {
        readCount = 0
        if blockage != nil { return [] }
        let events = consumer.poll(into: &batch, waitMilliseconds: waitMilliseconds)
        readCount = batch.count
        var touched = Set<Int32>()
        // A partition's records come one behind the other.
        var (partition, view): (Int32, TopicView?) = (-1, nil)
        for index in 0..<batch.count {
            if batch[index].partition != partition {
                partition = batch[index].partition
                view = files[partition]
                if view != nil { touched.insert(partition) }
            }
            guard let heard = view else { continue }
            heard.hear(batch[index])
            guard heard.pending >= Self.enteredMax else { continue }
            try settle(partition)
            // One that turned out to be damaged has gone.
            view = files[partition]
        }
        batch.clear()
        var ended: [Int32] = []
        for event in events {
            switch event {
            case .end(let place, let offset):
                files[place.partition]?.reached(offset, now: now)
                touched.insert(place.partition)
                ended.append(place.partition)
            case .answered(let id, .ends(let ends)) where id == endsQuestion: try refresh(ends)
            // The file is ahead of its topic, which was created again, or behind its first record.
            case .failed(.outOfRange(let place, let text)):
                try rebuild(place.partition, .corrupt(path: place.description, what: text))
                return []
            case .failed(.rebuild(let error)):
                throw StageFailure.client(error.description)
            case .failed(let failure):
                log.warning("a view's topic cannot be read now", .field("error", failure))
            default: break
            }
        }
        for partition in touched { try settle(partition) }
        return ended.filter(isComplete)
    }

    /// The end of a reader of committed records is where the oldest open transaction begins. What the
    /// partition's last owner committed can lie behind that, its marker still on the way: so the view is
    /// complete only when it has come to the end of everything that was written.
    private func isComplete(_ partition: Int32) -> Bool {
        guard overlays[partition] != nil, let view = files[partition], view.pending == 0,
            let ends = consumer.knownWatermarks(of: view.place), view.applied >= ends.high
        else { return false }
        overlays[partition]?.reachedEnd(at: .now())
        return true
    }

    /// Enters what was taken from the topic, or kept.
    package func settle(_ partition: Int32) throws {
        guard let view = files[partition], blockage == nil else { return }
        do throws(StoreError) {
            try enter(into: view)
            metrics.applied(partition).set(Double(view.applied))
            owner?.reached(.settled)
        } catch {
            if error.passes { return block(error) }
            try rebuild(partition, error)
        }
    }

    private func enter(into view: TopicView) throws(StoreError) {
        // Taken out meanwhile: it is found once, not for each row.
        var overlay = overlays.removeValue(forKey: view.place.partition)
        defer { overlays[view.place.partition] = overlay }
        try view.settle { overlay?.applied($0) }
    }

    /// Changes many rows of one overlay.
    package func change(_ partition: Int32, _ body: (inout Overlay) -> Void) {
        guard var overlay = overlays.removeValue(forKey: partition) else { return }
        defer { overlays[partition] = overlay }
        body(&overlay)
    }

    /// Hands the views what was repeated. It follows from records that they have read, so it is right there
    /// whoever owns the partitions next: what others commit lies behind, and is read over it.
    package func keepRepeated() throws {
        for partition in overlays.keys {
            guard let view = files[partition], blockage == nil, overlays[partition]?.repeatedCount != 0 else {
                continue
            }
            overlays[partition]?.takeRepeated { key, record in view.keep(key.bytes.span, record.span) }
            if view.pending > 0 { try settle(partition) }
        }
    }

    /// Asks where the partitions end, so that the files of quiet ones are known to be up to date. Without this, such a
    /// file looks as old as its last record, and is rebuilt for nothing.
    package func refreshAsOf() {
        let places = overlays.keys.compactMap { files[$0]?.place }
        if !places.isEmpty { endsQuestion = consumer.ask(.ends(places)) }
    }

    private func refresh(_ ends: [Kafka.TopicPartition: Watermarks]) throws {
        for (place, ends) in ends where overlays[place.partition] != nil {
            guard let view = files[place.partition], ends.high <= view.applied else { continue }
            view.reached(view.applied, now: now)
            try settle(place.partition)
        }
    }

    // MARK: Trouble

    /// Waits for room on the disk. The membership goes on, and so nobody else gets a disk that may be
    /// as full.
    private func block(_ error: StoreError) {
        log.error("no room for the state of this process; its work waits", .field("error", error))
        blockage = Blockage(
            retryAt: Instant.now().advanced(byMilliseconds: Self.retryMilliseconds),
            why: error.description)
        owner?.startOverLater()
    }

    /// Once a second.
    ///
    /// - Parameter numbers: those that are ours, some of which may not be open yet.
    package func retryBlocked(_ now: Instant, opening numbers: some Collection<Int32>) throws {
        guard let blocked = blockage, now >= blocked.retryAt else { return }
        blockage = nil
        for partition in files.keys.sorted() where blockage == nil { try settle(partition) }
        if blockage == nil { _ = try openNext(of: numbers) }
        if blockage == nil { log.info("there is room again; work goes on") }
    }

    /// The file is not what was written. It is a cache: it goes, and is read anew from its topic.
    package func rebuild(_ partition: Int32, _ error: StoreError) throws {
        guard error.isCorruption else { throw error }
        log.warning(
            "view is damaged, it is built anew from its topic", .field("partition", partition),
            .field("error", error))
        if let view = files.removeValue(forKey: partition) { try view.condemn(error.description) }
        owner?.startOverLater()
    }

    /// The end in order.
    package func finish() throws {
        try keepRepeated()
        batch.clear()
        _ = consumer.close()
        for view in files.values { close(view) }
        files.removeAll()
    }
}

internal import Telemetry

/// The log behind a coordinator: one partition of an internal topic, in which a batch is what must
/// happen together, and the newest record of a key is the state.
struct CoordinatorTopic {
    static let groups = "__consumer_offsets"
    static let transactions = "__transaction_state"
    static let names: Set = [groups, transactions]
    /// Compacted, in segments small enough to be compacted soon, and with room for the largest group.
    static let settings = [
        "cleanup.policy": "compact", "segment.bytes": "33554432", "max.message.bytes": "67108864",
    ]
    private static let replayBytes = 1 << 20

    let log: PartitionLog

    init(named name: String, in topics: TopicStore) throws(TopicStoreError) {
        let topic =
            if let found = topics.topic(named: name) {
                found
            } else {
                try topics.create(name, partitions: 1, settings: Self.settings, isInternal: true)
            }
        guard let log = topic.partition(0) else { throw .unknown(name) }
        self.log = log
    }

    /// Appends records as one batch, and says when they are durable or that they never will be.
    /// `done` may be called at once.
    func persist(_ records: [CoordinatorRecord], _ done: @escaping (LogError?) -> Void) {
        let now = WallTime.now()
        let batch = BatchBuilder.batch(
            records.map { NewRecord(key: $0.key, value: $0.value) }, time: now.milliseconds)
        do throws(LogError) {
            let appended = try unsafe batch.withBytes { (raw) throws(LogError) in
                try unsafe log.append(raw, now: now)
            }
            log.whenDurable(appended.nextOffset, done)
        } catch {
            done(error)
        }
    }

    /// Gives every record that is there to `restore`, in order.
    func replay(
        log messages: Log, _ restore: (CoordinatorRecord) -> CoordinatorRecord.Restored
    ) throws(LogError) {
        var writer = WireWriter(capacity: Self.replayBytes)
        var offset = log.logStartOffset
        var skipped = 0
        while true {
            writer.reset()
            let result = try log.read(
                from: offset, maxBytes: Self.replayBytes, committed: false, into: &writer)
            guard result.bytes > 0 else { break }
            try unsafe writer.withBytes { (raw) throws(LogError) in
                try unsafe Self.records(in: raw) { if restore($0) != .applied { skipped += 1 } }
            }
            offset = result.nextOffset
        }
        guard skipped > 0 else { return }
        messages.warning(
            "passed over records that this release cannot read", .field("topic", log.topic),
            .field("records", skipped))
    }

    /// `bytes` are whole batches that the log has checked, and that were written by `persist`.
    private static func records(
        in bytes: UnsafeRawBufferPointer, _ body: (CoordinatorRecord) -> Void
    ) throws(LogError) {
        var position = 0
        while position < bytes.count {
            let header = unsafe BatchHeader(UnsafeRawBufferPointer(rebasing: bytes[position...]))
            let range = position + BatchHeader.size..<position + header.totalSize
            position = range.upperBound
            let records = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
            guard !header.isControl, header.codec == 0 else { continue }
            var reader = unsafe RecordReader(records, count: Int(header.recordCount))
            while let record = try reader.next() {
                guard let key = record.key else { continue }
                body(
                    CoordinatorRecord(
                        key: unsafe [UInt8](records[key]),
                        value: record.value.map { unsafe [UInt8](records[$0]) }))
            }
        }
    }
}

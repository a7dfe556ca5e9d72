internal import Telemetry

/// The log of a coordinator: one partition of an internal topic. The records of one batch take effect
/// together, and the newest record of a key is the state.
struct CoordinatorTopic {
    static let groups = "__consumer_offsets"
    static let transactions = "__transaction_state"
    static let names: Set = [groups, transactions]
    /// Settings for a compacted topic with segments that are soon compacted, and with batches for the
    /// largest group.
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
        guard let log = topic.partition(at: 0) else { throw .unknown(name) }
        self.log = log
    }

    /// Appends records as one batch. Calls `done` when they are durable or lost, possibly at once.
    func persist(_ records: [CoordinatorRecord], done: @escaping (LogError?) -> Void) {
        let now = WallTime.now()
        let batch = BatchBuilder.batch(
            records.map { NewRecord(key: $0.key, value: $0.value) }, time: now.milliseconds)
        do throws(LogError) {
            let appended = try unsafe batch.withBytes { (raw) throws(LogError) in
                try unsafe log.append(raw, now: now)
            }
            log.whenDurable(upTo: appended.nextOffset, done: done)
        } catch {
            done(error)
        }
    }

    /// Gives every record that can be read to `restore`, in order.
    ///
    /// Damage does not stop the broker: without the rest of its topics nothing works at all, and with
    /// the records around the damage most groups and transactions go on.
    func replay(
        log messages: Log, restore: (CoordinatorRecord) -> CoordinatorRecord.RestoreResult
    ) throws(LogError) {
        var writer = WireWriter(capacity: Self.replayBytes)
        var offset = log.logStartOffset
        var skipped = 0
        var lost: Int64 = 0
        while offset < log.highWatermark {
            writer.reset()
            do throws(LogError) {
                let result = try log.read(
                    from: offset, maxBytes: Self.replayBytes, committed: false, into: &writer)
                guard result.bytes > 0 else { break }
                offset = result.nextOffset
            } catch {
                guard case .damaged = error else { throw error }
                let next = max(offset + 1, try log.soundOffset(above: offset))
                lost += next - offset
                offset = next
                continue
            }
            unsafe writer.withBytes { raw in
                lost += unsafe Self.forEachRecord(in: raw) { if restore($0) != .applied { skipped += 1 } }
            }
        }
        logSkippedRecords(skipped: skipped, lost: lost, log: messages)
    }

    private func logSkippedRecords(skipped: Int, lost: Int64, log messages: Log) {
        if skipped > 0 {
            messages.warning(
                "passed over records that this release cannot read", .field("topic", log.topic),
                .field("records", skipped))
        }
        guard lost > 0 else { return }
        messages.error(
            "damaged records of a coordinator are lost, and an older state holds: check groups and transactions",
            .field("topic", log.topic), .field("offsets", Int(lost)))
    }

    /// `bytes` are whole batches that the log has checked. Returns the number of offsets whose records
    /// are not what `persist` writes.
    private static func forEachRecord(
        in bytes: UnsafeRawBufferPointer, body: (CoordinatorRecord) -> Void
    ) -> Int64 {
        var position = 0
        var lost: Int64 = 0
        while position < bytes.count {
            let header = unsafe BatchHeader(parsing: UnsafeRawBufferPointer(rebasing: bytes[position...]))
            let range = position + BatchHeader.size..<position + header.totalSize
            position = range.upperBound
            let records = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
            guard !header.isControl, header.codec == 0 else { continue }
            do throws(LogError) {
                // The batch is read whole first, because its records take effect together.
                for record in try unsafe decodeBatch(records, count: Int(header.recordCount)) { body(record) }
            } catch {
                lost += header.nextOffset - header.baseOffset
            }
        }
        return lost
    }

    private static func decodeBatch(
        _ records: UnsafeRawBufferPointer, count: Int
    ) throws(LogError) -> [CoordinatorRecord] {
        var all: [CoordinatorRecord] = []
        var reader = unsafe RecordReader(records, count: count)
        while let record = try reader.next() {
            guard let key = record.key else { continue }
            all.append(
                CoordinatorRecord(
                    key: unsafe [UInt8](records[key]),
                    value: record.value.map { unsafe [UInt8](records[$0]) }))
        }
        return all
    }
}

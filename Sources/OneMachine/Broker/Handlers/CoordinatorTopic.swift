internal import Telemetry

/// The log of a coordinator, which is one partition of an internal topic. The records of one batch take
/// effect together, and the newest record of a key is the state.
struct CoordinatorTopic {
    static let groups = "__consumer_offsets"
    static let transactions = "__transaction_state"
    static let names: Set = [groups, transactions]
    /// Settings for a compacted topic with segments that are soon compacted, and with batches for the
    /// largest group.
    static let settings = [
        "cleanup.policy": "compact", "segment.bytes": "33554432", "max.message.bytes": "67108864",
    ]
    /// Size of one read at a start.
    private static let replayBytes = 1 << 20

    let log: PartitionLog

    init(named name: String, in topics: TopicStore) throws(TopicStoreError) {
        let topic =
            if let existing = topics.topic(named: name) {
                existing
            } else {
                try topics.create(name, partitions: 1, settings: Self.settings, isInternal: true)
            }
        guard let log = topic.partition(at: 0) else { throw .unknown(name) }
        self.log = log
    }

    /// Appends records as one batch. Calls `done` when they are durable or lost, possibly at once.
    func append(_ records: [CoordinatorRecord], done: @escaping (LogError?) -> Void) {
        let now = WallTime.now()
        let batch = BatchBuilder.batch(
            records.map { NewRecord(key: $0.key, value: $0.value) }, time: now.milliseconds)
        do throws(LogError) {
            let appended = try unsafe batch.withBytes { (bytes) throws(LogError) in
                try unsafe log.append(bytes, now: now)
            }
            log.whenDurable(upTo: appended.nextOffset, done: done)
        } catch {
            done(error)
        }
    }

    /// Gives every record that can be read to `restore`, in order.
    ///
    /// Damage does not prevent a start, because the records around it restore most groups and transactions.
    func replay(
        reportingTo messageLog: Log, restore: (CoordinatorRecord) -> CoordinatorRecord.RestoreResult
    ) throws(LogError) {
        var writer = WireWriter(capacity: Self.replayBytes)
        var offset = log.logStartOffset
        var skippedRecords = 0
        var lostOffsets: Int64 = 0
        while offset < log.highWatermark {
            writer.reset()
            do throws(LogError) {
                let result = try log.read(
                    from: offset, maxBytes: Self.replayBytes, committed: false, into: &writer)
                guard result.byteCount > 0 else { break }
                offset = result.nextOffset
                unsafe writer.withBytes { batches in
                    lostOffsets += unsafe Self.forEachRecord(in: batches) { record in
                        if restore(record) != .applied { skippedRecords += 1 }
                    }
                }
            } catch {
                guard case .damaged = error else { throw error }
                let nextSound = max(offset + 1, try log.soundOffset(above: offset))
                lostOffsets += nextSound - offset
                offset = nextSound
            }
        }
        reportLosses(skippedRecords: skippedRecords, lostOffsets: lostOffsets, to: messageLog)
    }

    private func reportLosses(skippedRecords: Int, lostOffsets: Int64, to messageLog: Log) {
        if skippedRecords > 0 {
            messageLog.warning(
                "passed over records that this release cannot read", .field("topic", log.topic),
                .field("records", skippedRecords))
        }
        guard lostOffsets > 0 else { return }
        messageLog.error(
            "damaged records of a coordinator are lost, and an older state holds: check groups and transactions",
            .field("topic", log.topic), .field("offsets", Int(lostOffsets)))
    }

    /// Gives the records of whole batches, whose checksums the log has checked, to `body`. Returns the
    /// number of offsets in batches whose records cannot be decoded.
    private static func forEachRecord(
        in bytes: UnsafeRawBufferPointer, body: (CoordinatorRecord) -> Void
    ) -> Int64 {
        var position = 0
        var lostOffsets: Int64 = 0
        while position < bytes.count {
            let header = unsafe BatchHeader(parsing: UnsafeRawBufferPointer(rebasing: bytes[position...]))
            let range = position + BatchHeader.size..<position + header.totalSize
            position = range.upperBound
            let records = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
            // Only the broker writes to this topic, and it compresses nothing.
            guard !header.isControl, header.codec == Codec.none.rawValue else { continue }
            do throws(LogError) {
                // All records are decoded before the first takes effect, because they belong together.
                for record in try unsafe decodeBatch(records, count: Int(header.recordCount)) { body(record) }
            } catch {
                lostOffsets += header.nextOffset - header.baseOffset
            }
        }
        return lostOffsets
    }

    private static func decodeBatch(
        _ records: UnsafeRawBufferPointer, count: Int
    ) throws(LogError) -> [CoordinatorRecord] {
        var decoded: [CoordinatorRecord] = []
        var reader = unsafe RecordReader(records, count: count)
        while let record = try reader.next() {
            guard let key = record.key else { continue }
            decoded.append(
                CoordinatorRecord(
                    key: unsafe [UInt8](records[key]),
                    value: record.value.map { unsafe [UInt8](records[$0]) }))
        }
        return decoded
    }
}

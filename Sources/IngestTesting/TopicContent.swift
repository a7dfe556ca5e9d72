internal import Kafka
internal import Lifecycle
internal import Telemetry
package import Topics

/// A record that was read back.
package struct ReadRecord: Sendable, Equatable {
    package var partition: Int32
    package var offset: Int64
    package var timestamp: Int64
    package var key: [UInt8]?
    package var value: [UInt8]?
    package var headers: [String: String]
}

/// A whole topic as a reader of committed records sees it.
package struct TopicContent {
    package private(set) var records: [ReadRecord] = []

    package struct NoEnd: Error {}

    /// Reads every partition up to the end of what was written, open transactions waited for.
    package init(_ topic: TopicName, _ bed: IngestBed) throws {
        let name = bed.layout.name(topic)
        let consumer = try Consumer(
            bed.settings, ConsumerOptions(.manual), name: "judge", log: .silent, metrics: Metrics())
        defer { _ = consumer.close() }
        let places = (0..<Int32(bed.layout.partitions(topic))).map { TopicPartition(name, $0) }
        try consumer.assign(places.map { PartitionStart($0, .beginning) })
        var open = Set(places)
        var batch = RecordBatch()
        let limit = Instant.now().advanced(byMilliseconds: 60_000)
        while !open.isEmpty {
            guard Instant.now() < limit else { throw NoEnd() }
            let events = consumer.poll(into: &batch, waitMilliseconds: 100)
            for index in 0..<batch.count { records.append(ReadRecord(batch[index])) }
            for case .end(let place, let offset) in events {
                if let ends = consumer.knownWatermarks(of: place), offset >= ends.high { open.remove(place) }
            }
            batch.clear()
        }
    }

    /// The newest value of each key that has one.
    package var newest: [[UInt8]: [UInt8]] {
        var rows: [[UInt8]: [UInt8]] = [:]
        for record in records { rows[record.key ?? []] = record.value }
        return rows
    }
}

extension ReadRecord {
    init(_ record: borrowing Record) {
        partition = record.partition
        offset = record.offset
        timestamp = record.timestamp ?? 0
        key = [UInt8](copying: record.key)
        value = [UInt8](copying: record.value)
        headers = [:]
        let list = record.headers
        for index in 0..<list.count {
            let name = String(decoding: [UInt8](copying: list[index].name), as: UTF8.self)
            headers[name] = String(decoding: [UInt8](copying: list[index].value) ?? [], as: UTF8.self)
        }
    }
}

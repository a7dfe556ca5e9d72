internal import JSON
package import Kafka
package import RecordFormat

/// The records of one transaction, ready to be sent. A caller encodes a value, and adds records with it. Keys and
/// values lie in two buffers, without an allocation for each record. The memory is used again for every transaction.
package struct TransactionOutput: ~Copyable {
    /// An encoded value. It can be sent to several partitions.
    package struct EncodedValue: Sendable, Equatable {
        fileprivate let range: Range<Int>
    }

    /// A record, by the positions of its bytes.
    private struct StagedRecord {
        var partition: Int32
        /// The bytes in `keys`. Nil for a record without a key.
        var key: Range<Int>?
        /// The bytes in `values`. Nil for a tombstone.
        var value: Range<Int>?
    }

    private var keys: [UInt8] = []
    private var values = JSONWriter(capacity: 1 << 20)
    /// The records by the number of their topic.
    private var stagedRecords: [[StagedRecord]]
    /// The number of records.
    package private(set) var count = 0
    /// The size of their keys and values. A value that goes to many partitions counts for each.
    package private(set) var byteCount = 0

    /// - Parameter topics: the number of topics. Each topic is named by its number.
    package init(topics: Int) { stagedRecords = Array(repeating: [], count: topics) }

    /// Returns the number of records of a topic.
    package func count(of topic: Int) -> Int { stagedRecords[topic].count }

    package mutating func removeAll() {
        keys.removeAll(keepingCapacity: true)
        values.removeAll()
        for topic in stagedRecords.indices { stagedRecords[topic].removeAll(keepingCapacity: true) }
        (count, byteCount) = (0, 0)
    }

    /// Encodes a value. `add` makes records of it.
    package mutating func encode(_ record: some JSONRecord) -> EncodedValue {
        let start = values.count
        record.append(to: &values)
        return EncodedValue(range: start..<values.count)
    }

    /// Adds a record.
    ///
    /// - Parameter value: nil for a tombstone.
    package mutating func add(to topic: Int, partition: Int32, key: [UInt8]? = nil, value: EncodedValue?) {
        var keyRange: Range<Int>?
        if let key {
            keyRange = keys.count..<keys.count + key.count
            keys.append(contentsOf: key)
        }
        stagedRecords[topic].append(StagedRecord(partition: partition, key: keyRange, value: value?.range))
        count += 1
        byteCount += (key?.count ?? 0) + (value?.range.count ?? 0)
    }

    /// Returns a copy of a value.
    package borrowing func bytes(of value: EncodedValue) -> [UInt8] {
        unsafe values.withBytes { values in
            unsafe Array(UnsafeRawBufferPointer(rebasing: values[value.range]))
        }
    }

    /// Sends the records of a topic. Returns false if the producer refused one.
    package borrowing func send(topic: Int, by producer: TransactionalProducer, to openTopic: Topic) -> Bool {
        let (keys, records) = (keys, stagedRecords[topic])
        return unsafe values.withBytes { values in
            let (keys, values) = unsafe (keys.span, Span<UInt8>(_unsafeBytes: values))
            for record in records {
                let key: Span<UInt8>? = if let range = record.key { keys.extracting(range) } else { nil }
                let value: Span<UInt8>? =
                    if let range = record.value { values.extracting(range) } else { nil }
                guard producer.queue(to: openTopic, partition: record.partition, key: key, value: value)
                else {
                    return false
                }
            }
            return true
        }
    }
}

package import Kafka
package import RecordFormat

extension NonTransactionalWriter {
    /// The size of the largest copy of a record in the dead letters, in bytes. A larger record, which was perhaps
    /// compressed in its topic, is only named by its position. If `dead-letters` refused the copy, the partition of the
    /// rejected record would wait for ever.
    static let copiedBytesMax = 4 << 20
    /// The capacity for the headers: the nine of `DeadLetter`, and a few of the record.
    private static let headersCapacity = 12

    /// Sends a copy of a record to the dead letters, with headers that give the reason, to the partition of the same
    /// number. If the copy would be larger than `copiedBytesMax`, only the headers are sent, and the record cannot be
    /// redriven.
    ///
    /// - Parameter sealedValue: replaces the value if the value must not be stored in plain text.
    package func sendToDeadLetters(
        _ record: borrowing Kafka.Record, sealedValue: [UInt8]? = nil, as deadLetter: DeadLetter
    ) {
        let (byteCount, valueByteCount) = (record.byteCount, record.value?.count ?? 0)
        let copyByteCount = byteCount - valueByteCount + (sealedValue?.count ?? valueByteCount)
        if copyByteCount > Self.copiedBytesMax { return sendPosition(in: deadLetter, byteCount: byteCount) }
        var headers = RecordHeaders(capacity: Self.headersCapacity)
        let recordHeaders = record.headers
        for index in 0..<recordHeaders.count {
            headers.add(named: recordHeaders[index].name, value: recordHeaders[index].value)
        }
        headers.add(deadLetter)
        // The two values have different lifetimes, so there are two calls.
        if let sealedValue {
            send(
                to: deadLettersTopic, partition: deadLetter.partition, key: record.key,
                value: sealedValue.span, headers: &headers)
        } else {
            send(
                to: deadLettersTopic, partition: deadLetter.partition, key: record.key, value: record.value,
                headers: &headers)
        }
    }

    /// Sends a dead letter that has only headers, because the record is too large.
    private func sendPosition(in deadLetter: DeadLetter, byteCount: Int) {
        var deadLetter = deadLetter
        deadLetter.reason += "; its \(byteCount) bytes are not kept here"
        var headers = RecordHeaders(capacity: Self.headersCapacity)
        headers.add(deadLetter)
        send(
            to: deadLettersTopic, partition: deadLetter.partition, key: nil, value: nil, headers: &headers)
    }
}

extension RecordHeaders {
    /// Adds the headers of a dead letter.
    package mutating func add(_ deadLetter: DeadLetter) {
        for header in deadLetter.headers {
            let (name, value) = (Array(header.name.rawValue.utf8), Array(header.value.utf8))
            add(named: name.span, value: value.span)
        }
    }
}

extension Kafka.Record {
    /// The total size of the key, the value and the headers, in bytes.
    package var byteCount: Int {
        var byteCount = (key?.count ?? 0) + (value?.count ?? 0)
        let headers = headers
        for index in 0..<headers.count {
            byteCount += headers[index].name.count + (headers[index].value?.count ?? 0)
        }
        return byteCount
    }
}

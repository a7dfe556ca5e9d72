package import Kafka
package import RecordFormat

extension NonTransactionalWriter {
    /// The size of the largest record that is copied to the dead letters, in bytes. A larger record, which was perhaps
    /// compressed in its topic, is only named by its position. If the topic refused the copy, its partition would wait
    /// for ever.
    static let copiedBytesMax = 4 << 20
    /// The usual number of headers of a dead letter, for their memory.
    private static let deadLetterHeaderCount = 12

    /// Sends an unchanged copy of a record to the dead letters, with headers that give the reason.
    ///
    /// - Parameter sealedValue: replaces the value if the value must not be stored in plain text.
    package func sendToDeadLetters(
        _ record: borrowing Kafka.Record, sealedValue: [UInt8]? = nil, as deadLetter: DeadLetter
    ) {
        var deadLetter = deadLetter
        var headers = RecordHeaders(capacity: Self.deadLetterHeaderCount)
        let recordHeaders = record.headers
        let byteCount = record.byteCount
        let isCopied = byteCount <= Self.copiedBytesMax
        if isCopied {
            for index in 0..<recordHeaders.count {
                headers.add(named: recordHeaders[index].name, value: recordHeaders[index].value)
            }
        } else {
            deadLetter.reason += "; its \(byteCount) bytes are not kept here"
        }
        for (name, value) in deadLetter.headers {
            let name = Array(name.rawValue.utf8)
            let value = Array(value.utf8)
            headers.add(named: name.span, value: value.span)
        }
        let key = isCopied ? record.key : nil
        if isCopied, let sealedValue {
            send(
                to: deadLettersTopic, partition: deadLetter.partition, key: key, value: sealedValue.span,
                headers: &headers)
        } else {
            let value = isCopied ? record.value : nil
            send(
                to: deadLettersTopic, partition: deadLetter.partition, key: key, value: value,
                headers: &headers)
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

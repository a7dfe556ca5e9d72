/// A record that the broker writes itself. The coordinators and tests use it.
package struct NewRecord: Equatable, Sendable {
    package var key: [UInt8]?
    package var value: [UInt8]?
    package var headers: [Header]

    package struct Header: Equatable, Sendable {
        package var name: [UInt8]
        package var value: [UInt8]?

        package init(name: [UInt8], value: [UInt8]?) {
            self.name = name
            self.value = value
        }
    }

    package init(key: [UInt8]?, value: [UInt8]?, headers: [Header] = []) {
        self.key = key
        self.value = value
        self.headers = headers
    }
}

/// Encodes records into one uncompressed batch.
package enum BatchBuilder {
    /// Returns a batch whose records all have the timestamp `time`, in milliseconds since 1970. By default it
    /// has no producer, for which Kafka writes -1.
    package static func batch(
        _ records: [NewRecord], time: Int64, producerID: Int64 = -1, producerEpoch: Int16 = -1,
        baseSequence: Int32 = -1, transactional: Bool = false, control: Bool = false
    ) -> [UInt8] {
        precondition(!records.isEmpty, "a batch has a record")
        var header = BatchHeader(
            baseOffset: 0, producerID: producerID, producerEpoch: producerEpoch, baseSequence: baseSequence)
        header.attributes =
            (transactional ? BatchHeader.transactionalBit : 0) | (control ? BatchHeader.controlBit : 0)
        header.baseTimestamp = time
        header.maxTimestamp = time
        header.lastOffsetDelta = Int32(records.count - 1)
        header.recordCount = Int32(records.count)
        var body: [UInt8] = []
        for (index, record) in records.enumerated() {
            record.append(to: &body, offsetDelta: index, timestampDelta: 0)
        }
        return assemble(header: header, body: body)
    }

    /// Returns the batch with the control record that ends a transaction.
    static func marker(
        producerID: Int64, epoch: Int16, commit: Bool, coordinatorEpoch: Int32, time: Int64
    ) -> [UInt8] {
        // Key and value each begin with a version of 0 in two bytes. Their numbers are big-endian.
        let key: [UInt8] = [0, 0, 0, commit ? TransactionMarker.commit : TransactionMarker.abort]
        var value: [UInt8] = [0, 0]
        for shift in [24, 16, 8, 0] { value.append(UInt8(truncatingIfNeeded: coordinatorEpoch >> shift)) }
        return batch(
            [NewRecord(key: key, value: value)], time: time, producerID: producerID, producerEpoch: epoch,
            transactional: true, control: true)
    }

    /// Returns the header and the records as one batch, with its length and checksum.
    static func assemble(header: BatchHeader, body: [UInt8]) -> [UInt8] {
        var header = header
        header.batchLength = Int32(BatchHeader.size - BatchHeader.lengthPrefix + body.count)
        unsafe body.withUnsafeBytes { unsafe header.updateChecksum(body: $0) }
        var bytes = [UInt8](repeating: 0, count: BatchHeader.size)
        unsafe bytes.withUnsafeMutableBytes { unsafe header.write(to: $0) }
        bytes += body
        return bytes
    }
}

extension NewRecord {
    /// Appends the record in Kafka's encoding: its length, and then its fields.
    func append(to body: inout [UInt8], offsetDelta: Int, timestampDelta: Int64) {
        var record: [UInt8] = [0]  // attributes
        Varint.append(timestampDelta, to: &record)
        Varint.append(Int64(offsetDelta), to: &record)
        Self.append(key, to: &record)
        Self.append(value, to: &record)
        Varint.append(Int64(headers.count), to: &record)
        for header in headers {
            Self.append(header.name, to: &record)
            Self.append(header.value, to: &record)
        }
        Varint.append(Int64(record.count), to: &body)
        body += record
    }

    private static func append(_ bytes: [UInt8]?, to record: inout [UInt8]) {
        Varint.append(Int64(bytes?.count ?? -1), to: &record)
        if let bytes { record += bytes }
    }
}

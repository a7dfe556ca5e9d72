extension PartitionLog {
    /// Refuses records without a key in a compacted topic, which keeps the newest record of each key. No
    /// other append decompresses a batch.
    func checkKeys(of header: BatchHeader, batch: UnsafeRawBufferPointer) throws(LogError) {
        let plain = try unsafe header.decompressedRecords(of: batch)
        try unsafe plain.withBytes { (raw) throws(LogError) in
            var reader = unsafe RecordReader(raw, count: Int(header.recordCount))
            var expected: Int64 = 0
            while let record = try reader.next() {
                guard record.key != nil else {
                    throw LogError.invalidRecord(
                        "topic \(topic) is compacted and record \(expected) has no key")
                }
                guard record.offsetDelta == expected else {
                    throw LogError.invalidRecord("record \(expected) says that it is \(record.offsetDelta)")
                }
                expected += 1
            }
        }
    }
}

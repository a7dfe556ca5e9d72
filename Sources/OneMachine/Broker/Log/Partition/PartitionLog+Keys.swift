extension PartitionLog {
    /// Refuses a batch for a compacted topic if a record has no key, or if the records are not numbered 0, 1,
    /// 2 and so on. Compaction needs both, because it keeps the record with the highest offset of each key.
    /// Batches for other topics are not decompressed.
    func checkKeys(of header: BatchHeader, batch: UnsafeRawBufferPointer) throws(LogError) {
        let records = try unsafe header.decompressedRecords(of: batch)
        try unsafe records.withBytes { (bytes) throws(LogError) in
            var reader = unsafe RecordReader(bytes, count: Int(header.recordCount))
            var recordIndex: Int64 = 0
            while let record = try reader.next() {
                guard record.key != nil else {
                    throw LogError.invalidRecord(
                        "topic \(topic) is compacted and record \(recordIndex) has no key")
                }
                guard record.offsetDelta == recordIndex else {
                    throw LogError.invalidRecord(
                        "record \(recordIndex) says that it is \(record.offsetDelta)")
                }
                recordIndex += 1
            }
        }
    }
}

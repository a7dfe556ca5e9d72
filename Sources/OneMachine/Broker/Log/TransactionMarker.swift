/// The control record that ends a transaction.
enum TransactionMarker {
    /// Returns whether the marker commits, or nil for another control record.
    static func commits(_ header: BatchHeader, batch: UnsafeRawBufferPointer) -> Bool? {
        let body = unsafe UnsafeRawBufferPointer(rebasing: batch[BatchHeader.size..<header.totalSize])
        var reader = unsafe RecordReader(body, count: Int(header.recordCount))
        guard let record = try? reader.next(), let key = record.key, key.count >= 4 else { return nil }
        let kind: Int16 = unsafe body.big(at: key.lowerBound + 2)
        return kind == 0 ? false : kind == 1 ? true : nil
    }
}

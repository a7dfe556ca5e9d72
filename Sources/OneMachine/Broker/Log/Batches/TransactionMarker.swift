/// The control record that ends a transaction. Its key is a version and a kind, of two bytes each.
enum TransactionMarker {
    // The kinds.
    static let abort: UInt8 = 0
    static let commit: UInt8 = 1

    private static let keySize = 4
    private static let kindPosition = 2

    /// Returns whether the marker commits, or nil for another control record.
    static func commits(_ header: BatchHeader, batch: UnsafeRawBufferPointer) -> Bool? {
        let body = unsafe UnsafeRawBufferPointer(rebasing: batch[BatchHeader.size..<header.totalSize])
        var reader = unsafe RecordReader(body, count: Int(header.recordCount))
        guard let record = try? reader.next(), let key = record.key, key.count >= keySize else { return nil }
        let kind: Int16 = unsafe body.big(at: key.lowerBound + kindPosition)
        switch kind {
        case Int16(abort): return false
        case Int16(commit): return true
        default: return nil
        }
    }
}

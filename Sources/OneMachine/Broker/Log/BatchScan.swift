/// A scan over bytes from a segment, which takes whole, sound batches up to a limit offset.
struct BatchScan {
    /// The offset that the next batch must have. After the scan, the next read begins here.
    private(set) var expected: Int64
    /// The end of the reader's range.
    let limit: Int64
    /// Records after which no further batch is taken.
    let recordsMax: Int64
    /// Bytes of batches taken.
    private(set) var taken = 0
    /// Size of the first batch, if it does not fit into the bytes.
    private(set) var neededBytes: Int?
    /// Whether the scan stopped at a damaged batch.
    private(set) var isDamaged = false

    init(expected: Int64, limit: Int64, recordsMax: Int64 = .max) {
        self.expected = expected
        self.limit = limit
        self.recordsMax = recordsMax
    }

    var nextOffset: Int64 { expected }
    /// Number of records in the taken batches. Offsets cannot be counted instead: in a compacted log most
    /// of them have no record.
    private(set) var records: Int64 = 0

    mutating func scan(_ bytes: UnsafeRawBufferPointer) {
        while bytes.count - taken >= BatchHeader.size {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[taken...])
            let header = unsafe BatchHeader(parsing: rest)
            guard header.flaw == nil, header.baseOffset == expected else {
                isDamaged = true
                return
            }
            if header.baseOffset >= limit || records >= recordsMax { return }
            guard header.totalSize <= rest.count else {
                if taken == 0 { neededBytes = header.totalSize }
                return
            }
            guard unsafe header.isSound(rest, at: expected) else {
                isDamaged = true
                return
            }
            taken += header.totalSize
            records += Int64(header.recordCount)
            expected = header.nextOffset
        }
        if taken == 0, bytes.count < BatchHeader.size { isDamaged = true }
    }
}

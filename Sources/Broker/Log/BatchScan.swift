/// Takes whole, sound batches from the front of bytes that were read, up to a limit offset.
struct BatchScan {
    /// The offset at which the next batch must begin; behind the scan, where the next read begins.
    private(set) var expected: Int64
    /// Batches from here on are not for this reader.
    let limit: Int64
    /// Records after which no further batch is taken.
    let recordsMax: Int64
    /// Bytes of batches taken.
    private(set) var taken = 0
    /// Set when not even the first batch fits: its size.
    private(set) var neededBytes: Int?
    /// The scan stopped at bytes that are not what was written.
    private(set) var isDamaged = false

    init(expected: Int64, limit: Int64, recordsMax: Int64 = .max) {
        self.expected = expected
        self.limit = limit
        self.recordsMax = recordsMax
    }

    var nextOffset: Int64 { expected }
    /// Records in the batches taken. Not their offsets: most of a compacted log's stand for nothing.
    private(set) var records: Int64 = 0

    mutating func run(_ bytes: UnsafeRawBufferPointer) {
        while bytes.count - taken >= BatchHeader.size {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[taken...])
            let header = unsafe BatchHeader(rest)
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

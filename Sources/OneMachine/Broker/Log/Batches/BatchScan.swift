/// A scan over bytes from a segment, for one read. It takes whole, sound batches from the front.
struct BatchScan {
    /// The end of the reader's range: a batch at this offset or above is not taken.
    let endOfRead: Int64
    /// Number of records after which no further batch is taken.
    let recordsMax: Int64

    /// The offset that the next batch must have. After the scan, the next read begins here.
    private(set) var nextOffset: Int64
    /// Bytes of the batches that were taken.
    private(set) var takenBytes = 0
    /// Number of records in these batches. It is not the number of their offsets, because most offsets of a compacted
    /// log have no record.
    private(set) var takenRecords: Int64 = 0
    /// Size of the first batch, if it does not fit into the bytes.
    private(set) var neededBytes: Int?
    /// Whether the scan stopped at a damaged batch.
    private(set) var isDamaged = false

    init(nextOffset: Int64, endOfRead: Int64, recordsMax: Int64 = .max) {
        self.nextOffset = nextOffset
        self.endOfRead = endOfRead
        self.recordsMax = recordsMax
    }

    /// Scans bytes that begin at `nextOffset`. Stops at the end of the range, at damage, or at a batch that
    /// is not complete.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) {
        while bytes.count - takenBytes >= BatchHeader.size {
            let remaining = unsafe UnsafeRawBufferPointer(rebasing: bytes[takenBytes...])
            let header = unsafe BatchHeader(parsing: remaining)
            guard header.flaw == nil, header.baseOffset == nextOffset else {
                isDamaged = true
                return
            }
            if header.baseOffset >= endOfRead || takenRecords >= recordsMax { return }
            guard header.totalSize <= remaining.count else {
                if takenBytes == 0 { neededBytes = header.totalSize }
                return
            }
            guard unsafe header.isSound(remaining, at: nextOffset) else {
                isDamaged = true
                return
            }
            takenBytes += header.totalSize
            takenRecords += Int64(header.recordCount)
            nextOffset = header.nextOffset
        }
        // Too few bytes for a header, although the log says that a batch begins here.
        if takenBytes == 0, bytes.count < BatchHeader.size { isDamaged = true }
    }
}

/// A reader of a segment from front to back. It reads large pieces of the file and gives one checked batch
/// at a time, for recovery, look-ups by time, and compaction on its own thread.
struct SegmentReader {
    /// Size of one read, unless a batch is larger.
    static let chunkBytes = 1 << 20

    private let disk: Disk
    private let file: OpenFile
    /// End of the batches in the file.
    private let end: Int
    private var buffer: [UInt8] = []
    /// The range of the buffer behind the last batch that was given. Its first byte is the file's byte at
    /// `position`.
    private var unread = 0..<0
    /// Position of the next batch in the file.
    private(set) var position: Int
    /// The offset that the next batch must have.
    private(set) var offset: Int64

    init(disk: Disk, file: OpenFile, position: Int, offset: Int64, end: Int) {
        self.disk = disk
        self.file = file
        self.position = position
        self.offset = offset
        self.end = end
    }

    /// Gives the next batch to `body`. Returns nil at the end. Throws `.damaged` for bytes that are not a
    /// sound batch, and stays in front of them.
    mutating func next<Result>(
        _ body: (BatchHeader, UnsafeRawBufferPointer) throws(LogError) -> Result
    ) throws(LogError) -> Result? {
        guard position < end else { return nil }
        guard position + BatchHeader.size <= end else { throw damageError }
        try fillBuffer(count: BatchHeader.size)
        let header = unsafe withUnread(count: BatchHeader.size) { unsafe BatchHeader(parsing: $0) }
        guard header.flaw == nil, header.totalSize <= end - position else { throw damageError }
        try fillBuffer(count: header.totalSize)
        let expectedOffset = offset
        let isSound = unsafe withUnread(count: header.totalSize) {
            unsafe header.isSound($0, at: expectedOffset)
        }
        guard isSound else { throw damageError }
        let result = try unsafe buffer.withBytes { (bytes) throws(LogError) in
            let range = unread.lowerBound..<unread.lowerBound + header.totalSize
            return try unsafe body(header, UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
        unread = unread.lowerBound + header.totalSize..<unread.upperBound
        position += header.totalSize
        offset = header.nextOffset
        return result
    }

    var path: String { file.path }

    private var damageError: LogError { .damaged(path: file.path, offset: offset) }

    /// Gives the first `count` unread bytes to `body`.
    private func withUnread<Result>(count: Int, body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe buffer.withUnsafeBytes { bytes in
            let range = unread.lowerBound..<unread.lowerBound + count
            return unsafe body(UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }

    /// Makes sure that at least `count` bytes from `position` on are in the buffer. Moves the unread bytes
    /// to its front and reads the file behind them.
    private mutating func fillBuffer(count: Int) throws(LogError) {
        guard unread.count < count else { return }
        let unreadBytes = Array(buffer[unread])
        let filledCount = min(max(count, Self.chunkBytes), end - position)
        if buffer.count < filledCount { buffer = [UInt8](repeating: 0, count: filledCount) }
        for (index, byte) in unreadBytes.enumerated() { buffer[index] = byte }
        var readCount = 0
        do throws(DiskError) {
            readCount = try unsafe buffer.withMutableBytes { (bytes) throws(DiskError) in
                let space = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: bytes[unreadBytes.count..<filledCount])
                return try unsafe disk.read(file, at: position + unreadBytes.count, into: space)
            }
        } catch {
            throw .disk(error)
        }
        unread = 0..<unreadBytes.count + readCount
        guard unread.count >= count else { throw damageError }
    }

    /// The place of a batch in the file.
    struct BatchPosition {
        var position: Int
        var offset: Int64
    }

    /// Finds the next sound batch behind damaged bytes, or nil at the end of the file. The length of the
    /// damaged batch is unknown, so a batch may begin at any byte: this tries each one.
    func findNextSoundBatch() throws(LogError) -> BatchPosition? {
        var window = [UInt8](repeating: 0, count: min(Self.chunkBytes, max(0, end - position)))
        var start = position + 1
        while start + BatchHeader.size <= end {
            let count = try read(into: &window, at: start)
            guard count >= BatchHeader.size else { return nil }
            for index in 0...(count - BatchHeader.size) {
                let header = unsafe window.withBytes { bytes in
                    unsafe BatchHeader(parsing: UnsafeRawBufferPointer(rebasing: bytes[index...]))
                }
                let candidate = BatchPosition(position: start + index, offset: header.baseOffset)
                if isPlausible(header, at: candidate.position), isSoundBatch(at: candidate) {
                    return candidate
                }
            }
            // Windows overlap, so that a header on the border is found.
            start += count - BatchHeader.size + 1
        }
        return nil
    }

    /// Whether the fields can be those of a batch that follows. The check of a checksum costs more, so this
    /// cheap one comes first.
    private func isPlausible(_ header: BatchHeader, at position: Int) -> Bool {
        guard header.flaw == nil, header.leaderEpoch == 0 else { return false }
        let isWithinSegment = header.baseOffset > offset && header.baseOffset - offset < Int64(Int32.max)
        return isWithinSegment && header.totalSize <= end - position
    }

    private func isSoundBatch(at candidate: BatchPosition) -> Bool {
        let reader = SegmentReader(
            disk: disk, file: file, position: candidate.position, offset: candidate.offset, end: end)
        return reader.isAtSoundBatch()
    }

    /// Whether a sound batch begins at `position`.
    consuming func isAtSoundBatch() -> Bool {
        (try? unsafe next { (_, _) in true }) == true
    }

    /// Continues at a batch that `findNextSoundBatch` found.
    mutating func skip(to batch: BatchPosition) {
        unread = 0..<0
        position = batch.position
        offset = batch.offset
    }

    private func read(into window: inout [UInt8], at position: Int) throws(LogError) -> Int {
        do throws(DiskError) {
            return try unsafe window.withMutableBytes { (buffer) throws(DiskError) in
                try unsafe disk.read(file, at: position, into: buffer)
            }
        } catch {
            throw .disk(error)
        }
    }
}

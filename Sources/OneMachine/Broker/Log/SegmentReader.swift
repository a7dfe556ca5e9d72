/// A reader of a segment from front to back. It reads large pieces and gives one checked batch at a time:
/// for recovery, look-ups by time, and compaction on its own thread.
struct SegmentReader {
    /// Size of one read, unless a batch is larger.
    static let chunkBytes = 1 << 20

    private let disk: Disk
    private let file: OpenFile
    /// End of the batches in the file.
    private let end: Int
    private var buffer: [UInt8] = []
    /// Unread range of the buffer.
    private var unread = 0..<0
    /// Position of the next batch in the file.
    private(set) var position: Int
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
        guard position + BatchHeader.size <= end else { throw flaw }
        try fillBuffer(count: BatchHeader.size)
        let header = unsafe withUnread(count: BatchHeader.size) { unsafe BatchHeader(parsing: $0) }
        guard header.flaw == nil, header.totalSize <= end - position else { throw flaw }
        try fillBuffer(count: header.totalSize)
        let expected = offset
        let isSound = unsafe withUnread(count: header.totalSize) { unsafe header.isSound($0, at: expected) }
        guard isSound else { throw flaw }
        let result = try unsafe buffer.withBytes { (raw) throws(LogError) in
            let range = unread.lowerBound..<unread.lowerBound + header.totalSize
            return try unsafe body(header, UnsafeRawBufferPointer(rebasing: raw[range]))
        }
        unread = unread.lowerBound + header.totalSize..<unread.upperBound
        position += header.totalSize
        offset = header.nextOffset
        return result
    }

    var path: String { file.path }

    private var flaw: LogError { .damaged(path: file.path, offset: offset) }

    private func withUnread<Result>(count: Int, body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe buffer.withUnsafeBytes { raw in
            let range = unread.lowerBound..<unread.lowerBound + count
            return unsafe body(UnsafeRawBufferPointer(rebasing: raw[range]))
        }
    }

    /// Makes `count` bytes at `position` available.
    private mutating func fillBuffer(count: Int) throws(LogError) {
        guard unread.count < count else { return }
        let kept = Array(buffer[unread])
        let wanted = min(max(count, Self.chunkBytes), end - position)
        if buffer.count < wanted { buffer = [UInt8](repeating: 0, count: wanted) }
        for (index, byte) in kept.enumerated() { buffer[index] = byte }
        var read = 0
        do throws(DiskError) {
            read = try unsafe buffer.withMutableBytes { (raw) throws(DiskError) in
                let room = unsafe UnsafeMutableRawBufferPointer(rebasing: raw[kept.count..<wanted])
                return try unsafe disk.read(file, at: position + kept.count, into: room)
            }
        } catch {
            throw .disk(error)
        }
        unread = 0..<kept.count + read
        guard unread.count >= count else { throw flaw }
    }

    /// The position of a sound batch in the file.
    struct BatchPosition {
        var position: Int
        var offset: Int64
    }

    /// Finds the next sound batch behind damaged bytes, or nil at the end of the file.
    func findNextSoundBatch() throws(LogError) -> BatchPosition? {
        var window = [UInt8](repeating: 0, count: min(Self.chunkBytes, max(0, end - position)))
        var start = position + 1
        while start + BatchHeader.size <= end {
            let count = try read(into: &window, at: start)
            guard count >= BatchHeader.size else { return nil }
            for index in 0...(count - BatchHeader.size) {
                let header = unsafe window.withBytes { raw in
                    unsafe BatchHeader(parsing: UnsafeRawBufferPointer(rebasing: raw[index...]))
                }
                guard header.flaw == nil, header.leaderEpoch == 0, header.baseOffset > offset,
                    header.baseOffset - offset < Int64(Int32.max), header.totalSize <= end - start - index
                else { continue }
                var trial = SegmentReader(
                    disk: disk, file: file, position: start + index, offset: header.baseOffset, end: end)
                if (try? unsafe trial.next { (_, _) in true }) == true {
                    return BatchPosition(position: start + index, offset: header.baseOffset)
                }
            }
            start += count - BatchHeader.size + 1
        }
        return nil
    }

    mutating func skip(to start: BatchPosition) {
        unread = 0..<0
        position = start.position
        offset = start.offset
    }

    private func read(into window: inout [UInt8], at position: Int) throws(LogError) -> Int {
        do throws(DiskError) {
            return try unsafe window.withMutableBytes { (raw) throws(DiskError) in
                try unsafe disk.read(file, at: position, into: raw)
            }
        } catch {
            throw .disk(error)
        }
    }
}

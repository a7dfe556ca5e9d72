/// Reads a segment front to back in large pieces and hands out one checked batch at a time: for
/// recovery, for time look-ups, and for compaction on its own thread.
struct SegmentReader {
    /// Bytes read at once, unless a batch is larger.
    static let chunk = 1 << 20

    private let disk: Disk
    private let file: OpenFile
    /// Where the file's batches end.
    private let end: Int
    private var buffer: [UInt8] = []
    /// What of the buffer is unread.
    private var unread = 0..<0
    /// Where the next batch begins, in the file and in the log.
    private(set) var position: Int
    private(set) var offset: Int64

    init(disk: Disk, file: OpenFile, position: Int, offset: Int64, end: Int) {
        self.disk = disk
        self.file = file
        self.position = position
        self.offset = offset
        self.end = end
    }

    /// Gives the next batch to `body`; nil at the end. Bytes that are not a sound batch are `.damaged`,
    /// and the reader stays in front of them.
    mutating func next<Result>(
        _ body: (BatchHeader, UnsafeRawBufferPointer) throws(LogError) -> Result
    ) throws(LogError) -> Result? {
        guard position < end else { return nil }
        guard position + BatchHeader.size <= end else { throw flaw }
        try fill(BatchHeader.size)
        let header = unsafe unread(BatchHeader.size) { unsafe BatchHeader($0) }
        guard header.flaw == nil, header.totalSize <= end - position else { throw flaw }
        try fill(header.totalSize)
        let expected = offset
        let isSound = unsafe unread(header.totalSize) { unsafe header.isSound($0, at: expected) }
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

    private func unread<Result>(_ count: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe buffer.withUnsafeBytes { raw in
            let range = unread.lowerBound..<unread.lowerBound + count
            return unsafe body(UnsafeRawBufferPointer(rebasing: raw[range]))
        }
    }

    /// Makes `count` bytes at `position` available.
    private mutating func fill(_ count: Int) throws(LogError) {
        guard unread.count < count else { return }
        let kept = Array(buffer[unread])
        let wanted = min(max(count, Self.chunk), end - position)
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

    /// Where in the file a sound batch begins.
    struct Start {
        var position: Int
        var offset: Int64
    }

    /// Looks for the next sound batch behind bytes that are not one; nil if there is none to the end.
    func findNextSound() throws(LogError) -> Start? {
        var window = [UInt8](repeating: 0, count: min(Self.chunk, max(0, end - position)))
        var start = position + 1
        while start + BatchHeader.size <= end {
            let count = try read(into: &window, at: start)
            guard count >= BatchHeader.size else { return nil }
            for index in 0...(count - BatchHeader.size) {
                let header = unsafe window.withBytes { raw in
                    unsafe BatchHeader(UnsafeRawBufferPointer(rebasing: raw[index...]))
                }
                guard header.flaw == nil, header.leaderEpoch == 0, header.baseOffset > offset,
                    header.baseOffset - offset < Int64(Int32.max), header.totalSize <= end - start - index
                else { continue }
                var trial = SegmentReader(
                    disk: disk, file: file, position: start + index, offset: header.baseOffset, end: end)
                if (try? unsafe trial.next { (_, _) in true }) == true {
                    return Start(position: start + index, offset: header.baseOffset)
                }
            }
            start += count - BatchHeader.size + 1
        }
        return nil
    }

    mutating func skip(to start: Start) {
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

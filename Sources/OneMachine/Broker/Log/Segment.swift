/// One file of a log: batches one behind the other. Its name is its first offset.
///
/// Confined to the loop thread. Its file and index are opened when needed, and `OpenSegments` closes
/// them.
final class Segment {
    let baseOffset: Int64
    let directory: String
    /// Bytes of whole batches. Only before recovery may the file have more, a torn tail.
    var size = 0
    var endOffset: Int64
    var maxTimestamp: Int64 = -1
    /// Arrival time of the first batch, in milliseconds since 1970; nil for an empty segment.
    var firstAppended: Int64?

    var file: OpenFile?
    var index: SegmentIndex?
    /// Whether the segment has bytes that no sync covers yet.
    var isDirty = false
    /// Whether this is the newest segment. Its index exists only in memory and must stay.
    var isActive = false
    var lastUse: UInt64 = 0

    init(baseOffset: Int64, directory: String) {
        self.baseOffset = baseOffset
        self.endOffset = baseOffset
        self.directory = directory
    }

    var path: String { Self.path(in: directory, from: baseOffset, suffix: "log") }
    var indexPath: String { Self.path(in: directory, from: baseOffset, suffix: "index") }

    static func path(in directory: String, from offset: Int64, suffix: String) -> String {
        let digits = String(offset)
        return directory + "/" + String(repeating: "0", count: 20 - digits.count) + digits + "." + suffix
    }

    /// Takes over a batch that was written at the end of the file.
    func recordAppend(_ header: BatchHeader, now: Int64) {
        index?.add(
            relativeOffset: header.baseOffset - baseOffset, position: size, maxTimestampBefore: maxTimestamp)
        size += header.totalSize
        endOffset = header.nextOffset
        maxTimestamp = max(maxTimestamp, header.maxTimestamp)
        if firstAppended == nil { firstAppended = now }
    }

    /// Continues behind damaged bytes, which stay in the file; their offsets stay unused.
    func skipDamage(to offset: Int64, position: Int) {
        index?.addAlways(
            relativeOffset: offset - baseOffset, position: position, maxTimestampBefore: maxTimestamp)
        size = position
        endOffset = offset
    }

    func openFile(with open: OpenSegments) throws(DiskError) -> OpenFile {
        open.markUsed(self)
        if let file { return file }
        let file = try open.withDescriptor { () throws(DiskError) in
            try open.disk.open(path: path, writable: isActive)
        }
        self.file = file
        open.register(self)
        return file
    }
}
